/* Tiles of a space. */
#ifndef UFUSE_KERNEL_TILING_H
#define UFUSE_KERNEL_TILING_H

#include "kernel/binding.h"

/* 0, 1, -1 as kernel_run. */
int run_space(Binding *binding, char (*out)[MAX_ITEM], double work);

#endif
