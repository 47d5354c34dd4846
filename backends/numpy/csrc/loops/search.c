/*
 * Where numbers belong among sorted ones, as `np.searchsorted` has it. NumPy's search branches at
 * each comparison, as no processor foresees; here the next half is chosen by arithmetic. What is
 * not sorted it searches in its own way.
 */
#include "runtime/tiles.h"

#include <math.h>

enum { PROBES = 64 };

/* A NaN belongs behind all numbers, and is less than none of them. */
#define DEFINE_SEARCH(NAME, NUMBER, IS_NAN, LESS, NOT_MORE)                                        \
    static bool NAME##_is_sorted(const NUMBER *sorted, npy_intp size)                              \
    {                                                                                              \
        bool is_sorted = !(IS_NAN(sorted[0]));                                                     \
        for (npy_intp i = 1; i < size; i++) {                                                      \
            is_sorted &= NOT_MORE(sorted[i - 1], sorted[i]);                                       \
        }                                                                                          \
        return is_sorted;                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void NAME##_by(                                   \
        const NUMBER *sorted, npy_intp size, const NUMBER *values, npy_intp count, npy_intp *to,   \
        bool is_right)                                                                             \
    {                                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            NUMBER one = values[i];                                                                \
            const NUMBER *first = sorted;                                                          \
            for (npy_intp left = size; left > 1;) {                                                \
                npy_intp half = left / 2;                                                          \
                NUMBER middle = first[half - 1];                                                   \
                npy_intp is_behind = is_right ? NOT_MORE(middle, one) : LESS(middle, one);         \
                first += half & -is_behind;                                                        \
                left -= half;                                                                      \
            }                                                                                      \
            npy_intp is_behind = is_right ? NOT_MORE(*first, one) : LESS(*first, one);             \
            to[i] = IS_NAN(one) ? size : (first - sorted) + is_behind;                             \
        }                                                                                          \
    }                                                                                              \
    static bool NAME(const void *sorted, npy_intp size, const void *values, npy_intp count,        \
                     npy_intp *to, bool is_right)                                                  \
    {                                                                                              \
        if (NAME##_seem_sorted(values, count) || !NAME##_is_sorted(sorted, size)) {                \
            return false;                                                                          \
        }                                                                                          \
        if (is_right) {                                                                            \
            NAME##_by(sorted, size, values, count, to, true);                                      \
        }                                                                                          \
        else {                                                                                     \
            NAME##_by(sorted, size, values, count, to, false);                                     \
        }                                                                                          \
        return true;                                                                               \
    }

/* Whether numbers seem to be in order: then NumPy, which begins at the last place, is as fast. */
#define DEFINE_SEEMS_SORTED(NAME, NUMBER, NOT_MORE)                                                \
    static bool NAME##_seem_sorted(const NUMBER *values, npy_intp count)                           \
    {                                                                                              \
        npy_intp step = count / PROBES > 1 ? count / PROBES : 1, rising = 0, seen = 0;             \
        for (npy_intp i = 1; i < count; i += step) {                                               \
            rising += NOT_MORE(values[i - 1], values[i]);                                          \
            seen++;                                                                                \
        }                                                                                          \
        return rising > seen - seen / 8;                                                           \
    }

#define NEVER(X) false
#define WHOLE_LESS(A, B) ((A) < (B))
#define WHOLE_NOT_MORE(A, B) ((A) <= (B))
DEFINE_SEEMS_SORTED(search_doubles, double, islessequal)
DEFINE_SEARCH(search_doubles, double, isnan, isless, islessequal)
DEFINE_SEEMS_SORTED(search_floats, float, islessequal)
DEFINE_SEARCH(search_floats, float, isnan, isless, islessequal)
DEFINE_SEEMS_SORTED(search_int64, int64_t, WHOLE_NOT_MORE)
DEFINE_SEARCH(search_int64, int64_t, NEVER, WHOLE_LESS, WHOLE_NOT_MORE)
DEFINE_SEEMS_SORTED(search_int32, int32_t, WHOLE_NOT_MORE)
DEFINE_SEARCH(search_int32, int32_t, NEVER, WHOLE_LESS, WHOLE_NOT_MORE)

typedef bool Search(const void *sorted, npy_intp size, const void *values, npy_intp count,
                    npy_intp *to, bool is_right);

static Search *
search_of(int type)
{
    return type == NPY_DOUBLE  ? search_doubles
           : type == NPY_FLOAT ? search_floats
           : type == NPY_INT64 ? search_int64
           : type == NPY_INT32 ? search_int32
                               : NULL;
}

