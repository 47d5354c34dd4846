/* Products of matrices, systems of equations. */
#ifndef UFUSE_NEST_PRODUCTS_H
#define UFUSE_NEST_PRODUCTS_H

#include "nest/form/nest.h"

int nest_matmul(const Loop *loop, int64_t kind, int64_t *table);

#endif
