#include "python/device_arrays.h"

#include "python/arrays.h"

/* Where the struct of an array, and of what points to its memory, has what; see `device_array`. */
typedef struct {
    PyTypeObject *type; /* owned; NULL: there are no such arrays */
    Py_ssize_t shape;   /* of vectors: their first two words are the begin and the end */
    Py_ssize_t strides;
    Py_ssize_t dtype;
    Py_ssize_t memory;
    Py_ssize_t address; /* in the struct of what points to the memory */
    Py_ssize_t device;
} DeviceLayout;

static DeviceLayout layout;

/* Whether an object is exactly an array of the class that was learned. */
bool
is_device_array(PyObject *object)
{
    return layout.type != NULL && Py_IS_TYPE(object, layout.type);
}

/* The numbers of a vector in a struct; `*count` is set to how many there are. */
static const Py_ssize_t *
vector_at(const char *object, Py_ssize_t offset, int *count)
{
    const Py_ssize_t *const *ends = (const Py_ssize_t *const *)(object + offset);
    *count = (int)(ends[1] - ends[0]);
    return ends[0];
}

/* Whether elements lie in memory without gaps, the last axis being the fastest, or the first. */
static bool
is_gapless(const ArrayView *view, bool first_is_fastest)
{
    Py_ssize_t expected = view->item;
    bool gapless = true;
    for (int i = 0; i < view->ndim; i++) {
        int axis = first_is_fastest ? i : view->ndim - 1 - i;
        if (view->shape[axis] == 0) {
            return true;
        }
        if (view->shape[axis] != 1) {
            gapless = gapless && view->strides[axis] == expected;
            expected *= view->shape[axis];
        }
    }
    return gapless;
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
view_of_device_array(PyObject *object, ArrayView *view)
{
    if (!is_device_array(object)) {
        return false;
    }
    const char *array = (const char *)object;
    const char *memory = *(const char *const *)(array + layout.memory);
    int axes;
    view->shape = vector_at(array, layout.shape, &view->ndim);
    view->strides = vector_at(array, layout.strides, &axes);
    view->dtype = *(PyObject *const *)(array + layout.dtype);
    if (axes != view->ndim || memory == NULL || view->dtype == NULL || !is_dtype(view->dtype)) {
        return false;
    }
    view->data = *(const uintptr_t *)(memory + layout.address);
    view->device = *(const int *)(memory + layout.device);
    view->item = PyDataType_ELSIZE((PyArray_Descr *)view->dtype);
    view->c_contiguous = is_gapless(view, false);
    view->f_contiguous = view->ndim < 2 ? view->c_contiguous : is_gapless(view, true);
    return true;
}

/* set_device_layout(type, shape, strides, dtype, memory, address, device) */
PyObject *
set_device_layout(PyObject *Py_UNUSED(module), PyObject *args)
{
    DeviceLayout new;
    if (!PyArg_ParseTuple(args, "O!nnnnnn:set_device_layout", &PyType_Type, &new.type, &new.shape,
                          &new.strides, &new.dtype, &new.memory, &new.address, &new.device)) {
        return NULL;
    }
    PyTypeObject *old = layout.type;
    Py_INCREF(new.type);
    layout = new;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* device_array(object) */
PyObject *
device_array(PyObject *Py_UNUSED(module), PyObject *object)
{
    ArrayView view;
    if (!view_of_device_array(object, &view)) {
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
