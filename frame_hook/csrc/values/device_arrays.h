/* Arrays on a device, as guards read them. */
#ifndef UFUSE_DEVICE_ARRAYS_H
#define UFUSE_DEVICE_ARRAYS_H

#include "values/numpy_api.h"

#include "device_layout.h"
#include "values/array_view.h"

extern DeviceLayout device_layout;

/* Whether an object is exactly an array of the class that was learned. */
static inline bool
is_device_array(PyObject *object)
{
    return is_array_of_layout(&device_layout, object);
}

bool view_of_device_array(PyObject *object, ArrayView *view);
PyObject *set_device_layout(PyObject *module, PyObject *args);
PyObject *device_array(PyObject *module, PyObject *object);

#endif
