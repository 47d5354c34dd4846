/* Plans: the segments of a kernel in order. */
#ifndef UFUSE_KERNEL_PLAN_H
#define UFUSE_KERNEL_PLAN_H

#include "kernel/form.h"

Plan *plan_make(const Kernel *kernel, PyObject *segments, bool native);
void plan_release(Plan *plan);
int plan_traverse(const Plan *plan, visitproc visit, void *arg);
int number_between(PyObject *number, Py_ssize_t past, const char *what);

#endif
