/* Loops of NumPy's that take many times as long as they need, done here for ordinary numbers. */
#ifndef UFUSE_QUICK_H
#define UFUSE_QUICK_H

#include "loops/loop.h"

void set_quick(Loop *loop);

#endif
