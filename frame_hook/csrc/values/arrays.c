#define UFUSE_IMPORTS_NUMPY
#include "values/arrays.h"

#include "values/device_arrays.h"

/* Import NumPy's C interface. Returns 0, or -1 with ImportError set. */
int
import_numpy(void)
{
    import_array1(-1);
    return 0;
}

/* Whether an object is a dtype. */
bool
is_descr(PyObject *object)
{
    return PyArray_DescrCheck(object);
}

/* Whether a type is ndarray, dtype or generic. */
bool
is_numpy_base(PyTypeObject *type)
{
    return type == &PyArray_Type || type == &PyArrayDescr_Type || type == &PyGenericArrType_Type;
}

/* Whether a dtype is the object that NumPy itself has for its type number. */
static bool
is_singleton(PyArray_Descr *descr)
{
    if (descr->type_num < 0 || descr->type_num >= NPY_NTYPES_LEGACY) {
        return false;
    }
    PyArray_Descr *only = PyArray_DescrFromType(descr->type_num);
    if (only == NULL) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(only);
    return only == descr;
}

/*
 * Whether results do not depend on which of two dtype objects an array has. NumPy's own object is
 * like no other: `asarray` gives its argument for the same object, and a view for an equal one.
 */
bool
same_descr(PyArray_Descr *a, PyArray_Descr *b)
{
    if (a->type_num != b->type_num || is_singleton(a) || is_singleton(b)) {
        return false;
    }
    bool legacy = PyDataType_ISLEGACY(a) && PyDataType_ISLEGACY(b);
    if (legacy && PyDataType_METADATA(a) != PyDataType_METADATA(b)) {
        return false;
    }
    bool same = PyArray_EquivTypes(a, b);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return same;
}

/* Whether the array may be written to without a warning (NPY_ARRAY_WARN_ON_WRITE, bit 31). */
bool
array_writeable(PyObject *array)
{
    unsigned flags = (unsigned)PyArray_FLAGS((PyArrayObject *)array);
    return (flags & NPY_ARRAY_WRITEABLE) != 0 && (flags & 1u << 31) == 0;
}

/* Whether an object is exactly an array of NumPy's, or one on a device. */
bool
is_any_array(PyObject *object)
{
    return is_array(object) || is_device_array(object);
}

/* Whether an object is an array, or a tuple or list with one among its first four items. */
bool
brings_array(PyObject *object)
{
    enum { FIRST = 4 };
    if (is_any_array(object)) {
        return true;
    }
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object) && i < FIRST; i++) {
            PyObject *item = PySequence_Fast_GET_ITEM(object, i);
            if (item != NULL && is_any_array(item)) {
                return true;
            }
        }
    }
    return false;
}

/* Fill a view of an array of NumPy's or on a device. Returns false where the object is none. */
bool
view_of(PyObject *object, ArrayView *view)
{
    if (!is_array(object)) {
        return view_of_device_array(object, view);
    }
    PyArrayObject *array = (PyArrayObject *)object;
    view->shape = PyArray_DIMS(array);
    view->strides = PyArray_STRIDES(array);
    view->dtype = (PyObject *)PyArray_DESCR(array);
    view->data = (uintptr_t)PyArray_DATA(array);
    view->item = PyArray_ITEMSIZE(array);
    view->ndim = PyArray_NDIM(array);
    view->device = ON_HOST;
    return true;
}

/*
 * Whether `axes`, slowest first, are sorted by their strides whatever their sizes, those with the
 * same stride by their numbers: so NumPy sorts them where it copies what is not contiguous.
 */
static bool
strides_are_sorted(const ArrayView *a, const int32_t *axes, Py_ssize_t count)
{
    for (Py_ssize_t i = 1; i < count; i++) {
        Py_ssize_t before = Py_ABS(a->strides[axes[i - 1]]);
        Py_ssize_t stride = Py_ABS(a->strides[axes[i]]);
        if (before < stride || (before == stride && axes[i - 1] > axes[i])) {
            return false;
        }
    }
    return true;
}

/*
 * Whether strides fall along `axes`, slowest first, and all are positive; axes of size 1 count only
 * in an array that is not contiguous. False for another number of axes. An empty array is in C
 * order: its strides may be zero.
 */
bool
array_order_is(const ArrayView *a, const int32_t *axes, Py_ssize_t count)
{
    if (a->ndim != count) {
        return false;
    }
    Py_ssize_t previous = PY_SSIZE_T_MAX;
    bool in_c_order = true, empty = false, has_single = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        in_c_order = in_c_order && axes[i] == i;
        empty = empty || a->shape[i] == 0;
        has_single = has_single || a->shape[i] == 1;
    }
    if (empty) {
        return in_c_order;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (a->shape[axes[i]] == 1) {
            continue;
        }
        Py_ssize_t stride = a->strides[axes[i]];
        if (stride <= 0 || stride < a->item || stride >= previous) {
            return false;
        }
        previous = stride;
    }
    return !has_single || is_gapless(a->ndim, a->shape, a->strides, a->item, false) ||
           is_gapless(a->ndim, a->shape, a->strides, a->item, true) ||
           strides_are_sorted(a, axes, count);
}

