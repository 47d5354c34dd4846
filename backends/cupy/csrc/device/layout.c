/* Structs of CuPy's arrays, read through offsets that graph/typing/device_layout.py has learned. */
#include "device/device.h"

typedef struct {
    PyTypeObject *type; /* owned; NULL: nothing was learned */
    Py_ssize_t shape;   /* of vectors */
    Py_ssize_t strides;
    Py_ssize_t dtype;
    Py_ssize_t memory;
    Py_ssize_t address; /* in the struct of what points to the memory */
    Py_ssize_t device;
} Layout;

static Layout layout;

/* Whether an object is exactly an array of the class that was learned. */
bool
is_device_array(PyObject *object)
{
    return layout.type != NULL && Py_IS_TYPE(object, layout.type);
}

/* The class of arrays, borrowed. */
PyObject *
layout_type(void)
{
    return (PyObject *)layout.type;
}

/* The address in what CuPy's allocator gives, of the type that arrays have. */
uintptr_t
address_in_memory(PyObject *memory)
{
    return *(const uintptr_t *)((const char *)memory + layout.address);
}

/* Whether an object is a dtype: of the metaclass of NumPy's own, which takes no walk up its bases.
 */
static bool
is_dtype(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    return Py_IS_TYPE(type, Py_TYPE((PyObject *)&PyArrayDescr_Type)) || PyArray_DescrCheck(object);
}

/*
 * Fill a view of an array on a device. Returns false, without an exception, where the object is
 * none. Runs no Python code.
 */
bool
view_of(PyObject *object, View *view)
{
    if (!is_device_array(object)) {
        return false;
    }
    const char *array = (const char *)object;
    const Vector *shape = (const Vector *)(array + layout.shape);
    const Vector *strides = (const Vector *)(array + layout.strides);
    const char *memory = *(const char *const *)(array + layout.memory);
    view->dtype = *(PyObject *const *)(array + layout.dtype);
    view->ndim = (int)(shape->end - shape->begin);
    if (strides->end - strides->begin != view->ndim || memory == NULL ||
        memory == (const char *)Py_None || view->dtype == NULL || !is_dtype(view->dtype)) {
        return false;
    }
    view->shape = shape->begin;
    view->strides = strides->begin;
    view->data = *(const uintptr_t *)(memory + layout.address);
    view->device = *(const int *)(memory + layout.device);
    return true;
}

/* Take the class of arrays and its offsets: shape, strides, dtype, memory, address, device. */
int
layout_use(PyObject *type, PyObject *offsets)
{
    Layout new;
    if (!PyType_Check(type)) {
        PyErr_Format(PyExc_TypeError, "no class: %R", type);
        return -1;
    }
    if (!PyArg_ParseTuple(offsets, "nnnnnn;six offsets", &new.shape, &new.strides, &new.dtype,
                          &new.memory, &new.address, &new.device)) {
        return -1;
    }
    new.type = (PyTypeObject *)Py_NewRef(type);
    PyTypeObject *old = layout.type;
    layout = new;
    Py_XDECREF(old);
    return 0;
}

/* view(object): ((length, stride), ...), dtype, address, device; None where it is no such array. */
PyObject *
layout_view(PyObject *Py_UNUSED(module), PyObject *object)
{
    View view;
    if (!view_of(object, &view)) {
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
