/* Iterators of built-in types: what they go over. */
#ifndef UFUSE_ITERATORS_H
#define UFUSE_ITERATORS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

PyObject *iterated(PyObject *iterator);
bool grid_turns(PyObject *iterator, int64_t *left, int64_t *all);

int iterators_ready(void);

#endif
