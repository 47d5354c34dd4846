/* The largest and the smallest of two to four floating-point numbers, of many rows at once. */
#include "loops/extremes.h"

#include "loops/vectors.h"

/* No operation here raises a flag: there is no NaN. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif

#define DEFINE_EXTREME(NAME, NUMBER, BITS, COUNT, BETTER)                                          \
    QUICK_NARROW static bool NAME##_##COUNT(const NUMBER *restrict from, npy_intp rows,            \
                                            NUMBER *restrict to)                                   \
    {                                                                                              \
        BITS is_zero = 0;                                                                          \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            NUMBER best = from[COUNT * row];                                                       \
            for (npy_intp i = 1; i < COUNT; i++) {                                                 \
                NUMBER one = from[COUNT * row + i];                                                \
                best = BETTER ? one : best;                                                        \
            }                                                                                      \
            to[row] = best;                                                                        \
            is_zero |= best == 0;                                                                  \
        }                                                                                          \
        return !is_zero;                                                                           \
    }

#define DEFINE_EXTREMES(NAME, NUMBER, BITS, BETTER)                                                \
    DEFINE_EXTREME(NAME, NUMBER, BITS, 2, BETTER)                                                  \
    DEFINE_EXTREME(NAME, NUMBER, BITS, 3, BETTER)                                                  \
    DEFINE_EXTREME(NAME, NUMBER, BITS, 4, BETTER)                                                  \
    static bool NAME(const char *data, npy_intp count, npy_intp rows, char *results)               \
    {                                                                                              \
        const NUMBER *from = (const NUMBER *)(const void *)data;                                   \
        NUMBER *to = (NUMBER *)(void *)results;                                                    \
        return count == 2   ? NAME##_2(from, rows, to)                                             \
               : count == 3 ? NAME##_3(from, rows, to)                                             \
                            : NAME##_4(from, rows, to);                                            \
    }

DEFINE_EXTREMES(maximum_double, double, int64_t, one > best)
DEFINE_EXTREMES(maximum_float, float, int32_t, one > best)
DEFINE_EXTREMES(minimum_double, double, int64_t, one < best)
DEFINE_EXTREMES(minimum_float, float, int32_t, one < best)

#define DEFINE_ANY_NAN(NUMBER, BITS, MOST, INFINITE)                                               \
    QUICK_NARROW static bool any_##NUMBER##_is_nan(const char *from, npy_intp count)               \
    {                                                                                              \
        BITS is_nan = 0;                                                                           \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            BITS bits;                                                                             \
            memcpy(&bits, from + i * (npy_intp)sizeof bits, sizeof bits);                          \
            bits &= MOST;                                                                          \
            is_nan |= bits > (INFINITE);                                                           \
        }                                                                                          \
        return is_nan;                                                                             \
    }

DEFINE_ANY_NAN(double, int64_t, INT64_MAX, INT64_C(0x7ff0000000000000))
DEFINE_ANY_NAN(float, int32_t, INT32_MAX, INT32_C(0x7f800000))

/* Whether one of some doubles or floats is NaN. */
bool
any_is_nan(int type, const char *from, npy_intp count)
{
    return type == NPY_DOUBLE ? any_double_is_nan(from, count) : any_float_is_nan(from, count);
}

/* 1: done, and no result is zero; 0: one is; -1: not done. */
int
extremes_of_rows(bool is_greatest, int type, const char *from, npy_intp count, npy_intp rows,
                 char *to)
{
    npy_intp itemsize = type == NPY_DOUBLE ? 8 : 4;
    if (!QUICK_HAS_NARROW || count < 2 || count > 4 || rows < FEW ||
        ((uintptr_t)from | (uintptr_t)to) % (uintptr_t)itemsize != 0) {
        return -1;
    }
    if (any_is_nan(type, from, count * rows)) {
        return -1;
    }
    if (type == NPY_DOUBLE) {
        return is_greatest ? maximum_double(from, count, rows, to)
                           : minimum_double(from, count, rows, to);
    }
    return is_greatest ? maximum_float(from, count, rows, to)
                       : minimum_float(from, count, rows, to);
}
