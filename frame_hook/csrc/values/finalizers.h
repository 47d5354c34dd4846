/*
 * Whether Python code runs when an object dies: a `__del__`, `tp_del` or weak reference callback,
 * its own or that of something it keeps alive. All of these are called finalizers here.
 */
#ifndef UFUSE_FINALIZERS_H
#define UFUSE_FINALIZERS_H

#include <Python.h>
#include <stdbool.h>

#include "values/storage.h"

bool has_no_finalizer(PyObject *object);
void die_unnoticed(PyTypeObject *type);
bool attribute_has_no_finalizer(PyObject *object, PyObject *name, AttributePlace *known);

#endif
