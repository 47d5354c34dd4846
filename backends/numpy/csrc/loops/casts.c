/*
 * Casts between numbers with NumPy's results, bit for bit; copy.
 *
 * A value out of range of an integer type has no meaning in C. NumPy casts with the same C
 * expressions, and tests/backends/numpy/csrc/test_tiles.py compares all pairs of types.
 */
#include "loops/casts.h"

typedef npy_bool c_bool;
typedef signed char c_byte;
typedef unsigned char c_ubyte;
typedef short c_short;
typedef unsigned short c_ushort;
typedef int c_int;
typedef unsigned int c_uint;
typedef npy_long c_long;
typedef npy_ulong c_ulong;
typedef npy_longlong c_longlong;
typedef npy_ulonglong c_ulonglong;
typedef float c_float;
typedef double c_double;
typedef npy_longdouble c_longdouble;

static inline void
raise_status(double a, double b)
{
    volatile double x = a, y = b;
    x = x * y;
    (void)x;
}

/*
 * Round to half precision, to even; `significand` has `bits` of fraction below the leading one,
 * `exponent` is unbiased. Raises overflow and, where a subnormal is inexact, underflow.
 */
static inline uint16_t
rounded_half(uint16_t sign, int exponent, uint64_t significand, int bits)
{
    if (exponent >= 16) {
        raise_status(1e300, 1e300);
        return (uint16_t)(sign | 0x7c00);
    }
    int drop = bits - 10;
    bool small = exponent < -14;
    if (small) {
        drop += -14 - exponent;
        if (drop > bits + 1) { /* below half of the smallest */
            raise_status(1e-300, 1e-300);
            return sign;
        }
    }
    uint64_t lost = significand & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
    uint64_t kept = significand >> drop;
    if (small && lost != 0) {
        raise_status(1e-300, 1e-300);
    }
    if (lost > half || (lost == half && (kept & 1))) {
        kept++;
    }
    if (!small) {
        kept += (uint64_t)(exponent + 14) << 10; /* the leading one adds the last 1 */
    }
    if (!small && kept >= 0x7c00) {
        raise_status(1e300, 1e300);
        kept = 0x7c00;
    }
    return (uint16_t)(sign | kept);
}

static inline uint16_t
half_of_float(float value)
{
    uint32_t word;
    memcpy(&word, &value, 4);
    uint16_t sign = (uint16_t)((word >> 16) & 0x8000);
    int exponent = (int)((word >> 23) & 0xff);
    uint32_t fraction = word & 0x7fffff;
    if (exponent == 0xff) {
        uint16_t payload = (uint16_t)(fraction >> 13);
        return (uint16_t)(sign | (fraction ? (payload ? 0x7c00 | payload : 0x7c01) : 0x7c00));
    }
    if ((word & 0x7fffffff) == 0) {
        return sign;
    }
    return rounded_half(sign, exponent - 127, fraction | ((uint64_t)(exponent != 0) << 23), 23);
}

static inline uint16_t
half_of_double(double value)
{
    uint64_t word;
    memcpy(&word, &value, 8);
    uint16_t sign = (uint16_t)((word >> 48) & 0x8000);
    int exponent = (int)((word >> 52) & 0x7ff);
    uint64_t fraction = word & 0xfffffffffffffULL;
    if (exponent == 0x7ff) {
        uint16_t payload = (uint16_t)(fraction >> 42);
        return (uint16_t)(sign | (fraction ? (payload ? 0x7c00 | payload : 0x7c01) : 0x7c00));
    }
    if ((word << 1) == 0) {
        return sign;
    }
    return rounded_half(sign, exponent - 1023, fraction | ((uint64_t)(exponent != 0) << 52), 52);
}

static inline uint32_t
float_bits_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, fraction = half & 0x3ff;
    int exponent = (half >> 10) & 0x1f;
    if (exponent == 0x1f) {
        return sign | 0x7f800000 | (fraction << 13);
    }
    if (exponent == 0) {
        if (fraction == 0) {
            return sign;
        }
        int up = __builtin_clz(fraction) - 21;
        return sign | (uint32_t)(113 - up) << 23 | ((fraction << (up + 13)) & 0x7fffff);
    }
    return sign | (uint32_t)(exponent + 112) << 23 | fraction << 13;
}

static inline uint64_t
double_bits_of_half(uint16_t half)
{
    uint64_t sign = (uint64_t)(half & 0x8000) << 48, fraction = half & 0x3ff;
    int exponent = (half >> 10) & 0x1f;
    if (exponent == 0x1f) {
        return sign | 0x7ff0000000000000ULL | (fraction << 42);
    }
    if (exponent == 0) {
        if (fraction == 0) {
            return sign;
        }
        int up = __builtin_clz((unsigned)fraction) - 21;
        return sign | (uint64_t)(1009 - up) << 52 | ((fraction << (up + 42)) & 0xfffffffffffffULL);
    }
    return sign | (uint64_t)(exponent + 1008) << 52 | fraction << 42;
}

