/* Iterators over several axes. */
#ifndef UFUSE_NEST_GRIDS_H
#define UFUSE_NEST_GRIDS_H

#include "nest/given/ranges.h"

int grids_begin(void);
bool grid_read(SlotKind kind, PyObject *object, Range *range);
int grids_prepare(const Nest *nest, PyObject *const *objects, PyObject **results);
void grids_drop(const Nest *nest, PyObject **results);
void grid_move(SlotKind kind, PyObject *object, int64_t turns, PyObject **result);

#endif
