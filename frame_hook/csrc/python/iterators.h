/* Iterators of built-in types: what they go over. */
#ifndef UFUSE_ITERATORS_H
#define UFUSE_ITERATORS_H

#include <Python.h>

PyObject *iterated(PyObject *iterator);

int iterators_ready(void);

#endif
