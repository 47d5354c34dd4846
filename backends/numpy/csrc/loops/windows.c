/*
 * What the windows of a vector come to, as NumPy has it of the matrix of all windows, row by row.
 * Several windows are done at once, each in NumPy's order: it adds up to 128 numbers in eight sums,
 * and more of them by halves.
 */
#include "runtime/tiles.h"

#include <fenv.h>
#include <math.h>

enum {
    LANES = 4,  /* windows at once, which begin one behind another */
    SUMS = 8,   /* of each */
    MOST = 128, /* numbers that NumPy adds in so many sums */
};

static inline double
squared(double number)
{
    return number * number;
}

/* `TERM` is what is added of a number and the mean of its window. */
#define DEFINE_SUMS(NAME, TERM)                                                                    \
    static inline void NAME##_few(const double *from, npy_intp count, const double *mean,          \
                                  double *sum)                                                     \
    {                                                                                              \
        npy_intp k = 0;                                                                            \
        double part[SUMS][LANES];                                                                  \
        if (count < SUMS) {                                                                        \
            for (int i = 0; i < LANES; i++) {                                                      \
                sum[i] = -0.0;                                                                     \
            }                                                                                      \
        }                                                                                          \
        else {                                                                                     \
            for (int j = 0; j < SUMS; j++) {                                                       \
                for (int i = 0; i < LANES; i++) {                                                  \
                    part[j][i] = TERM(from[j + i], mean[i]);                                       \
                }                                                                                  \
            }                                                                                      \
            for (k = SUMS; k < count - count % SUMS; k += SUMS) {                                  \
                for (int j = 0; j < SUMS; j++) {                                                   \
                    for (int i = 0; i < LANES; i++) {                                              \
                        part[j][i] += TERM(from[k + j + i], mean[i]);                              \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            for (int i = 0; i < LANES; i++) {                                                      \
                sum[i] = ((part[0][i] + part[1][i]) + (part[2][i] + part[3][i])) +                 \
                         ((part[4][i] + part[5][i]) + (part[6][i] + part[7][i]));                  \
            }                                                                                      \
        }                                                                                          \
        for (; k < count; k++) {                                                                   \
            for (int i = 0; i < LANES; i++) {                                                      \
                sum[i] += TERM(from[k + i], mean[i]);                                              \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void NAME(const double *from, npy_intp count, const double *mean, double *sum)          \
    {                                                                                              \
        if (count <= MOST) {                                                                       \
            NAME##_few(from, count, mean, sum);                                                    \
            return;                                                                                \
        }                                                                                          \
        double rest[LANES];                                                                        \
        npy_intp half = count / 2;                                                                 \
        half -= half % SUMS;                                                                       \
        NAME(from, half, mean, sum);                                                               \
        NAME(from + half, count - half, mean, rest);                                               \
        for (int i = 0; i < LANES; i++) {                                                          \
            sum[i] += rest[i];                                                                     \
        }                                                                                          \
    }
#define NUMBER(NUMBER, MEAN) (NUMBER)
#define SQUARE(NUMBER, MEAN) squared((NUMBER) - (MEAN))
DEFINE_SUMS(add_numbers, NUMBER)
DEFINE_SUMS(add_squares, SQUARE)
#undef DEFINE_SUMS

/* What the windows come to that begin at the first lanes. */
typedef void (*Fold)(const double *from, npy_intp count, npy_intp freedom, double *to);

static void
fold_sum(const double *from, npy_intp count, npy_intp freedom, double *to)
{
    static const double nothing[LANES];
    add_numbers(from, count, nothing, to);
    for (int i = 0; i < LANES; i++) {
        to[i] += 0.0; /* as NumPy begins with it */
    }
}

static void
fold_variance(const double *from, npy_intp count, npy_intp freedom, double *to)
{
    double mean[LANES];
    fold_sum(from, count, freedom, mean);
    for (int i = 0; i < LANES; i++) {
        mean[i] /= (double)count;
    }
    add_squares(from, count, mean, to);
    for (int i = 0; i < LANES; i++) {
        to[i] = (to[i] + 0.0) / (double)freedom;
    }
}

static void
fold_deviation(const double *from, npy_intp count, npy_intp freedom, double *to)
{
    fold_variance(from, count, freedom, to);
    for (int i = 0; i < LANES; i++) {
        to[i] = sqrt(to[i]);
    }
}

#define DEFINE_EXTREME(NAME, SIGN)                                                                 \
    static void NAME(const double *from, npy_intp count, npy_intp freedom, double *to)             \
    {                                                                                              \
        memcpy(to, from, LANES * sizeof *to);                                                      \
        for (npy_intp k = 1; k < count; k++) {                                                     \
            for (int i = 0; i < LANES; i++) {                                                      \
                to[i] = from[k + i] SIGN to[i] ? from[k + i] : to[i];                              \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_EXTREME(fold_largest, >)
DEFINE_EXTREME(fold_least, <)
#undef DEFINE_EXTREME

static const struct {
    const char *name;
    Fold fold;
    bool is_extreme;
} folds[] = {
    {"add", fold_sum, false},        {"var", fold_variance, false}, {"std", fold_deviation, false},
    {"maximum", fold_largest, true}, {"minimum", fold_least, true},
};

/* A vector of doubles side by side that has as many windows as there are lanes at least. */
static bool
has_windows(PyObject *object, npy_intp width)
{
    if (!PyArray_Check(object)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_NDIM(array) == 1 && PyArray_TYPE(array) == NPY_DOUBLE &&
           PyArray_ISBEHAVED_RO(array) && PyArray_IS_C_CONTIGUOUS(array) && width > 1 &&
           PyArray_DIM(array, 0) - width >= LANES - 1;
}

/* Whether none is NaN, or, where they may not, a zero, of which there are two. Raises no flag. */
static bool
are_numbers(const double *from, npy_intp count, bool may_be_zero)
{
    const uint64_t less = may_be_zero ? 0 : 1, infinity = (uint64_t)0x7ff << 53;
    int64_t others = 0;
    for (npy_intp i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        others |= (bits << 1) - less > infinity - less;
    }
    return others == 0;
}

/*
 * `window_fold(name, vector, width, less)`: a new vector; None where NumPy itself is to be asked,
 * as it might raise a flag, or give another NaN or zero. Variances are divided by `less` less than
 * the width.
 */
static PyObject *
window_fold(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *vector;
    Py_ssize_t width, less;
    if (!PyArg_ParseTuple(args, "sOnn:window_fold", &name, &vector, &width, &less)) {
        return NULL;
    }
    size_t place = 0;
    while (place < Py_ARRAY_LENGTH(folds) && strcmp(folds[place].name, name) != 0) {
        place++;
    }
    if (place == Py_ARRAY_LENGTH(folds)) {
        return PyErr_Format(PyExc_ValueError, "no fold: %s", name);
    }
    if (!has_windows(vector, width) || less >= width) {
        Py_RETURN_NONE;
    }
    const double *from = PyArray_DATA((PyArrayObject *)vector);
    npy_intp size = PyArray_DIM((PyArrayObject *)vector, 0), rows = size - width + 1;
    if (!are_numbers(from, size, true)) {
        Py_RETURN_NONE;
    }
    PyArrayObject *made = memory_new_array(PyArray_DescrFromType(NPY_DOUBLE), 1, &rows, NULL,
                                           rows * (npy_intp)sizeof(double));
    if (made == NULL) {
        return NULL;
    }
    npy_intp freedom = width - less;
    double *to = PyArray_DATA(made);
    Status before = status_keep();
    feclearexcept(FE_ALL_EXCEPT);
    for (npy_intp i = 0; i + LANES <= rows; i += LANES) {
        folds[place].fold(from + i, width, freedom, to + i);
    }
    folds[place].fold(from + rows - LANES, width, freedom, to + rows - LANES);
    bool is_plain = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID) == 0 &&
                    (!folds[place].is_extreme || are_numbers(to, rows, false));
    status_put_back(before);
    if (!is_plain) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

PyMethodDef window_methods[] = {
    {"window_fold", window_fold, METH_VARARGS,
     PyDoc_STR("window_fold(name, vector, width, less, /)\n--\n\nWhat each window of a vector "
               "comes to, as NumPy has it; None: NumPy is to be asked.")},
    {NULL},
};
