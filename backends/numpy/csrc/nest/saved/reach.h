/* What a chunk of turns may write of an array. */
#ifndef UFUSE_NEST_REACH_H
#define UFUSE_NEST_REACH_H

#include "nest/saved/saved.h"

int reach_read(Nest *nest, PyObject *given);
bool reach_add(const Nest *nest, int number, PyArrayObject *array, const int64_t *words,
               const Register *cells, int64_t turns, Saved *saved);

#endif
