/* Straight-line code over numbers: elements are read, computed with and stored without an object
 * for each. */
#ifndef UFUSE_SCALARS_H
#define UFUSE_SCALARS_H

#include "loops/loop.h"

/* How a register holds a number: whole numbers in 64 bits, sign or zeros extended, whatever their
 * type. */
typedef enum { HELD_SIGNED, HELD_UNSIGNED, HELD_SINGLE, HELD_DOUBLE } Held;

typedef union {
    int64_t whole;
    uint64_t natural;
    float single;
    double twice;
} Register;

/* The types of numbers: NumPy's numbers from NPY_BOOL to NPY_DOUBLE, and Python's own types. */
enum { PYTHON_BOOL = 64, PYTHON_INT, PYTHON_FLOAT };

typedef struct {
    short type;
    unsigned char held; /* a Held */
    unsigned char bits; /* of a whole number; 1 of a bool */
    PyTypeObject *object_type;
} Number;

/* numbers.c */
int number_type(PyObject *given, Number *number);
short number_bytes(int type);
bool number_read(const Number *number, PyObject *object, Register *value);
PyObject *number_object(const Number *number, Register value);
Register number_load(int type, const char *at);
void number_store(int type, char *at, Register value);

/* Operations by the names of Python's `operator` module; those in capitals are our own. */
#define OPERATIONS(X)                                                                              \
    X(ADD, "add")                                                                                  \
    X(SUB, "sub")                                                                                  \
    X(MUL, "mul")                                                                                  \
    X(TRUEDIV, "truediv")                                                                          \
    X(FLOORDIV, "floordiv")                                                                        \
    X(MOD, "mod")                                                                                  \
    X(POW, "pow")                                                                                  \
    X(AND, "and_")                                                                                 \
    X(OR, "or_")                                                                                   \
    X(XOR, "xor")                                                                                  \
    X(LSHIFT, "lshift")                                                                            \
    X(RSHIFT, "rshift")                                                                            \
    X(LT, "lt")                                                                                    \
    X(LE, "le")                                                                                    \
    X(EQ, "eq")                                                                                    \
    X(NE, "ne")                                                                                    \
    X(GT, "gt")                                                                                    \
    X(GE, "ge")                                                                                    \
    X(NEG, "neg")                                                                                  \
    X(ABS, "abs")                                                                                  \
    X(INVERT, "invert")                                                                            \
    X(TRUTH, "bool")                                                                               \
    X(CONVERT, "convert") /* as a cast does */                                                     \
    X(FIT, "fit")     /* a Python int into a whole number's type: refused where it has no room */  \
    X(HOLDS, "holds") /* refused where the number is not true */                                   \
    X(FAILS, "fails") /* refused where it is */                                                    \
    X(LOAD, "load")                                                                                \
    X(STORE, "store")                                                                              \
    X(LOOP, "loop")

typedef enum {
#define NAMED(NAME, TEXT) OPERATION_##NAME,
    OPERATIONS(NAMED)
#undef NAMED
        OPERATION_COUNT
} Operation;

/* `b` of a load or store is a place, of an operation on one number -1; `loop` is NULL but in a
 * LOOP. */
typedef struct {
    unsigned char operation, held, bits;
    unsigned char from; /* Held of a CONVERT's operand */
    unsigned char then; /* of a comparison: the HOLDS or FAILS that comes next, or 0 */
    bool python; /* of Python's own numbers, which never wrap, and raise where NumPy's warn */
    short out, a, b;
    Loop *loop;
} Instruction;

/* An element of an array: `key` is the number of the input that is its index, or -1 where `index`
 * is. */
typedef struct {
    int input, key, axes;
    bool written;
    Number number;
    PyArray_Descr *descr;
    npy_intp *index; /* negative: from the end */
} Place;

/* What a store wrote over, as it was: the byte of a bool may be neither 0 nor 1. */
typedef struct {
    char *at;
    char before[sizeof(Register)];
    short bytes;
} Overwritten;

enum { SCALARS_REFUSE = 128 }; /* beside the flags: NumPy's own code has to decide */

/* compute.c */
unsigned compute(const Instruction *code, int count, const Place *places, char *const *at,
                 Register *registers, Overwritten *overwritten, int *stores);

/* block.c */
extern PyTypeObject *scalars_type;
int scalars_begin(PyObject *module);
int scalars_run(PyObject *block, PyObject *const *inputs, unsigned mask, PyObject **results);
void scalars_counts(PyObject *block, int *inputs, int *results, bool *stores);

#endif
