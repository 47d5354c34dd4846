/* Folds of short rows. */
#ifndef UFUSE_SHORT_FOLDS_H
#define UFUSE_SHORT_FOLDS_H

#include "loops/loop.h"

void set_short_folds(Loop *loop);
int short_fold(const Loop *loop, const char *from, npy_intp row_step, npy_intp step, npy_intp count,
               npy_intp rows, char *to, npy_intp to_step);

#endif
