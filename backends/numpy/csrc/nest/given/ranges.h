/* The iterator of a range. */
#ifndef UFUSE_NEST_RANGES_H
#define UFUSE_NEST_RANGES_H

#include "nest/form/nest.h"

typedef struct {
    int64_t next, step, left;
} Range;

int ranges_begin(void);
bool range_read(PyObject *object, Range *range);
void range_move(PyObject *object, int64_t left);

#endif
