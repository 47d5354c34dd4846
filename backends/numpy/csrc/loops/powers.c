/*
 * Whole powers of negative numbers, of which NumPy's vector code computes one after another, at
 * fifty times what positive numbers take.
 *
 * 1. That code is known by its bits (`print_of`). It is off by 0.513 units in the last place at
 * most, of 40 million negative numbers of both types whose exact powers lie near the middle between
 * two floating-point numbers, with all exponents here.
 * 2. Here the power is computed with twice the digits. Where it is so near to a floating-point
 * number that whoever errs by less than MOST_ERROR gives that one, it is the result.
 * 3. NumPy gets 1 in place of what is done here; its elements do not depend on one another.
 */
#include "loops/powers.h"

#include "loops/operands.h"
#include "loops/vectors.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* No operation here raises a flag that matters: else none is done for several elements at once. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif

enum { MOST_EXPONENT = 16 };
static const double MOST_ERROR = 0.52;

/* Elements of a block. */
typedef struct {
    _Alignas(64) double base[QUICK_BLOCK]; /* -1 in place of what is left to NumPy */
    double power[QUICK_BLOCK], rest[QUICK_BLOCK];
    int64_t known[QUICK_BLOCK];
} Powers;

/* Set what is negative and has a power that is neither large nor small; whether any is. Numbers are
 * looked at as bits: to convert a NaN may raise a flag. */
#define DEFINE_CHOOSE(NUMBER, BITS, FRACTION_BITS, ROOM)                                           \
    QUICK_WIDE static bool choose_##NUMBER(Powers *powers, const NUMBER *x, npy_intp count,        \
                                           int exponent)                                           \
    {                                                                                              \
        const NUMBER plain = -1;                                                                   \
        const BITS reach = (BITS)(ROOM / abs(exponent)) << FRACTION_BITS;                          \
        BITS minus_one, any = 0;                                                                   \
        memcpy(&minus_one, &plain, sizeof plain);                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            BITS bits;                                                                             \
            memcpy(&bits, x + i, sizeof bits);                                                     \
            /* negative numbers: larger ones have larger bits */                                   \
            BITS wanted = (bits > minus_one - reach) & (bits < minus_one + reach);                 \
            any |= wanted;                                                                         \
            bits = wanted ? bits : minus_one;                                                      \
            NUMBER base;                                                                           \
            memcpy(&base, &bits, sizeof base);                                                     \
            powers->known[i] = wanted;                                                             \
            powers->base[i] = base;                                                                \
        }                                                                                          \
        return any != 0;                                                                           \
    }

DEFINE_CHOOSE(double, int64_t, 52, 800)
DEFINE_CHOOSE(float, int32_t, 23, 100)

/* base**exponent, as the nearest number and the rest. */
QUICK_WIDE static void
raise_all(Powers *powers, npy_intp count, int exponent)
{
    double *restrict power = powers->power, *restrict rest = powers->rest;
    const double *restrict base = powers->base;
    for (npy_intp i = 0; i < count; i++) {
        power[i] = base[i];
        rest[i] = 0;
    }
    for (int k = 1; k < abs(exponent); k++) {
        for (npy_intp i = 0; i < count; i++) {
            double product = power[i] * base[i];
            rest[i] = __builtin_fma(rest[i], base[i], __builtin_fma(power[i], base[i], -product));
            power[i] = product;
        }
    }
    for (npy_intp i = 0; i < count; i++) {
        if (exponent < 0) {
            double inverse = 1 / power[i];
            double lack = __builtin_fma(-inverse, rest[i], __builtin_fma(-inverse, power[i], 1));
            rest[i] = lack / power[i];
            power[i] = inverse;
        }
        double sum = power[i] + rest[i];
        rest[i] -= sum - power[i];
        power[i] = sum;
    }
}

/* Numbers of single precision: what is rounded off becomes part of the rest. */
QUICK_WIDE static void
narrow(Powers *powers, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        double single = (double)(float)powers->power[i];
        powers->rest[i] += powers->power[i] - single;
        powers->power[i] = single;
    }
}

/* Leave to NumPy what is not the nearest number, of so many binary digits, for all functions that
 * err as little; below a power of two the unit is another. */
QUICK_WIDE static void
judge(Powers *powers, npy_intp count, int digits)
{
    const int64_t fraction = (INT64_C(1) << 52) - 1;
    for (npy_intp i = 0; i < count; i++) {
        int64_t bits;
        memcpy(&bits, powers->power + i, sizeof bits);
        int64_t unit_bits = (bits & INT64_MAX & ~fraction) - ((int64_t)(digits - 1) << 52);
        double unit, rest = __builtin_fabs(powers->rest[i]);
        memcpy(&unit, &unit_bits, sizeof unit);
        powers->known[i] &= (int64_t)(rest <= (1 - MOST_ERROR) * unit) & ((bits & fraction) != 0);
    }
}

