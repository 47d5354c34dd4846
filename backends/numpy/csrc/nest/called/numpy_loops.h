/* Calls of NumPy's loops from machine code of nests. */
#ifndef UFUSE_NEST_NUMPY_LOOPS_H
#define UFUSE_NEST_NUMPY_LOOPS_H

#include "nest/form/nest.h"

int nest_loop_over(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps);
int nest_loop(const Loop *loop, char **data, int64_t count, const npy_intp *steps);

#endif
