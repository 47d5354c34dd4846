/* The Nest type. */
#ifndef UFUSE_NEST_NEST_TYPE_H
#define UFUSE_NEST_NEST_TYPE_H

#include "nest/form/nest.h"

int nest_begin(PyObject *module);

#endif
