/* Numbers as arguments of kernels, converted as CuPy's CScalar converts them. */
#ifndef UFUSE_KERNEL_NUMBERS_H
#define UFUSE_KERNEL_NUMBERS_H

#include "kernel/form.h"

int numbers_use(PyObject *check);
int pack_number(PyObject *value, PyObject *dtype, Cell *cell);
int check_fits(PyObject *value, PyObject *dtype);
PyObject *packed(PyObject *module, PyObject *args);

#endif
