/*
 * Objects of built-in types, compared and read past what subclasses override: no Python code runs
 * and no exception is left. A literal here is None, Ellipsis, an exact str, bytes, int, float,
 * complex or bool, or an exact tuple of literals.
 */
#ifndef UFUSE_BUILTIN_TYPES_H
#define UFUSE_BUILTIN_TYPES_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

bool is_literal(PyObject *object);
bool same_literal(PyObject *a, PyObject *b);

bool is_deque_type(PyTypeObject *type);
Py_ssize_t container_length(PyObject *object);
PyObject *sequence_item(PyObject *sequence, int64_t index);
bool dict_keys_are(PyObject *dict, PyObject *keys);

bool is_literal_set(PyObject *object);
PyObject *members_by_value(PyObject *set);
bool set_members_are(PyObject *set, PyObject *members);

int builtin_types_ready(void);

#endif
