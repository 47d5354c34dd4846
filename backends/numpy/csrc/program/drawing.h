/* Programs that draw random numbers. */
#ifndef UFUSE_PROGRAM_DRAWING_H
#define UFUSE_PROGRAM_DRAWING_H

#include "program/form.h"

int drawing_begin(PyObject *module);

#endif