static inline float
float_of_half(uint16_t half)
{
    uint32_t word = float_bits_of_half(half);
    float value;
    memcpy(&value, &word, 4);
    return value;
}

/* A loop over items, with the contiguous case apart so that it becomes vector code. */
#define LOOP1(NAME, FROM, TO, FROM_ITEMS, TO_ITEMS, BODY)                                          \
    static int NAME(char **data, const npy_intp *count, const npy_intp *steps, void *unused)       \
    {                                                                                              \
        npy_intp n = *count;                                                                       \
        (void)unused;                                                                              \
        if (steps[0] == (npy_intp)sizeof(FROM) * FROM_ITEMS &&                                     \
            steps[1] == (npy_intp)sizeof(TO) * TO_ITEMS && data[0] != data[1]) {                   \
            const FROM *restrict from = (const FROM *)data[0];                                     \
            TO *restrict to = (TO *)data[1];                                                       \
            for (npy_intp i = 0; i < n; i++, from += FROM_ITEMS, to += TO_ITEMS) {                 \
                BODY                                                                               \
            }                                                                                      \
            return 0;                                                                              \
        }                                                                                          \
        char *from_at = data[0], *to_at = data[1];                                                 \
        for (npy_intp i = 0; i < n; i++, from_at += steps[0], to_at += steps[1]) {                 \
            const FROM *from = (const FROM *)from_at;                                              \
            TO *to = (TO *)to_at;                                                                  \
            BODY                                                                                   \
        }                                                                                          \
        return 0;                                                                                  \
    }

