/*
 * How many numbers of an array lie in each of some bins of equal width, as NumPy's Python code
 * finds them: by a product, and then by the edges on both sides.
 */
#include "loops/loop.h"

#include <math.h>

enum { LANES = 4, MOST_BINS = 1 << 12 }; /* counts apart: the same bin often comes twice in a row */

/* False: a place is none of the bins'. The place that a product gives is the right one or beside
 * it, whatever it is rounded to. */
static bool
count(const double *from, npy_intp size, const double *edges, npy_intp bins, int64_t *counts)
{
    const double first = edges[0], last = edges[bins], scale = (double)bins / (last - first);
    bool is_right = true;
    for (npy_intp i = 0; i < size; i++) {
        double one = from[i];
        if (!(isgreaterequal(one, first) && islessequal(one, last))) {
            continue;
        }
        npy_intp place = (npy_intp)((one - first) * scale);
        place = place < bins ? place : bins - 1;
        if (place < 0) {
            is_right = false;
            continue;
        }
        npy_intp is_before = one < edges[place], is_behind = one >= edges[place + 1];
        place += (is_behind & (place < bins - 1)) - is_before;
        counts[(i % LANES) * bins + place]++;
    }
    return is_right;
}

static const double *
doubles_of(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return is_read_in_order(object) && PyArray_TYPE(array) == NPY_DOUBLE ? PyArray_DATA(array)
                                                                         : NULL;
}

/* count_in_bins(values, edges): int64 counts, or None. */
static PyObject *
count_in_bins(PyObject *module, PyObject *arguments)
{
    PyObject *values, *edges;
    if (!PyArg_ParseTuple(arguments, "OO:count_in_bins", &values, &edges)) {
        return NULL;
    }
    const double *from = doubles_of(values), *limits = doubles_of(edges);
    npy_intp bins = limits == NULL ? 0 : PyArray_SIZE((PyArrayObject *)edges) - 1;
    if (from == NULL || bins < 1 || bins > MOST_BINS || !isfinite(limits[bins] - limits[0]) ||
        limits[bins] <= limits[0]) {
        Py_RETURN_NONE;
    }
    npy_intp size = PyArray_SIZE((PyArrayObject *)values);
    PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(1, &bins, NPY_INTP);
    int64_t *counts = PyMem_Calloc((size_t)(LANES * bins), sizeof *counts);
    if (made == NULL || counts == NULL) {
        PyMem_Free(counts);
        Py_XDECREF(made);
        return made == NULL ? NULL : PyErr_NoMemory();
    }
    Status before = status_keep();
    bool is_right;
    Py_BEGIN_ALLOW_THREADS
        is_right = count(from, size, limits, bins, counts);
    Py_END_ALLOW_THREADS
    status_put_back(before);
    int64_t *to = PyArray_DATA(made);
    for (npy_intp bin = 0; bin < bins; bin++) {
        to[bin] = 0;
        for (int lane = 0; lane < LANES; lane++) {
            to[bin] += counts[lane * bins + bin];
        }
    }
    PyMem_Free(counts);
    if (!is_right) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

PyMethodDef bin_methods[] = {
    {"count_in_bins", count_in_bins, METH_VARARGS,
     PyDoc_STR("count_in_bins(values, edges, /)\n--\n\nHow many of an array of float64 lie in each "
               "of some bins of equal width; None: NumPy is to be asked.")},
    {NULL},
};
