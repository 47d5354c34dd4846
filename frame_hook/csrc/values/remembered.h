/* What wrappers made by functools.lru_cache remember. */
#ifndef UFUSE_REMEMBERED_H
#define UFUSE_REMEMBERED_H

#include <Python.h>

PyObject *remembered_result(PyObject *wrapper, PyObject *key, Py_hash_t hash);
PyObject *remembered_entry(PyObject *wrapper, PyObject *key);
int remembered_ready(void);

#endif
