/*
 * Whether a debugger, tracer or coverage tool is to be told of every line that runs. Compiled code
 * has no lines to tell of, so such frames are left to CPython.
 */
#ifndef UFUSE_LINE_EVENTS_H
#define UFUSE_LINE_EVENTS_H

#include <Python.h>
#include <stdbool.h>

bool lines_are_traced(PyThreadState *thread, PyObject *code);

#endif
