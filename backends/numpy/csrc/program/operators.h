/* Python's operators by name. */
#ifndef UFUSE_PROGRAM_OPERATORS_H
#define UFUSE_PROGRAM_OPERATORS_H

#include "program/form.h"

/* NULL where there is no operator of this name. */
BinaryFunction binary_operator(PyObject *name);
UnaryFunction unary_operator(PyObject *name);

#endif
