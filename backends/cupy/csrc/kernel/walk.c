/* How a map walks: what `walk_over` of backends/cupy/launching/launch.py says, in C. */
#include "kernel/walk.h"

/* A thread's next element, as far on as all blocks reach, has an index of 32 bits, too. */
enum { LARGEST_INDEX = 2147483647, MOST_NARROW = 1073741824 - 64 };

/* Find the shape that arrays are broadcast to. */
static bool
broadcast(const DeviceView *views, int count, Walk *walk)
{
    walk->ndim = 0;
    for (int i = 0; i < count; i++) {
        if (views[i].ndim > walk->ndim) {
            walk->ndim = views[i].ndim;
        }
    }
    if (walk->ndim > MOST_AXES) {
        return false;
    }
    for (int axis = 0; axis < walk->ndim; axis++) {
        walk->shape[axis] = 1;
    }
    for (int i = 0; i < count; i++) {
        Py_ssize_t *shape = walk->shape + (walk->ndim - views[i].ndim);
        for (int axis = 0; axis < views[i].ndim; axis++) {
            Py_ssize_t length = views[i].shape[axis];
            if (length != shape[axis] && shape[axis] != 1 && length != 1) {
                return false;
            }
            shape[axis] = shape[axis] == 1 ? length : shape[axis];
        }
    }
    return true;
}

/* How many bytes apart an array's elements are along an axis of the walk's shape. */
static Py_ssize_t
stride_along(const DeviceView *view, const Walk *walk, int axis)
{
    int own = axis - (walk->ndim - view->ndim);
    return own < 0 || view->shape[own] == 1 ? 0 : view->strides[own];
}

/* Whether all arrays step through the last axis of the walk and the next one as through one. */
static bool
joins(const Py_ssize_t *next, const Walk *walk, int count, Py_ssize_t length)
{
    for (int i = 0; i < count; i++) {
        Py_ssize_t step;
        if (__builtin_mul_overflow(next[i], length, &step) ||
            walk->steps[i * MOST_AXES + walk->axes - 1] != step) {
            return false;
        }
    }
    return true;
}

/* Lengths and steps, without axes of one element and with axes joined where they can be. */
static bool
collapse(const DeviceView *views, const Py_ssize_t *items, int count, Walk *walk)
{
    Py_ssize_t next[count + 1];
    walk->axes = 0;
    for (int axis = 0; axis < walk->ndim; axis++) {
        Py_ssize_t length = walk->shape[axis];
        if (length == 1) {
            continue;
        }
        for (int i = 0; i < count; i++) {
            Py_ssize_t stride = stride_along(&views[i], walk, axis);
            if (stride % items[i] != 0) {
                return false;
            }
            next[i] = stride / items[i];
        }
        if (walk->axes > 0 && joins(next, walk, count, length)) {
            walk->lengths[walk->axes - 1] *= length;
        }
        else {
            walk->lengths[walk->axes++] = length;
        }
        for (int i = 0; i < count; i++) {
            walk->steps[i * MOST_AXES + walk->axes - 1] = next[i];
        }
    }
    if (walk->axes == 0) {
        walk->lengths[0] = 1;
        walk->axes = 1;
        for (int i = 0; i < count; i++) {
            walk->steps[i * MOST_AXES] = 1;
        }
    }
    return true;
}

/* The largest distance in elements that an array's are apart; false where it is too large. */
static bool
farthest(const Walk *walk, int count, Py_ssize_t *reach)
{
    *reach = 0;
    for (int i = 0; i < count; i++) {
        Py_ssize_t own = 0;
        for (int axis = 0; axis < walk->axes; axis++) {
            Py_ssize_t step = walk->steps[i * MOST_AXES + axis], most;
            if (step == PY_SSIZE_T_MIN ||
                __builtin_mul_overflow(step < 0 ? -step : step, walk->lengths[axis] - 1, &most) ||
                __builtin_add_overflow(own, most, &own)) {
                return false;
            }
        }
        *reach = own > *reach ? own : *reach;
    }
    return true;
}

static bool
is_flat(const Walk *walk, int count)
{
    for (int i = 0; walk->axes == 1 && i < count; i++) {
        if (walk->steps[i * MOST_AXES] != 1) {
            return false;
        }
    }
    return walk->axes == 1;
}

/*
 * Fill a walk over arrays whose elements have `items` bytes; `walk->steps` has room for
 * `MOST_AXES` numbers for each. Returns -1, with the exception of a refusal, where no kernel can
 * do it: shapes do not fit, elements lie between elements, numbers are too large. Runs no Python
 * code.
 */
