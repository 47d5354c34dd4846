/* Iterators over arrays, lists and tuples, and enumerate objects. */
#ifndef UFUSE_NEST_ITERATORS_H
#define UFUSE_NEST_ITERATORS_H

#include "nest/given/ranges.h"

int iterators_begin(void);
bool iterator_read(SlotKind kind, PyObject *object, Range *range);
void iterator_move(SlotKind kind, PyObject *object, int64_t turns);

#endif
