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

/*
 * Whether elements of a size fill memory without gaps, the last axis being the fastest, or the
 * first. So does nothing.
 */
static inline bool
is_gapless(int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t size,
           bool first_is_fastest)
{
    bool gapless = true;
    for (int i = 0; i < ndim; i++) {
        int axis = first_is_fastest ? i : ndim - 1 - i;
        if (shape[axis] == 0) {
            return true;
        }
        gapless = gapless && (strides[axis] == size || shape[axis] == 1);
        size *= shape[axis];
    }
    return gapless;
}

#endif
