/* Which array statements are shared among threads. */
#ifndef UFUSE_NEST_SHARING_H
#define UFUSE_NEST_SHARING_H

#include "nest/nest.h"

/* Turns that do not depend on each other, in shared.c. */
typedef struct {
    const Nest *nest;
    NestFunction *function;
    int64_t *words;
    const Register *before; /* cells */
    Register *after;
    unsigned mask; /* of the flags that are not ignored */
    int64_t turns;
} SharedTurns;

bool shared_turns_fit(const SharedTurns *shared);
bool shared_turns_run(SharedTurns *shared);

/* A nest whose machine code runs, and the floating-point flags that are not ignored. */
typedef struct {
    Nest *nest; /* NULL: none that shares loops */
    unsigned mask;
} RunningNest;

RunningNest shared_loops_enter(RunningNest entered);
int nest_share(int64_t number, int64_t *words, Register *cells);

typedef struct Sharing Sharing;

extern int64_t sharing_fewest_elements;
extern bool turns_are_shared; /* now: their statements are not */

/* Whether a statement has enough elements to look at how long it takes. */
static inline bool
sharing_is_possible(int64_t elements)
{
    return elements >= sharing_fewest_elements && threads_count() > 1 && !turns_are_shared;
}

Sharing *sharing_of(const void *statement, int64_t elements);
bool sharing_goes_on(void);
bool sharing_is_timed(const Sharing *sharing, int64_t elements);
bool sharing_pays(const Sharing *sharing, int64_t elements);
void sharing_learn_alone(Sharing *sharing, int64_t elements, double elapsed);
void sharing_learn_failed(Sharing *sharing);
void sharing_learn_shared(Sharing *sharing, int64_t elements, double elapsed);

#endif
