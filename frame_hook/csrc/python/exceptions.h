/* The exception that is set, and those that the program is handling. */
#ifndef UFUSE_EXCEPTIONS_H
#define UFUSE_EXCEPTIONS_H

#include <Python.h>
#include <stdbool.h>

PyObject *take_exception(void);
void raise_exception(PyObject *exception);
void add_context(PyObject *handled);
bool nothing_is_handled(void);

#endif
