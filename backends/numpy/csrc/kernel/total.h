/* Totals: sums and the like of a whole space, tile by tile. */
#ifndef UFUSE_KERNEL_TOTAL_H
#define UFUSE_KERNEL_TOTAL_H

#include "kernel/form.h"

npy_intp tree_starts(npy_intp size, npy_intp granule, npy_intp largest, npy_intp **starts);
int total_partial(const Total *total, npy_intp tile, npy_intp first, npy_intp count, char *input,
                  npy_intp step);
bool total_is_unsure(const Total *total, npy_intp tile, npy_intp count, const char *input,
                     npy_intp step);
int total_finish(const Run *run, const Total *total, char *out, bool *exact);

#endif