/* searched(among, values, is_right): the places, or None. */
static PyObject *
searched(PyObject *module, PyObject *arguments)
{
    PyObject *sorted, *values;
    int is_right;
    if (!PyArg_ParseTuple(arguments, "OOp:searched", &sorted, &values, &is_right)) {
        return NULL;
    }
    if (!is_read_in_order(sorted) || !is_read_in_order(values)) {
        Py_RETURN_NONE;
    }
    PyArrayObject *among = (PyArrayObject *)sorted, *given = (PyArrayObject *)values;
    npy_intp size = PyArray_SIZE(among), count = PyArray_SIZE(given);
    Search *search = search_of(PyArray_TYPE(among));
    if (search == NULL || PyArray_TYPE(given) != PyArray_TYPE(among) || PyArray_NDIM(among) != 1 ||
        PyArray_NDIM(given) < 1 || size < 1 || size > count) {
        Py_RETURN_NONE; /* to see whether so many are sorted takes longer than to search */
    }
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INTP);
    PyArrayObject *made = memory_new_array(descr, PyArray_NDIM(given), PyArray_DIMS(given), NULL,
                                           count * (npy_intp)sizeof(npy_intp));
    if (made == NULL) {
        return NULL;
    }
    bool is_done;
    Py_BEGIN_ALLOW_THREADS
        is_done = search(PyArray_DATA(among), size, PyArray_DATA(given), count, PyArray_DATA(made),
                         is_right);
    Py_END_ALLOW_THREADS
    if (!is_done) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

/* ---- interpolation ---- */

/* Points whose places rise, as `np.interp` has them. */
typedef struct {
    const double *x, *y;
    double *slope; /* to the next point; behind the last it is zero */
    npy_intp count;
} Points;

/* What is interpolated at `x`, which lies between a point and the next, where it may be NaN. */
static double
between(const Points *points, npy_intp left, double x)
{
    double slope = points->slope[left];
    double y = slope * (x - points->x[left]) + points->y[left];
    if (isnan(y)) { /* in the other direction */
        y = slope * (x - points->x[left + 1]) + points->y[left + 1];
        if (isnan(y) && points->y[left] == points->y[left + 1]) {
            y = points->y[left];
        }
    }
    return y;
}

static void
interpolate(const Points *points, const double *values, npy_intp count, double *to)
{
    enum { SOME = 256 };
    npy_intp places[SOME];
    double first = points->y[0], last = points->y[points->count - 1];
    double least = points->x[0], greatest = points->x[points->count - 1];
    for (npy_intp begin = 0; begin < count; begin += SOME) {
        npy_intp some = count - begin < SOME ? count - begin : SOME;
        search_doubles_by(points->x, points->count, values + begin, some, places, true);
        for (npy_intp i = 0; i < some; i++) {
            double x = values[begin + i];
            npy_intp left = places[i] > 0 ? places[i] - 1 : 0;
            double y = points->slope[left] * (x - points->x[left]) + points->y[left];
            y = x == points->x[left] ? points->y[left] : y;
            y = isless(x, least) ? first : isgreater(x, greatest) ? last : y;
            if (isnan(y)) {
                bool is_between =
                    isgreater(x, least) && isless(x, greatest) && x != points->x[left];
                y = isnan(x) ? x : is_between ? between(points, left, x) : y;
            }
            to[begin + i] = y;
        }
    }
}

/* interpolated(values, x, y), or None. */
static PyObject *
interpolated(PyObject *module, PyObject *arguments)
{
    PyObject *object[3];
    if (!PyArg_ParseTuple(arguments, "OOO:interpolated", &object[0], &object[1], &object[2])) {
        return NULL;
    }
    PyArrayObject *array[3];
    for (int k = 0; k < 3; k++) {
        array[k] = (PyArrayObject *)object[k];
        if (!is_read_in_order(object[k]) || PyArray_TYPE(array[k]) != NPY_DOUBLE ||
            PyArray_NDIM(array[k]) < 1 || (k > 0 && PyArray_NDIM(array[k]) != 1)) {
            Py_RETURN_NONE;
        }
    }
    npy_intp count = PyArray_SIZE(array[0]), size = PyArray_SIZE(array[1]);
    const double *values = PyArray_DATA(array[0]);
    Points points = {.x = PyArray_DATA(array[1]), .y = PyArray_DATA(array[2]), .count = size};
    if (size < 2 || size > count || PyArray_SIZE(array[2]) != size ||
        search_doubles_seem_sorted(values, count)) {
        Py_RETURN_NONE;
    }
    PyArrayObject *made =
        memory_new_array(PyArray_DescrFromType(NPY_DOUBLE), PyArray_NDIM(array[0]),
                         PyArray_DIMS(array[0]), NULL, count * (npy_intp)sizeof(double));
    if (made == NULL) {
        return NULL;
    }
    Status before = status_keep();
    bool is_done;
    Py_BEGIN_ALLOW_THREADS
        points.slope = calloc((size_t)size, sizeof *points.slope);
        is_done = points.slope != NULL && search_doubles_is_sorted(points.x, size);
        if (is_done) {
            for (npy_intp i = 0; i < size - 1; i++) {
                points.slope[i] = (points.y[i + 1] - points.y[i]) / (points.x[i + 1] - points.x[i]);
            }
            interpolate(&points, values, count, PyArray_DATA(made));
        }
        free(points.slope);
    Py_END_ALLOW_THREADS
    status_put_back(before);
    if (!is_done) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

PyMethodDef search_methods[] = {
    {"searched", searched, METH_VARARGS,
     PyDoc_STR("searched(among, values, is_right, /)\n--\n\nWhere values belong among sorted "
               "numbers, as `np.searchsorted` has it; None: NumPy is to be asked.")},
    {"interpolated", interpolated, METH_VARARGS,
     PyDoc_STR("interpolated(values, x, y, /)\n--\n\nAs `np.interp` has it; None: NumPy is to be "
               "asked.")},
    {NULL},
};
