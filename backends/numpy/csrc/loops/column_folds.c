/*
 * Few columns, folded row by row, as NumPy's loop does it: a call of that for each row takes
 * several times as long as the row.
 */
#include "loops/column_folds.h"

#include "loops/extremes.h"
#include "loops/vectors.h"

enum { WIDE = 16, CHUNK = 1 << 14 /* bytes that several passes find in the cache */ };

/* Fold `width` columns side by side into `to`. */
#define DEFINE_COLUMNS(NAME, NUMBER, NEXT)                                                         \
    static inline __attribute__((always_inline)) void NAME##_some(                                 \
        const NUMBER *from, npy_intp columns, npy_intp rows, int width, NUMBER *to)                \
    {                                                                                              \
        NUMBER folded[WIDE];                                                                       \
        memcpy(folded, to, (size_t)width * sizeof *to);                                            \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            for (int i = 0; i < width; i++) {                                                      \
                NUMBER all = folded[i], one = from[i];                                             \
                folded[i] = NEXT;                                                                  \
            }                                                                                      \
            from += columns;                                                                       \
        }                                                                                          \
        memcpy(to, folded, (size_t)width * sizeof *to);                                            \
    }                                                                                              \
    QUICK_NARROW static void NAME(const void *data, npy_intp columns, npy_intp rows,               \
                                  void *results)                                                   \
    {                                                                                              \
        const NUMBER *from = data;                                                                 \
        NUMBER *to = results;                                                                      \
        npy_intp i = 0;                                                                            \
        for (; i + WIDE <= columns; i += WIDE) {                                                   \
            NAME##_some(from + i, columns, rows, WIDE, to + i);                                    \
        }                                                                                          \
        if (columns - i >= 8) {                                                                    \
            NAME##_some(from + i, columns, rows, 8, to + i);                                       \
            i += 8;                                                                                \
        }                                                                                          \
        if (columns - i >= 4) {                                                                    \
            NAME##_some(from + i, columns, rows, 4, to + i);                                       \
            i += 4;                                                                                \
        }                                                                                          \
        switch (columns - i) {                                                                     \
        case 3:                                                                                    \
            NAME##_some(from + i, columns, rows, 3, to + i);                                       \
            break;                                                                                 \
        case 2:                                                                                    \
            NAME##_some(from + i, columns, rows, 2, to + i);                                       \
            break;                                                                                 \
        case 1:                                                                                    \
            NAME##_some(from + i, columns, rows, 1, to + i);                                       \
            break;                                                                                 \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
    }

DEFINE_COLUMNS(add_double, double, all + one)
DEFINE_COLUMNS(add_float, float, all + one)
DEFINE_COLUMNS(add_int64, uint64_t, all + one)
DEFINE_COLUMNS(add_int32, uint32_t, all + one)

/* No operation here raises a flag: there is no NaN. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif
DEFINE_COLUMNS(maximum_double, double, one > all ? one : all)
DEFINE_COLUMNS(maximum_float, float, one > all ? one : all)
DEFINE_COLUMNS(maximum_int64, int64_t, one > all ? one : all)
DEFINE_COLUMNS(maximum_int32, int32_t, one > all ? one : all)
DEFINE_COLUMNS(minimum_double, double, one < all ? one : all)
DEFINE_COLUMNS(minimum_float, float, one < all ? one : all)
DEFINE_COLUMNS(minimum_int64, int64_t, one < all ? one : all)
DEFINE_COLUMNS(minimum_int32, int32_t, one < all ? one : all)

static const struct {
    const char *name;
    int type;
    ColumnFold *fold;
} folds[] = {
    {"add", NPY_DOUBLE, add_double},         {"add", NPY_FLOAT, add_float},
    {"add", NPY_INT64, add_int64},           {"add", NPY_INT32, add_int32},
    {"maximum", NPY_DOUBLE, maximum_double}, {"maximum", NPY_FLOAT, maximum_float},
    {"maximum", NPY_INT64, maximum_int64},   {"maximum", NPY_INT32, maximum_int32},
    {"minimum", NPY_DOUBLE, minimum_double}, {"minimum", NPY_FLOAT, minimum_float},
    {"minimum", NPY_INT64, minimum_int64},   {"minimum", NPY_INT32, minimum_int32},
};

/* How columns are folded by a loop of NumPy's; NULL: by it. */
ColumnFold *
column_fold(const Loop *loop)
{
    for (size_t i = 0; i < sizeof folds / sizeof *folds && QUICK_HAS_NARROW; i++) {
        if (loop->types[0] == folds[i].type && strcmp(loop->name, folds[i].name) == 0) {
            return folds[i].fold;
        }
    }
    return NULL;
}

/* Whether no result depends on more than the numbers' order: a sum that is NaN, and an extreme that
 * is zero. */
static bool
are_sure(const Loop *loop, const char *results, npy_intp count)
{
    bool sure = true, adds = loop_adds(loop);
    for (npy_intp i = 0; i < count && loop->types[0] == NPY_DOUBLE; i++) {
        double one = ((const double *)(const void *)results)[i];
        sure &= adds ? one == one : one != 0;
    }
    for (npy_intp i = 0; i < count && loop->types[0] == NPY_FLOAT; i++) {
        float one = ((const float *)(const void *)results)[i];
        sure &= adds ? one == one : one != 0;
    }
    return sure;
}

/* Fold columns of some rows into `to`; false: NumPy's loop may give other bits. */
bool
fold_columns(const Loop *loop, const char *from, npy_intp itemsize, npy_intp columns, npy_intp rows,
             char *to)
{
    bool is_extreme = !loop_adds(loop) && PyTypeNum_ISFLOAT(loop->types[0]);
    npy_intp width = columns * itemsize, chunk = CHUNK / width + 1;
    if (loop_adds(loop)) {
        memset(to, 0, (size_t)width);
    }
    else {
        memcpy(to, from, (size_t)width);
    }
    for (npy_intp row = 0; row < rows; row += chunk) {
        npy_intp some = rows - row < chunk ? rows - row : chunk;
        const char *first = from + row * width;
        if (is_extreme && any_is_nan(loop->types[0], first, some * columns)) {
            return false;
        }
        loop->column_fold(first, columns, some, to);
    }
    return are_sure(loop, to, columns);
}
