/* What numbers of a kind are, and how many items a list has. */
#ifndef UFUSE_NEST_ITEMS_H
#define UFUSE_NEST_ITEMS_H

#include "nest/form/nest.h"

int items_begin(void);
int64_t items_of(PyObject *object);
const Number *item_number(SlotKind item, bool numpy);

#endif
