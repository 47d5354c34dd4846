/* The objects that a nest is given, as words and cells; those that it gives back. */
#ifndef UFUSE_NEST_OBJECTS_H
#define UFUSE_NEST_OBJECTS_H

#include "nest/form/nest.h"

bool objects_read_arrays(const Nest *nest, PyObject *const *objects, int64_t *words);
bool objects_read_cells(const Nest *nest, PyObject *const *objects, Register *cells);
bool objects_read_lists(Nest *nest, PyObject *const *objects, Register *cells);
double objects_size(const Nest *nest, const int64_t *words, const Register *cells);
bool objects_clear_status(const Nest *nest, const Register *cells);
void objects_move(const Nest *nest, PyObject *const *objects, int64_t turns, PyObject **results);
bool objects_make(const Nest *nest, PyObject *const *objects, const Register *before,
                  const Register *after, PyObject **made);

#endif
