/* Choices of two; NULL where there is no such loop. */
#ifndef UFUSE_CHOICE_H
#define UFUSE_CHOICE_H

#include "loops/loop.h"

LoopFunction *where_function(npy_intp itemsize);

#endif
