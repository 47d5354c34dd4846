/* Operands whose elements are moved along axes, as `np.roll` moves them. */
#ifndef UFUSE_KERNEL_ROLLS_H
#define UFUSE_KERNEL_ROLLS_H

#include "kernel/form.h"

int rolls_read(Kernel *kernel, PyObject *rolls);
void rolled_bind(Rolled *rolled, const Roll *roll, const Space *space, PyArrayObject *array,
                 const Walk *walk);
void rolled_gather(const Rolled *rolled, npy_intp from, npy_intp count, char *to,
                   npy_intp itemsize);

#endif
