/* Whether the program has replaced a builtin, such as `len`, on which our own Python code relies.
 */
#ifndef UFUSE_BUILTINS_H
#define UFUSE_BUILTINS_H

#include <Python.h>

PyObject *keep_builtins(PyObject *module, PyObject *args);
PyObject *replaced_builtin(void);
PyObject *ask_replaced_builtin(PyObject *module, PyObject *ignored);

#endif
