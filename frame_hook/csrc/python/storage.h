/*
 * Reading the entries of dicts and the attributes of instances and classes where CPython keeps
 * them. Nothing here runs Python code, makes an instance's `__dict__` or leaves an exception.
 */
#ifndef UFUSE_STORAGE_H
#define UFUSE_STORAGE_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* The outcome of a look-up; UNKNOWN: it would take Python code, such as an `__eq__`, to tell. */
typedef enum { FIND_ABSENT, FIND_FOUND, FIND_UNKNOWN } Finding;

bool has_unicode_keys(PyObject *dict);
Finding find_in_dict(PyObject *dict, PyObject *key, PyObject **value);
Finding find_name(PyObject *dict, PyObject *name, Py_ssize_t *place, PyObject **value);
Finding find_own(PyObject *object, PyObject *name, PyObject **value);
PyObject *dict_of_instance(PyObject *object);
bool class_own_lacks(PyObject *type, PyObject *name);
bool class_has_only_str_keys(PyObject *type);
int64_t abc_token(void);
PyObject *class_value(PyObject *type, PyObject *name);
PyObject *attribute_value(PyObject *object, PyObject *name);
int storage_ready(void);

#endif
