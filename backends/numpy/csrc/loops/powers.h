/* Powers; NULL where the loop is not known. */
#ifndef UFUSE_POWERS_H
#define UFUSE_POWERS_H

#include "loops/loop.h"

QuickLoop *quick_power(const Loop *loop);

#endif
