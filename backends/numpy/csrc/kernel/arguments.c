/* Arguments of a kernel: arrays of its operands' dtypes, and scalars packed into one element. */
#include "kernel/arguments.h"
#include "kernel/binding.h"
#include "loops/casts.h"

/* In all of these, a cast of which `mask` wants a flag reported does not fit. */

static bool
pack_double(double value, int type, unsigned mask, char *out)
{
    switch (type) {
    case NPY_DOUBLE:
        memcpy(out, &value, 8);
        return true;
    case NPY_FLOAT:
    case NPY_HALF:
    case NPY_LONGDOUBLE:
    case NPY_CFLOAT:
    case NPY_CDOUBLE:
    case NPY_CLONGDOUBLE: {
        char *data[2] = {(char *)&value, out};
        npy_intp one = 1, steps[2] = {0, 0};
        return cast_function(NPY_DOUBLE, type)(data, &one, steps, NULL) == 0 &&
               (status_take() & mask) == 0;
    }
    default:
        return false;
    }
}

/* A Python int as NumPy's weak promotion takes it: in range of an integer type, or as a double. */
static bool
pack_int(PyObject *number, int type, unsigned mask, char *out)
{
    if (PyBool_Check(number) && type == NPY_BOOL) {
        *out = number == Py_True;
        return true;
    }
    if (!PyTypeNum_ISINTEGER(type)) {
        if (type == NPY_BOOL) {
            return false;
        }
        double value = PyLong_AsDouble(number);
        if (value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        bool exact = value > -9007199254740992.0 && value < 9007199254740992.0;
        bool extended = type == NPY_LONGDOUBLE || type == NPY_CLONGDOUBLE;
        return (exact || !extended) && pack_double(value, type, mask, out);
    }
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (type == NPY_ULONG || type == NPY_ULONGLONG) {
        unsigned long long large = PyLong_AsUnsignedLongLong(number);
        if (large == (unsigned long long)-1 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        memcpy(out, &large, 8);
        return true;
    }
    long long back = 0;
    char *there[2] = {(char *)&value, out}, *again[2] = {out, (char *)&back};
    npy_intp one = 1, steps[2] = {0, 0};
    cast_function(NPY_LONGLONG, type)(there, &one, steps, NULL);
    cast_function(type, NPY_LONGLONG)(again, &one, steps, NULL);
    return !overflow && back == value;
}

/* A NumPy scalar, cast where it is of another type. */
static bool
pack_scalar(PyObject *scalar, int type, unsigned mask, char *out)
{
    PyArray_Descr *descr = PyArray_DescrFromScalar(scalar);
    if (descr == NULL) {
        PyErr_Clear();
        return false;
    }
    int from = descr->type_num;
    Py_DECREF(descr);
    LoopFunction *cast = cast_function(from, type);
    if (cast == NULL) {
        return false;
    }
    _Alignas(16) char item[MAX_ITEM];
    PyArray_ScalarAsCtype(scalar, item);
    if (from == type) {
        memcpy(out, item, MAX_ITEM);
        return true;
    }
    char *data[2] = {item, out};
    npy_intp one = 1, steps[2] = {0, 0};
    cast(data, &one, steps, NULL);
    return (status_take() & mask) == 0;
}

static bool
pack(PyObject *argument, int type, unsigned mask, char *out)
{
    if (PyFloat_CheckExact(argument)) {
        if (type == NPY_DOUBLE) {
            double value = PyFloat_AS_DOUBLE(argument);
            memcpy(out, &value, 8);
            return true;
        }
        status_take();
        return pack_double(PyFloat_AS_DOUBLE(argument), type, mask, out);
    }
    status_take();
    if (PyArray_CheckScalar(argument) && !PyArray_Check(argument)) {
        return pack_scalar(argument, type, mask, out);
    }
    if (PyLong_CheckExact(argument) || PyBool_Check(argument)) {
        return pack_int(argument, type, mask, out);
    }
    if (PyComplex_CheckExact(argument) && PyTypeNum_ISCOMPLEX(type)) {
        double parts[2] = {PyComplex_RealAsDouble(argument), PyComplex_ImagAsDouble(argument)};
        char *data[2] = {(char *)parts, out};
        npy_intp one = 1, steps[2] = {0, 0};
        cast_function(NPY_CDOUBLE, type)(data, &one, steps, NULL);
        return (status_take() & mask) == 0;
    }
    return false;
}

/*
 * Whether every number among borrowed `arguments` fits its operand's dtype. NULL stands for an
 * argument that is not known yet, which counts as fitting; `mask` are the flags that the error
 * state does not ignore. Runs no Python code, leaves no exception.
 */
bool
kernel_takes_numbers(const Kernel *kernel, PyObject *const *arguments, unsigned mask)
{
    _Alignas(16) char packed[MAX_ITEM];
    for (int i = 0; i < kernel->operands; i++) {
        PyObject *argument = arguments[i];
        if (argument != NULL && !PyArray_CheckExact(argument) &&
            !pack(argument, kernel->value[i].descr->type_num, mask, packed)) {
            return false;
        }
    }
    return true;
}

/* Check and pack the arguments and find the space. False: the kernel refuses. */
bool
take_arguments(Binding *binding)
{
    const Kernel *kernel = binding->run.kernel;
    Space *space = &binding->space;
    space->axes = 0;
    binding->same_shape = true;
    PyArrayObject *first = NULL;
    for (int i = 0; i < kernel->operands; i++) {
        PyObject *argument = binding->arguments[i];
        const Value *value = &kernel->value[i];
        if (!PyArray_CheckExact(argument)) {
            if (!pack(argument, value->descr->type_num, binding->run.mask, binding->packed[i])) {
                return false;
            }
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)argument;
        PyArray_Descr *descr = PyArray_DESCR(array);
        if (descr != value->descr && !PyArray_EquivTypes(descr, value->descr)) {
            return false;
        }
        int axes = PyArray_NDIM(array);
        if (binding->same_shape) {
            binding->same_shape =
                PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED) &&
                (first == NULL ||
                 (PyArray_NDIM(first) == axes && memcmp(PyArray_SHAPE(first), PyArray_SHAPE(array),
                                                        sizeof(npy_intp) * (size_t)axes) == 0));
        }
        if (first == NULL) {
            first = array;
        }
        if (first != array && binding->same_shape) {
            continue;
        }
        if (space_broadcast(space, array) < 0) {
            return false;
        }
    }
    return true;
}
