/* The largest and the least of rows. */
#ifndef UFUSE_EXTREMES_H
#define UFUSE_EXTREMES_H

#include "loops/loop.h"

/* Of rows beside one another; 1: done, and no result is zero; 0: one is; -1: not done.
 */
int extremes_of_rows(bool is_greatest, int type, const char *from, npy_intp count, npy_intp rows,
                     char *to);
bool any_is_nan(int type, const char *from, npy_intp count);

#endif
