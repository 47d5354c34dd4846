/* What a nest reads and writes of a frame, from its descriptions in Python. */
#ifndef UFUSE_NEST_SLOTS_H
#define UFUSE_NEST_SLOTS_H

#include "nest/form/nest.h"

/* The dtype and the axes of an array. 0, or -1 with an exception. */
int set_type(NestSlot *slot, PyObject *given, PyObject *character, int most_axes);

/* All slots of a nest, in their order; `given` is a tuple of tuples. 0, or -1 with an exception. */
int read_slots(Nest *self, PyObject *given);

#endif
