/* Folds of rows. */
#ifndef UFUSE_ROW_FOLDS_H
#define UFUSE_ROW_FOLDS_H

#include "loops/loop.h"

/* Sums of rows of at least eight elements, extremes of at least four. */
ShortFold sums_of_doubles, sums_of_floats, any_of_rows, all_of_rows;
ShortFold greatest_of_doubles, greatest_of_floats, greatest_of_int64s, greatest_of_int32s;
ShortFold least_of_doubles, least_of_floats, least_of_int64s, least_of_int32s;

#endif
