/*
 * Iterators over several axes, of which the last one turns first: `itertools.product`, as CPython
 * lays it out, and NumPy's flatiter. Whoever relies on the layout of the former asks at import,
 * with `product_type`, whether it is still that. NumPy's headers come before this one.
 */
#ifndef UFUSE_GRID_ITERATORS_H
#define UFUSE_GRID_ITERATORS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    PyObject_HEAD
    PyObject *pools; /* a tuple of tuples */
    Py_ssize_t *indices;
    PyObject *result; /* the tuple given last; NULL: none was */
    int stopped;
} Product;

/* How many turns an iterator has done, and how many there are in all. */
typedef struct {
    int64_t done, all;
} GridTurns;

/* Where a product stands. False: it has stopped, or has too many turns. Runs no Python code. */
static inline bool
product_turns(const Product *product, GridTurns *turns)
{
    int64_t place = 0;
    turns->all = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(product->pools); i++) {
        int64_t count = PyTuple_GET_SIZE(PyTuple_GET_ITEM(product->pools, i));
        if (__builtin_mul_overflow(turns->all, count, &turns->all)) {
            return false;
        }
        place = place * count + product->indices[i];
    }
    turns->done = product->result == NULL ? 0 : place + 1;
    return !product->stopped && turns->done <= turns->all;
}

/* Where a flatiter stands. False: its array has got another shape or place since it was made. */
static inline bool
flat_turns(PyArrayIterObject *iterator, GridTurns *turns)
{
    PyArrayObject *array = iterator->ao;
    turns->done = iterator->index;
    turns->all = iterator->size;
    if (!PyArray_CheckExact(array) || PyArray_NDIM(array) != iterator->nd_m1 + 1 ||
        turns->done < 0 || turns->done > turns->all || turns->all != PyArray_SIZE(array)) {
        return false;
    }
    npy_intp place = turns->done, offset = 0;
    for (int i = iterator->nd_m1; i >= 0; i--) {
        npy_intp length = PyArray_DIM(array, i);
        if (iterator->dims_m1[i] != length - 1 ||
            iterator->strides[i] != PyArray_STRIDE(array, i)) {
            return false;
        }
        offset += length > 0 ? place % length * PyArray_STRIDE(array, i) : 0;
        place = length > 0 ? place / length : 0;
    }
    return turns->done == turns->all || iterator->dataptr == PyArray_BYTES(array) + offset;
}

/* The type of products, if they have the layout assumed here: a new reference. NULL: with an
 * exception, or they have not. */
static inline PyTypeObject *
product_type(void)
{
    PyObject *module = PyImport_ImportModule("itertools");
    PyObject *type = module == NULL ? NULL : PyObject_GetAttrString(module, "product");
    Py_XDECREF(module);
    if (type == NULL) {
        return NULL;
    }
    bool is_known = false;
    PyObject *made = PyObject_CallFunction(type, "(ii)(iii)", 1, 2, 3, 4, 5);
    if (made != NULL && PyType_Check(type) && Py_IS_TYPE(made, (PyTypeObject *)type) &&
        ((PyTypeObject *)type)->tp_basicsize == sizeof(Product)) {
        const Product *product = (Product *)made;
        GridTurns turns;
        is_known = PyTuple_CheckExact(product->pools) && PyTuple_GET_SIZE(product->pools) == 2 &&
                   PyTuple_CheckExact(PyTuple_GET_ITEM(product->pools, 0)) &&
                   PyTuple_CheckExact(PyTuple_GET_ITEM(product->pools, 1)) &&
                   product->result == NULL && product_turns(product, &turns) && turns.done == 0 &&
                   turns.all == 6;
        for (int i = 1; is_known && i <= 6; i++) {
            PyObject *given = PyIter_Next(made);
            is_known = given != NULL && given == product->result &&
                       product_turns(product, &turns) && turns.done == i &&
                       product->indices[0] == (i - 1) / 3;
            Py_XDECREF(given);
        }
        PyObject *none = is_known ? PyIter_Next(made) : NULL;
        is_known = is_known && none == NULL && product->stopped == 1;
        Py_XDECREF(none);
    }
    Py_XDECREF(made);
    if (PyErr_Occurred() || !is_known) {
        Py_CLEAR(type);
    }
    return (PyTypeObject *)type;
}

#endif
