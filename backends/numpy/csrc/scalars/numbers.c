/* The types of numbers: objects and memory read into registers, and made of them. */
#include "scalars/scalars.h"

#include <numpy/arrayscalars.h>

/* NumPy's numbers but bool: type number, type in C, name of the scalar, field of a Register, Held.
 */
#define NUMBERS(X)                                                                                 \
    X(NPY_BYTE, npy_byte, Byte, whole, HELD_SIGNED)                                                \
    X(NPY_UBYTE, npy_ubyte, UByte, natural, HELD_UNSIGNED)                                         \
    X(NPY_SHORT, npy_short, Short, whole, HELD_SIGNED)                                             \
    X(NPY_USHORT, npy_ushort, UShort, natural, HELD_UNSIGNED)                                      \
    X(NPY_INT, npy_int, Int, whole, HELD_SIGNED)                                                   \
    X(NPY_UINT, npy_uint, UInt, natural, HELD_UNSIGNED)                                            \
    X(NPY_LONG, npy_long, Long, whole, HELD_SIGNED)                                                \
    X(NPY_ULONG, npy_ulong, ULong, natural, HELD_UNSIGNED)                                         \
    X(NPY_LONGLONG, npy_longlong, LongLong, whole, HELD_SIGNED)                                    \
    X(NPY_ULONGLONG, npy_ulonglong, ULongLong, natural, HELD_UNSIGNED)                             \
    X(NPY_FLOAT, npy_float, Float, single, HELD_SINGLE)                                            \
    X(NPY_DOUBLE, npy_double, Double, twice, HELD_DOUBLE)

#define KEPT(TYPE, ITEM, SCALAR, FIELD, HELD)                                                      \
    [TYPE] = {HELD, HELD >= HELD_SINGLE ? 0 : 8 * sizeof(ITEM), sizeof(ITEM)},
/* clang-format off */
static const struct {
    unsigned char held, bits, bytes;
} kept[] = {
    NUMBERS(KEPT)
    [NPY_BOOL] = {HELD_SIGNED, 1, sizeof(npy_bool)},
    [NPY_CDOUBLE] = {.bytes = sizeof(npy_cdouble)}, /* which has no register */
};
/* clang-format on */
#undef KEPT

/* Read a dtype, or one of Python's types bool, int and float. Returns 0, or -1 with an exception.
 */
int
number_type(PyObject *given, Number *number)
{
    if (given == (PyObject *)&PyBool_Type) {
        *number = (Number){PYTHON_BOOL, HELD_SIGNED, 1, &PyBool_Type};
        return 0;
    }
    if (given == (PyObject *)&PyLong_Type) {
        *number = (Number){PYTHON_INT, HELD_SIGNED, 64, &PyLong_Type};
        return 0;
    }
    if (given == (PyObject *)&PyFloat_Type) {
        *number = (Number){PYTHON_FLOAT, HELD_DOUBLE, 0, &PyFloat_Type};
        return 0;
    }
    if (PyArray_DescrCheck(given)) {
        PyArray_Descr *descr = (PyArray_Descr *)given;
        int type = descr->type_num;
        if (type >= NPY_BOOL && type <= NPY_DOUBLE && PyArray_ISNBO(descr->byteorder)) {
            PyObject *scalar = PyArray_TypeObjectFromType(type);
            if (scalar == NULL) {
                return -1;
            }
            *number =
                (Number){(short)type, kept[type].held, kept[type].bits, (PyTypeObject *)scalar};
            Py_DECREF(scalar); /* NumPy's scalar types live as long as NumPy */
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "no type of number: %R", given);
    return -1;
}

/* The size of an element of one of NumPy's types. */
short
number_bytes(int type)
{
    return kept[type].bytes;
}

/* The value of a number of exactly this type. False: it is of another, or does not fit. */
bool
number_read(const Number *number, PyObject *object, Register *value)
{
    if (!Py_IS_TYPE(object, number->object_type)) {
        return false;
    }
    int overflow = 0;
    switch (number->type) {
    case PYTHON_BOOL:
        value->whole = object == Py_True;
        return true;
    case PYTHON_INT:
        value->whole = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow == 0;
    case PYTHON_FLOAT:
        value->twice = PyFloat_AS_DOUBLE(object);
        return true;
    case NPY_BOOL:
        value->whole = PyArrayScalar_VAL(object, Bool) != 0;
        return true;
#define READ(TYPE, ITEM, SCALAR, FIELD, HELD)                                                      \
    case TYPE:                                                                                     \
        value->FIELD = PyArrayScalar_VAL(object, SCALAR);                                          \
        return true;
        NUMBERS(READ)
#undef READ
    default:
        return false;
    }
}

/* A new number, or NULL with an exception. */
PyObject *
number_object(const Number *number, Register value)
{
    PyObject *made = NULL;
    switch (number->type) {
    case PYTHON_BOOL:
        return PyBool_FromLong(value.whole != 0);
    case PYTHON_INT:
        return PyLong_FromLongLong(value.whole);
    case PYTHON_FLOAT:
        return PyFloat_FromDouble(value.twice);
    case NPY_BOOL:
        return Py_NewRef(value.whole != 0 ? PyArrayScalar_True : PyArrayScalar_False);
#define MADE(TYPE, ITEM, SCALAR, FIELD, HELD)                                                      \
    case TYPE:                                                                                     \
        made = PyArrayScalar_New(SCALAR);                                                          \
        if (made != NULL) {                                                                        \
            PyArrayScalar_ASSIGN(made, SCALAR, (ITEM)value.FIELD);                                 \
        }                                                                                          \
        return made;
        NUMBERS(MADE)
#undef MADE
    default:
        PyErr_SetString(PyExc_SystemError, "no type of number");
        return NULL;
    }
}

/* The element of one of NumPy's types at an address, aligned or not. */
Register
number_load(int type, const char *at)
{
    Register value = {0};
    switch (type) {
    case NPY_BOOL:
        value.whole = *at != 0;
        break;
#define LOADED(TYPE, ITEM, SCALAR, FIELD, HELD)                                                    \
    case TYPE: {                                                                                   \
        ITEM item;                                                                                 \
        memcpy(&item, at, sizeof(item));                                                           \
        value.FIELD = item;                                                                        \
        break;                                                                                     \
    }
        NUMBERS(LOADED)
#undef LOADED
    default:
        break;
    }
    return value;
}

/* Write a register as an element of one of NumPy's types. */
void
number_store(int type, char *at, Register value)
{
    switch (type) {
    case NPY_BOOL:
        *at = value.whole != 0;
        break;
#define STORED(TYPE, ITEM, SCALAR, FIELD, HELD)                                                    \
    case TYPE: {                                                                                   \
        ITEM item = (ITEM)value.FIELD;                                                             \
        memcpy(at, &item, sizeof(item));                                                           \
        break;                                                                                     \
    }
        NUMBERS(STORED)
#undef STORED
    default:
        break;
    }
}
