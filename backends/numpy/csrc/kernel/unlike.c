/*
 * *Unlike pairs*: operands whose result in NumPy depends on their position in the array.
 *
 * Of two NaN with unlike bits, and of +0.0 and -0.0 in a maximum, a commutative loop keeps one or
 * the other, as the compiler ordered the operands in the vector body and in the remainder. A tile
 * keeps positions only where it begins at a multiple of PHASE elements of one run of
 * memory; elsewhere the kernel looks for such pairs, and refuses when it finds one.
 *
 * The same goes for casts of floats out of range of a wide unsigned integer: undefined in C, and
 * different in vector body and remainder.
 *
 * Law: who looks raises no flag, as `<` would for NaN.
 */
#include "kernel/unlike.h"
#include "loops/casts.h"

#include <math.h>
#include <stdlib.h>

/* Whether a number may come from an unlike pair: it is NaN or, where `zeros`, zero. */
#define SUSPECTS(NAME, TYPE)                                                                       \
    static bool NAME(const char *out, npy_intp count, bool zeros)                                  \
    {                                                                                              \
        const TYPE *items = (const TYPE *)out;                                                     \
        int any = 0;                                                                               \
        if (zeros) {                                                                               \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                any |= !islessgreater(items[i], 0);                                                \
            }                                                                                      \
        }                                                                                          \
        else {                                                                                     \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                any |= items[i] != items[i];                                                       \
            }                                                                                      \
        }                                                                                          \
        return any;                                                                                \
    }
SUSPECTS(any_suspect_float, float)
SUSPECTS(any_suspect_double_one_by_one, double)

#ifdef __SSE2__
#    include <emmintrin.h>
/* Written out for doubles: the compiler vectorises this loop for floats only. */
static bool
any_suspect_double(const char *out, npy_intp count, bool zeros)
{
    const double *items = (const double *)out;
    __m128d any = _mm_setzero_pd(), zero = _mm_setzero_pd();
    npy_intp i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128d a = _mm_loadu_pd(items + i), b = _mm_loadu_pd(items + i + 2);
        __m128d c = _mm_loadu_pd(items + i + 4), d = _mm_loadu_pd(items + i + 6);
        any = _mm_or_pd(any, _mm_or_pd(_mm_cmpunord_pd(a, b), _mm_cmpunord_pd(c, d)));
        if (zeros) {
            any = _mm_or_pd(any, _mm_or_pd(_mm_cmpeq_pd(a, zero), _mm_cmpeq_pd(b, zero)));
            any = _mm_or_pd(any, _mm_or_pd(_mm_cmpeq_pd(c, zero), _mm_cmpeq_pd(d, zero)));
        }
    }
    return _mm_movemask_pd(any) != 0 ||
           any_suspect_double_one_by_one(out + i * 8, count - i, zeros);
}
#else
#    define any_suspect_double any_suspect_double_one_by_one
#endif

static bool
any_suspect(const char *out, npy_intp count, bool is_float, bool zeros)
{
    return is_float ? any_suspect_float(out, count, zeros) : any_suspect_double(out, count, zeros);
}

/* Both NaN or both zero, with other bits; of a complex product any NaN will do. */
#define UNLIKE(TYPE)                                                                               \
    {                                                                                              \
        const TYPE *a = (const TYPE *)one, *b = (const TYPE *)other;                               \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            bool nans = isnan(a[i]) && isnan(b[i]), zero = zeros && a[i] == 0 && b[i] == 0;        \
            if ((nans || zero) && memcmp(&a[i], &b[i], sizeof(TYPE)) != 0) {                       \
                return true;                                                                       \
            }                                                                                      \
            if (product && (isnan(a[i]) || isnan(b[i]))) {                                         \
                return true;                                                                       \
            }                                                                                      \
        }                                                                                          \
        return false;                                                                              \
    }

static bool
any_unlike(const char *one, const char *other, npy_intp count, bool is_float, bool zeros,
           bool product)
{
    if (is_float) {
        UNLIKE(float)
    }
    UNLIKE(double)
}

/* Whether the results of such a segment let an unlike pair be possible. */
bool
suspects_unlike_pair(const Loop *loop, npy_intp count, const char *out, npy_intp step)
{
    int type = loop->types[2];
    bool is_complex = PyTypeNum_ISCOMPLEX(type);
    bool is_float = type == NPY_FLOAT || type == NPY_CFLOAT;
    npy_intp itemsize = (is_float ? 4 : 8) * (is_complex ? 2 : 1);
    return step != itemsize || any_suspect(out, is_complex ? 2 * count : count, is_float,
                                           loop->position_dependent_zeros);
}

/*
 * Whether a segment of a loop that is `Loop.position_dependent` met an unlike pair. `inputs` walk
 * its two inputs over `count` elements from `first`.
 */
bool
met_unlike_pair(const Loop *loop, const Walk *inputs, const npy_intp *first, npy_intp count)
{
    int type = loop->types[2];
    bool is_complex = PyTypeNum_ISCOMPLEX(type);
    bool is_float = type == NPY_FLOAT || type == NPY_CFLOAT;
    npy_intp itemsize = (is_float ? 4 : 8) * (is_complex ? 2 : 1);
    npy_intp parts = is_complex ? 2 * count : count;
    for (int i = 0; i < 2; i++) {
        bool one_number = walk_is_linear(&inputs[i]) && walk_step(&inputs[i]) == 0;
        if (one_number && !is_complex &&
            !any_suspect(inputs[i].base, 1, is_float, loop->position_dependent_zeros)) {
            return false;
        }
    }
    char *copies = malloc((size_t)(2 * count * itemsize) + 1);
    if (copies == NULL) {
        return true;
    }
    walk_gather(&inputs[0], first[0], count, copies, itemsize);
    walk_gather(&inputs[1], first[1], count, copies + count * itemsize, itemsize);
    bool product = is_complex && loop->position_dependent_product;
    bool unlike = any_unlike(copies, copies + count * itemsize, parts, is_float,
                             loop->position_dependent_zeros, product);
    free(copies);
    return unlike;
}

/* Whether a cast from floats to `uint32` or `uint64` met a number out of range. */
bool
met_out_of_range(const Loop *loop, const Walk *input, npy_intp first, npy_intp count)
{
    enum { CHUNK = 512 };
    _Alignas(16) char items[CHUNK * MAX_ITEM];
    double numbers[CHUNK], limit = loop->position_dependent_limit;
    npy_intp steps[2] = {loop->position_dependent_itemsize, sizeof(double)};
    LoopFunction *to_double = cast_function(loop->types[0], NPY_DOUBLE);
    bool met = false;
    for (npy_intp done = 0; done < count && !met; done += CHUNK) {
        npy_intp chunk = count - done < CHUNK ? count - done : CHUNK;
        char *data[2] = {items, (char *)numbers};
        walk_gather(input, first + done, chunk, items, loop->position_dependent_itemsize);
        to_double(data, &chunk, steps, NULL);
        int any = 0;
        for (npy_intp i = 0; i < chunk; i++) {
            any |= !(isgreater(numbers[i], -1.0) && isless(numbers[i], limit));
        }
        met = any;
    }
    status_take(); /* a long double may be too large for a double */
    return met;
}
