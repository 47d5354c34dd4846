/*
 * Views and results that kernels alone read: an address, lengths and strides, without an array of
 * CuPy's, which would take about as long as to launch a kernel. It is made where something else
 * asks for it.
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

/* The lengths that a tuple has; how many, or -1, without an exception, where they are others. */
int
read_shape(PyObject *shape, Py_ssize_t *lengths)
{
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > MOST_AXES_OF_VIEW) {
        return -1;
    }
    int ndim = (int)PyTuple_GET_SIZE(shape);
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *length = PyTuple_GET_ITEM(shape, axis);
        lengths[axis] = PyLong_CheckExact(length) ? PyLong_AsSsize_t(length) : -1;
        if (lengths[axis] < 0) {
            PyErr_Clear();
            return -1;
        }
    }
    return ndim;
}

static Py_ssize_t
item_size(const DeviceView *view)
{
    return (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)view->dtype);
}

/* How many elements there are, where they lie side by side in C order; else 0. */
static Py_ssize_t
elements_in_order(const DeviceView *of)
{
    Py_ssize_t elements = 1;
    for (int axis = of->ndim; axis-- > 0;) {
        if (of->strides[axis] != elements * item_size(of)) {
            return 0;
        }
        elements *= of->shape[axis];
    }
    return elements;
}

/* Whether the elements of an array, or of a view, lie so: given other axes they stay where they
 * are. */
bool
lies_in_order(PyObject *object)
{
    DeviceView of;
    return view_of(object, &of) && elements_in_order(&of) > 0;
}

/* Give elements that lie so other axes. */
static bool
reshape_array(const DeviceView *of, PyObject *shape, View *made)
{
    Py_ssize_t elements = elements_in_order(of), item = item_size(of);
    made->ndim = read_shape(shape, made->shape);
    Py_ssize_t step = 1;
    for (int axis = made->ndim; axis-- > 0;) {
        made->strides[axis] = step * item;
        if (made->shape[axis] == 0 || __builtin_mul_overflow(step, made->shape[axis], &step)) {
            return false;
        }
    }
    return made->ndim >= 0 && elements > 0 && step == elements;
}

static bool
index_by_key(const DeviceView *of, PyObject *key, View *made)
{
    Indexing indexing = {.of = *of, .made = made};
    return PyTuple_CheckExact(key)
               ? index_array(&indexing, ((PyTupleObject *)key)->ob_item, PyTuple_GET_SIZE(key))
               : index_array(&indexing, &key, 1);
}

/*
 * A view of an array, or of a view, for kernels: indexed, transposed or reshaped. NULL,
 * without an exception, where CuPy's own call is to make it, or to say why not. NULL with an
 * exception where memory is short.
 */
PyObject *
new_view(PyObject *base, PyObject *key, ViewKind kind)
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
    made->kind = kind;
    made->data = of.data;
    made->dtype = of.dtype;
    made->device = of.device;
    made->ndim = 0;
    bool fine = kind == VIEW_TRANSPOSED ? transpose_array(&of, key, made)
                : kind == VIEW_RESHAPED ? reshape_array(&of, key, made)
                                        : index_by_key(&of, key, made);
    if (!fine) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* Strides in C order; how many bytes, or -1 where there is none or they are too many. */
static Py_ssize_t
put_c_order(View *made, const Py_ssize_t *shape, int ndim)
{
    Py_ssize_t bytes = (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)made->dtype);
    made->ndim = ndim;
    for (int axis = ndim; axis-- > 0;) {
        made->shape[axis] = shape[axis];
        made->strides[axis] = bytes;
        if (__builtin_mul_overflow(bytes, shape[axis], &bytes)) {
            return -1;
        }
    }
    return bytes > 0 ? bytes : -1;
}

/*
 * A new array in C order; where only kernels read it no more than its memory, spare one or new one.
 * `*data` is set to its address. May run Python code, as `new_array`.
 */
PyObject *
new_result(bool for_kernels, int ndim, const Py_ssize_t *shape, PyObject *dtype, int device,
           Spare *spare, uintptr_t *data)
{
    if (!for_kernels || ndim > MOST_AXES_OF_VIEW) {
        return new_array(ndim, shape, dtype, data);
    }
    View made = {.kind = VIEW_OF_MEMORY, .dtype = dtype, .device = device};
    Py_ssize_t bytes = put_c_order(&made, shape, ndim);
    if (bytes < 0) { /* CuPy says what becomes of it */
        return new_array(ndim, shape, dtype, data);
    }
    PyObject *memory = spare_take(spare, bytes, data);
    if (memory == NULL) {
        memory = new_memory(bytes, data);
    }
    View *view = memory == NULL ? NULL : PyObject_New(View, view_type);
    if (view == NULL) {
        Py_XDECREF(memory);
        return NULL;
    }
    view->base = memory;
    view->key = Py_NewRef(dtype);
    view->kind = made.kind;
    view->data = *data;
    view->dtype = dtype;
    view->device = device;
    view->ndim = ndim;
    memcpy(view->shape, made.shape, sizeof(made.shape));
    memcpy(view->strides, made.strides, sizeof(made.strides));
    return (PyObject *)view;
}

/*
 * Drop a view, a reference that is taken, whose memory nobody else has, and keep that; false where
 * it is another object, or there is no room.
 */
bool
spare_view(Spare *spare, PyObject *object)
{
    if (!Py_IS_TYPE(object, view_type) || Py_REFCNT(object) > 1) {
        return false;
    }
    const View *view = (const View *)object;
    if (view->kind != VIEW_OF_MEMORY || Py_REFCNT(view->base) > 1) {
        return false;
    }
    Py_ssize_t size = view->ndim > 0 ? view->shape[0] * view->strides[0]
                                     : (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)view->dtype);
    if (!spare_put(spare, view->base, size, view->data)) {
        return false;
    }
    Py_INCREF(view->base); /* the view's own reference goes with it */
    Py_DECREF(object);
    return true;
}

/* An array over memory: `type(shape, dtype, memory)`. */
static PyObject *
array_over(const View *view)
{
    PyObject *shape = PyTuple_New(view->ndim);
    for (int axis = 0; shape != NULL && axis < view->ndim; axis++) {
        PyObject *length = PyLong_FromSsize_t(view->shape[axis]);
        if (length == NULL) {
            Py_CLEAR(shape);
            break;
        }
        PyTuple_SET_ITEM(shape, axis, length);
    }
    PyObject *array = shape == NULL ? NULL
                                    : PyObject_CallFunctionObjArgs(layout_type(), shape,
                                                                   view->dtype, view->base, NULL);
    Py_XDECREF(shape);
    return array;
}

/* The array of CuPy's that an object is, or that a view stands for; a new reference. */
PyObject *
as_array(PyObject *object)
{
    if (!Py_IS_TYPE(object, view_type)) {
        return Py_NewRef(object);
    }
    const View *view = (const View *)object;
    if (view->kind == VIEW_OF_MEMORY) {
        return array_over(view);
    }
    PyObject *base = as_array(view->base);
    if (base == NULL) {
        return NULL;
    }
    PyObject *array =
        view->kind == VIEW_INDEXED
            ? PyObject_GetItem(base, view->key)
            : PyObject_CallMethod(base, view->kind == VIEW_RESHAPED ? "reshape" : "transpose",
                                  "(O)", view->key);
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
    {Py_tp_doc, "A view, or a result, that kernels alone read."},
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
