/* Elements by index; where the largest are. */
#ifndef UFUSE_NEST_INDEXED_H
#define UFUSE_NEST_INDEXED_H

#include "nest/form/nest.h"

int nest_take(int64_t axes, int64_t itemsize, int64_t *table);
int nest_put(int64_t axes, int64_t itemsize, int64_t *table);
int nest_position(int64_t type, int64_t is_least, int64_t *result, char *items, npy_intp step,
                  int64_t count);
int nest_positions(int64_t type, int64_t is_least, int64_t axes, int64_t folded, int64_t *table);

#endif
