/* Folds of few columns. */
#ifndef UFUSE_COLUMN_FOLDS_H
#define UFUSE_COLUMN_FOLDS_H

#include "loops/loop.h"

enum { FEW_COLUMNS = 64 };
ColumnFold *column_fold(const Loop *loop);
bool fold_columns(const Loop *loop, const char *from, npy_intp itemsize, npy_intp columns,
                  npy_intp rows, char *to);

#endif
