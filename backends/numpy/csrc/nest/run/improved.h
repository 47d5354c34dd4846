/* Better machine code for a nest, made while it runs. */
#ifndef UFUSE_NEST_IMPROVED_H
#define UFUSE_NEST_IMPROVED_H

#include "nest/form/nest.h"

NestFunction *improved_function(const Nest *nest, const int64_t *words);
bool arrays_are_apart(const Nest *nest, const int64_t *words);
bool improved_learn(Nest *nest, int64_t kept);
bool improved_is_quiet(const Nest *nest);
int improved_ask(Nest *nest);
double improved_budget(const Nest *nest);
PyObject *nest_tune(PyObject *self, PyObject *args);
PyObject *nest_improve(PyObject *self, PyObject *args);
PyObject *nest_answered(PyObject *self, PyObject *none);

#endif
