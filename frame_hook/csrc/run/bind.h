/* Binding the arguments of a call to the parameters of a Python function. */
#ifndef UFUSE_BIND_H
#define UFUSE_BIND_H

#include <Python.h>

int bind_arguments(PyFunctionObject *function, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *names, PyObject **slots);

#endif
