/*
 * Arrays of which a call need save nothing, as their elements are known otherwise: the caller has
 * made them just before, and nobody but its frame holds them. The laws:
 *
 * 1. What is known holds until a chunk is committed: then nothing is known.
 * 2. An array is believed only where it owns its memory, and there is one reference to it: no view,
 *    nobody else can have seen it.
 * 3. What an array equals is left as it is by the nest, and memory of this process alone. That no
 * thread and no finalizer changes it is for the caller to know.
 */
#include "nest/saved/known.h"

#include "nest/given/arrays.h"
#include "nest/saved/saved.h"

/* As the caller says it; not negative: the place of an array that it equals, behind the objects.
 * Less than UNKNOWN: zeros or arbitrary numbers behind some rows along the first axis. */
enum { UNKNOWN = -3, ARBITRARY = -2, ZERO = -1 };

/* How many rows in front hold something else, of which a number of the caller's tells; that is made
 * one about those behind them. */
static npy_intp
rows_in_front(int32_t *contents)
{
    if (*contents >= UNKNOWN) {
        return 0;
    }
    int32_t both = UNKNOWN - 1 - *contents;
    *contents = both & 1 ? ZERO : ARBITRARY;
    return (both >> 1) + 1;
}

/* Add the rows in front of an array to what is saved. False: it has no more than these. */
static bool
add_rows(Saved *saved, PyArrayObject *array, npy_intp rows)
{
    npy_intp first[NPY_MAXDIMS] = {0}, count[NPY_MAXDIMS];
    if (PyArray_NDIM(array) == 0 || PyArray_DIM(array, 0) <= rows) {
        return false;
    }
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        count[axis] = axis == 0 ? rows : PyArray_DIM(array, axis);
    }
    saved_add_box(saved, array, first, count, false);
    return true;
}

/* Read the objects behind those of a nest's slots, and the keyword `contents`, bytes, a number for
 * each slot. 0, or -1 with an exception. */
int
known_read(const Nest *nest, PyObject *const *objects, Py_ssize_t count, PyObject *names,
           Known *known)
{
    *known = (Known){.objects = objects, .count = count};
    if (names == NULL && count == nest->given) {
        return 0;
    }
    bool named = names != NULL && PyTuple_GET_SIZE(names) == 1 &&
                 PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "contents") == 0;
    PyObject *contents = named && count >= nest->given ? objects[count] : NULL;
    if (contents == NULL || !PyBytes_CheckExact(contents) ||
        PyBytes_GET_SIZE(contents) != nest->given * (Py_ssize_t)sizeof(int32_t)) {
        PyErr_Format(PyExc_TypeError, "a nest of %d slots takes an object for each", nest->given);
        return -1;
    }
    known->contents = (const int32_t *)PyBytes_AS_STRING(contents);
    return 0;
}

/* Whether elements lie in one piece of memory. */
static bool
is_one_piece(PyArrayObject *array)
{
    return PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
}

/* Whether an array is of the shape, the strides and the dtype of another. */
static bool
is_alike(PyArrayObject *one, PyArrayObject *other)
{
    int axes = PyArray_NDIM(one);
    size_t bytes = (size_t)axes * sizeof(npy_intp);
    return PyArray_NDIM(other) == axes && PyArray_TYPE(other) == PyArray_TYPE(one) &&
           PyArray_ISNOTSWAPPED(other) &&
           memcmp(PyArray_DIMS(one), PyArray_DIMS(other), bytes) == 0 &&
           memcmp(PyArray_STRIDES(one), PyArray_STRIDES(other), bytes) == 0;
}

/* Whether memory in one piece is none of what a nest writes. */
static bool
is_left_alone(const Known *known, const Nest *nest, PyArrayObject *array)
{
    uintptr_t begin = (uintptr_t)PyArray_DATA(array);
    uintptr_t end = begin + (uintptr_t)PyArray_NBYTES(array);
    for (int i = 0; i < nest->given; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind != SLOT_ARRAY || !slot->changed || slot->listed) {
            continue;
        }
        PyArrayObject *other = (PyArrayObject *)known->objects[i];
        uintptr_t first = (uintptr_t)PyArray_DATA(other), past = first;
        for (int axis = 0; axis < PyArray_NDIM(other); axis++) {
            npy_intp reach = (PyArray_DIM(other, axis) - 1) * PyArray_STRIDE(other, axis);
            *(reach < 0 ? &first : &past) += (uintptr_t)reach;
        }
        if (first < end && begin < past + (uintptr_t)slot->itemsize) {
            return false;
        }
    }
    return true;
}

/*
 * Add the array of a slot to what is saved, as one whose elements are known. False: they have to be
 * copied. The objects are arrays of their slots' dtypes.
 */
bool
known_add(const Known *known, const Nest *nest, int number, Saved *saved)
{
    int32_t contents = known->contents == NULL ? UNKNOWN : known->contents[number];
    PyArrayObject *array = (PyArrayObject *)known->objects[number];
    npy_intp rows = rows_in_front(&contents);
    if (contents == UNKNOWN || Py_REFCNT(array) != 1 || PyArray_BASE(array) != NULL ||
        !PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) || !is_one_piece(array)) {
        return false;
    }
    if (rows > 0 && !add_rows(saved, array, rows)) {
        return false;
    }
    size_t bytes = (size_t)PyArray_NBYTES(array);
    if (contents == ARBITRARY) {
        saved->spared += bytes;
        return true;
    }
    const char *equal = NULL;
    if (contents >= 0) {
        PyArrayObject *other = contents < known->count && contents >= nest->given
                                   ? (PyArrayObject *)known->objects[contents]
                                   : NULL;
        if (other == NULL || !PyArray_CheckExact(other) || !is_private(other) ||
            !is_alike(array, other) || !is_left_alone(known, nest, other)) {
            return false;
        }
        equal = PyArray_BYTES(other);
    }
    saved_add_known(saved, PyArray_BYTES(array), bytes, equal);
    saved->spared += bytes;
    return true;
}
