/* The Program type. */
#ifndef UFUSE_PROGRAM_PROGRAM_H
#define UFUSE_PROGRAM_PROGRAM_H

#include "program/form.h"

int program_begin(PyObject *module);

#endif
