#include "values/iterators.h"

#include "values/arrays.h"
#include "grid_iterators.h"
#include "sequence_iterators.h"

static PyTypeObject *types[] = {
    &PySeqIter_Type,
    &PyBytesIter_Type,
    &PyByteArrayIter_Type,
    &PyUnicodeIter_Type,
    NULL, /* of ASCII text */
    &PyListIter_Type,
    &PyTupleIter_Type,
    &PyListRevIter_Type,
    &PyReversed_Type,
    &PyEnum_Type,
    &PyZip_Type,
};
enum { ASCII_TEXT = 4 };
static bool is_known[Py_ARRAY_LENGTH(types)];
static PyTypeObject *product; /* NULL: products have another layout */

/*
 * What an exact iterator over a sequence, or a `reversed` one, goes over; the iterator that an
 * `enumerate` counts; the tuple of a `zip`'s iterators; the tuple of a `product`'s pools, which are
 * tuples; a flatiter's array. Borrowed. NULL: it has ended, or it is none of these. Runs no Python
 * code.
 */
PyObject *
iterated(PyObject *iterator)
{
    for (size_t i = 0; i < Py_ARRAY_LENGTH(types); i++) {
        if (is_known[i] && Py_IS_TYPE(iterator, types[i])) {
            return ((SequenceIterator *)iterator)->over;
        }
    }
    if (product != NULL && Py_IS_TYPE(iterator, product)) {
        return ((Product *)iterator)->stopped ? NULL : ((Product *)iterator)->pools;
    }
    return Py_IS_TYPE(iterator, &PyArrayIter_Type) ? (PyObject *)((PyArrayIterObject *)iterator)->ao
                                                   : NULL;
}

/*
 * How many turns a product or flatiter has left, and how many it has in all. False: it is neither,
 * or has stopped. Runs no Python code.
 */
bool
grid_turns(PyObject *iterator, int64_t *left, int64_t *all)
{
    GridTurns turns;
    bool known = product != NULL && Py_IS_TYPE(iterator, product)
                     ? product_turns((Product *)iterator, &turns)
                     : Py_IS_TYPE(iterator, &PyArrayIter_Type) &&
                           flat_turns((PyArrayIterObject *)iterator, &turns);
    if (known) {
        *left = turns.all - turns.done;
        *all = turns.all;
    }
    return known;
}

/* A new iterator of a type, NULL for that of ASCII text; or NULL. */
static PyObject *
iterator_of(PyTypeObject *type, PyObject *over)
{
    if (type == &PySeqIter_Type) {
        return PySeqIter_New(over);
    }
    if (type == &PyListRevIter_Type) {
        return PyObject_CallOneArg((PyObject *)&PyReversed_Type, over);
    }
    bool is_called = type == &PyReversed_Type || type == &PyEnum_Type || type == &PyZip_Type;
    return is_called ? PyObject_CallOneArg((PyObject *)type, over) : PyObject_GetIter(over);
}

/* Whether such an iterator has what it goes over where it is expected. */
static bool
is_as_expected(PyTypeObject *type, PyObject *iterator, PyObject *over)
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
    return found->position == (backwards ? 2 : 0) && found->over == over;
}

/* Find out which iterators have the layout assumed here. -1: exception. */
int
iterators_ready(void)
{
    bool failed = false;
    for (size_t i = 0; !failed && i < Py_ARRAY_LENGTH(types); i++) {
        PyObject *over = three_items(i == ASCII_TEXT ? NULL : types[i]);
        PyObject *iterator = over == NULL ? NULL : iterator_of(types[i], over);
        failed = iterator == NULL;
        if (!failed && i == ASCII_TEXT) { /* of a type of its own from 3.12 on */
            types[i] = Py_TYPE(iterator);
        }
        is_known[i] = !failed && is_as_expected(types[i], iterator, over);
        Py_XDECREF(iterator);
        Py_XDECREF(over);
    }
    product = failed ? NULL : product_type();
    return failed || PyErr_Occurred() ? -1 : 0;
}
