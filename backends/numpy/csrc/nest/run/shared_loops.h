/* Loops inside of a nest whose turns threads share. */
#ifndef UFUSE_NEST_SHARED_LOOPS_H
#define UFUSE_NEST_SHARED_LOOPS_H

#include "nest/form/nest.h"

/* A nest whose machine code runs, and the floating-point flags that are not ignored. */
typedef struct {
    Nest *nest; /* NULL: none that shares loops */
    unsigned mask;
} RunningNest;

RunningNest shared_loops_enter(RunningNest entered);
int nest_share(int64_t number, int64_t *words, Register *cells);

#endif
