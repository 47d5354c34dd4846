/* NULL, which stands for an empty slot in the states that Python code sees. */
#ifndef UFUSE_EMPTY_SLOT_H
#define UFUSE_EMPTY_SLOT_H

#include <Python.h>

extern PyTypeObject Null_Type;

/* The object that stands for an empty slot in the states that Python code sees. */
typedef struct {
    PyObject_HEAD
} NullObject;
extern NullObject Null_Object;
#define NULL_OBJECT ((PyObject *)&Null_Object)

PyObject *state_tuple(PyObject *const *values, Py_ssize_t count);

#endif
