/* Memory of a nest's own: its temporaries and scratch, which machine code grows as it needs. */
#include "nest/form/own_memory.h"

enum { FEW_BYTES = 1 << 12 };  /* of what grows: at least */
enum { TAKEN_FROM = 1 << 14 }; /* bytes: fewer are copied sooner than taken anew */

/*
 * What machine code calls for at least so many bytes, 64-byte aligned, their contents undefined.
 * -1, with no exception: there is no memory.
 */
int
nest_grow(NestMemory *one, int64_t bytes)
{
    if (bytes <= one->capacity) {
        return bytes < 0 ? -1 : 0;
    }
    int64_t enough = bytes < one->capacity + one->capacity / 2 ? one->capacity / 2 * 3 : bytes;
    memory_give(one->data);
    one->data = memory_take((size_t)enough);
    one->capacity = one->data == NULL ? 0 : enough;
    return one->data == NULL ? -1 : 0;
}

/*
 * What machine code calls for more bytes behind those that there are, which stay. -1, with no
 * exception: there is no memory.
 */
int
nest_extend(NestMemory *one, int64_t bytes)
{
    NestMemory larger = {0};
    int64_t enough = one->capacity > INT64_MAX / 2 ? bytes : 2 * one->capacity;
    enough = enough < bytes ? bytes : enough;
    enough = enough < FEW_BYTES ? FEW_BYTES : enough;
    if (nest_grow(&larger, enough) < 0) {
        return -1;
    }
    if (one->capacity > 0) {
        memcpy(larger.data, one->data, (size_t)one->capacity);
    }
    memory_give(one->data);
    one->data = larger.data;
    one->capacity = larger.capacity;
    return 0;
}

/* Give memory back where it is more than `most` bytes in all. */
void
own_memory_drop(Nest *nest, size_t most)
{
    size_t bytes = 0;
    for (int i = 0; i < nest->memories; i++) {
        bytes += (size_t)nest->memory[i].capacity;
    }
    for (int i = 0; bytes > most && i < nest->memories; i++) {
        memory_give(nest->memory[i].data);
        nest->memory[i] = (NestMemory){0};
    }
}

/* Whether an array takes over the memory that its elements lie in, rather than a copy of them. */
static bool
is_taken_over(const NestMemory *memory, int64_t bytes)
{
    return bytes >= TAKEN_FROM && memory->capacity - bytes <= bytes / 4;
}

/* A vector as a view of a new array, which has another axis where it is a column of that; takes
 * over a reference, which may be NULL. */
static PyObject *
view_of(PyArrayObject *array)
{
    if (array == NULL) {
        return NULL;
    }
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    npy_intp shape[] = {PyArray_DIM(array, 0)}, strides[] = {PyArray_ITEMSIZE(array)};
    PyArrayObject *view = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, descr, 1, shape, strides, PyArray_DATA(array), NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL || PyArray_SetBaseObject(view, (PyObject *)array) < 0) {
        Py_DECREF(view == NULL ? array : view);
        return NULL;
    }
    return (PyObject *)view;
}

/* A temporary's contents as a new array; the temporary has none then. NULL, perhaps with an
 * exception: there is no memory, or its lengths cannot be. */
PyObject *
own_memory_array(const Nest *nest, int temporary)
{
    const NestSlot *slot = &nest->temporary[temporary];
    NestMemory *memory = &nest->memory[temporary];
    PyArray_Descr *descr = PyArray_DescrFromType(slot->type);
    if (descr == NULL) {
        return NULL;
    }
    npy_intp shape[MOST_LENGTHS + 1];
    int axes = slot->axes + (slot->within == WITHIN_COLUMN);
    int64_t bytes = PyDataType_ELSIZE(descr);
    for (int axis = 0; axis < slot->axes; axis++) {
        shape[axis] = memory->length[axis];
        if (shape[axis] < 0 || __builtin_mul_overflow(bytes, shape[axis], &bytes)) {
            bytes = INT64_MAX;
        }
    }
    if (bytes > memory->capacity) {
        Py_DECREF(descr);
        return NULL;
    }
    shape[slot->axes] = 1; /* an axis only of what is a column */
    if (is_taken_over(memory, bytes)) {
        PyArrayObject *taken = memory_array_over(descr, axes, shape, NULL, memory->data, bytes);
        if (taken != NULL) {
            memory->data = NULL;
            memory->capacity = 0;
        }
        return slot->within ? view_of(taken) : (PyObject *)taken;
    }
    PyArrayObject *array = memory_new_array(descr, axes, shape, NULL, bytes);
    if (array != NULL && bytes > 0) {
        memcpy(PyArray_DATA(array), memory->data, (size_t)bytes);
    }
    return slot->within ? view_of(array) : (PyObject *)array;
}
