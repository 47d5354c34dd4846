/* One run of a kernel. */
#ifndef UFUSE_KERNEL_RUNS_H
#define UFUSE_KERNEL_RUNS_H

#include "kernel/form.h"

int find_stream(Run *run);
size_t put_key(const DeviceView *views, int arrays, int device, Py_ssize_t *key);
int check_condition(const Kernel *self);
int kernel_run(Kernel *self, PyObject *const *operands, Run *run, const bool *for_kernels,
               PyObject **results);

#endif
