/* Arguments of a kernel. */
#ifndef UFUSE_KERNEL_ARGUMENTS_H
#define UFUSE_KERNEL_ARGUMENTS_H

#include "kernel/binding.h"

bool kernel_takes_numbers(const Kernel *kernel, PyObject *const *arguments, unsigned mask);

bool take_arguments(Binding *binding);

#endif
