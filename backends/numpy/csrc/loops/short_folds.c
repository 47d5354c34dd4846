/*
 * Rows of a few elements, folded here: a call of NumPy's loop for each takes ten times as long.
 *
 * 1. Fewer than SHORT_FOLD floating-point numbers NumPy adds one after another, from zero, more as
 *    row_folds.c does: its loop is asked once. A sum that is NaN has the bits that the loop gives
 * it.
 * 2. Largest and least numbers do not depend on the order, unless they are NaN or zero: then the
 *    loop is called. Comparisons are quiet, as NumPy's are.
 */
#include "loops/short_folds.h"

#include "loops/column_folds.h"
#include "loops/extremes.h"
#include "loops/operands.h"
#include "loops/row_folds.h"

#include <math.h>

/* `NEXT` is of `all` so far and `one` element, `SURE` of `all`; `START` may be the `first` element,
 * from which on the row is folded then. */
#define DEFINE_FOLD(NAME, NUMBER, FROM, START, NEXT, SURE)                                         \
    static inline __attribute__((always_inline)) bool NAME##_of(                                   \
        const char *from, npy_intp row_step, npy_intp step, npy_intp count, npy_intp rows,         \
        char *to, npy_intp to_step)                                                                \
    {                                                                                              \
        bool sure = true;                                                                          \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            const char *items = from + row * row_step;                                             \
            NUMBER first, one;                                                                     \
            memcpy(&first, items, sizeof first);                                                   \
            NUMBER all = START;                                                                    \
            for (npy_intp i = FROM; i < count; i++) {                                              \
                memcpy(&one, items + i * step, sizeof one);                                        \
                all = NEXT;                                                                        \
            }                                                                                      \
            memcpy(to + row * to_step, &all, sizeof all);                                          \
            sure &= SURE;                                                                          \
        }                                                                                          \
        return sure;                                                                               \
    }                                                                                              \
    static bool NAME(const char *from, npy_intp row_step, npy_intp step, npy_intp count,           \
                     npy_intp rows, char *to, npy_intp to_step)                                    \
    {                                                                                              \
        const npy_intp size = sizeof(NUMBER);                                                      \
        bool dense = step == size && row_step == count * size && to_step == size;                  \
        switch (dense ? count : 0) { /* each is a loop in which rows are folded side by side */    \
        case 2:                                                                                    \
            return NAME##_of(from, 2 * size, size, 2, rows, to, size);                             \
        case 3:                                                                                    \
            return NAME##_of(from, 3 * size, size, 3, rows, to, size);                             \
        case 4:                                                                                    \
            return NAME##_of(from, 4 * size, size, 4, rows, to, size);                             \
        default:                                                                                   \
            return NAME##_of(from, row_step, step, count, rows, to, to_step);                      \
        }                                                                                          \
    }

DEFINE_FOLD(add_doubles, double, 0, 0, all + one, all == all)
DEFINE_FOLD(add_floats, float, 0, 0, all + one, all == all)
DEFINE_FOLD(add_int64, uint64_t, 0, 0, all + one, true)
DEFINE_FOLD(add_int32, uint32_t, 0, 0, all + one, true)

