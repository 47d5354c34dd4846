/*
 * Remainders and floor quotients, by division: NumPy divides whole numbers one after another, and
 * calls fmod() for floating-point numbers.
 *
 * 1. fmod(x, y) is x - n*y, which is a floating-point number, where n is x/y without its fraction.
 *    What is rounded of x/y is never less than n and at most n + 1, and then the remainder has the
 *    wrong sign: it is mended, exactly. From there on the steps are those of NumPy's `npy_divmod`.
 * 2. Quotients of whole numbers below 2**51 (in single precision: of 16 bits) do not round up to
 * the next whole number.
 *
 * Ordinary: numbers whose quotient has no more than 51 (22) bits, and which are not so large or
 * small that something over- or underflows.
 */
#include "loops/remainders.h"

#include "loops/vectors.h"

/* No operation here raises a flag that matters: else none is done for several elements at once. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif

/* Of numbers as whole numbers, as a comparison of a NaN raises a flag. */
#define IS_NORMAL(BITS, LEAST, MOST) (((BITS) >= (LEAST)) & ((BITS) <= (MOST)))

#define LEAST_double INT64_C(0x26f0000000000000) /* 2**-400: no product underflows */
#define MOST_double INT64_C(0x58f0000000000000)  /* 2**400 */
#define LARGEST_double 0x1p51
#define LEAST_float INT32_C(0x26800000) /* 2**-50 */
#define MOST_float INT32_C(0x58800000)  /* 2**50 */
#define LARGEST_float 0x1p22f

#define SIGN_double INT64_MIN
#define TRUNC_double __builtin_trunc
#define FLOOR_double __builtin_floor
#define FMA_double __builtin_fma
#define COPYSIGN_double __builtin_copysign
#define ABS_double __builtin_fabs
#define SIGN_float INT32_MIN
#define TRUNC_float __builtin_truncf
#define FLOOR_float __builtin_floorf
#define FMA_float __builtin_fmaf
#define COPYSIGN_float __builtin_copysignf
#define ABS_float __builtin_fabsf

/* `rest` is the remainder with the sign of `x`. The numbers are looked at before any is computed
 * with, which might raise a flag. */
