/* Reductions over several axes or over some of them. */
#ifndef UFUSE_NEST_REDUCE_H
#define UFUSE_NEST_REDUCE_H

#include "nest/form/nest.h"

int nest_fold(const Loop *loop, char *result, char *items, npy_intp step, int64_t count);
int nest_reduce(const Loop *loop, int64_t axes, int64_t *table, NestMemory *scratch);

#endif
