/* Generators that begin anew with an int. */
#ifndef UFUSE_NEST_SEEDING_H
#define UFUSE_NEST_SEEDING_H

#include "nest/form/nest.h"

int seeding_begin(bool is_python);
int64_t nest_seed(void *bits, int64_t seed);
int64_t nest_legacy_seed(void *bits, int64_t seed);
int64_t nest_python_seed(void *bits, int64_t seed);

#endif