#define REAL_TO_REAL(F, T) LOOP1(F##_to_##T, c_##F, c_##T, 1, 1, to[0] = (c_##T)from[0];)
#define REAL_TO_BOOL(F) LOOP1(F##_to_bool, c_##F, c_bool, 1, 1, to[0] = from[0] != 0;)
#define REAL_TO_COMPLEX(F, T)                                                                      \
    LOOP1(F##_to_c##T, c_##F, c_##T, 1, 2, to[0] = (c_##T)from[0]; to[1] = 0;)
#define COMPLEX_TO_REAL(F, T) LOOP1(c##F##_to_##T, c_##F, c_##T, 2, 1, to[0] = (c_##T)from[0];)
#define COMPLEX_TO_BOOL(F)                                                                         \
    LOOP1(c##F##_to_bool, c_##F, c_bool, 2, 1, to[0] = from[0] != 0 || from[1] != 0;)
#define COMPLEX_TO_COMPLEX(F, T)                                                                   \
    LOOP1(c##F##_to_c##T, c_##F, c_##T, 2, 2, c_##T real = (c_##T)from[0]; to[1] = (c_##T)from[1]; \
          to[0] = real;)
#define REAL_TO_HALF(F) LOOP1(F##_to_half, c_##F, uint16_t, 1, 1, to[0] = HALF_OF(from[0]);)
#define COMPLEX_TO_HALF(F) LOOP1(c##F##_to_half, c_##F, uint16_t, 2, 1, to[0] = HALF_OF(from[0]);)
#define HALF_OF(x) _Generic((x), double: half_of_double(x), default: half_of_float((float)(x)))
#define HALF_TO_REAL(T)                                                                            \
    LOOP1(half_to_##T, uint16_t, c_##T, 1, 1, to[0] = (c_##T)float_of_half(from[0]);)

/* clang-format off */
#define TO_REALS(MAKE, F)                                                                          \
    MAKE(F, byte) MAKE(F, ubyte) MAKE(F, short) MAKE(F, ushort) MAKE(F, int) MAKE(F, uint)         \
    MAKE(F, long) MAKE(F, ulong) MAKE(F, longlong) MAKE(F, ulonglong)                              \
    MAKE(F, float) MAKE(F, double) MAKE(F, longdouble)
#define FROM_REALS(MAKE)                                                                           \
    MAKE(byte) MAKE(ubyte) MAKE(short) MAKE(ushort) MAKE(int) MAKE(uint) MAKE(long) MAKE(ulong)    \
    MAKE(longlong) MAKE(ulonglong) MAKE(float) MAKE(double) MAKE(longdouble)
#define FROM_COMPLEX(MAKE) MAKE(float) MAKE(double) MAKE(longdouble)
#define FROM_HALF(MAKE)                                                                            \
    MAKE(byte) MAKE(ubyte) MAKE(short) MAKE(ushort) MAKE(int) MAKE(uint) MAKE(long) MAKE(ulong)    \
    MAKE(longlong) MAKE(ulonglong) MAKE(longdouble)
#define MAKE_REAL(F)                                                                               \
    TO_REALS(REAL_TO_REAL, F) REAL_TO_BOOL(F) REAL_TO_HALF(F)                                      \
    REAL_TO_COMPLEX(F, float) REAL_TO_COMPLEX(F, double) REAL_TO_COMPLEX(F, longdouble)
#define MAKE_COMPLEX(F)                                                                            \
    TO_REALS(COMPLEX_TO_REAL, F) COMPLEX_TO_BOOL(F) COMPLEX_TO_HALF(F)                             \
    COMPLEX_TO_COMPLEX(F, float) COMPLEX_TO_COMPLEX(F, double) COMPLEX_TO_COMPLEX(F, longdouble)
/* clang-format on */

FROM_REALS(MAKE_REAL)
FROM_COMPLEX(MAKE_COMPLEX)

/* From bool: whatever is not zero is one. */
#define BOOL_TO_REAL(T) LOOP1(bool_to_##T, c_bool, c_##T, 1, 1, to[0] = (c_##T)(from[0] != 0);)
#define BOOL_TO_COMPLEX(T)                                                                         \
    LOOP1(bool_to_c##T, c_bool, c_##T, 1, 2, to[0] = (c_##T)(from[0] != 0); to[1] = 0;)
FROM_REALS(BOOL_TO_REAL)
FROM_COMPLEX(BOOL_TO_COMPLEX)
LOOP1(bool_to_bool, c_bool, c_bool, 1, 1, to[0] = from[0] != 0;)
LOOP1(bool_to_half, c_bool, uint16_t, 1, 1, to[0] = from[0] ? 0x3c00 : 0;)

/* From half; to float and double as bits, so that a signalling NaN stays one. */
FROM_HALF(HALF_TO_REAL)
LOOP1(half_to_bool, uint16_t, c_bool, 1, 1, to[0] = (from[0] & 0x7fff) != 0;)
LOOP1(half_to_half, uint16_t, uint16_t, 1, 1, to[0] = from[0];)
LOOP1(half_to_float, uint16_t, uint32_t, 1, 1, to[0] = float_bits_of_half(from[0]);)
LOOP1(half_to_double, uint16_t, uint64_t, 1, 1, to[0] = double_bits_of_half(from[0]);)
LOOP1(half_to_cfloat, uint16_t, uint32_t, 1, 2, to[0] = float_bits_of_half(from[0]); to[1] = 0;)
LOOP1(half_to_cdouble, uint16_t, uint64_t, 1, 2, to[0] = double_bits_of_half(from[0]); to[1] = 0;)
LOOP1(half_to_clongdouble, uint16_t, c_longdouble, 1, 2,
      to[0] = (c_longdouble)float_of_half(from[0]);
      to[1] = 0;)

#define ROW(F)                                                                                     \
    {F##_to_bool,      F##_to_byte,        F##_to_ubyte,  F##_to_short,      F##_to_ushort,        \
     F##_to_int,       F##_to_uint,        F##_to_long,   F##_to_ulong,      F##_to_longlong,      \
     F##_to_ulonglong, F##_to_float,       F##_to_double, F##_to_longdouble, F##_to_cfloat,        \
     F##_to_cdouble,   F##_to_clongdouble, F##_to_half}

/* Rows and columns by NumPy's type numbers, NPY_BOOL to NPY_CLONGDOUBLE, then half. */
static LoopFunction *const table[18][18] = {
    ROW(bool),   ROW(byte),       ROW(ubyte),  ROW(short),    ROW(ushort),      ROW(int),
    ROW(uint),   ROW(long),       ROW(ulong),  ROW(longlong), ROW(ulonglong),   ROW(float),
    ROW(double), ROW(longdouble), ROW(cfloat), ROW(cdouble),  ROW(clongdouble), ROW(half),
};

_Static_assert(NPY_BOOL == 0 && NPY_FLOAT == 11 && NPY_CLONGDOUBLE == 16, "the table's order");

static int
place(int type)
{
    return type == NPY_HALF ? 17 : type >= NPY_BOOL && type <= NPY_CLONGDOUBLE ? type : -1;
}

LoopFunction *
cast_function(int from, int to)
{
    int row = place(from), column = place(to);
    return row < 0 || column < 0 ? NULL : table[row][column];
}

#define COPY(SIZE)                                                                                 \
    static int copy_##SIZE(char **data, const npy_intp *count, const npy_intp *steps,              \
                           void *unused)                                                           \
    {                                                                                              \
        (void)unused;                                                                              \
        if (data[0] != data[1]) {                                                                  \
            copy_strided(data[1], steps[1], data[0], steps[0], *count, SIZE);                      \
        }                                                                                          \
        return 0;                                                                                  \
    }

COPY(1)
COPY(2)
COPY(4)
COPY(8)
COPY(16)
COPY(32)

LoopFunction *
copy_function(npy_intp itemsize)
{
    switch (itemsize) {
    case 1:
        return copy_1;
    case 2:
        return copy_2;
    case 4:
        return copy_4;
    case 8:
        return copy_8;
    case 16:
        return copy_16;
    case 32:
        return copy_32;
    default:
        return NULL;
    }
}
