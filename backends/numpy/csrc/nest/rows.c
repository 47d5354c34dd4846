/*
 * What a chunk of turns may write of an array, where that is known: so nothing else is saved. A
 * turn stores along one axis only near the place of an iterator, which each turn takes one step
 * further.
 */
#include "nest/nest.h"

/* Find the array and the iterator of some rows. False: there are none such. */
static bool
find_rows(const Nest *nest, NestRows *rows, int array)
{
    rows->word = rows->cell = rows->array = -1;
    for (int i = 0, word = 0, cell = 0, number = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_ARRAY) {
            if (number++ == array && slot->changed && !slot->listed && !slot->rebound &&
                rows->axis >= 0 && rows->axis < slot->axes) {
                rows->array = i;
                rows->word = word;
            }
            word += 1 + 2 * slot->axes;
        }
        if (i == rows->slot && slot_iterates(slot) && slot->kind != SLOT_ONCE) {
            rows->cell = cell;
        }
        cell += slot->cells;
    }
    return rows->word >= 0 && rows->cell >= 0 && rows->least <= rows->most;
}

/* Read (number of an array, axis, slot of an iterator, least, most), of some arrays. 0, or -1 with
 * an exception. */
int
rows_read(Nest *nest, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    nest->row = PyMem_Calloc((size_t)count + 1, sizeof(NestRows));
    if (nest->row == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        NestRows *rows = &nest->row[i];
        int array;
        PyObject *one = PyTuple_GET_ITEM(given, i);
        if (!PyTuple_Check(one)) {
            PyErr_Format(PyExc_TypeError, "no rows of an array: %R", one);
            return -1;
        }
        if (!PyArg_ParseTuple(one, "iiiLL", &array, &rows->axis, &rows->slot, &rows->least,
                              &rows->most)) {
            return -1;
        }
        if (!find_rows(nest, rows, array) || rows_of(nest, rows->array) != NULL) {
            PyErr_Format(PyExc_ValueError, "no rows of a nest's array: %R", one);
            return -1;
        }
        nest->rows++;
    }
    return 0;
}

/* Those of the array in a slot; NULL: it is not known what turns write. */
const NestRows *
rows_of(const Nest *nest, int array)
{
    for (int i = 0; i < nest->rows; i++) {
        if (nest->row[i].array == array) {
            return &nest->row[i];
        }
    }
    return NULL;
}

/*
 * Which rows so many turns from `cells` on may write: none, where all that they store is outside.
 * False: an index may be counted from the end, so they may be any.
 */
bool
rows_within(const NestRows *rows, const int64_t *words, const Register *cells, int64_t turns,
            int64_t *first, int64_t *count)
{
    int64_t begin = cells[rows->cell].whole, step = cells[rows->cell + 1].whole;
    int64_t length = words[rows->word + 1 + rows->axis], reach, end, past;
    if (__builtin_mul_overflow(step, turns - 1, &reach) ||
        __builtin_add_overflow(begin, reach, &end)) {
        return false;
    }
    int64_t low = begin < end ? begin : end, high = begin < end ? end : begin;
    if (__builtin_add_overflow(low, (int64_t)rows->least, first) ||
        __builtin_add_overflow(high, (int64_t)rows->most, &past) || *first < 0 ||
        past == INT64_MAX) {
        return false;
    }
    past = past + 1 < length ? past + 1 : length;
    *count = past > *first ? past - *first : 0;
    return true;
}
