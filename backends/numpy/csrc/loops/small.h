/* Small arrays. */
#ifndef UFUSE_SMALL_H
#define UFUSE_SMALL_H

#include "loops/loop.h"

int small_begin(PyObject *module);
bool are_finite(const Loop *loop, const char *data, npy_intp count, npy_intp step);

#endif
