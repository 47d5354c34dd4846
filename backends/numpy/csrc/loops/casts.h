/* Casts and copies; NULL where there is no such loop. */
#ifndef UFUSE_CASTS_H
#define UFUSE_CASTS_H

#include "loops/loop.h"

LoopFunction *cast_function(int from, int to);
LoopFunction *copy_function(npy_intp itemsize);

#endif
