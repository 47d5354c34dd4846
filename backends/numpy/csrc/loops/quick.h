/* Loops of NumPy's that take many times as long as they need, done here for ordinary numbers. */
#ifndef UFUSE_QUICK_H
#define UFUSE_QUICK_H

#include "loops/loops.h"

/* How many elements are done at once; and what a count is rounded up to: vectors are that long. */
enum { QUICK_BLOCK = 128, QUICK_VECTOR = 16 };

/* What the processor can do decides which code there is. */
#if defined(__x86_64__) && defined(__GNUC__)
#    define QUICK_WIDE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#    define QUICK_NARROW __attribute__((target("avx2,fma")))
#    define QUICK_HAS_WIDE                                                                         \
        (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&               \
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
#    define QUICK_HAS_NARROW (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#    define QUICK_WIDE
#    define QUICK_NARROW
#    define QUICK_HAS_WIDE 0
#    if defined(__aarch64__)
#        define QUICK_HAS_NARROW 1
#    else
#        define QUICK_HAS_NARROW 0
#    endif
#endif

/* remainders.c: NULL where there is none. */
OrdinaryBlock *remainder_block(const char *name, int type);

/* powers.c: NULL where the loop is not known. */
QuickLoop *quick_power(const Loop *loop);

/* extremes.c: of rows beside one another; 1: done, and no result is zero; 0: one is; -1: not done.
 */
int extremes_of_rows(bool is_greatest, int type, const char *from, npy_intp count, npy_intp rows,
                     char *to);
bool any_is_nan(int type, const char *from, npy_intp count);

/* row_folds.c: sums of rows of at least eight elements, extremes of at least four. */
ShortFold sums_of_doubles, sums_of_floats, any_of_rows, all_of_rows;
ShortFold greatest_of_doubles, greatest_of_floats, greatest_of_int64s, greatest_of_int32s;
ShortFold least_of_doubles, least_of_floats, least_of_int64s, least_of_int32s;

/* operands.c: how what is written lies to the operands: on one of them, element on element, or
 * across one. */
typedef enum { LIES_APART, LIES_ON_OPERAND, LIES_ACROSS } Overlap;
Overlap overlap_of(char **data, npy_intp count, const npy_intp *steps, npy_intp itemsize);

/* Store a number as one of a type, if it can be one. */
bool store_number(int type, double number, char *to);

static inline int
numpys_loop(const Loop *loop, char *a, char *b, char *to, npy_intp count, const npy_intp *steps)
{
    char *data[3] = {a, b, to};
    return loop->strided(loop->context, data, &count, steps, loop->auxdata);
}

#endif
