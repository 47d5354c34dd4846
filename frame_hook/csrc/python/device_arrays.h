/* Arrays on a device: cupy.ndarray, read by what graph/typing/device_layout.py has learned. */
#ifndef UFUSE_DEVICE_ARRAYS_H
#define UFUSE_DEVICE_ARRAYS_H

#include "python/array_view.h"

bool is_device_array(PyObject *object);
bool view_of_device_array(PyObject *object, ArrayView *view);
PyObject *set_device_layout(PyObject *module, PyObject *args);
PyObject *device_array(PyObject *module, PyObject *object);

#endif
