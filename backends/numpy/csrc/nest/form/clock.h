/* Time as it passes. */
#ifndef UFUSE_NEST_CLOCK_H
#define UFUSE_NEST_CLOCK_H

#include <time.h>

/* Nanoseconds since some moment. */
static inline double
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#endif
