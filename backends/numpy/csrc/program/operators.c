/* Python's operators by name: those of the `operator` module, or their signs. */
#include "program/operators.h"

#define COMPARE(NAME, OP)                                                                          \
    static PyObject *compare_##NAME(PyObject *a, PyObject *b)                                      \
    {                                                                                              \
        return PyObject_RichCompare(a, b, OP);                                                     \
    }
COMPARE(lt, Py_LT)
COMPARE(le, Py_LE)
COMPARE(eq, Py_EQ)
COMPARE(ne, Py_NE)
COMPARE(gt, Py_GT)
COMPARE(ge, Py_GE)

static PyObject *
power(PyObject *a, PyObject *b)
{
    return PyNumber_Power(a, b, Py_None);
}

static PyObject *
power_in_place(PyObject *a, PyObject *b)
{
    return PyNumber_InPlacePower(a, b, Py_None);
}

static PyObject *
is_same(PyObject *a, PyObject *b)
{
    return PyBool_FromLong(a == b);
}

static PyObject *
is_other(PyObject *a, PyObject *b)
{
    return PyBool_FromLong(a != b);
}

static PyObject *
not_true(PyObject *a)
{
    int truth = PyObject_IsTrue(a);
    return truth < 0 ? NULL : PyBool_FromLong(!truth);
}

/* clang-format off */
static const struct {
    const char *name, *sign, *in_place, *in_place_sign;
    BinaryFunction function, in_place_function;
} binary_table[] = {
    {"add",      "+",  "iadd",      "+=",  PyNumber_Add,            PyNumber_InPlaceAdd},
    {"sub",      "-",  "isub",      "-=",  PyNumber_Subtract,       PyNumber_InPlaceSubtract},
    {"mul",      "*",  "imul",      "*=",  PyNumber_Multiply,       PyNumber_InPlaceMultiply},
    {"matmul",   "@",  "imatmul",   "@=",  PyNumber_MatrixMultiply, PyNumber_InPlaceMatrixMultiply},
    {"truediv",  "/",  "itruediv",  "/=",  PyNumber_TrueDivide,     PyNumber_InPlaceTrueDivide},
    {"floordiv", "//", "ifloordiv", "//=", PyNumber_FloorDivide,    PyNumber_InPlaceFloorDivide},
    {"mod",      "%",  "imod",      "%=",  PyNumber_Remainder,      PyNumber_InPlaceRemainder},
    {"pow",      "**", "ipow",      "**=", power,                   power_in_place},
    {"lshift",   "<<", "ilshift",   "<<=", PyNumber_Lshift,         PyNumber_InPlaceLshift},
    {"rshift",   ">>", "irshift",   ">>=", PyNumber_Rshift,         PyNumber_InPlaceRshift},
    {"and_",     "&",  "iand",      "&=",  PyNumber_And,            PyNumber_InPlaceAnd},
    {"or_",      "|",  "ior",       "|=",  PyNumber_Or,             PyNumber_InPlaceOr},
    {"xor",      "^",  "ixor",      "^=",  PyNumber_Xor,            PyNumber_InPlaceXor},
    {"lt",       "<",  NULL,        NULL,  compare_lt,              NULL},
    {"le",       "<=", NULL,        NULL,  compare_le,              NULL},
    {"eq",       "==", NULL,        NULL,  compare_eq,              NULL},
    {"ne",       "!=", NULL,        NULL,  compare_ne,              NULL},
    {"gt",       ">",  NULL,        NULL,  compare_gt,              NULL},
    {"ge",       ">=", NULL,        NULL,  compare_ge,              NULL},
    {"is_",      "is", NULL,        NULL,  is_same,                 NULL},
    {"is_not", "is not", NULL,      NULL,  is_other,                NULL},
};

static const struct {
    const char *name, *sign;
    UnaryFunction function;
} unary_table[] = {
    {"neg",    "-",   PyNumber_Negative},
    {"pos",    "+",   PyNumber_Positive},
    {"invert", "~",   PyNumber_Invert},
    {"abs",    "abs", PyNumber_Absolute},
    {"not_",   "not", not_true},
};
/* clang-format on */

static bool
is_named(PyObject *name, const char *one, const char *other)
{
    return (one != NULL && PyUnicode_CompareWithASCIIString(name, one) == 0) ||
           (other != NULL && PyUnicode_CompareWithASCIIString(name, other) == 0);
}

BinaryFunction
binary_operator(PyObject *name)
{
    for (size_t i = 0; i < Py_ARRAY_LENGTH(binary_table); i++) {
        if (is_named(name, binary_table[i].name, binary_table[i].sign)) {
            return binary_table[i].function;
        }
        if (is_named(name, binary_table[i].in_place, binary_table[i].in_place_sign)) {
            return binary_table[i].in_place_function;
        }
    }
    return NULL;
}

UnaryFunction
unary_operator(PyObject *name)
{
    for (size_t i = 0; i < Py_ARRAY_LENGTH(unary_table); i++) {
        if (is_named(name, unary_table[i].name, unary_table[i].sign)) {
            return unary_table[i].function;
        }
    }
    return NULL;
}
