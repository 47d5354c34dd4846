/* Which array statements are shared among threads. */
#ifndef UFUSE_NEST_SHARING_H
#define UFUSE_NEST_SHARING_H

#include "nest/nest.h"

typedef struct Sharing Sharing;

bool sharing_is_possible(int64_t elements);
Sharing *sharing_of(const void *statement, int64_t elements);
bool sharing_goes_on(void);
bool sharing_is_timed(const Sharing *sharing, int64_t elements);
bool sharing_pays(const Sharing *sharing, int64_t elements);
void sharing_learn_alone(Sharing *sharing, int64_t elements, double elapsed);
void sharing_learn_shared(Sharing *sharing, int64_t elements, double elapsed);

#endif
