/* Iterators over arrays, lists and tuples, and enumerate objects, read and moved. */
#include "nest/given/iterators.h"

#include "sequence_iterators.h"
#include "nest/form/items.h"
#include "nest/given/ranges.h"

typedef struct {
    SequenceIterator own;
    PyObject *result;
    PyObject *large; /* the count, where it no longer fits */
} Enumerate;

static PyTypeObject *types[] = {
    &PySeqIter_Type,       &PyListIter_Type,    &PyTupleIter_Type,        &PyBytesIter_Type,
    &PyByteArrayIter_Type, &PyUnicodeIter_Type, NULL /* of ASCII text */, &PyListRevIter_Type,
    &PyReversed_Type,      &PyEnum_Type,
};
enum { KINDS = Py_ARRAY_LENGTH(types), ASCII_TEXT = 6, FIRST_BACKWARDS, COUNTING = KINDS - 1 };
static bool is_known[KINDS];

/* The number of the type of an iterator of a kind, or -1. */
static int
type_of(SlotKind kind, PyObject *object)
{
    int first = kind == SLOT_FORWARDS ? 0 : kind == SLOT_BACKWARDS ? FIRST_BACKWARDS : COUNTING;
    int end = kind == SLOT_FORWARDS ? FIRST_BACKWARDS : kind == SLOT_BACKWARDS ? COUNTING : KINDS;
    for (int i = first; i < end; i++) {
        if (is_known[i] && Py_IS_TYPE(object, types[i])) {
            return i;
        }
    }
    return -1;
}

/* The length of an exact array, list or tuple; -1 of others. */
static int64_t
length_of(PyObject *over)
{
    if (over == NULL) {
        return -1;
    }
    if (PyArray_CheckExact(over)) {
        return PyArray_NDIM((PyArrayObject *)over) > 0 ? PyArray_DIM((PyArrayObject *)over, 0) : -1;
    }
    return items_of(over);
}

/*
 * Read where an iterator of a kind, but a range's, stands. False: it is something else, or has
 * ended. Runs no Python code.
 */
bool
iterator_read(SlotKind kind, PyObject *object, Range *range)
{
    if (type_of(kind, object) < 0) {
        return false;
    }
    const SequenceIterator *iterator = (SequenceIterator *)object;
    range->next = iterator->position;
    range->step = kind == SLOT_BACKWARDS ? -1 : 1;
    if (kind == SLOT_COUNT) {
        range->left = range->next < 0 ? INT64_MAX : INT64_MAX - range->next;
        return ((Enumerate *)object)->large == NULL;
    }
    int64_t length = length_of(iterator->over);
    range->left = kind == SLOT_BACKWARDS ? range->next + 1 : length - range->next;
    return length >= 0 && range->next >= (kind == SLOT_BACKWARDS ? -1 : 0) &&
           (kind == SLOT_FORWARDS || range->next < length) && range->left >= 0;
}

/* Move an iterator, of which `iterator_read` was true, over so many turns. */
void
iterator_move(SlotKind kind, PyObject *object, int64_t turns)
{
    ((SequenceIterator *)object)->position += kind == SLOT_BACKWARDS ? -turns : turns;
}

/* A new iterator of a kind, of which one of three items was taken; or NULL. */
static PyObject *
iterator_of(int kind, PyObject *over)
{
    PyObject *made, *item;
    if (types[kind] == &PySeqIter_Type) {
        made = PySeqIter_New(over);
    }
    else if (kind < FIRST_BACKWARDS) {
        made = PyObject_GetIter(over);
    }
    else {
        PyTypeObject *called = kind == COUNTING ? &PyEnum_Type : &PyReversed_Type;
        made = PyObject_CallOneArg((PyObject *)called, over);
    }
    item = made == NULL ? NULL : PyIter_Next(made);
    if (item == NULL) {
        Py_CLEAR(made);
    }
    Py_XDECREF(item);
    return made;
}

/* Find out which iterators have the layout assumed here. -1: exception. */
int
iterators_begin(void)
{
    bool failed = false;
    for (int i = 0; !failed && i < KINDS; i++) {
        PyObject *over = three_items(i == ASCII_TEXT ? NULL : types[i]);
        PyObject *iterator = over == NULL ? NULL : iterator_of(i, over);
        failed = iterator == NULL;
        if (!failed && i == ASCII_TEXT) { /* of a type of its own from 3.12 on */
            types[i] = Py_TYPE(iterator);
        }
        size_t size = i == COUNTING ? sizeof(Enumerate) : sizeof(SequenceIterator);
        if (!failed && Py_IS_TYPE(iterator, types[i]) &&
            types[i]->tp_basicsize >= (Py_ssize_t)size) {
            const SequenceIterator *found = (SequenceIterator *)iterator;
            is_known[i] =
                found->position == 1 &&
                (i == COUNTING ? ((Enumerate *)iterator)->large == NULL : found->over == over);
        }
        Py_XDECREF(iterator);
        Py_XDECREF(over);
    }
    return failed ? -1 : 0;
}
