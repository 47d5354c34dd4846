/*
 * Places of the greatest and least elements of short rows (`argmax`, `argmin`): the first of
 * several equal ones. What holds NaN is NumPy's.
 */
#include "loops/extremes.h"
#include "loops/vectors.h"

/* No operation here raises a flag: there is no NaN. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif

enum { LANES = 16, LONGEST = 40 };

/* Of LANES rows side by side: the masks of comparisons choose places. */
#define DEFINE_PLACES(NAME, NUMBER, INDEX, BETTER)                                                 \
    QUICK_NARROW static void NAME##_lanes(const NUMBER *from, npy_intp columns, npy_intp *to)      \
    {                                                                                              \
        NUMBER best[LANES], some[LANES];                                                           \
        INDEX place[LANES] = {0};                                                                  \
        for (npy_intp k = 0; k < LANES; k++) {                                                     \
            best[k] = from[k * columns];                                                           \
        }                                                                                          \
        for (npy_intp i = 1; i < columns; i++) {                                                   \
            for (npy_intp k = 0; k < LANES; k++) {                                                 \
                some[k] = from[k * columns + i];                                                   \
            }                                                                                      \
            for (int k = 0; k < LANES; k++) {                                                      \
                INDEX is_better = some[k] BETTER best[k] ? -1 : 0;                                 \
                place[k] ^= (place[k] ^ (INDEX)i) & is_better;                                     \
            }                                                                                      \
            for (int k = 0; k < LANES; k++) {                                                      \
                best[k] = some[k] BETTER best[k] ? some[k] : best[k];                              \
            }                                                                                      \
        }                                                                                          \
        for (npy_intp k = 0; k < LANES; k++) {                                                     \
            to[k] = (npy_intp)place[k];                                                            \
        }                                                                                          \
    }                                                                                              \
    static void NAME(const void *data, npy_intp rows, npy_intp columns, npy_intp *to)              \
    {                                                                                              \
        for (npy_intp row = 0; row < rows; row += LANES) {                                         \
            npy_intp first = rows - row < LANES ? rows - LANES : row;                              \
            NAME##_lanes((const NUMBER *)data + first * columns, columns, to + first);             \
        }                                                                                          \
    }

DEFINE_PLACES(greatest_doubles, double, int64_t, >)
DEFINE_PLACES(greatest_floats, float, int32_t, >)
DEFINE_PLACES(greatest_int64s, int64_t, int64_t, >)
DEFINE_PLACES(greatest_int32s, int32_t, int32_t, >)
DEFINE_PLACES(least_doubles, double, int64_t, <)
DEFINE_PLACES(least_floats, float, int32_t, <)
DEFINE_PLACES(least_int64s, int64_t, int64_t, <)
DEFINE_PLACES(least_int32s, int32_t, int32_t, <)

typedef void Places(const void *data, npy_intp rows, npy_intp columns, npy_intp *to);

static Places *
places_of(int type, bool is_greatest)
{
    return type == NPY_DOUBLE  ? (is_greatest ? greatest_doubles : least_doubles)
           : type == NPY_FLOAT ? (is_greatest ? greatest_floats : least_floats)
           : type == NPY_INT64 ? (is_greatest ? greatest_int64s : least_int64s)
           : type == NPY_INT32 ? (is_greatest ? greatest_int32s : least_int32s)
                               : NULL;
}

/* The places along the last axis, or None. */
static PyObject *
quick_places(PyObject *object, long axis, bool is_greatest)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int last = PyArray_NDIM(array) - 1;
    Places *places = places_of(PyArray_TYPE(array), is_greatest);
    if (!QUICK_HAS_NARROW || places == NULL || last < 1 || (axis != -1 && axis != last) ||
        !is_read_in_order(object) || PyArray_SIZE(array) < 1) {
        Py_RETURN_NONE;
    }
    npy_intp columns = PyArray_DIM(array, last), rows = PyArray_SIZE(array) / columns;
    if (rows < LANES || columns > LONGEST) {
        Py_RETURN_NONE;
    }
    PyArrayObject *made =
        memory_new_array(PyArray_DescrFromType(NPY_INTP), last, PyArray_DIMS(array), NULL,
                         rows * (npy_intp)sizeof(npy_intp));
    if (made == NULL) {
        return NULL;
    }
    const void *data = PyArray_DATA(array);
    bool is_done;
    Py_BEGIN_ALLOW_THREADS
        is_done = !PyTypeNum_ISFLOAT(PyArray_TYPE(array)) ||
                  !any_is_nan(PyArray_TYPE(array), data, rows * columns);
        if (is_done) {
            places(data, rows, columns, PyArray_DATA(made));
        }
    Py_END_ALLOW_THREADS
    if (!is_done) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

/* `axis` may be given by name. */
static PyObject *
places_along(PyObject *const *arguments, Py_ssize_t count, PyObject *names, bool is_greatest)
{
    count += names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count != 2 || !PyArray_Check(arguments[0]) || !PyLong_Check(arguments[1])) {
        return PyErr_Format(PyExc_TypeError, "an array and an axis are to be given");
    }
    int overflows;
    long axis = PyLong_AsLongAndOverflow(arguments[1], &overflows);
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    if (overflows || axis < -PyArray_NDIM(array) || axis >= PyArray_NDIM(array)) {
        return PyObject_CallMethod(arguments[0], is_greatest ? "argmax" : "argmin", "O",
                                   arguments[1]);
    }
    PyObject *found = quick_places(arguments[0], axis, is_greatest);
    if (found != Py_None) {
        return found;
    }
    Py_DECREF(found);
    found = (is_greatest ? PyArray_ArgMax : PyArray_ArgMin)(array, (int)axis, NULL);
    return found == NULL ? NULL : PyArray_Return((PyArrayObject *)found);
}

static PyObject *
argmax(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return places_along(arguments, count, names, true);
}

static PyObject *
argmin(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return places_along(arguments, count, names, false);
}

PyMethodDef place_methods[] = {
    {"argmax", (PyCFunction)(void (*)(void))argmax, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("argmax(array, axis)\n--\n\nAs the array's own method.")},
    {"argmin", (PyCFunction)(void (*)(void))argmin, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("argmin(array, axis)\n--\n\nAs the array's own method.")},
    {NULL},
};
