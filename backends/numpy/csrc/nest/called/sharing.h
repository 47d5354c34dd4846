/* Which work is shared among threads. */
#ifndef UFUSE_NEST_SHARING_H
#define UFUSE_NEST_SHARING_H

#include "nest/form/nest.h"

typedef struct Sharing Sharing;

extern int64_t sharing_fewest_elements;
extern bool turns_are_shared; /* now: their statements are not */
extern PyMethodDef sharing_methods[];

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
