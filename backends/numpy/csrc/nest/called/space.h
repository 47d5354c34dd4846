/* Spaces of several axes that arrays step through together. */
#ifndef UFUSE_NEST_SPACE_H
#define UFUSE_NEST_SPACE_H

#include "nest/form/nest.h"

/* An axis of the space: its length, and for each array the bytes from one element to the next. */
typedef struct {
    int64_t length;
    npy_intp *step;
} Axis;

int axes_take(Axis *axis, int64_t axes, const int64_t *lengths, npy_intp *steps, int64_t arrays);
void axes_sort(Axis *axis, int axes, int64_t arrays);
int axes_join(Axis *axis, int axes, int64_t arrays);

#endif
