/* The iterator of a range, asked without Python code. */
#ifndef UFUSE_RANGES_H
#define UFUSE_RANGES_H

#include <Python.h>
#include <stdbool.h>

bool range_has_ended(PyObject *iterator);
int ranges_ready(void);

#endif
