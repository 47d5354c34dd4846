/* Whether anyone can notice when an object dies: a finalizer or a weak reference's callback. */
#ifndef UFUSE_FINALIZERS_H
#define UFUSE_FINALIZERS_H

#include <Python.h>
#include <stdbool.h>

bool has_no_finalizer(PyObject *object);
bool attribute_has_no_finalizer(PyObject *object, PyObject *name);

#endif
