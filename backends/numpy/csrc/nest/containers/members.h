/* Attributes of the items of lists of objects. */
#ifndef UFUSE_NEST_MEMBERS_H
#define UFUSE_NEST_MEMBERS_H

#include "nest/form/nest.h"

bool members_fit(Nest *nest, const NestSlot *slot, PyObject *list, int64_t left);
bool members_read(Nest *nest, const NestSlot *slot, PyObject *list);
PyObject **members_change(const NestSlot *slot, PyObject *list, const char *now, const char *before,
                          PyObject **next);
int64_t members_index(PyObject *list, PyObject *object);
PyObject *members_item(PyObject *list, int64_t index);
bool members_are_apart(const Nest *nest, PyObject *const *objects);

#endif
