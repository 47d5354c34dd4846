/* Calls of NumPy's loops from machine code of nests. */
#ifndef UFUSE_NEST_NUMPY_LOOPS_H
#define UFUSE_NEST_NUMPY_LOOPS_H

#include "nest/form/nest.h"

int nest_loop_over(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps);
int nest_loop(const Loop *loop, char **data, int64_t count, const npy_intp *steps);
double nest_real(const Loop *loop, double first, double second, double third);
float nest_single(const Loop *loop, float first, float second, float third);
double nest_bare_real(const Loop *loop, double first, double second, double third);
float nest_bare_single(const Loop *loop, float first, float second, float third);
void nest_batch(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize, int64_t count);
void nest_bare_batch(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize,
                     int64_t count);
double nest_loop_time(const Loop *loop, int64_t itemsize, int64_t count);
int nest_keeps_flags(const Loop *loop, int is_single, double first, double second, double third);

#endif
