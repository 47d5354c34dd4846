/* Lists of lists of numbers, all as long. */
#ifndef UFUSE_NEST_TABLES_H
#define UFUSE_NEST_TABLES_H

#include "nest/form/nest.h"

bool changes_list(const NestSlot *slot);
int64_t slot_lists(const NestSlot *slot, PyObject *const *object, PyObject *const **lists);
int64_t slot_numbers(const Nest *nest, const NestSlot *slot, PyObject *object);
bool table_read(Nest *nest, const NestSlot *slot, PyObject *const *object, int64_t left);
void table_words(const Nest *nest, const NestSlot *slot, int64_t *words);
int64_t next_stored(const NestSlot *slot, const char *now, const char *before, int64_t from,
                    int64_t count);
bool lists_are_apart(const Nest *nest, PyObject *const *objects);

#endif
