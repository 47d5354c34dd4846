/*
 * Views that kernels alone read: an address, lengths and strides, without an array of CuPy's, which
 * would take longer than to launch a kernel. It is made where something else asks for it.
 */
#include "device/device.h"

/* What is made out of an array while its key is read. */
typedef struct {
    DeviceView of;
    int axis; /* of the array: the next */
    View *made;
} Indexing;

static bool
put_axis(View *made, Py_ssize_t length, Py_ssize_t stride)
{
    if (made->ndim == MOST_AXES_OF_VIEW) {
        return false;
    }
    made->shape[made->ndim] = length;
    made->strides[made->ndim++] = stride;
    return true;
}

/* Take an element of the next axis, or some. False, without an exception, where CuPy is to say why
 * not. */
static bool
index_axis(Indexing *indexing, PyObject *item)
{
    const DeviceView *of = &indexing->of;
    if (indexing->axis >= of->ndim) {
        return false;
    }
    Py_ssize_t length = of->shape[indexing->axis], stride = of->strides[indexing->axis];
    indexing->axis++;
    if (PySlice_Check(item)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
            PyErr_Clear();
            return false;
        }
        Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
        Py_ssize_t stepped;
        if (__builtin_mul_overflow(stride, step, &stepped)) {
            return false;
        }
        if (count > 0) {
            indexing->made->data += (uintptr_t)(start * stride);
        }
        return put_axis(indexing->made, count, stepped);
    }
    Py_ssize_t place = PyLong_AsSsize_t(item);
    if (place == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    place += place < 0 ? length : 0;
    if (place < 0 || place >= length) {
        return false;
    }
    indexing->made->data += (uintptr_t)(place * stride);
    return true;
}

/* Take as many axes whole as an ellipsis stands for. */
static bool
take_whole(Indexing *indexing, int axes)
{
    for (int i = 0; i < axes; i++, indexing->axis++) {
        if (indexing->axis >= indexing->of.ndim ||
            !put_axis(indexing->made, indexing->of.shape[indexing->axis],
                      indexing->of.strides[indexing->axis])) {
            return false;
        }
    }
    return true;
}

static bool
index_array(Indexing *indexing, PyObject *const *items, Py_ssize_t count)
{
    int taken = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        taken += items[i] != Py_None && items[i] != Py_Ellipsis;
        ellipses += items[i] == Py_Ellipsis;
    }
    int rest = indexing->of.ndim - taken;
    if (rest < 0 || ellipses > 1) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        bool fine = items[i] == Py_Ellipsis ? take_whole(indexing, rest)
                    : items[i] == Py_None   ? put_axis(indexing->made, 1, 0)
                                            : index_axis(indexing, items[i]);
        if (!fine) {
            return false;
        }
    }
    return ellipses == 1 || take_whole(indexing, rest);
}

/* Put axes in another order, said by their numbers. */
static bool
transpose_array(const DeviceView *of, PyObject *axes, View *made)
{
    unsigned seen = 0;
    if (!PyTuple_CheckExact(axes) || PyTuple_GET_SIZE(axes) != of->ndim ||
        of->ndim > MOST_AXES_OF_VIEW) {
        return false;
    }
    for (int i = 0; i < of->ndim; i++) {
        PyObject *item = PyTuple_GET_ITEM(axes, i);
        long axis = PyLong_CheckExact(item) ? PyLong_AsLong(item) : -1;
        if (axis < 0 || axis >= of->ndim || (seen >> axis & 1) != 0) {
            PyErr_Clear();
            return false;
        }
        seen |= 1u << axis;
        put_axis(made, of->shape[axis], of->strides[axis]);
    }
    return true;
}

/*
 * A view of an array, or of a view, for kernels: indexed with a basic key, or transposed. NULL,
 * without an exception, where CuPy's own call is to make it, or to say why not. NULL with an
 * exception where memory is short.
 */
PyObject *
new_view(PyObject *base, PyObject *key, bool transposed)
{
    DeviceView of;
    if (!view_of(base, &of)) {
        return NULL;
    }
    View *made = PyObject_New(View, view_type);
    if (made == NULL) {
        return NULL;
    }
    made->base = Py_NewRef(base);
    made->key = Py_NewRef(key);
    made->transposed = transposed;
    made->data = of.data;
    made->dtype = of.dtype;
    made->device = of.device;
    made->ndim = 0;
    Indexing indexing = {.of = of, .made = made};
    bool fine = transposed ? transpose_array(&of, key, made)
                : PyTuple_CheckExact(key)
                    ? index_array(&indexing, ((PyTupleObject *)key)->ob_item, PyTuple_GET_SIZE(key))
                    : index_array(&indexing, &key, 1);
    if (!fine) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* The array of CuPy's that an object is, or that a view stands for; a new reference. */
PyObject *
as_array(PyObject *object)
{
    if (!Py_IS_TYPE(object, view_type)) {
        return Py_NewRef(object);
    }
    const View *view = (const View *)object;
    PyObject *base = as_array(view->base);
    if (base == NULL) {
        return NULL;
    }
    PyObject *array = view->transposed ? PyObject_CallMethod(base, "transpose", "(O)", view->key)
                                       : PyObject_GetItem(base, view->key);
    Py_DECREF(base);
    return array;
}

static void
view_dealloc(View *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(self->base);
    Py_DECREF(self->key);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot view_slots[] = {
    {Py_tp_doc, "A view that kernels alone read."},
    {Py_tp_dealloc, view_dealloc},
    {0, NULL},
};

static PyType_Spec view_spec = {
    "ufuse.backends._launch.View",
    sizeof(View),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    view_slots,
};

int
views_begin(void)
{
    if (view_type == NULL) {
        view_type = (PyTypeObject *)PyType_FromSpec(&view_spec);
    }
    return view_type == NULL ? -1 : 0;
}
