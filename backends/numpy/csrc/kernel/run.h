/* Running tiles. */
#ifndef UFUSE_KERNEL_RUN_H
#define UFUSE_KERNEL_RUN_H

#include "kernel/form.h"

int run_tiles(Run *run, npy_intp first, npy_intp past, unsigned char *bits);
size_t scratch_needed(const Run *run);

#endif