int
walk_over(const DeviceView *views, const Py_ssize_t *items, int count, Walk *walk)
{
    Py_ssize_t reach;
    if (!broadcast(views, count, walk)) {
        refuse("arrays are not broadcast to one shape");
        return -1;
    }
    walk->elements = 1;
    for (int axis = 0; axis < walk->ndim; axis++) {
        if (walk->shape[axis] == 0) {
            walk->elements = 0;
        }
    }
    walk->axes = 0;
    walk->wide = false;
    if (walk->elements == 0) {
        return 0;
    }
    for (int axis = 0; axis < walk->ndim; axis++) {
        if (__builtin_mul_overflow(walk->elements, walk->shape[axis], &walk->elements)) {
            refuse("too many elements");
            return -1;
        }
    }
    if (!collapse(views, items, count, walk) || !farthest(walk, count, &reach)) {
        refuse("elements lie where no kernel finds them");
        return -1;
    }
    walk->wide = walk->elements > MOST_NARROW || reach > LARGEST_INDEX;
    if (is_flat(walk, count)) {
        walk->axes = 0;
    }
    return 0;
}

/* Numbers as a tuple; NULL with an exception. */
PyObject *
numbers_as_tuple(const Py_ssize_t *numbers, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (number == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, number);
    }
    return tuple;
}

/* A walk for tests: (shape, elements, axes, wide, lengths, (steps, ...)). */
static PyObject *
shown(const Walk *walk, int count)
{
    PyObject *steps = PyTuple_New(count);
    for (int i = 0; steps != NULL && i < count; i++) {
        PyObject *own = numbers_as_tuple(walk->steps + i * MOST_AXES, walk->axes);
        if (own == NULL) {
            Py_CLEAR(steps);
            break;
        }
        PyTuple_SET_ITEM(steps, i, own);
    }
    PyObject *shape = steps == NULL ? NULL : numbers_as_tuple(walk->shape, walk->ndim);
    PyObject *lengths = shape == NULL ? NULL : numbers_as_tuple(walk->lengths, walk->axes);
    if (lengths == NULL) {
        Py_XDECREF(steps);
        Py_XDECREF(shape);
        return NULL;
    }
    return Py_BuildValue("NniONN", shape, walk->elements, walk->axes,
                         walk->wide ? Py_True : Py_False, lengths, steps);
}

/* Read ((shape, strides, itemsize), ...) into views whose numbers are in `numbers`. */
static int
read_views(PyObject *arrays, DeviceView *views, Py_ssize_t *items, Py_ssize_t *numbers)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
        PyObject *shape, *strides;
        if (!is_tuple(PyTuple_GET_ITEM(arrays, i)) ||
            !PyArg_ParseTuple(PyTuple_GET_ITEM(arrays, i), "O!O!n", &PyTuple_Type, &shape,
                              &PyTuple_Type, &strides, &items[i])) {
            return -1;
        }
        Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
        if (ndim > MOST_AXES || PyTuple_GET_SIZE(strides) != ndim || items[i] < 1) {
            PyErr_SetString(PyExc_ValueError, "no array");
            return -1;
        }
        views[i].ndim = (int)ndim;
        views[i].shape = numbers;
        views[i].strides = numbers + ndim;
        for (Py_ssize_t axis = 0; axis < ndim; axis++) {
            numbers[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            numbers[ndim + axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, axis));
        }
        numbers += 2 * ndim;
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/* walk(((shape, strides, itemsize), ...)) */
PyObject *
walk_as_tuple(PyObject *Py_UNUSED(module), PyObject *arrays)
{
    enum { MOST_ARRAYS = 16 };
    DeviceView views[MOST_ARRAYS];
    Py_ssize_t items[MOST_ARRAYS], steps[MOST_ARRAYS * MOST_AXES];
    Py_ssize_t numbers[MOST_ARRAYS * MOST_AXES * 2];
    if (!PyTuple_Check(arrays) || PyTuple_GET_SIZE(arrays) > MOST_ARRAYS) {
        PyErr_SetString(PyExc_ValueError, "a tuple of few arrays is expected");
        return NULL;
    }
    Walk walk = {.steps = steps};
    int count = (int)PyTuple_GET_SIZE(arrays);
    if (read_views(arrays, views, items, numbers) < 0 ||
        walk_over(views, items, count, &walk) < 0) {
        return NULL;
    }
    return shown(&walk, count);
}
