/* Lists that a nest changes. */
#ifndef UFUSE_NEST_LISTS_H
#define UFUSE_NEST_LISTS_H

#include "nest/saved/saved.h"

bool lists_begin(Nest *nest, PyObject *const *objects, int64_t left);
void lists_undo(const Nest *nest, PyObject *const *objects);
PyObject *list_given(const Nest *nest, const NestSlot *slot, int64_t number);
bool lists_change(const Nest *nest, PyObject *const *objects, const Saved *saved);

#endif
