/*
 * Lists of lists of several lengths, and dicts that lead to such, which a nest reads alone:
 * adjacency lists. Their numbers lie in one array: for each list where its numbers begin, and where
 * those of the last one end; behind that the numbers, list by list. Items may be tuples of numbers,
 * all as long.
 */
#include "nest/containers/rows.h"

#include "nest/form/costs.h"
#include "nest/form/own_memory.h"
#include "nest/containers/addresses.h"
#include "nest/containers/keys.h"

/* Whole numbers up to this are floats, too. */
static const int64_t EXACT = (int64_t)1 << 53;

/* Where a walk over the rows of a slot's object is. */
typedef struct {
    PyObject *object;
    Py_ssize_t at;
} RowWalk;

/* The next row, borrowed; NULL: there are no more. */
static PyObject *
next_row(const NestSlot *slot, RowWalk *walk)
{
    PyObject *key, *row;
    if (slot->in_dict) {
        return PyDict_Next(walk->object, &walk->at, &key, &row) ? row : NULL;
    }
    return walk->at < PySequence_Fast_GET_SIZE(walk->object)
               ? PySequence_Fast_GET_ITEM(walk->object, walk->at++)
               : NULL;
}

/* Whether an object has rows, as far as its type tells. */
static bool
has_rows(const NestSlot *slot, PyObject *object)
{
    return slot->in_dict ? PyDict_CheckExact(object) || Py_TYPE(object) == keys_defaultdict
                         : PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/* How many items a row has; -1: it is none. */
static int64_t
row_length(const NestSlot *slot, PyObject *row)
{
    if (slot->of_sets) {
        return PyAnySet_CheckExact(row) ? PySet_GET_SIZE(row) : -1;
    }
    return PyList_CheckExact(row) || PyTuple_CheckExact(row) ? PySequence_Fast_GET_SIZE(row) : -1;
}

/* Read one number. False: it is of another type, or does not fit. */
static inline bool
read_number(const NestSlot *slot, PyObject *one, int column, char *to)
{
    if (slot->real_columns >> column & 1) {
        *(double *)to = PyFloat_CheckExact(one) ? PyFloat_AS_DOUBLE(one) : 0;
        return PyFloat_CheckExact(one);
    }
    int overflow = 1;
    int64_t whole = PyLong_CheckExact(one) ? PyLong_AsLongLongAndOverflow(one, &overflow) : 0;
    if (slot->item == SLOT_INT) {
        *(int64_t *)to = whole;
        return overflow == 0;
    }
    *(double *)to = (double)whole;
    return overflow == 0 && whole <= EXACT && whole >= -EXACT;
}

/* Where the next number goes, and where there is no more room. */
typedef struct {
    char *next, *end;
} Target;

/* Read an item of a row. False: it is no such item, or there are more than were counted. */
static inline bool
read_item(const NestSlot *slot, PyObject *item, Target *to)
{
    bool done = to->next < to->end;
    if (!slot->tuples) {
        done = done && read_number(slot, item, 0, to->next);
        to->next += sizeof(double);
        return done;
    }
    done = done && PyTuple_CheckExact(item) && PyTuple_GET_SIZE(item) == slot->width;
    for (int i = 0; done && i < slot->width; i++, to->next += sizeof(double)) {
        done = read_number(slot, PyTuple_GET_ITEM(item, i), i, to->next);
    }
    return done;
}

/* Read the members of a set, in the order in which loops go over it. */
static bool
read_members(const NestSlot *slot, PyObject *row, Target *to)
{
    PyObject *iterator = PyObject_GetIter(row), *one;
    bool done = iterator != NULL;
    while (done && (one = PyIter_Next(iterator)) != NULL) {
        done = read_item(slot, one, to);
        Py_DECREF(one); /* which the set has, too */
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return done;
}

static bool
read_row(const NestSlot *slot, PyObject *row, Target *to)
{
    if (slot->of_sets) {
        return read_members(slot, row, to);
    }
    bool done = true;
    for (Py_ssize_t i = 0; done && i < PySequence_Fast_GET_SIZE(row); i++) {
        done = read_item(slot, PySequence_Fast_GET_ITEM(row, i), to);
    }
    return done;
}

/* How many elements the array of all rows has. -1: some is no such row. */
static int64_t
elements_of(const NestSlot *slot, PyObject *object)
{
    RowWalk walk = {object, 0};
    PyObject *row;
    int64_t count = 1, length = 0;
    while (length >= 0 && (row = next_row(slot, &walk)) != NULL) {
        length = row_length(slot, row);
        count += 1 + length * slot->width;
    }
    return length < 0 ? -1 : count;
}

static void
put_place(const NestSlot *slot, char *data, int64_t row, int64_t place)
{
    if (slot->item == SLOT_INT) {
        ((int64_t *)data)[row] = place;
    }
    else {
        ((double *)data)[row] = (double)place;
    }
}

/* Read all rows. False: a nest cannot take them, that would take too long, or there is no memory.
 * Runs no Python code, sets no exception. */
bool
rows_read(Nest *nest, const NestSlot *slot, PyObject *object, int64_t left)
{
    if (!has_rows(slot, object)) {
        return false;
    }
    NestMemory *memory = &nest->memory[slot->memory];
    int64_t count = elements_of(slot, object);
    if (count < 0 || list_takes_too_long(nest, count, left) ||
        nest_grow(memory, count * (int64_t)sizeof(double)) < 0) {
        return false;
    }
    int64_t rows = slot->in_dict ? PyDict_GET_SIZE(object) : PySequence_Fast_GET_SIZE(object);
    memory->length[0] = 0;
    memory->length[1] = count;
    Target to = {memory->data + (rows + 1) * (int64_t)sizeof(double),
                 memory->data + count * (int64_t)sizeof(double)};
    RowWalk walk = {object, 0};
    for (int64_t i = 0; i < rows; i++) {
        PyObject *row = next_row(slot, &walk);
        put_place(slot, memory->data, i, (to.next - memory->data) / (int64_t)sizeof(double));
        if (row == NULL || row_length(slot, row) < 0 || !read_row(slot, row, &to)) {
            return false;
        }
    }
    put_place(slot, memory->data, rows, count);
    return to.next == to.end;
}

/* Whether an object is a row of one that has rows, or may be none. */
bool
rows_have(const NestSlot *slot, PyObject *object, PyObject *one)
{
    RowWalk walk = {object, 0};
    PyObject *row;
    while (has_rows(slot, object) && (row = next_row(slot, &walk)) != NULL) {
        if (row == one) {
            return true;
        }
    }
    return false;
}

/* Whether some row is among lists that were noted. */
bool
rows_among(const NestSlot *slot, PyObject *object, const struct Addresses *noted)
{
    RowWalk walk = {object, 0};
    PyObject *row;
    while (has_rows(slot, object) && (row = next_row(slot, &walk)) != NULL) {
        if (addresses_have(noted, row)) {
            return true;
        }
    }
    return false;
}
