/*
 * Iterators over sequences, as CPython lays them out: whoever relies on that asks at import whether
 * it still does, with an iterator over what `three_items` gives.
 */
#ifndef UFUSE_SEQUENCE_ITERATORS_H
#define UFUSE_SEQUENCE_ITERATORS_H

#include <Python.h>
#include <stdbool.h>

typedef struct {
    PyObject_HEAD
    Py_ssize_t position; /* of zip: how many iterators there are */
    PyObject *over;      /* NULL at the end */
} SequenceIterator;

/* Three items for an iterator of a type: a new reference, or NULL. NULL stands for the type of
 * iterators over ASCII text, which has a name from 3.12 on, but only inside of CPython. */
static inline PyObject *
three_items(const PyTypeObject *type)
{
    if (type == &PyBytesIter_Type) {
        return PyBytes_FromString("abc");
    }
    if (type == &PyByteArrayIter_Type) {
        return PyByteArray_FromStringAndSize("abc", 3);
    }
    if (type == NULL || type == &PyUnicodeIter_Type) {
        return PyUnicode_FromString(type == NULL ? "abc" : "\u00e9bc");
    }
    bool is_list = type == &PyListIter_Type || type == &PyListRevIter_Type;
    return is_list ? Py_BuildValue("[iii]", 1, 2, 3) : Py_BuildValue("(iii)", 1, 2, 3);
}

#endif
