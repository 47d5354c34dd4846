/* What guards know of an array, wherever its elements are. */
#ifndef UFUSE_ARRAY_VIEW_H
#define UFUSE_ARRAY_VIEW_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

enum { ON_HOST = -1 };

/* All pointers are borrowed from the array. */
typedef struct {
    const Py_ssize_t *shape;
    const Py_ssize_t *strides; /* in bytes */
    PyObject *dtype;
    uintptr_t data;
    Py_ssize_t item;
    int ndim;
    int device; /* its number, or ON_HOST */
} ArrayView;

#endif
