/*
 * Structs of arrays on a device (cupy.ndarray), read through the offsets that
 * graph/typing/device_layout.py learned. Both extensions that read them include this, behind
 * NumPy's header; each keeps a layout of its own.
 */
#ifndef UFUSE_DEVICE_LAYOUT_H
#define UFUSE_DEVICE_LAYOUT_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the struct of an array, and that of what points to its memory, has what. */
typedef struct {
    PyTypeObject *type; /* owned; NULL: nothing was learned, and there are no such arrays */
    Py_ssize_t shape;   /* of vectors */
    Py_ssize_t strides;
    Py_ssize_t dtype;
    Py_ssize_t memory;
    Py_ssize_t address; /* in the struct of what points to the memory */
    Py_ssize_t device;
    PyTypeObject *kinds_of_dtypes; /* the metaclass of NumPy's own, borrowed */
} DeviceLayout;

/* A std::vector<Py_ssize_t>, as libstdc++ and libc++ have it. */
typedef struct {
    const Py_ssize_t *begin, *end, *limit;
} Vector;

/* An array on a device. Shape and strides are the array's own: they are gone where it is. */
typedef struct {
    uintptr_t data;
    int ndim;
    const Py_ssize_t *shape, *strides; /* strides in bytes */
    PyObject *dtype;                   /* borrowed */
    int device;
} DeviceView;

/* Whether an object is exactly an array of the class that was learned. */
static inline bool
is_array_of_layout(const DeviceLayout *layout, PyObject *object)
{
    return Py_IS_TYPE(object, layout->type); /* of no object where nothing was learned */
}

/* Whether an object is a dtype: of the metaclass of NumPy's own, which takes no walk up its bases.
 */
static inline bool
is_dtype(const DeviceLayout *layout, PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    return Py_IS_TYPE(type, layout->kinds_of_dtypes) || PyArray_DescrCheck(object);
}

/*
 * Fill a view of an array on a device, without a look at what its dtype is. Returns false, without
 * an exception, where the object is none, or has no memory. Runs no Python code.
 */
static inline bool
members_by_layout(const DeviceLayout *layout, PyObject *object, DeviceView *view)
{
    if (!is_array_of_layout(layout, object)) {
        return false;
    }
    const char *array = (const char *)object;
    const Vector *shape = (const Vector *)(array + layout->shape);
    const Vector *strides = (const Vector *)(array + layout->strides);
    const char *memory = *(const char *const *)(array + layout->memory);
    view->dtype = *(PyObject *const *)(array + layout->dtype);
    view->ndim = (int)(shape->end - shape->begin);
    if (strides->end - strides->begin != view->ndim || memory == NULL ||
        memory == (const char *)Py_None || view->dtype == NULL) {
        return false;
    }
    view->shape = shape->begin;
    view->strides = strides->begin;
    view->data = *(const uintptr_t *)(memory + layout->address);
    view->device = *(const int *)(memory + layout->device);
    return true;
}

/* The same, of an array whose dtype is one. */
static inline bool
view_by_layout(const DeviceLayout *layout, PyObject *object, DeviceView *view)
{
    return members_by_layout(layout, object, view) && is_dtype(layout, view->dtype);
}

/*
 * Take a class of arrays and its offsets, a tuple: shape, strides, dtype, memory, address, device.
 * Returns 0, or -1 with an exception set; then the layout is what it was.
 */
static inline int
learn_layout(DeviceLayout *layout, PyObject *type, PyObject *offsets)
{
    DeviceLayout learned;
    if (!PyType_Check(type)) {
        PyErr_Format(PyExc_TypeError, "no class: %R", type);
        return -1;
    }
    if (!PyTuple_Check(offsets)) {
        PyErr_Format(PyExc_TypeError, "no tuple: %R", offsets);
        return -1;
    }
    if (!PyArg_ParseTuple(offsets, "nnnnnn;six offsets", &learned.shape, &learned.strides,
                          &learned.dtype, &learned.memory, &learned.address, &learned.device)) {
        return -1;
    }
    learned.kinds_of_dtypes = Py_TYPE((PyObject *)&PyArrayDescr_Type);
    learned.type = (PyTypeObject *)Py_NewRef(type);
    PyTypeObject *old = layout->type;
    *layout = learned;
    Py_XDECREF(old);
    return 0;
}

/* ((length, stride), ...), dtype, address and device of an array; None where it is no such array.
 */
static inline PyObject *
described_by_layout(const DeviceLayout *layout, PyObject *object)
{
    DeviceView view;
    if (!view_by_layout(layout, object, &view)) {
        Py_RETURN_NONE;
    }
    PyObject *axes = PyTuple_New(view.ndim);
    for (int i = 0; axes != NULL && i < view.ndim; i++) {
        PyObject *pair = Py_BuildValue("nn", view.shape[i], view.strides[i]);
        if (pair == NULL) {
            Py_CLEAR(axes);
            break;
        }
        PyTuple_SET_ITEM(axes, i, pair);
    }
    return axes == NULL ? NULL
                        : Py_BuildValue("NOKi", axes, view.dtype, (unsigned long long)view.data,
                                        view.device);
}

#endif
