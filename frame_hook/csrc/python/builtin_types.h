/*
 * Values that are compared, and containers that are read, as C keeps them: no method that a
 * subclass overrides is called, no Python code runs and no exception is left.
 */
#ifndef UFUSE_BUILTIN_TYPES_H
#define UFUSE_BUILTIN_TYPES_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

bool is_plain_value(PyObject *object);
bool same_value(PyObject *a, PyObject *b);

bool is_deque_type(PyTypeObject *type);
Py_ssize_t container_length(PyObject *object);
PyObject *sequence_item(PyObject *sequence, int64_t index);
bool dict_keys_are(PyObject *dict, PyObject *keys);

bool is_plain_set(PyObject *object);
PyObject *members_by_value(PyObject *set);
bool set_members_are(PyObject *set, PyObject *members);

int plain_ready(void);

#endif
