/* A run of a kernel. */
#ifndef UFUSE_KERNEL_BIND_H
#define UFUSE_KERNEL_BIND_H

#include "kernel/binding.h"

int kernel_run(Kernel *kernel, PyObject *const *arguments, unsigned mask, PyObject **results,
               PyObject **flags, PyObject **withheld);

#endif
