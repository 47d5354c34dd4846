/* Whether somebody is to be told of every line that runs: a debugger, a tracer, a coverage tool. */
#ifndef UFUSE_LINE_EVENTS_H
#define UFUSE_LINE_EVENTS_H

#include <Python.h>
#include <stdbool.h>

bool lines_are_traced(PyThreadState *thread, PyObject *code);

#endif
