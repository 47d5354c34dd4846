/* Items of lists: what numbers of a kind are, and whether it is worth it to read a whole list, or
 * to copy memory. */
#include "nest/chunks.h"

enum { KINDS = SLOT_COMPLEX - SLOT_FLOAT };

/* Of a list that is read as a whole: a number of items that is always worth it; nanoseconds for an
 * item, about; for a plain turn, where that is not known, and times what a native one takes. */
enum { FEW_ITEMS = 1024 };
static const double ITEM = 3, UNKNOWN_TURN = 10e3, PLAIN_AT_LEAST = 20, GROWN = 4;

/* No plain turn takes less. */
static const double SHORTEST_PLAIN = 60;

/* Bytes to save: for a turn of unknown length; ever. */
static const size_t TURN_BYTES = (size_t)64 << 10, MOST_BYTES = (size_t)1 << 30;

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

/* How long so many plain turns take at least, where native ones were timed. */
static double
plain_at_least(const Nest *nest, int64_t turns)
{
    double turn = nest->turn_ns * PLAIN_AT_LEAST;
    return (double)turns * (turn > SHORTEST_PLAIN ? turn : SHORTEST_PLAIN);
}

/* Count calls that are declined for what copying costs. */
static bool
costs(Nest *nest, bool too_long)
{
    nest->costly += too_long;
    return too_long;
}

/*
 * Whether reading a whole list takes longer than plain Python needs for all turns that are left. As
 * long as no turn was timed, or only with much less to go over, it may take as long as plain Python
 * has since the first call was declined for that: else a loop of a few long turns would never be
 * run.
 */
bool
list_takes_too_long(Nest *nest, int64_t count, int64_t left)
{
    if (count <= FEW_ITEMS) {
        return false;
    }
    if (nest->turn_ns > 0 && (double)count <= GROWN * nest->size) {
        return costs(nest, (double)count * ITEM > plain_at_least(nest, left));
    }
    double now = now_ns();
    nest->declined_at = nest->declined_at > 0 ? nest->declined_at : now;
    return costs(nest,
                 (double)count * ITEM > (double)left * UNKNOWN_TURN + now - nest->declined_at);
}

/*
 * Whether copying so many bytes takes longer than plain Python needs for all turns that are left.
 * As long as no turn was timed, it may take as long as plain Python has since the first call was
 * declined for that: else a loop of a few long turns would never be run.
 */
bool
saving_is_too_long(Nest *nest, size_t bytes, int64_t left)
{
    if (bytes <= FEW_BYTES || bytes > MOST_BYTES) {
        return costs(nest, bytes > MOST_BYTES);
    }
    if (nest->turn_ns > 0) {
        return costs(nest, (double)bytes * BYTE > plain_at_least(nest, left));
    }
    double now = now_ns();
    nest->declined_at = nest->declined_at > 0 ? nest->declined_at : now;
    double worth = (double)left * (double)TURN_BYTES + (now - nest->declined_at) / BYTE;
    if ((double)bytes > worth) {
        return costs(nest, true);
    }
    nest->declined_at = 0;
    return false;
}
