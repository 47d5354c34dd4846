/* Vectors in another form: running sums, places, order. */
#ifndef UFUSE_NEST_ARRANGED_H
#define UFUSE_NEST_ARRANGED_H

#include "nest/form/nest.h"

int nest_scan(const Loop *loop, int64_t itemsize, int64_t *table);
int nest_nonzero(int64_t *table);
int nest_sort(int64_t type, int64_t axes, int64_t *table);
int nest_argsort(int64_t type, int64_t *table);

#endif
