/* What guards ask an array. None of these runs Python code or sets an exception. */
#ifndef UFUSE_ARRAYS_H
#define UFUSE_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "values/array_view.h"
#include "values/numpy_api.h"

int import_numpy(void);

/* Whether an object is exactly a numpy.ndarray. */
static inline bool
is_array(PyObject *object)
{
    return Py_IS_TYPE(object, &PyArray_Type);
}

/* The number of axes of an array. */
static inline int
array_ndim(PyObject *array)
{
    return PyArray_NDIM((PyArrayObject *)array);
}

/* The number of its type of elements. */
static inline int
array_type(PyObject *array)
{
    return PyArray_TYPE((PyArrayObject *)array);
}

/* The sizes of an array's axes, borrowed. */
static inline const npy_intp *
array_shape(PyObject *array)
{
    return PyArray_DIMS((PyArrayObject *)array);
}

bool is_descr(PyObject *object);
bool is_numpy_base(PyTypeObject *type);
bool same_descr(PyArray_Descr *a, PyArray_Descr *b);
bool array_writeable(PyObject *array);
bool is_any_array(PyObject *object);
bool brings_array(PyObject *object);
bool view_of(PyObject *object, ArrayView *view);
bool array_order_is(const ArrayView *array, const int32_t *axes, Py_ssize_t count);
bool array_contiguous(const ArrayView *array, const int32_t *axes, Py_ssize_t count);
bool array_elements_apart(const ArrayView *array);
bool arrays_disjoint(PyObject *a, PyObject *b);
bool arrays_all_disjoint(PyObject *const *registers, const int32_t *places, Py_ssize_t n,
                         Py_ssize_t n_written);

/* Whether an array is aligned, of native byte order, and of dtype `descr`; see `same_descr`. */
static inline bool
array_type_is(PyArrayObject *array, PyArray_Descr *descr)
{
    PyArray_Descr *own = PyArray_DESCR(array);
    return PyArray_ISALIGNED(array) && PyDataType_ISNOTSWAPPED(own) &&
           (own == descr || same_descr(own, descr));
}

#endif
