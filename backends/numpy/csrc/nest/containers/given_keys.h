/* Dicts and sets of whole numbers that a nest is given. */
#ifndef UFUSE_NEST_GIVEN_KEYS_H
#define UFUSE_NEST_GIVEN_KEYS_H

#include "nest/form/nest.h"

int64_t keys_held(const Nest *nest);
bool keys_begin_call(Nest *nest, PyObject *const *objects, int64_t left);
void keys_end_call(Nest *nest);
void keys_undo(const Nest *nest, PyObject *const *objects);
PyObject *keys_made(const Nest *nest, PyObject *const *objects);
bool keys_put(const Nest *nest, PyObject *const *objects, PyObject *made);
void keys_take_back(const Nest *nest, PyObject *const *objects, PyObject *made);
void keys_replace(const Nest *nest, PyObject *const *objects, PyObject *made);

#endif
