#include "python/iterators.h"

#include <stdbool.h>

/* As CPython lays out all of these; `iterators_ready` asks whether it still does. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t position; /* of zip: how many iterators there are */
    PyObject *over;      /* NULL at the end */
} SequenceIterator;

static PyTypeObject *const types[] = {
    &PySeqIter_Type,  &PyListIter_Type, &PyTupleIter_Type, &PyListRevIter_Type,
    &PyReversed_Type, &PyEnum_Type,     &PyZip_Type,
};
static bool is_known[Py_ARRAY_LENGTH(types)];

/*
 * What an exact iterator over a sequence, or a `reversed` one, goes over; the iterator that an
 * `enumerate` counts; the tuple of a `zip`'s iterators. Borrowed. NULL: it has ended, or it is none
 * of these. Runs no Python code.
 */
PyObject *
iterated(PyObject *iterator)
{
    for (size_t i = 0; i < Py_ARRAY_LENGTH(types); i++) {
        if (is_known[i] && Py_IS_TYPE(iterator, types[i])) {
            return ((SequenceIterator *)iterator)->over;
        }
    }
    return NULL;
}

/* A new iterator of a type over one of two sequences of the same length. */
static PyObject *
iterator_of(PyTypeObject *type, PyObject *tuple, PyObject *list)
{
    if (type == &PySeqIter_Type) {
        return PySeqIter_New(tuple);
    }
    if (type == &PyListIter_Type || type == &PyTupleIter_Type) {
        return PyObject_GetIter(type == &PyListIter_Type ? list : tuple);
    }
    if (type == &PyListRevIter_Type) {
        return PyObject_CallOneArg((PyObject *)&PyReversed_Type, list);
    }
    return PyObject_CallOneArg((PyObject *)type, tuple);
}

/* Whether such an iterator has what it goes over where it is expected. */
static bool
is_as_expected(PyTypeObject *type, PyObject *iterator, PyObject *tuple, PyObject *list)
{
    if (!Py_IS_TYPE(iterator, type) || type->tp_basicsize < (Py_ssize_t)sizeof(SequenceIterator)) {
        return false;
    }
    const SequenceIterator *found = (SequenceIterator *)iterator;
    if (type == &PyEnum_Type) {
        return found->position == 0 && Py_IS_TYPE(found->over, &PyTupleIter_Type);
    }
    if (type == &PyZip_Type) {
        return found->position == 1 && PyTuple_CheckExact(found->over);
    }
    bool backwards = type == &PyListRevIter_Type || type == &PyReversed_Type;
    return found->position == (backwards ? PyTuple_GET_SIZE(tuple) - 1 : 0) &&
           (found->over == tuple || found->over == list);
}

/* Find out which iterators have the layout assumed here. -1: exception. */
int
iterators_ready(void)
{
    PyObject *tuple = Py_BuildValue("(ii)", 1, 2);
    PyObject *list = tuple == NULL ? NULL : PySequence_List(tuple);
    bool failed = list == NULL;
    for (size_t i = 0; !failed && i < Py_ARRAY_LENGTH(types); i++) {
        PyObject *iterator = iterator_of(types[i], tuple, list);
        failed = iterator == NULL;
        is_known[i] = !failed && is_as_expected(types[i], iterator, tuple, list);
        Py_XDECREF(iterator);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    return failed ? -1 : 0;
}
