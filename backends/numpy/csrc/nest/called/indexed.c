/* Elements by index: taken by an array of indices, put where one says; where the largest are. */
#include "nest/called/indexed.h"

enum { INDEXED, INDEX, PLAIN, ARRAYS };

/* Copy the part of a space that lies behind its first axis. */
static void
copy_part(const int64_t *lengths, const npy_intp *steps, int64_t axes, char *to, int to_array,
          const char *from, int from_array, npy_intp itemsize)
{
    if (axes == 0) {
        memcpy(to, from, (size_t)itemsize);
    }
    else if (axes == 1) {
        copy_strided(to, steps[to_array], from, steps[from_array], lengths[0], itemsize);
    }
    else {
        for (int64_t i = 0; i < lengths[0]; i++) {
            copy_part(lengths + 1, steps + ARRAYS, axes - 1, to + i * steps[to_array], to_array,
                      from + i * steps[from_array], from_array, itemsize);
        }
    }
}

/* Between the places along an axis of one array that indices name, and those along the first axis
 * of another, in order. Returns 1 for an index that is out of range. */
static int
move(int64_t axes, int64_t itemsize, int64_t *table, bool puts)
{
    char **data = (char **)(table + axes);
    const npy_intp *steps = (npy_intp *)(table + axes + ARRAYS);
    const int64_t length = table[axes - 1];
    const npy_intp indexed_step = steps[(axes - 1) * ARRAYS + INDEXED];
    for (int64_t i = 0; i < table[0]; i++) {
        int64_t index;
        memcpy(&index, data[INDEX] + i * steps[INDEX], sizeof index);
        index += index < 0 ? length : 0;
        if (index < 0 || index >= length) {
            return 1;
        }
        char *there = data[INDEXED] + index * indexed_step, *here = data[PLAIN] + i * steps[PLAIN];
        if (puts) {
            copy_part(table + 1, steps + ARRAYS, axes - 2, there, INDEXED, here, PLAIN, itemsize);
        }
        else {
            copy_part(table + 1, steps + ARRAYS, axes - 2, here, PLAIN, there, INDEXED, itemsize);
        }
    }
    return 0;
}

/*
 * `plain[i, ...] = indexed[index[i], ...]`. `table`: the lengths of the plain array's axes and of
 * the indexed axis; the data of the three; for each axis their steps.
 */
int
nest_take(int64_t axes, int64_t itemsize, int64_t *table)
{
    return move(axes, itemsize, table, false);
}

/* `indexed[index[i], ...] = plain[i, ...]`. */
int
nest_put(int64_t axes, int64_t itemsize, int64_t *table)
{
    return move(axes, itemsize, table, true);
}

/* NumPy's search for the first largest or least element; a type that never goes away has it. */
static PyArray_ArgFunc *
position_function(int64_t type, int64_t is_least)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)type);
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(descr);
    Py_DECREF(descr);
    return is_least != 0 ? functions->argmin : functions->argmax;
}

/* Write where it finds one of some elements, of which there is one at least. */
static int
write_position(PyArray_ArgFunc *find, npy_intp itemsize, char *result, char *items, npy_intp step,
               int64_t count)
{
    char *memory = NULL;
    if (step != itemsize && count > 1) { /* NumPy copies them, too */
        memory = memory_take((size_t)(count * itemsize));
        if (memory == NULL) {
            return 1;
        }
        copy_strided(memory, itemsize, items, step, count, itemsize);
        items = memory;
    }
    find(items, count, (npy_intp *)result, NULL);
    memory_give(memory);
    return 0;
}

/* Where NumPy finds the first largest or least element. A doubt where there is none. */
int
nest_position(int64_t type, int64_t is_least, int64_t *result, char *items, npy_intp step,
              int64_t count)
{
    if (count == 0) {
        return 1;
    }
    Status before = status_keep();
    int status = write_position(position_function(type, is_least), number_bytes((int)type),
                                (char *)result, items, step, count);
    status_put_back(before);
    return status;
}

typedef struct {
    PyArray_ArgFunc *find;
    npy_intp itemsize;
    int64_t axes, folded;
    const int64_t *table;
} Positions;

/* The places along the folded axis, over the axes from one on. */
static int
write_positions(const Positions *run, int64_t axis, char *items, char *result)
{
    const npy_intp *steps = (const npy_intp *)(run->table + run->axes + 2);
    if (axis == run->axes) {
        return write_position(run->find, run->itemsize, result, items, steps[2 * run->folded],
                              run->table[run->folded]);
    }
    int status = 0;
    int64_t count = axis == run->folded ? 1 : run->table[axis];
    for (int64_t i = 0; i < count && status == 0; i++) {
        status = write_positions(run, axis + 1, items + i * steps[2 * axis],
                                 result + i * steps[2 * axis + 1]);
    }
    return status;
}

/*
 * Where the first largest or least elements along one axis are. `table`: as that of `nest_reduce`;
 * the results are int64. A doubt where there are none.
 */
int
nest_positions(int64_t type, int64_t is_least, int64_t axes, int64_t folded, int64_t *table)
{
    Positions run = {position_function(type, is_least), number_bytes((int)type), axes, folded,
                     table};
    char **data = (char **)(table + axes);
    if (table[folded] == 0) {
        return 1;
    }
    Status before = status_keep();
    int status = write_positions(&run, 0, data[0], data[1]);
    status_put_back(before);
    return status;
}
