/* Calling a program. */
#ifndef UFUSE_PROGRAM_PROGRAM_RUN_H
#define UFUSE_PROGRAM_PROGRAM_RUN_H

#include "program/form.h"

bool leaves_waiting(const Step *step);
int program_use(PyObject *errors);
PyObject *program_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

#endif