#define DEFINE_FLOAT(NAME, TARGET, NUMBER, BITS, COMPUTE)                                          \
    TARGET static bool NAME(const char *a, const char *b, char *out, npy_intp count)               \
    {                                                                                              \
        const NUMBER *restrict left = (const NUMBER *)(const void *)a;                             \
        const NUMBER *restrict right = (const NUMBER *)(const void *)b;                            \
        NUMBER *restrict to = (NUMBER *)(void *)out;                                               \
        BITS ordinary = 1;                                                                         \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            BITS x, y;                                                                             \
            memcpy(&x, left + i, sizeof x);                                                        \
            memcpy(&y, right + i, sizeof y);                                                       \
            x &= ~SIGN_##NUMBER;                                                                   \
            y &= ~SIGN_##NUMBER;                                                                   \
            ordinary &= (IS_NORMAL(x, LEAST_##NUMBER, MOST_##NUMBER) | (x == 0)) &                 \
                        IS_NORMAL(y, LEAST_##NUMBER, MOST_##NUMBER);                               \
        }                                                                                          \
        if (!ordinary) {                                                                           \
            return false;                                                                          \
        }                                                                                          \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            NUMBER x = left[i], y = right[i];                                                      \
            NUMBER n = TRUNC_##NUMBER(x / y);                                                      \
            NUMBER rest = FMA_##NUMBER(-n, y, x);                                                  \
            NUMBER mended = rest + COPYSIGN_##NUMBER(y, x);                                        \
            rest = rest * COPYSIGN_##NUMBER(1, x) < 0 ? mended : rest;                             \
            ordinary &= ABS_##NUMBER(n) <= LARGEST_##NUMBER;                                       \
            COMPUTE(NUMBER)                                                                        \
        }                                                                                          \
        return ordinary != 0;                                                                      \
    }

#define FMOD(NUMBER) to[i] = COPYSIGN_##NUMBER(rest, x);

#define REMAINDER(NUMBER)                                                                          \
    NUMBER other = rest + y;                                                                       \
    other = rest * y < 0 ? other : rest;                                                           \
    to[i] = rest != 0 ? other : COPYSIGN_##NUMBER(0, y);

#define FLOOR_DIVIDE(NUMBER)                                                                       \
    NUMBER quotient = (x - rest) / y;                                                              \
    quotient = rest * y < 0 ? quotient - 1 : quotient;                                             \
    NUMBER below = FLOOR_##NUMBER(quotient);                                                       \
    below = quotient - below > (NUMBER)0.5 ? below + 1 : below;                                    \
    to[i] = quotient != 0 ? below : COPYSIGN_##NUMBER(0, x / y);

#define DEFINE_FLOATS(NAME, TARGET, COMPUTE)                                                       \
    DEFINE_FLOAT(NAME##_double, TARGET, double, int64_t, COMPUTE)                                  \
    DEFINE_FLOAT(NAME##_float, TARGET, float, int32_t, COMPUTE)

/*
 * Whole numbers, and their quotients, in floating point that holds them exactly. A sum with MAGIC
 * has its other term in the lowest bits: older processors have no instruction that converts 64
 * bits.
 */
#define MAGIC_double 0x1.8p52
#define MAGIC_float 0x1.8p23f
static const int64_t MAGIC_BITS = INT64_C(0x4338000000000000); /* of the double */

static inline __attribute__((always_inline)) double
widen(int64_t x)
{
    double sum;
    x += MAGIC_BITS;
    memcpy(&sum, &x, sizeof sum);
    return sum - MAGIC_double;
}

#define LIMIT (INT64_C(1) << 51)
#define IS_SMALL(X) (((int64_t)(X) > -LIMIT) & ((int64_t)(X) < LIMIT))
#define IS_FEW(X) ((X) < (uint64_t)LIMIT) /* of numbers without a sign */
#define ANY_NUMBER(X) 1

#define DEFINE_WHOLE(NAME, TARGET, NUMBER, WORD, WIDE, WIDENED, IS_IN, RESULT)                     \
    TARGET static bool NAME(const char *a, const char *b, char *out, npy_intp count)               \
    {                                                                                              \
        const NUMBER *restrict left = (const NUMBER *)(const void *)a;                             \
        const NUMBER *restrict right = (const NUMBER *)(const void *)b;                            \
        NUMBER *restrict to = (NUMBER *)(void *)out;                                               \
        NUMBER ordinary = 1;                                                                       \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            ordinary &= IS_IN(left[i]) & IS_IN(right[i]) & (right[i] != 0);                        \
        }                                                                                          \
        if (!ordinary) {                                                                           \
            return false;                                                                          \
        }                                                                                          \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            WIDE x = WIDENED(left[i]), y = WIDENED(right[i]);                                      \
            WIDE n = FLOOR_##WIDE(x / y);                                                          \
            WIDE sum = (RESULT) + MAGIC_##WIDE;                                                    \
            WORD bits;                                                                             \
            memcpy(&bits, &sum, sizeof bits);                                                      \
            to[i] = (NUMBER)(sizeof bits == sizeof MAGIC_BITS ? bits - MAGIC_BITS : bits);         \
        }                                                                                          \
        return true;                                                                               \
    }

#define DEFINE_WHOLES(NAME, TARGET, RESULT)                                                        \
    DEFINE_WHOLE(NAME##_int8, TARGET, int8_t, int32_t, float, (float), ANY_NUMBER, RESULT)         \
    DEFINE_WHOLE(NAME##_uint8, TARGET, uint8_t, int32_t, float, (float), ANY_NUMBER, RESULT)       \
    DEFINE_WHOLE(NAME##_int16, TARGET, int16_t, int32_t, float, (float), ANY_NUMBER, RESULT)       \
    DEFINE_WHOLE(NAME##_uint16, TARGET, uint16_t, int32_t, float, (float), ANY_NUMBER, RESULT)     \
    DEFINE_WHOLE(NAME##_int32, TARGET, int32_t, int64_t, double, (double), ANY_NUMBER, RESULT)     \
    DEFINE_WHOLE(NAME##_uint32, TARGET, uint32_t, int64_t, double, (double), ANY_NUMBER, RESULT)   \
    DEFINE_WHOLE(NAME##_int64, TARGET, int64_t, int64_t, double, widen, IS_SMALL, RESULT)          \
    DEFINE_WHOLE(NAME##_uint64, TARGET, uint64_t, int64_t, double, widen, IS_FEW, RESULT)

#define DEFINE_ALL(TARGET_NAME, TARGET)                                                            \
    DEFINE_FLOATS(fmod_##TARGET_NAME, TARGET, FMOD)                                                \
    DEFINE_FLOATS(remainder_##TARGET_NAME, TARGET, REMAINDER)                                      \
    DEFINE_FLOATS(floor_divide_##TARGET_NAME, TARGET, FLOOR_DIVIDE)                                \
    DEFINE_WHOLES(remainder_##TARGET_NAME, TARGET, x - n * y)

DEFINE_ALL(wide, QUICK_WIDE)
DEFINE_ALL(narrow, QUICK_NARROW)

#define ROW(NAME, TYPE, SUFFIX) {#NAME, TYPE, NAME##_wide_##SUFFIX, NAME##_narrow_##SUFFIX}

static const struct {
    const char *name;
    int type;
    OrdinaryBlock *wide, *narrow;
} blocks[] = {
    ROW(fmod, NPY_DOUBLE, double),         ROW(fmod, NPY_FLOAT, float),
    ROW(floor_divide, NPY_DOUBLE, double), ROW(floor_divide, NPY_FLOAT, float),
    ROW(remainder, NPY_DOUBLE, double),    ROW(remainder, NPY_FLOAT, float),
    ROW(remainder, NPY_BYTE, int8),        ROW(remainder, NPY_UBYTE, uint8),
    ROW(remainder, NPY_SHORT, int16),      ROW(remainder, NPY_USHORT, uint16),
    ROW(remainder, NPY_INT, int32),        ROW(remainder, NPY_UINT, uint32),
    ROW(remainder, NPY_LONG, int64),       ROW(remainder, NPY_ULONG, uint64),
    ROW(remainder, NPY_LONGLONG, int64),   ROW(remainder, NPY_ULONGLONG, uint64),
};

OrdinaryBlock *
remainder_block(const char *name, int type)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (blocks[i].type == type && strcmp(blocks[i].name, name) == 0) {
            return QUICK_HAS_WIDE ? blocks[i].wide : QUICK_HAS_NARROW ? blocks[i].narrow : NULL;
        }
    }
    return NULL;
}
