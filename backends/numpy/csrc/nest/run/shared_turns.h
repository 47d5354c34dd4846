/* Turns that do not depend on each other, shared among threads. */
#ifndef UFUSE_NEST_SHARED_TURNS_H
#define UFUSE_NEST_SHARED_TURNS_H

#include "nest/form/nest.h"

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

#endif
