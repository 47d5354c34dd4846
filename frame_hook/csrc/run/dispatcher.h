/* Dispatcher: the callable a user gets for a function. It looks up entries without a frame. */
#ifndef UFUSE_DISPATCHER_H
#define UFUSE_DISPATCHER_H

#include <Python.h>

extern PyTypeObject Dispatcher_Type;

PyObject *enable_vectorcall(PyObject *module, PyObject *type);
int Dispatcher_Ready(void);

#endif