/* Extremes of floating-point numbers, which are compared side by side where rows are short. */
#define DEFINE_FLOATS(NAME, NUMBER, NEXT, IS_GREATEST, TYPE)                                       \
    DEFINE_FOLD(NAME##_one_by_one, NUMBER, 1, first, NEXT, all == all && all != 0)                 \
    static bool NAME(const char *from, npy_intp row_step, npy_intp step, npy_intp count,           \
                     npy_intp rows, char *to, npy_intp to_step)                                    \
    {                                                                                              \
        const npy_intp size = sizeof(NUMBER);                                                      \
        bool is_dense = step == size && row_step == count * size && to_step == size;               \
        int done = is_dense ? extremes_of_rows(IS_GREATEST, TYPE, from, count, rows, to) : -1;     \
        return done >= 0 ? done                                                                    \
                         : NAME##_one_by_one(from, row_step, step, count, rows, to, to_step);      \
    }

#define GREATER (isgreater(one, all) || one != one ? one : all)
#define SMALLER (isless(one, all) || one != one ? one : all)
DEFINE_FLOATS(maximum_doubles, double, GREATER, true, NPY_DOUBLE)
DEFINE_FLOATS(maximum_floats, float, GREATER, true, NPY_FLOAT)
DEFINE_FOLD(maximum_int64s, int64_t, 1, first, one > all ? one : all, true)
DEFINE_FOLD(maximum_int32s, int32_t, 1, first, one > all ? one : all, true)
DEFINE_FLOATS(minimum_doubles, double, SMALLER, false, NPY_DOUBLE)
DEFINE_FLOATS(minimum_floats, float, SMALLER, false, NPY_FLOAT)
DEFINE_FOLD(minimum_int64s, int64_t, 1, first, one < all ? one : all, true)
DEFINE_FOLD(minimum_int32s, int32_t, 1, first, one < all ? one : all, true)

enum { FEWEST_COMPARED = 5 };

/* Rows of few and of more elements. */
#define DEFINE_EITHER(NAME, LIMIT, FEW, MORE)                                                      \
    static bool NAME(const char *from, npy_intp row_step, npy_intp step, npy_intp count,           \
                     npy_intp rows, char *to, npy_intp to_step)                                    \
    {                                                                                              \
        return (count < LIMIT ? FEW : MORE)(from, row_step, step, count, rows, to, to_step);       \
    }

DEFINE_EITHER(add_double, SHORT_FOLD, add_doubles, sums_of_doubles)
DEFINE_EITHER(add_float, SHORT_FOLD, add_floats, sums_of_floats)
DEFINE_EITHER(maximum_double, FEWEST_COMPARED, maximum_doubles, greatest_of_doubles)
DEFINE_EITHER(maximum_float, FEWEST_COMPARED, maximum_floats, greatest_of_floats)
DEFINE_EITHER(maximum_int64, FEWEST_COMPARED, maximum_int64s, greatest_of_int64s)
DEFINE_EITHER(maximum_int32, FEWEST_COMPARED, maximum_int32s, greatest_of_int32s)
DEFINE_EITHER(minimum_double, FEWEST_COMPARED, minimum_doubles, least_of_doubles)
DEFINE_EITHER(minimum_float, FEWEST_COMPARED, minimum_floats, least_of_floats)
DEFINE_EITHER(minimum_int64, FEWEST_COMPARED, minimum_int64s, least_of_int64s)
DEFINE_EITHER(minimum_int32, FEWEST_COMPARED, minimum_int32s, least_of_int32s)

static const struct {
    const char *name;
    int type;
    ShortFold *fold;
} folds[] = {
    {"add", NPY_DOUBLE, add_double},         {"add", NPY_FLOAT, add_float},
    {"add", NPY_INT64, add_int64},           {"add", NPY_INT32, add_int32},
    {"maximum", NPY_DOUBLE, maximum_double}, {"maximum", NPY_FLOAT, maximum_float},
    {"maximum", NPY_INT64, maximum_int64},   {"maximum", NPY_INT32, maximum_int32},
    {"minimum", NPY_DOUBLE, minimum_double}, {"minimum", NPY_FLOAT, minimum_float},
    {"minimum", NPY_INT64, minimum_int64},   {"minimum", NPY_INT32, minimum_int32},
    {"logical_or", NPY_BOOL, any_of_rows},   {"logical_and", NPY_BOOL, all_of_rows},
};

static npy_intp
itemsize_of(const Loop *loop)
{
    int type = loop->types[0];
    return type == NPY_BOOL ? 1 : type == NPY_DOUBLE || type == NPY_INT64 ? 8 : 4;
}

/* What NumPy's loop makes of a row. */
static int
loop_fold(const Loop *loop, const char *from, npy_intp step, npy_intp count, char *to)
{
    static const char zero[8];
    npy_intp skipped = loop_adds(loop) ? 0 : 1;
    memcpy(to, loop_adds(loop) ? zero : from, (size_t)itemsize_of(loop));
    char *data[3] = {to, (char *)from + skipped * step, to};
    npy_intp steps[3] = {0, step, 0};
    return count == skipped ? 0 : loop_call(loop, data, count - skipped, steps);
}

static bool
is_sure(const Loop *loop, const char *at)
{
    double number;
    if (loop->types[0] == NPY_BOOL) {
        return false;
    }
    if (loop->types[0] == NPY_DOUBLE) {
        memcpy(&number, at, sizeof number);
    }
    else {
        float single;
        memcpy(&single, at, sizeof single);
        number = (double)single;
    }
    return number == number && (loop_adds(loop) || number != 0);
}

/* Fold `rows` rows of `count` elements, some but fewer than its limit, by a loop that has a short
 * fold. Returns what the loop returned, where it was called. */
int
short_fold(const Loop *loop, const char *from, npy_intp row_step, npy_intp step, npy_intp count,
           npy_intp rows, char *to, npy_intp to_step)
{
    if (loop->short_fold(from, row_step, step, count, rows, to, to_step)) {
        return 0;
    }
    int result = 0;
    for (npy_intp row = 0; row < rows && result == 0; row++) {
        if (!is_sure(loop, to + row * to_step)) {
            result = loop_fold(loop, from + row * row_step, step, count, to + row * to_step);
        }
    }
    return result;
}

/* Of rows of how many elements, fewer than MOST_ADDED, NumPy's loop adds fewer as it is done here:
 * asked with numbers whose sum is another in any other order. */
static npy_intp
added_in_order(const Loop *loop, ShortFold *fold)
{
    npy_intp itemsize = itemsize_of(loop), count = 1;
    char from[MOST_ADDED * 8];
    for (int i = 0; i < MOST_ADDED; i++) {
        double number = ldexp((i % 3 - 1.4) * (1 + i * 0.37), i * 11 % 60 - 20);
        store_number(loop->types[0], number, from + i * itemsize);
    }
    for (; count < MOST_ADDED; count++) {
        char own[8], theirs[8];
        fold(from, 0, itemsize, count, 1, own, 0);
        if (loop_fold(loop, from, itemsize, count, theirs) != 0 ||
            memcmp(own, theirs, (size_t)itemsize) != 0) {
            break;
        }
    }
    return count;
}

/* Set how a loop of NumPy's folds short rows and few columns. */
void
set_short_folds(Loop *loop)
{
    int type = loop->types[0];
    if (loop->inputs != 2 || loop->types[1] != type || loop->types[2] != type) {
        return;
    }
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        if (type == folds[i].type && strcmp(loop->name, folds[i].name) == 0) {
            bool is_sum = loop_adds(loop) && PyTypeNum_ISFLOAT(type);
            loop->short_limit = is_sum            ? added_in_order(loop, folds[i].fold)
                                : loop_adds(loop) ? SHORT_FOLD
                                                  : MOST_COMPARED;
            if (loop->short_limit >= SHORT_FOLD) {
                loop->short_fold = folds[i].fold;
                loop->column_fold = column_fold(loop);
            }
        }
    }
}
