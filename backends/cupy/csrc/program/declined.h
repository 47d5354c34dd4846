/* Which inputs a program's kernels have declined, so that they need not be asked again. */
#ifndef UFUSE_PROGRAM_DECLINED_H
#define UFUSE_PROGRAM_DECLINED_H

#include "program/form.h"

bool is_declined(const Program *self, PyObject *const *inputs, int device);
void note_declined(Program *self, PyObject *const *inputs, int device);

#endif