/*
 * Whether the elements fill memory without gaps in this order of axes, slowest first; an empty
 * array's do.
 */
bool
array_contiguous(const ArrayView *a, const int32_t *axes, Py_ssize_t count)
{
    if (a->ndim != count) {
        return false;
    }
    Py_ssize_t expected = a->item;
    bool gapless = true;
    for (Py_ssize_t i = count; i-- > 0;) {
        Py_ssize_t size = a->shape[axes[i]];
        if (size == 0) {
            return true;
        }
        if (size != 1) {
            gapless = gapless && a->strides[axes[i]] == expected;
            expected *= size;
        }
    }
    return gapless;
}

/* Whether an array has no elements. */
static bool
is_empty(const ArrayView *a)
{
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Whether the stride of every axis exceeds the extent of all axes with shorter strides: then no two
 * elements share memory. Basic indexing of contiguous memory makes only such arrays. False for some
 * other arrays whose elements are apart, too.
 */
bool
array_elements_apart(const ArrayView *a)
{
    if (is_empty(a)) {
        return true;
    }
    for (int i = 0; i < a->ndim; i++) {
        Py_ssize_t step = Py_ABS(a->strides[i]), reach = a->item;
        for (int j = 0; j < a->ndim; j++) {
            Py_ssize_t other = Py_ABS(a->strides[j]);
            if (j != i && other <= step) {
                reach += (a->shape[j] - 1) * other;
            }
        }
        if (a->shape[i] > 1 && step < reach) {
            return false;
        }
    }
    return true;
}

/* The lowest address of an array's elements and the end of the highest. False: it has none. */
static bool
memory_bounds(PyObject *array, uintptr_t *low, uintptr_t *high)
{
    ArrayView a;
    if (!view_of(array, &a) || is_empty(&a)) {
        return false;
    }
    *low = a.data;
    *high = *low + (uintptr_t)a.item;
    for (int axis = 0; axis < a.ndim; axis++) {
        Py_ssize_t reach = (a.shape[axis] - 1) * a.strides[axis];
        *(reach < 0 ? low : high) += (uintptr_t)reach;
    }
    return *high > *low;
}

/* Whether the address ranges of two arrays do not overlap; those of interleaved arrays do. */
bool
arrays_disjoint(PyObject *a, PyObject *b)
{
    uintptr_t low_a, high_a, low_b, high_b;
    return !memory_bounds(a, &low_a, &high_a) || !memory_bounds(b, &low_b, &high_b) ||
           high_a <= low_b || high_b <= low_a;
}

/* The addresses of an array's elements. */
typedef struct {
    uintptr_t low;
    uintptr_t high;
    bool written;
} Bounds;

static int
compare_bounds(const void *a, const void *b)
{
    uintptr_t one = ((const Bounds *)a)->low, other = ((const Bounds *)b)->low;
    return (one > other) - (one < other);
}

/*
 * Fill `bounds` with those of the arrays in `n` registers, without those of no elements. Returns
 * how many there are, or -1 where a register has no array.
 */
static Py_ssize_t
fill_bounds(PyObject *const *registers, const int32_t *places, Py_ssize_t n, Py_ssize_t n_written,
            Bounds *bounds)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *array = registers[places[i]];
        if (array == NULL || !is_any_array(array)) {
            return -1;
        }
        Bounds *found = &bounds[count];
        found->written = i < n_written;
        count += memory_bounds(array, &found->low, &found->high);
    }
    return count;
}

/*
 * Whether, of the arrays in `n` registers, the address ranges of the first `n_written` overlap with
 * that of no other. Memory being short, the answer is no. The addresses are compared in their
 * order, with the ends of what came before.
 */
bool
arrays_all_disjoint(PyObject *const *registers, const int32_t *places, Py_ssize_t n,
                    Py_ssize_t n_written)
{
    Bounds few[64];
    Bounds *bounds = n <= 64 ? few : PyMem_Malloc((size_t)n * sizeof(Bounds));
    Py_ssize_t count = bounds == NULL ? -1 : fill_bounds(registers, places, n, n_written, bounds);
    bool disjoint = count >= 0;
    if (count > 1) {
        qsort(bounds, (size_t)count, sizeof(Bounds), compare_bounds);
    }
    uintptr_t end = 0, end_of_written = 0;
    for (Py_ssize_t i = 0; i < count && disjoint; i++) {
        disjoint = bounds[i].low >= (bounds[i].written ? end : end_of_written);
        end = Py_MAX(end, bounds[i].high);
        if (bounds[i].written) {
            end_of_written = Py_MAX(end_of_written, bounds[i].high);
        }
    }
    if (bounds != few) {
        PyMem_Free(bounds);
    }
    return disjoint;
}
