/* Whole calls that change nothing that was there before. */
#ifndef UFUSE_LEAN_H
#define UFUSE_LEAN_H

#include "nest/form/nest.h"

bool lean_fits(const Nest *nest);
PyObject *lean_call(Nest *nest, PyObject *const *objects, unsigned mask);

#endif
