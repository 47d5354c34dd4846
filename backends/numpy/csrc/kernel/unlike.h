/* *Unlike pairs*: operands whose result in NumPy depends on their position in the array. */
#ifndef UFUSE_KERNEL_UNLIKE_H
#define UFUSE_KERNEL_UNLIKE_H

#include "kernel/form.h"

bool suspects_unlike_pair(const Loop *loop, npy_intp count, const char *out, npy_intp step);
bool met_unlike_pair(const Loop *loop, const Walk *inputs, const npy_intp *first, npy_intp count);
bool met_out_of_range(const Loop *loop, const Walk *input, npy_intp first, npy_intp count);

#endif
