/* Memory of a nest's own: its temporaries and scratch. */
#ifndef UFUSE_NEST_OWN_MEMORY_H
#define UFUSE_NEST_OWN_MEMORY_H

#include "nest/form/nest.h"

int nest_grow(NestMemory *one, int64_t bytes);
int nest_extend(NestMemory *one, int64_t bytes);
void own_memory_drop(Nest *nest, size_t most);
PyObject *own_memory_array(const Nest *nest, int temporary);

#endif
