/* Attributes of these that are arrays. */
#ifndef UFUSE_NEST_STACKED_H
#define UFUSE_NEST_STACKED_H

#include "nest/form/nest.h"

bool stacked_read(Nest *nest, const NestSlot *slot, PyObject *list, int64_t left);
void stacked_words(const Nest *nest, const NestSlot *slot, int64_t *words);
int64_t stacked_elements(const Nest *nest, const NestSlot *slot);
bool stacked_marks(Nest *nest, const NestSlot *slot, PyObject *list);
PyObject *stacked_new(const Nest *nest, const NestSlot *slot, int64_t item);
bool stacked_is_new(const Nest *nest, const NestSlot *slot, int64_t item);
PyObject **stacked_change(const Nest *nest, const NestSlot *slot, PyObject *list, const char *now,
                          const char *before, PyObject **next);
bool stacked_are_apart(const Nest *nest, PyObject *const *objects);

#endif
