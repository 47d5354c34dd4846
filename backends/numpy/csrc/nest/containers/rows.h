/* Lists of lists of several lengths. */
#ifndef UFUSE_NEST_ROWS_H
#define UFUSE_NEST_ROWS_H

#include "nest/form/nest.h"

struct Addresses;

bool rows_read(Nest *nest, const NestSlot *slot, PyObject *object, int64_t left);
bool rows_have(const NestSlot *slot, PyObject *object, PyObject *one);
bool rows_among(const NestSlot *slot, PyObject *object, const struct Addresses *noted);

#endif
