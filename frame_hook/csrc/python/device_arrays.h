/* Arrays on a device, as guards read them. */
#ifndef UFUSE_DEVICE_ARRAYS_H
#define UFUSE_DEVICE_ARRAYS_H

#include "device_layout.h"
#include "python/array_view.h"

extern DeviceLayout device_layout;

/* Whether an object is exactly an array of the class that was learned. */
static inline bool
is_device_array(PyObject *object)
{
    return is_array_of_layout(&device_layout, object);
}

/* Whether elements fill memory without gaps, the last axis being the fastest; none do. */
static inline bool
fills_c_order(const DeviceView *view)
{
    Py_ssize_t expected = PyDataType_ELSIZE((PyArray_Descr *)view->dtype);
    bool fills = true;
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        Py_ssize_t length = view->shape[axis];
        if (length == 0) {
            return true;
        }
        fills = fills && (view->strides[axis] == expected || length == 1);
        expected *= length;
    }
    return fills;
}

bool view_of_device_array(PyObject *object, ArrayView *view);
PyObject *set_device_layout(PyObject *module, PyObject *args);
PyObject *device_array(PyObject *module, PyObject *object);

#endif
