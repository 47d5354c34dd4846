/* Whether anyone can notice when an object dies: a finalizer or a weak reference's callback. */
#ifndef UFUSE_FINALIZERS_H
#define UFUSE_FINALIZERS_H

#include <Python.h>
#include <stdbool.h>

bool dies_quietly(PyObject *object);
bool attribute_dies_quietly(PyObject *object, PyObject *name);

#endif
