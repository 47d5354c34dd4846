/* A call of a nest. */
#ifndef UFUSE_NEST_CHUNKS_H
#define UFUSE_NEST_CHUNKS_H

#include "nest/form/nest.h"

PyObject *nest_vectorcall(PyObject *self, PyObject *const *objects, size_t count, PyObject *names);

#endif
