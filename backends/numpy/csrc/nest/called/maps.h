/* Array statements of nests: elementwise work over a space. */
#ifndef UFUSE_NEST_MAPS_H
#define UFUSE_NEST_MAPS_H

#include "nest/form/nest.h"

typedef struct NestMap NestMap;

int nest_map(const NestMap *map, int64_t *table, NestMemory *scratch);

#endif
