/* The types of numbers: objects and memory read into registers, and made of them. */
#include "scalars/scalars.h"

#include <numpy/arrayscalars.h>

static const struct {
    unsigned char held, bits, bytes;
} kept[] = {
    [NPY_BOOL] = {HELD_SIGNED, 1, sizeof(npy_bool)},
    [NPY_BYTE] = {HELD_SIGNED, 8, 1},
    [NPY_UBYTE] = {HELD_UNSIGNED, 8, 1},
    [NPY_SHORT] = {HELD_SIGNED, 16, 2},
    [NPY_USHORT] = {HELD_UNSIGNED, 16, 2},
    [NPY_INT] = {HELD_SIGNED, 32, 4},
    [NPY_UINT] = {HELD_UNSIGNED, 32, 4},
    [NPY_LONG] = {HELD_SIGNED, sizeof(npy_long) * 8, sizeof(npy_long)},
    [NPY_ULONG] = {HELD_UNSIGNED, sizeof(npy_ulong) * 8, sizeof(npy_ulong)},
    [NPY_LONGLONG] = {HELD_SIGNED, 64, 8},
    [NPY_ULONGLONG] = {HELD_UNSIGNED, 64, 8},
    [NPY_FLOAT] = {HELD_SINGLE, 0, 4},
    [NPY_DOUBLE] = {HELD_DOUBLE, 0, 8},
};

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
    case NPY_BYTE:
        value->whole = PyArrayScalar_VAL(object, Byte);
        return true;
    case NPY_UBYTE:
        value->natural = PyArrayScalar_VAL(object, UByte);
        return true;
    case NPY_SHORT:
        value->whole = PyArrayScalar_VAL(object, Short);
        return true;
    case NPY_USHORT:
        value->natural = PyArrayScalar_VAL(object, UShort);
        return true;
    case NPY_INT:
        value->whole = PyArrayScalar_VAL(object, Int);
        return true;
    case NPY_UINT:
        value->natural = PyArrayScalar_VAL(object, UInt);
        return true;
    case NPY_LONG:
        value->whole = PyArrayScalar_VAL(object, Long);
        return true;
    case NPY_ULONG:
        value->natural = PyArrayScalar_VAL(object, ULong);
        return true;
    case NPY_LONGLONG:
        value->whole = PyArrayScalar_VAL(object, LongLong);
        return true;
    case NPY_ULONGLONG:
        value->natural = PyArrayScalar_VAL(object, ULongLong);
        return true;
    case NPY_FLOAT:
        value->single = PyArrayScalar_VAL(object, Float);
        return true;
    default:
        value->twice = PyArrayScalar_VAL(object, Double);
        return true;
    }
}

/* clang-format off */
#define MADE(NAME, FIELD)                                                                          \
    do {                                                                                           \
        PyObject *made = PyArrayScalar_New(NAME);                                                  \
        if (made != NULL) {                                                                        \
            PyArrayScalar_ASSIGN(made, NAME, FIELD);                                               \
        }                                                                                          \
        return made;                                                                               \
    } while (0)
/* clang-format on */

/* A new number, or NULL with an exception. */
PyObject *
number_object(const Number *number, Register value)
{
    switch (number->type) {
    case PYTHON_BOOL:
        return PyBool_FromLong(value.whole != 0);
    case PYTHON_INT:
        return PyLong_FromLongLong(value.whole);
    case PYTHON_FLOAT:
        return PyFloat_FromDouble(value.twice);
    case NPY_BOOL:
        return Py_NewRef(value.whole != 0 ? PyArrayScalar_True : PyArrayScalar_False);
    case NPY_BYTE:
        MADE(Byte, (npy_byte)value.whole);
    case NPY_UBYTE:
        MADE(UByte, (npy_ubyte)value.natural);
    case NPY_SHORT:
        MADE(Short, (npy_short)value.whole);
    case NPY_USHORT:
        MADE(UShort, (npy_ushort)value.natural);
    case NPY_INT:
        MADE(Int, (npy_int)value.whole);
    case NPY_UINT:
        MADE(UInt, (npy_uint)value.natural);
    case NPY_LONG:
        MADE(Long, (npy_long)value.whole);
    case NPY_ULONG:
        MADE(ULong, (npy_ulong)value.natural);
    case NPY_LONGLONG:
        MADE(LongLong, value.whole);
    case NPY_ULONGLONG:
        MADE(ULongLong, value.natural);
    case NPY_FLOAT:
        MADE(Float, value.single);
    default:
        MADE(Double, value.twice);
    }
}

#define LOADED(TYPE, FIELD)                                                                        \
    do {                                                                                           \
        TYPE item;                                                                                 \
        memcpy(&item, at, sizeof(item));                                                           \
        value.FIELD = item;                                                                        \
        return value;                                                                              \
    } while (0)

/* The element of one of NumPy's types at an address, aligned or not. */
Register
number_load(int type, const char *at)
{
    Register value = {0};
    switch (type) {
    case NPY_BOOL:
        value.whole = *at != 0;
        return value;
    case NPY_BYTE:
        LOADED(npy_byte, whole);
    case NPY_UBYTE:
        LOADED(npy_ubyte, natural);
    case NPY_SHORT:
        LOADED(npy_short, whole);
    case NPY_USHORT:
        LOADED(npy_ushort, natural);
    case NPY_INT:
        LOADED(npy_int, whole);
    case NPY_UINT:
        LOADED(npy_uint, natural);
    case NPY_LONG:
        LOADED(npy_long, whole);
    case NPY_ULONG:
        LOADED(npy_ulong, natural);
    case NPY_LONGLONG:
        LOADED(npy_longlong, whole);
    case NPY_ULONGLONG:
        LOADED(npy_ulonglong, natural);
    case NPY_FLOAT:
        LOADED(float, single);
    default:
        LOADED(double, twice);
    }
}

#define STORED(TYPE, FIELD)                                                                        \
    do {                                                                                           \
        TYPE item = (TYPE)value.FIELD;                                                             \
        memcpy(at, &item, sizeof(item));                                                           \
        return;                                                                                    \
    } while (0)

/* Write a register as an element of one of NumPy's types. */
void
number_store(int type, char *at, Register value)
{
    switch (type) {
    case NPY_BOOL:
        *at = value.whole != 0;
        return;
    case NPY_BYTE:
        STORED(npy_byte, whole);
    case NPY_UBYTE:
        STORED(npy_ubyte, natural);
    case NPY_SHORT:
        STORED(npy_short, whole);
    case NPY_USHORT:
        STORED(npy_ushort, natural);
    case NPY_INT:
        STORED(npy_int, whole);
    case NPY_UINT:
        STORED(npy_uint, natural);
    case NPY_LONG:
        STORED(npy_long, whole);
    case NPY_ULONG:
        STORED(npy_ulong, natural);
    case NPY_LONGLONG:
        STORED(npy_longlong, whole);
    case NPY_ULONGLONG:
        STORED(npy_ulonglong, natural);
    case NPY_FLOAT:
        STORED(float, single);
    default:
        STORED(double, twice);
    }
}
