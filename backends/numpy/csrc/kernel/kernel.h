/* The Kernel type. */
#ifndef UFUSE_KERNEL_KERNEL_H
#define UFUSE_KERNEL_KERNEL_H

#include "kernel/form.h"

extern PyTypeObject *kernel_type;
int kernel_begin(PyObject *module);

#endif
