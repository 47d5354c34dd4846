/*
 * The instructions of straight-line code over numbers, with the bits of NumPy's scalars.
 *
 * Floating-point operations raise the processor's flags as they do in NumPy. What NumPy reports of
 * whole numbers is collected beside them. Where NumPy's result is not certain to be the one
 * computed here (a remainder of the least number by -1, a Python int without room), SCALARS_REFUSE
 * is set, and the result does not matter.
 */
#include "scalars/scalars.h"

#include <math.h>

/* The number that is left of a whole number in a type of so many bits. */
static inline int64_t
signed_in(int64_t value, unsigned bits)
{
    unsigned spare = 64 - bits;
    return (int64_t)((uint64_t)value << spare) >> spare;
}

static inline uint64_t
unsigned_in(uint64_t value, unsigned bits)
{
    return bits == 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

static inline int64_t
least_in(unsigned bits)
{
    return (int64_t)((uint64_t)-1 << (bits - 1));
}

/* What signed and unsigned numbers have in common. */
#define CASES_OF_BOTH                                                                              \
    case OPERATION_ADD:                                                                            \
        overflow = __builtin_add_overflow(a, b, &exact);                                           \
        break;                                                                                     \
    case OPERATION_SUB:                                                                            \
        overflow = __builtin_sub_overflow(a, b, &exact);                                           \
        break;                                                                                     \
    case OPERATION_MUL:                                                                            \
        overflow = __builtin_mul_overflow(a, b, &exact);                                           \
        break;                                                                                     \
    case OPERATION_NEG:                                                                            \
        overflow = __builtin_sub_overflow(0, a, &exact);                                           \
        break;                                                                                     \
    case OPERATION_AND:                                                                            \
        exact = a & b;                                                                             \
        break;                                                                                     \
    case OPERATION_OR:                                                                             \
        exact = a | b;                                                                             \
        break;                                                                                     \
    case OPERATION_XOR:                                                                            \
        exact = a ^ b;                                                                             \
        break;

static unsigned
on_signed(Operation operation, unsigned bits, int64_t a, int64_t b, Register *out)
{
    int64_t exact = 0;
    bool overflow = false;
    switch (operation) {
        CASES_OF_BOTH
    case OPERATION_ABS:
        overflow = a < 0 && __builtin_sub_overflow(0, a, &exact);
        exact = a < 0 ? exact : a;
        break;
    case OPERATION_FLOORDIV:
    case OPERATION_MOD:
        if (b == 0 || (b == -1 && a == least_in(bits))) {
            out->whole = 0;
            return b == 0 ? STATUS_DIVIDE : SCALARS_REFUSE;
        }
        exact = operation == OPERATION_MOD ? a % b : a / b;
        if (a % b != 0 && (a < 0) != (b < 0)) {
            exact += operation == OPERATION_MOD ? b : -1;
        }
        break;
    case OPERATION_INVERT:
        exact = bits == 1 ? a == 0 : ~a;
        break;
    case OPERATION_LSHIFT:
        out->whole = (uint64_t)b < bits ? signed_in((int64_t)((uint64_t)a << b), bits) : 0;
        return 0;
    case OPERATION_RSHIFT:
        exact = (uint64_t)b < bits ? a >> b : a < 0 ? -1 : 0;
        break;
    default:
        return SCALARS_REFUSE;
    }
    out->whole = bits == 1 ? exact : signed_in(exact, bits);
    return overflow || out->whole != exact ? STATUS_OVERFLOW : 0;
}

static unsigned
on_unsigned(Operation operation, unsigned bits, uint64_t a, uint64_t b, Register *out)
{
    uint64_t exact = 0;
    bool overflow = false;
    switch (operation) {
        CASES_OF_BOTH
    case OPERATION_ABS:
        exact = a;
        break;
    case OPERATION_FLOORDIV:
    case OPERATION_MOD:
        out->natural = b == 0 ? 0 : operation == OPERATION_MOD ? a % b : a / b;
        return b == 0 ? STATUS_DIVIDE : 0;
    case OPERATION_INVERT:
        out->natural = unsigned_in(~a, bits);
        return 0;
    case OPERATION_LSHIFT:
        out->natural = b < bits ? unsigned_in(a << b, bits) : 0;
        return 0;
    case OPERATION_RSHIFT:
        exact = b < bits ? a >> b : 0;
        break;
    default:
        return SCALARS_REFUSE;
    }
    out->natural = unsigned_in(exact, bits);
    return overflow || out->natural != exact ? STATUS_OVERFLOW : 0;
}

/* Which of two NaN with other bits comes out of an operation is the compiler's choice: NumPy's own
 * code decides. */
#define IS_OPEN(OUT, A, B)                                                                         \
    (isnan(OUT) && isnan(A) && isnan(B) && memcmp(&(A), &(B), sizeof(A)) != 0)

#define ON_FLOATS(NAME, TYPE, FIELD, POW, ABS)                                                     \
    static unsigned NAME(Operation operation, TYPE a, TYPE b, Register *out)                       \
    {                                                                                              \
        switch (operation) {                                                                       \
        case OPERATION_ADD:                                                                        \
            out->FIELD = a + b;                                                                    \
            break;                                                                                 \
        case OPERATION_SUB:                                                                        \
            out->FIELD = a - b;                                                                    \
            break;                                                                                 \
        case OPERATION_MUL:                                                                        \
            out->FIELD = a * b;                                                                    \
            break;                                                                                 \
        case OPERATION_TRUEDIV:                                                                    \
            out->FIELD = a / b;                                                                    \
            break;                                                                                 \
        case OPERATION_POW:                                                                        \
            out->FIELD = POW(a, b);                                                                \
            break;                                                                                 \
        case OPERATION_NEG:                                                                        \
            out->FIELD = -a;                                                                       \
            return 0;                                                                              \
        case OPERATION_ABS:                                                                        \
            out->FIELD = ABS(a);                                                                   \
            return 0;                                                                              \
        default:                                                                                   \
            return SCALARS_REFUSE;                                                                 \
        }                                                                                          \
        return IS_OPEN(out->FIELD, a, b) ? SCALARS_REFUSE : 0;                                     \
    }
ON_FLOATS(on_singles, float, single, powf, fabsf)
ON_FLOATS(on_doubles, double, twice, pow, fabs)

/* Comparisons that raise no flag for a NaN, as NumPy's and Python's do not. */
#define COMPARED(A, B)                                                                             \
    operation == OPERATION_EQ   ? (A) == (B)                                                       \
    : operation == OPERATION_NE ? (A) != (B)                                                       \
    : operation == OPERATION_LT ? LESS(A, B)                                                       \
    : operation == OPERATION_LE ? LESS_EQUAL(A, B)                                                 \
    : operation == OPERATION_GT ? LESS(B, A)                                                       \
                                : LESS_EQUAL(B, A)

static bool
compared(Operation operation, Held held, Register a, Register b)
{
#define LESS(A, B) ((A) < (B))
#define LESS_EQUAL(A, B) ((A) <= (B))
    if (held == HELD_SIGNED) {
        return COMPARED(a.whole, b.whole);
    }
    if (held == HELD_UNSIGNED) {
        return COMPARED(a.natural, b.natural);
    }
#undef LESS
#undef LESS_EQUAL
#define LESS(A, B) __builtin_isless(A, B)
#define LESS_EQUAL(A, B) __builtin_islessequal(A, B)
    return held == HELD_SINGLE ? COMPARED(a.single, b.single) : COMPARED(a.twice, b.twice);
}

static bool
truth(Held held, Register a)
{
    return held == HELD_SINGLE   ? a.single != 0
           : held == HELD_DOUBLE ? a.twice != 0
                                 : a.natural != 0;
}

/* A cast. A float becomes whole only as Python's int() does it, where it has room in 64 bits. */
static unsigned
converted(Held from, Held to, unsigned bits, Register a, Register *out)
{
    switch (to) {
    case HELD_SINGLE:
        out->single = from == HELD_SIGNED     ? (float)a.whole
                      : from == HELD_UNSIGNED ? (float)a.natural
                      : from == HELD_SINGLE   ? a.single
                                              : (float)a.twice;
        return 0;
    case HELD_DOUBLE:
        out->twice = from == HELD_SIGNED     ? (double)a.whole
                     : from == HELD_UNSIGNED ? (double)a.natural
                     : from == HELD_SINGLE   ? (double)a.single
                                             : a.twice;
        return 0;
    case HELD_UNSIGNED:
        if (from >= HELD_SINGLE) {
            return SCALARS_REFUSE;
        }
        out->natural = unsigned_in(a.natural, bits);
        return 0;
    case HELD_SIGNED:
        break;
    }
    if (from >= HELD_SINGLE) {
        double value = from == HELD_SINGLE ? (double)a.single : a.twice;
        if (bits != 64 || !(value > -9223372036854775808.0 && value < 9223372036854775808.0)) {
            return SCALARS_REFUSE;
        }
        out->whole = (int64_t)value;
        return 0;
    }
    if (bits == 1) {
        out->whole = a.natural != 0;
        return 0;
    }
    out->whole = signed_in(a.whole, bits);
    return 0;
}

/*
 * A Python int as a number of another type. A float takes it by way of a double, as NumPy does.
 * Where it has no room the register keeps a number of its own type: a division may follow.
 */
static unsigned
fitted(Held held, unsigned bits, int64_t value, Register *out)
{
    switch (held) {
    case HELD_SINGLE:
        out->single = (float)(double)value;
        return 0;
    case HELD_DOUBLE:
        out->twice = (double)value;
        return 0;
    case HELD_UNSIGNED:
        if (value < 0 || unsigned_in((uint64_t)value, bits) != (uint64_t)value) {
            return SCALARS_REFUSE;
        }
        out->natural = (uint64_t)value;
        return 0;
    default:
        if (bits == 1 || signed_in(value, bits) != value) {
            return SCALARS_REFUSE;
        }
        out->whole = value;
        return 0;
    }
}

/* One element through an inner loop, which is given it as NumPy gives it a scalar. */
static unsigned
looped(const Instruction *one, Register *registers)
{
    const Loop *loop = one->loop;
    _Alignas(16) char item[3][sizeof(Register)];
    char *data[3] = {item[0], item[1], item[2]};
    npy_intp steps[3] = {0, 0, 0};
    number_store(loop->types[0], item[0], registers[one->a]);
    if (one->b >= 0) {
        number_store(loop->types[1], item[1], registers[one->b]);
    }
    steps[loop->inputs] = number_bytes(loop->types[loop->inputs]);
    unsigned seen = status_take(); /* some of NumPy's loops clear the flags */
    if (loop_call(loop, data, 1, steps) != 0) {
        PyErr_Clear();
        return SCALARS_REFUSE;
    }
    registers[one->out] = number_load(loop->types[loop->inputs], item[loop->inputs]);
    return seen;
}

static void
stored(const Place *place, char *at, Register value, Overwritten *before)
{
    before->at = at;
    before->bytes = number_bytes(place->number.type);
    memcpy(before->before, at, (size_t)before->bytes);
    number_store(place->number.type, at, value);
}

/* Python's own numbers: what is too large for 64 bits, and what raises or may, is refused. */
static unsigned
of_python(const Instruction *one, Register a, Register b, Register *out)
{
    Operation operation = (Operation)one->operation;
    if (one->held == HELD_SIGNED) {
        return on_signed(operation, 64, a.whole, b.whole, out) ? SCALARS_REFUSE : 0;
    }
    if (operation == OPERATION_TRUEDIV && b.twice == 0) {
        return SCALARS_REFUSE;
    }
    unsigned seen = on_doubles(operation, a.twice, b.twice, out);
    /* The C library may report a result below the normal numbers as out of range, and Python raises
     * then. */
    bool doubtful = operation == OPERATION_POW && out->twice != 0 && !isnormal(out->twice);
    return doubtful ? SCALARS_REFUSE : seen;
}

static unsigned
operated(const Instruction *one, Register *registers)
{
    Operation operation = (Operation)one->operation;
    Register a = registers[one->a], b = registers[one->b < 0 ? one->a : one->b];
    Register *out = &registers[one->out];
    if (one->python) {
        return of_python(one, a, b, out);
    }
    switch ((Held)one->held) {
    case HELD_SIGNED:
        return on_signed(operation, one->bits, a.whole, b.whole, out);
    case HELD_UNSIGNED:
        return on_unsigned(operation, one->bits, a.natural, b.natural, out);
    case HELD_SINGLE:
        return on_singles(operation, a.single, b.single, out);
    default:
        return on_doubles(operation, a.twice, b.twice, out);
    }
}

/*
 * Run instructions. `at` are the addresses of the places, `overwritten` has room for every store,
 * and `stores` says how many were made. Returns what NumPy reports of whole numbers, and
 * SCALARS_REFUSE. Runs no Python code.
 */
unsigned
compute(const Instruction *code, int count, const Place *places, char *const *at,
        Register *registers, Overwritten *overwritten, int *stores)
{
    unsigned seen = 0;
    for (const Instruction *one = code; one < code + count; one++) {
        bool holds;
        switch ((Operation)one->operation) {
        case OPERATION_LOAD:
            registers[one->out] = number_load(places[one->b].number.type, at[one->b]);
            break;
        case OPERATION_STORE:
            stored(&places[one->b], at[one->b], registers[one->a], &overwritten[(*stores)++]);
            break;
        case OPERATION_LOOP:
            seen |= looped(one, registers);
            break;
        case OPERATION_CONVERT:
            seen |= converted((Held)one->from, (Held)one->held, one->bits, registers[one->a],
                              &registers[one->out]);
            break;
        case OPERATION_FIT:
            seen |=
                fitted((Held)one->held, one->bits, registers[one->a].whole, &registers[one->out]);
            break;
        case OPERATION_LT:
        case OPERATION_LE:
        case OPERATION_EQ:
        case OPERATION_NE:
        case OPERATION_GT:
        case OPERATION_GE:
            holds = compared((Operation)one->operation, (Held)one->held, registers[one->a],
                             registers[one->b]);
            registers[one->out].whole = holds;
            if (one->then != 0) {
                if (holds != (one->then == OPERATION_HOLDS)) {
                    return SCALARS_REFUSE;
                }
                one++;
            }
            break;
        case OPERATION_TRUTH:
            registers[one->out].whole = truth((Held)one->held, registers[one->a]);
            break;
        case OPERATION_HOLDS:
        case OPERATION_FAILS:
            if (truth((Held)one->held, registers[one->a]) != (one->operation == OPERATION_HOLDS)) {
                return SCALARS_REFUSE;
            }
            break;
        default:
            seen |= operated(one, registers);
            break;
        }
    }
    return seen;
}
