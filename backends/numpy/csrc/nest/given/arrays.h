/* Arrays that a nest is given: whether they fit, and whose their memory is. */
#ifndef UFUSE_NEST_ARRAYS_H
#define UFUSE_NEST_ARRAYS_H

#include "nest/form/nest.h"

PyObject *owner_of_memory(PyArrayObject *array);
bool is_private(PyArrayObject *array);
bool array_fits(const NestSlot *slot, PyObject *object, int axes, bool written);

#endif