#define DEFINE_ANY_NEGATIVE(NUMBER, BITS)                                                          \
    QUICK_WIDE static bool is_any_##NUMBER##_negative(const char *from, npy_intp count)            \
    {                                                                                              \
        BITS any = 0;                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            BITS bits;                                                                             \
            memcpy(&bits, from + i * (npy_intp)sizeof(BITS), sizeof bits);                         \
            any |= bits;                                                                           \
        }                                                                                          \
        return any < 0;                                                                            \
    }

DEFINE_ANY_NEGATIVE(double, int64_t)
DEFINE_ANY_NEGATIVE(float, int32_t)

#define DEFINE_POWER(NUMBER, DIGITS)                                                               \
    QUICK_WIDE static int block_of_##NUMBER(const Loop *loop, char *from, char *exponent,          \
                                            char *to, npy_intp count, int whole)                   \
    {                                                                                              \
        const npy_intp steps[3] = {sizeof(NUMBER), 0, sizeof(NUMBER)};                             \
        NUMBER x[QUICK_BLOCK], results[QUICK_BLOCK];                                               \
        Powers powers;                                                                             \
        memcpy(x, from, (size_t)count * sizeof(NUMBER));                                           \
        if (!choose_##NUMBER(&powers, x, count, whole)) {                                          \
            return numpys_loop(loop, from, exponent, to, count, steps);                            \
        }                                                                                          \
        raise_all(&powers, count, whole);                                                          \
        if (DIGITS == FLT_MANT_DIG) {                                                              \
            narrow(&powers, count);                                                                \
        }                                                                                          \
        judge(&powers, count, DIGITS);                                                             \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            x[i] = powers.known[i] ? 1 : x[i];                                                     \
        }                                                                                          \
        int result = numpys_loop(loop, (char *)x, exponent, (char *)results, count, steps);        \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            results[i] = powers.known[i] ? (NUMBER)powers.power[i] : results[i];                   \
        }                                                                                          \
        memcpy(to, results, (size_t)count * sizeof(NUMBER));                                       \
        return result;                                                                             \
    }                                                                                              \
    static int power_of_##NUMBER(const Loop *loop, char **data, npy_intp count,                    \
                                 const npy_intp *steps)                                            \
    {                                                                                              \
        const npy_intp size = sizeof(NUMBER);                                                      \
        NUMBER exponent;                                                                           \
        memcpy(&exponent, data[1], sizeof exponent);                                               \
        if (steps[1] != 0 || steps[0] != size || steps[2] != size ||                               \
            !is_whole((double)exponent) || !is_any_##NUMBER##_negative(data[0], count) ||          \
            overlap_of(data, count, steps, size) == LIES_ACROSS) {                                 \
            return numpys_loop(loop, data[0], data[1], data[2], count, steps);                     \
        }                                                                                          \
        int result = 0;                                                                            \
        for (npy_intp first = 0; first < count && result == 0; first += QUICK_BLOCK) {             \
            npy_intp some = count - first < QUICK_BLOCK ? count - first : QUICK_BLOCK;             \
            result = block_of_##NUMBER(loop, data[0] + first * size, data[1],                      \
                                       data[2] + first * size, some, (int)exponent);               \
        }                                                                                          \
        return result;                                                                             \
    }

/* A NaN is none, and compared quietly. */
static bool
is_whole(double exponent)
{
    return isgreaterequal(fabs(exponent), 2) && islessequal(fabs(exponent), MOST_EXPONENT) &&
           exponent == trunc(exponent);
}

DEFINE_POWER(double, DBL_MANT_DIG)
DEFINE_POWER(float, FLT_MANT_DIG)

/* The bits of some powers of NumPy's, as one number. */
static uint64_t
print_of(const Loop *loop)
{
    enum { SAMPLES = 128 };
    static const double exponents[] = {3, -5, 11};
    const npy_intp size = loop->itemsize, steps[3] = {size, 0, size};
    _Alignas(64) char x[SAMPLES * sizeof(double)], results[SAMPLES * sizeof(double)];
    char exponent[sizeof(double)];
    uint64_t print = 0;
    for (int i = 0; i < SAMPLES; i++) {
        store_number(loop->types[0], (i % 2 != 0 ? -0.109375 : 0.109375) * (i + 3), x + i * size);
    }
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        store_number(loop->types[0], exponents[k], exponent);
        if (numpys_loop(loop, x, exponent, results, SAMPLES, steps) != 0) {
            return 0;
        }
        for (npy_intp i = 0; i < SAMPLES * size; i++) {
            print = (print ^ (unsigned char)results[i]) * UINT64_C(0x100000001b3);
        }
    }
    return print;
}

QuickLoop *
quick_power(const Loop *loop)
{
    const uint64_t double_print = UINT64_C(0xb088622d00764062);
    const uint64_t float_print = UINT64_C(0x49880553cf37a495);
    if (!QUICK_HAS_WIDE) {
        return NULL;
    }
    if (loop->types[0] == NPY_DOUBLE) {
        return print_of(loop) == double_print ? power_of_double : NULL;
    }
    return print_of(loop) == float_print ? power_of_float : NULL;
}
