/* Vectors in another form: what their elements come to one after another, where they are true, in
 * order of size. */
#include "nest/called/arranged.h"

#include "nest/called/numpy_loops.h"

/*
 * `ufunc.accumulate` of a vector. `table`: its length, the data of the vector and of the result,
 * their steps. Returns 1 for a doubt.
 */
int
nest_scan(const Loop *loop, int64_t itemsize, int64_t *table)
{
    const int64_t count = table[0];
    char **data = (char **)(table + 1);
    const npy_intp *step = (npy_intp *)(table + 3);
    if (count == 0) {
        return 0;
    }
    memmove(data[1], data[0], (size_t)itemsize); /* it may be the same vector */
    char *operands[3] = {data[1], data[0] + step[0], data[1] + step[1]};
    const npy_intp steps[3] = {step[1], step[0], step[1]};
    return count == 1 ? 0 : nest_loop(loop, operands, count - 1, steps);
}

/*
 * The places where a vector of bools is true. `table`: its length, the result's, the data of both,
 * and along each axis their steps. Returns 1 for a doubt: there are more places, or fewer.
 */
int
nest_nonzero(int64_t *table)
{
    const char *mask = (const char *)(intptr_t)table[2];
    int64_t *place = (int64_t *)(intptr_t)table[3], found = 0;
    const int64_t step = table[4], room = table[1];
    for (int64_t i = 0; i < table[0]; i++) {
        if (mask[i * step] != 0) {
            if (found == room) {
                return 1;
            }
            place[found++] = i;
        }
    }
    return found != room;
}

/* Sort elements that lie side by side as NumPy does, or (`places`) the places of them. 1: it fails.
 */
static int
sorted(int64_t type, char *data, int64_t *places, int64_t count)
{
    if (count < 2) {
        return 0;
    }
    PyArray_Descr *descr = PyArray_DescrFromType((int)type); /* a singleton: never fails */
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(descr);
    PyArray_SortFunc *sort = functions->sort[NPY_QUICKSORT];
    PyArray_ArgSortFunc *argsort = functions->argsort[NPY_QUICKSORT];
    Status before = status_keep();
    int failed = places == NULL ? sort == NULL || sort(data, count, NULL) != 0
                                : argsort == NULL || argsort(data, places, count, NULL) != 0;
    status_put_back(before);
    Py_DECREF(descr);
    return failed;
}

/* Sort all elements of a temporary in place, as NumPy does. `table`: its lengths, its data. Returns
 * 1 for a doubt. */
int
nest_sort(int64_t type, int64_t axes, int64_t *table)
{
    int64_t count = 1;
    for (int64_t axis = 0; axis < axes; axis++) {
        count *= table[axis];
    }
    return sorted(type, (char *)(intptr_t)table[axes], NULL, count);
}

/* The places of a temporary's elements in order of size. `table`: its length, its data, and where
 * the places go, side by side. Returns 1 for a doubt. */
int
nest_argsort(int64_t type, int64_t *table)
{
    int64_t *places = (int64_t *)(intptr_t)table[2];
    for (int64_t i = 0; i < table[0]; i++) {
        places[i] = i;
    }
    return sorted(type, (char *)(intptr_t)table[1], places, table[0]);
}
