/* What the caller says of arrays that only a frame holds. */
#ifndef UFUSE_NEST_KNOWN_H
#define UFUSE_NEST_KNOWN_H

#include "nest/saved/saved.h"

typedef struct {
    const int32_t *contents; /* for each object; NULL: nothing is known */
    PyObject *const *objects;
    Py_ssize_t count; /* of the objects, with those that others equal */
} Known;

int known_read(const Nest *nest, PyObject *const *objects, Py_ssize_t count, PyObject *names,
               Known *known);
bool known_add(const Known *known, const Nest *nest, int number, Saved *saved);

#endif
