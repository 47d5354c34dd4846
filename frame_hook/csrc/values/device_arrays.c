#include "values/device_arrays.h"

DeviceLayout device_layout;

/*
 * Fill a view of an array on a device. Returns false, without an exception, where the object is
 * none. Runs no Python code.
 */
bool
view_of_device_array(PyObject *object, ArrayView *view)
{
    DeviceView found;
    if (!view_by_layout(&device_layout, object, &found)) {
        return false;
    }
    view->shape = found.shape;
    view->strides = found.strides;
    view->dtype = found.dtype;
    view->data = found.data;
    view->item = PyDataType_ELSIZE((PyArray_Descr *)found.dtype);
    view->ndim = found.ndim;
    view->device = found.device;
    return true;
}

/* set_device_layout(type, shape, strides, dtype, memory, address, device) */
PyObject *
set_device_layout(PyObject *Py_UNUSED(module), PyObject *args)
{
    if (PyTuple_GET_SIZE(args) == 0) {
        PyErr_SetString(PyExc_TypeError, "no class of arrays");
        return NULL;
    }
    PyObject *offsets = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
    int status =
        offsets == NULL ? -1 : learn_layout(&device_layout, PyTuple_GET_ITEM(args, 0), offsets);
    Py_XDECREF(offsets);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

/* device_array(object) */
PyObject *
device_array(PyObject *Py_UNUSED(module), PyObject *object)
{
    return described_by_layout(&device_layout, object);
}
