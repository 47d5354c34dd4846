/*
 * Running sums and products along the rows of a matrix. Each waits for the one before it, so
 * several rows are gone through side by side. What raises a flag, and NaN, is NumPy's own.
 */
#include "runtime/tiles.h"

enum { SIDE_BY_SIDE = 8 };

/* False: a row ends in NaN. */
#define DEFINE_RUNNING(NAME, NUMBER, OPERATOR)                                                     \
    static inline __attribute__((always_inline)) bool NAME##_some(                                 \
        const NUMBER *from, npy_intp rows, npy_intp columns, NUMBER *to)                           \
    {                                                                                              \
        NUMBER so_far[SIDE_BY_SIDE];                                                               \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            to[row * columns] = so_far[row] = from[row * columns];                                 \
        }                                                                                          \
        for (npy_intp i = 1; i < columns; i++) {                                                   \
            for (npy_intp row = 0; row < rows; row++) {                                            \
                so_far[row] = so_far[row] OPERATOR from[row * columns + i];                        \
                to[row * columns + i] = so_far[row];                                               \
            }                                                                                      \
        }                                                                                          \
        bool are_numbers = true;                                                                   \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            are_numbers &= so_far[row] == so_far[row];                                             \
        }                                                                                          \
        return are_numbers;                                                                        \
    }                                                                                              \
    static bool NAME(const void *data, npy_intp rows, npy_intp columns, void *results)             \
    {                                                                                              \
        const NUMBER *from = data;                                                                 \
        NUMBER *to = results;                                                                      \
        bool are_numbers = true;                                                                   \
        npy_intp row = 0;                                                                          \
        for (; row + SIDE_BY_SIDE <= rows && are_numbers; row += SIDE_BY_SIDE) {                   \
            are_numbers =                                                                          \
                NAME##_some(from + row * columns, SIDE_BY_SIDE, columns, to + row * columns);      \
        }                                                                                          \
        if (row < rows && are_numbers) {                                                           \
            are_numbers =                                                                          \
                NAME##_some(from + row * columns, rows - row, columns, to + row * columns);        \
        }                                                                                          \
        return are_numbers;                                                                        \
    }

DEFINE_RUNNING(sums_of_doubles, double, +)
DEFINE_RUNNING(sums_of_floats, float, +)
DEFINE_RUNNING(products_of_doubles, double, *)
DEFINE_RUNNING(products_of_floats, float, *)

/* running(array, is_product): along the last axis, or None. */
static PyObject *
running(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    int is_product;
    if (!PyArg_ParseTuple(arguments, "Op:running", &object, &is_product)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    if (!is_read_in_order(object) || PyArray_NDIM(array) < 2 || PyArray_SIZE(array) < 1 ||
        (PyArray_TYPE(array) != NPY_DOUBLE && PyArray_TYPE(array) != NPY_FLOAT)) {
        Py_RETURN_NONE;
    }
    bool is_double = PyArray_TYPE(array) == NPY_DOUBLE;
    npy_intp columns = PyArray_DIM(array, PyArray_NDIM(array) - 1);
    npy_intp rows = PyArray_SIZE(array) / columns;
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyArrayObject *made = memory_new_array(descr, PyArray_NDIM(array), PyArray_DIMS(array), NULL,
                                           PyArray_NBYTES(array));
    if (made == NULL) {
        return NULL;
    }
    const void *from = PyArray_DATA(array);
    void *to = PyArray_DATA(made);
    Status before = status_keep();
    bool is_right;
    Py_BEGIN_ALLOW_THREADS
        status_clear();
        is_right = is_product  ? (is_double ? products_of_doubles : products_of_floats)(from, rows,
                                                                                        columns, to)
                   : is_double ? sums_of_doubles(from, rows, columns, to)
                               : sums_of_floats(from, rows, columns, to);
        is_right = is_right && status_raw() == 0;
    Py_END_ALLOW_THREADS
    status_put_back(before);
    if (!is_right) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

PyMethodDef running_methods[] = {
    {"running", running, METH_VARARGS,
     PyDoc_STR("running(array, is_product, /)\n--\n\nSums or products of the rows of an array of "
               "floats up to each element; None: NumPy is to be asked.")},
    {NULL},
};
