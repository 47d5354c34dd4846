/* Rows of up to a hundred elements, folded in the order in which NumPy folds them. */
#include "loops/row_folds.h"

#include "loops/extremes.h"

enum { SIDE_BY_SIDE = 8, COMPARED = 4 };

/* The elements of a row without gaps: themselves, or a copy. */
static inline const char *
side_by_side(const char *items, npy_intp step, npy_intp size, npy_intp count, void *copy)
{
    if (step == size) {
        return items;
    }
    copy_strided(copy, size, items, step, count, size);
    return copy;
}

/* Sums of some rows of at least SIDE_BY_SIDE elements: every eighth is added to one of as many
 * sums, which are added to one another, and what is left to that. */
#define DEFINE_SUMS(NAME, NUMBER)                                                                  \
    static inline __attribute__((always_inline)) NUMBER NAME##_of(const char *items,               \
                                                                  npy_intp count)                  \
    {                                                                                              \
        NUMBER sums[SIDE_BY_SIDE], some[SIDE_BY_SIDE];                                             \
        npy_intp i = SIDE_BY_SIDE;                                                                 \
        memcpy(sums, items, sizeof sums);                                                          \
        for (; i + SIDE_BY_SIDE <= count; i += SIDE_BY_SIDE) {                                     \
            memcpy(some, items + i * (npy_intp)sizeof *some, sizeof some);                         \
            for (int k = 0; k < SIDE_BY_SIDE; k++) {                                               \
                sums[k] = sums[k] + some[k];                                                       \
            }                                                                                      \
        }                                                                                          \
        NUMBER all = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +                                 \
                     ((sums[4] + sums[5]) + (sums[6] + sums[7]));                                  \
        for (; i < count; i++) {                                                                   \
            NUMBER one;                                                                            \
            memcpy(&one, items + i * (npy_intp)sizeof one, sizeof one);                            \
            all = all + one;                                                                       \
        }                                                                                          \
        return 0 + all;                                                                            \
    }                                                                                              \
    bool NAME(const char *from, npy_intp row_step, npy_intp step, npy_intp count, npy_intp rows,   \
              char *to, npy_intp to_step)                                                          \
    {                                                                                              \
        const npy_intp size = sizeof(NUMBER);                                                      \
        NUMBER copy[MOST_ADDED];                                                                   \
        bool sure = true;                                                                          \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            const char *items = side_by_side(from + row * row_step, step, size, count, copy);      \
            NUMBER all = NAME##_of(items, count);                                                  \
            memcpy(to + row * to_step, &all, sizeof all);                                          \
            sure &= all == all;                                                                    \
        }                                                                                          \
        return sure;                                                                               \
    }

DEFINE_SUMS(sums_of_doubles, double)
DEFINE_SUMS(sums_of_floats, float)

/* Whether any, or all, bools of rows hold; false: some are neither 0 nor 1. */
#define DEFINE_BOOLS(NAME, OPERATOR)                                                               \
    bool NAME(const char *from, npy_intp row_step, npy_intp step, npy_intp count, npy_intp rows,   \
              char *to, npy_intp to_step)                                                          \
    {                                                                                              \
        const uint64_t each = UINT64_C(0x0101010101010101);                                        \
        uint64_t seen = 0;                                                                         \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            const char *items = from + row * row_step;                                             \
            npy_intp i = 0;                                                                        \
            uint64_t all = each * (0x01 OPERATOR 0x00 ? 0 : 1), some;                              \
            for (; step == 1 && i + 8 <= count; i += 8) {                                          \
                memcpy(&some, items + i, sizeof some);                                             \
                all = all OPERATOR some;                                                           \
                seen |= some;                                                                      \
            }                                                                                      \
            for (; i < count; i++) {                                                               \
                some = each * (uint8_t)items[i * step];                                            \
                all = all OPERATOR some;                                                           \
                seen |= some;                                                                      \
            }                                                                                      \
            to[row * to_step] = (0x01 OPERATOR 0x00) ? all != 0 : all == each;                     \
        }                                                                                          \
        return (seen & ~each) == 0;                                                                \
    }

DEFINE_BOOLS(any_of_rows, |)
DEFINE_BOOLS(all_of_rows, &)

/* No operation below raises a flag: there is no NaN. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif

/* Extremes of some rows of at least COMPARED elements, in any order. Not sure: an extreme is
 * zero, which is said of a row with a NaN, too. */
#define DEFINE_EXTREMES(NAME, NUMBER, TYPE, BETTER)                                                \
    static inline __attribute__((always_inline)) NUMBER NAME##_of(const char *items,               \
                                                                  npy_intp count)                  \
    {                                                                                              \
        NUMBER best[COMPARED], some[COMPARED];                                                     \
        npy_intp last = count - COMPARED;                                                          \
        memcpy(best, items, sizeof best);                                                          \
        for (npy_intp i = COMPARED; i < count; i += COMPARED) {                                    \
            memcpy(some, items + (i < last ? i : last) * (npy_intp)sizeof *some, sizeof some);     \
            for (int k = 0; k < COMPARED; k++) {                                                   \
                best[k] = some[k] BETTER best[k] ? some[k] : best[k];                              \
            }                                                                                      \
        }                                                                                          \
        for (int half = COMPARED / 2; half > 0; half /= 2) {                                       \
            for (int k = 0; k < half; k++) {                                                       \
                best[k] = best[k + half] BETTER best[k] ? best[k + half] : best[k];                \
            }                                                                                      \
        }                                                                                          \
        return best[0];                                                                            \
    }                                                                                              \
    bool NAME(const char *from, npy_intp row_step, npy_intp step, npy_intp count, npy_intp rows,   \
              char *to, npy_intp to_step)                                                          \
    {                                                                                              \
        const npy_intp size = sizeof(NUMBER);                                                      \
        NUMBER copy[MOST_ADDED];                                                                   \
        bool sure = true, is_float = PyTypeNum_ISFLOAT(TYPE);                                      \
        bool is_dense = step == size && row_step == count * size;                                  \
        bool may_be_nan = is_float && (!is_dense || any_is_nan(TYPE, from, rows * count));         \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            const char *items = side_by_side(from + row * row_step, step, size, count, copy);      \
            NUMBER all =                                                                           \
                may_be_nan && any_is_nan(TYPE, items, count) ? 0 : NAME##_of(items, count);        \
            memcpy(to + row * to_step, &all, sizeof all);                                          \
            sure &= !is_float || all != 0;                                                         \
        }                                                                                          \
        return sure;                                                                               \
    }

DEFINE_EXTREMES(greatest_of_doubles, double, NPY_DOUBLE, >)
DEFINE_EXTREMES(greatest_of_floats, float, NPY_FLOAT, >)
DEFINE_EXTREMES(greatest_of_int64s, int64_t, NPY_INT64, >)
DEFINE_EXTREMES(greatest_of_int32s, int32_t, NPY_INT32, >)
DEFINE_EXTREMES(least_of_doubles, double, NPY_DOUBLE, <)
DEFINE_EXTREMES(least_of_floats, float, NPY_FLOAT, <)
DEFINE_EXTREMES(least_of_int64s, int64_t, NPY_INT64, <)
DEFINE_EXTREMES(least_of_int32s, int32_t, NPY_INT32, <)
