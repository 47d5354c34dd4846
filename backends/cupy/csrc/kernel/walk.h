/* How a map walks. */
#ifndef UFUSE_KERNEL_WALK_H
#define UFUSE_KERNEL_WALK_H

#include "kernel/form.h"

int walk_over(const DeviceView *views, const Py_ssize_t *items, int count, Walk *walk);
PyObject *numbers_as_tuple(const Py_ssize_t *numbers, int count);
PyObject *walk_as_tuple(PyObject *module, PyObject *args);

#endif
