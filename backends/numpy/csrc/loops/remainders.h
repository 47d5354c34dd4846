/* Remainders; NULL where there is none. */
#ifndef UFUSE_REMAINDERS_H
#define UFUSE_REMAINDERS_H

#include "loops/loop.h"

OrdinaryBlock *remainder_block(const char *name, int type);

#endif
