/* Items of lists: what numbers of a kind are. */
#include "nest/form/items.h"

enum { KINDS = SLOT_COMPLEX - SLOT_FLOAT };

/* For each kind of number: Python's type where there is one, and NumPy's. */
static Number number_of[KINDS][2];

/* Returns 0, or -1 with an exception. */
int
items_begin(void)
{
    static const int types[KINDS] = {
#define TYPE_OF(NAME, TEXT, TYPE) TYPE,
        NUMBER_SLOTS(TYPE_OF)
#undef TYPE_OF
    };
    PyTypeObject *python[KINDS] = {&PyFloat_Type, &PyLong_Type, &PyBool_Type};
    for (int i = 0; i < KINDS; i++) {
        PyArray_Descr *descr = PyArray_DescrFromType(types[i]);
        PyObject *plain = python[i] == NULL ? (PyObject *)descr : (PyObject *)python[i];
        int failed = descr == NULL || number_type(plain, &number_of[i][0]) < 0 ||
                     number_type((PyObject *)descr, &number_of[i][1]) < 0;
        Py_XDECREF(descr);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* How many items a list, a tuple, a str or bytes have; -1 of others, and of a str that is not made
 * yet. */
int64_t
items_of(PyObject *object)
{
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        return PySequence_Fast_GET_SIZE(object);
    }
    if (PyUnicode_CheckExact(object)) {
#if PY_VERSION_HEX < 0x030C0000
        if (!PyUnicode_IS_READY(object)) {
            return -1;
        }
#endif
        return PyUnicode_GET_LENGTH(object);
    }
    if (PyBytes_CheckExact(object)) {
        return PyBytes_GET_SIZE(object);
    }
    return PyByteArray_CheckExact(object) ? PyByteArray_GET_SIZE(object) : -1;
}

/* What numbers of a kind are, Python's or NumPy's. */
const Number *
item_number(SlotKind item, bool numpy)
{
    return &number_of[item - SLOT_FLOAT][numpy];
}
