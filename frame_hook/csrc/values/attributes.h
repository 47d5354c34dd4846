/* The attributes of an object that stands for a Python function. */
#ifndef UFUSE_ATTRIBUTES_H
#define UFUSE_ATTRIBUTES_H

#include <Python.h>

PyObject *attribute_beside(PyObject *object, PyObject *function, PyObject *name);
int set_attribute_beside(PyObject *object, PyObject *function, PyObject *name, PyObject *value);

#endif
