/* Numbers as arguments of kernels, converted as CuPy's CScalar converts them: by PyArray_Pack. */
#include "kernel/numbers.h"

#include <math.h>

static PyObject
    *check_number; /* called with what is no number of Python's: raises what CuPy does */

/* Take what is called with a number and a dtype where C does not know what CuPy says to it. */
int
numbers_use(PyObject *check)
{
    Py_XSETREF(check_number, Py_NewRef(check));
    return 0;
}

/* Whether an int has at most 64 bits: as CuPy stores it first, before it converts it. */
static bool
is_stored(PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow > 0) {
        unsigned long long large = PyLong_AsUnsignedLongLong(value);
        if (large != (unsigned long long)-1 || !PyErr_Occurred()) {
            return true;
        }
        PyErr_Clear();
        return false;
    }
    (void)number;
    return overflow == 0;
}

/* Let Python say what CuPy says to a number; 0: it converts it. */
static int
ask(PyObject *value, PyObject *dtype)
{
    if (check_number == NULL) {
        PyErr_Format(PyExc_TypeError, "no number: %R", value);
        return -1;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(check_number, value, dtype, NULL);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/*
 * Whether a finite number becomes infinite in a dtype, of which NumPy warns: at the line of the
 * frame that runs, so CuPy's own call is to convert it.
 */
static bool
overflows(PyObject *value, PyObject *dtype)
{
    int kind = ((PyArray_Descr *)dtype)->type_num;
    if (kind != NPY_HALF && kind != NPY_FLOAT && kind != NPY_CFLOAT) {
        return false;
    }
    double least = kind == NPY_HALF ? 65520.0 : 0x1.ffffffp127; /* that is rounded up to infinity */
    Py_complex number = {0.0, 0.0};
    if (PyFloat_CheckExact(value)) {
        number.real = PyFloat_AS_DOUBLE(value);
    }
    else if (PyComplex_Check(value) || PyArray_IsScalar(value, ComplexFloating)) {
        number = PyComplex_AsCComplex(value);
    }
    else {
        number.real = PyFloat_AsDouble(value);
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return (isfinite(number.real) && fabs(number.real) >= least) ||
           (isfinite(number.imag) && fabs(number.imag) >= least);
}

/*
 * Convert a number to a dtype of at most 16 bytes. Returns -1 with an exception: that of a refusal
 * where it does not fit. May run Python code.
 */
int
pack_number(PyObject *value, PyObject *dtype, Cell *cell)
{
    int kind = ((PyArray_Descr *)dtype)->type_num;
    memset(cell, 0, sizeof(*cell));
    if (PyFloat_CheckExact(value) && kind == NPY_DOUBLE) {
        double number = PyFloat_AS_DOUBLE(value);
        memcpy(cell, &number, sizeof(number));
        return 0;
    }
    if (PyLong_CheckExact(value)) {
        if (!is_stored(value)) {
            refuse("an int of more than 64 bits");
            return -1;
        }
    }
    else if (!PyFloat_CheckExact(value) && !PyBool_Check(value) && !PyComplex_CheckExact(value) &&
             ask(value, dtype) < 0) {
        return -1;
    }
    if (overflows(value, dtype)) {
        refuse("a number that overflows");
        return -1;
    }
    if (PyArray_Pack((PyArray_Descr *)dtype, cell, value) < 0) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            refuse("a number that does not fit");
        }
        return -1;
    }
    return 0;
}

/* Whether a number is converted to floating point. */
static bool
always_fits(PyObject *value, PyObject *dtype)
{
    int kind = ((PyArray_Descr *)dtype)->type_num;
    if ((!PyTypeNum_ISFLOAT(kind) && !PyTypeNum_ISCOMPLEX(kind)) || overflows(value, dtype)) {
        return false;
    }
    return PyFloat_CheckExact(value) || PyBool_Check(value) || PyArray_IsScalar(value, Floating) ||
           PyArray_IsScalar(value, Integer) || PyArray_IsScalar(value, Bool) ||
           (PyLong_CheckExact(value) && is_stored(value));
}

/*
 * Find out whether `pack_number` will convert a number. Returns -1 with an exception, as it would.
 */
int
check_fits(PyObject *value, PyObject *dtype)
{
    Cell cell;
    return always_fits(value, dtype) ? 0 : pack_number(value, dtype, &cell);
}

/* packed(value, dtype): the bytes of an argument. */
PyObject *
packed(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *value, *dtype;
    Cell cell;
    if (!PyArg_ParseTuple(args, "OO!:packed", &value, &PyArrayDescr_Type, &dtype)) {
        return NULL;
    }
    Py_ssize_t size = (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)dtype);
    if (size > (Py_ssize_t)sizeof(cell) || PyDataType_REFCHK((PyArray_Descr *)dtype)) {
        return PyErr_Format(PyExc_TypeError, "no dtype of an argument: %R", dtype);
    }
    if (pack_number(value, dtype, &cell) < 0) {
        return NULL;
    }
    return PyBytes_FromStringAndSize((const char *)cell.bytes, size);
}
