/* An inner loop: NumPy's own, or native code. */
#ifndef UFUSE_LOOP_H
#define UFUSE_LOOP_H

#include "runtime/tiles.h"

/* How a reduction over a whole space may be split so that it keeps its bits. */
typedef enum {
    FOLD_WHOLE,    /* not at all */
    FOLD_PAIRWISE, /* at the nodes of NumPy's pairwise tree */
    FOLD_ANYWHERE, /* anywhere, in any order */
    FOLD_EXTREME,  /* anywhere, unless the result is zero or NaN */
} Fold;

typedef int LoopFunction(char **data, const npy_intp *count, const npy_intp *steps, void *unused);

/* Rows of fewer elements are short; so many are added, and so many compared, in an order that is
 * known. */
enum { SHORT_FOLD = 8, MOST_ADDED = 128, MOST_COMPARED = 64 };

/* Folds rows; whether all results are sure to be those of NumPy's loop. */
typedef bool ShortFold(const char *from, npy_intp row_step, npy_intp step, npy_intp count,
                       npy_intp rows, char *to, npy_intp to_step);

/* Folds columns of an array in C order, which are not many, into results that are begun. */
typedef void ColumnFold(const void *from, npy_intp columns, npy_intp rows, void *to);

/* Computes some elements that lie beside one another; false: one of them is not ordinary, and `to`
 * is unspecified. Raises no flag but `inexact`. */
typedef bool OrdinaryBlock(const char *a, const char *b, char *to, npy_intp count);

/* Does what the loop does, as that is called, in less time. */
typedef struct Loop Loop;
typedef int QuickLoop(const Loop *loop, char **data, npy_intp count, const npy_intp *steps);

struct Loop {
    PyObject_HEAD
    PyArrayMethod_StridedLoop *strided; /* NumPy's; or else `function` */
    PyArrayMethod_Context *context;
    NpyAuxData *auxdata;
    LoopFunction *function;
    PyObject *owner; /* keeps all of these alive */
    const char *name;
    short inputs, outputs;
    bool raises;             /* may raise floating-point flags */
    bool fails;              /* may set an exception, for which it takes the GIL */
    bool depends_on_strides; /* other bits where memory is strided */
    bool native;
    /* unlike.c: bits depend on the position in the array: of two NaN; also of two zeros; of any NaN
     * in a complex product. */
    bool position_dependent, position_dependent_zeros, position_dependent_product;
    double position_dependent_limit; /* of a cast: the first float that its integer type cannot
                                        hold; 0: none */
    npy_intp position_dependent_itemsize;
    Fold fold;
    /* Or NULL; a sum begins with zero, others with their first element. */
    ShortFold *short_fold;
    npy_intp short_limit; /* it is for rows of fewer elements */
    ColumnFold *column_fold;
    QuickLoop *quick; /* or NULL */
    OrdinaryBlock *block;
    npy_intp itemsize;        /* of all operands, where there is one of these two */
    int types[MAX_ARGUMENTS]; /* type numbers; not known for native loops */
};

/* NumPy's int, 0 or -1 with an exception; for a native loop 1 asks for the plain segments. */
static inline int
loop_call(const Loop *loop, char **data, npy_intp count, const npy_intp *steps)
{
    if (loop->quick != NULL) {
        return loop->quick(loop, data, count, steps);
    }
    if (loop->strided != NULL) {
        return loop->strided(loop->context, data, &count, steps, loop->auxdata);
    }
    return loop->function(data, &count, steps, NULL);
}

static inline bool
loop_adds(const Loop *loop)
{
    return strcmp(loop->name, "add") == 0;
}

static inline int
numpys_loop(const Loop *loop, char *a, char *b, char *to, npy_intp count, const npy_intp *steps)
{
    char *data[3] = {a, b, to};
    return loop->strided(loop->context, data, &count, steps, loop->auxdata);
}

#endif
