/* The kinds of guards: this list is the one place that names them. */
#ifndef UFUSE_GUARD_KINDS_H
#define UFUSE_GUARD_KINDS_H

/* clang-format off */
/*
 * A row is `(KIND, operand, …)`. Operands, one letter each:
 *   r  a register             n  an int of 64 bits        b  a bool         f  an exact float
 *   D  a dict                 K  an exact str             S  an exact str   I  an exact int
 *   T  a type                 d  a dtype                  t  a tuple        C  a code object
 *   o  any object             v  a literal (values/builtin_types.h)
 *   k  any key; one that is no literal is found by identity
 *   p  a permutation of axes, slowest first              s  a sequence of registers
 *   R  a relation             F  a frozenset of literals
 * A leading `+`: the row appends a register with what the comment names, and fails where there is
 * none. Other rows hold where the comment is true of the register.
 */
#define GUARD_KINDS(X)                                                                             \
    X(LOAD_CELL, "+r")            /* what a cell has */                                            \
    X(LOAD_KEY, "+DK")            /* what a dict of names has under one */                         \
    X(ABSENT, "DK")               /* a dict of names lacks one */                                  \
    X(LOAD_ITEM, "+rn")           /* an item of a tuple, list or deque */                          \
    X(LOAD_ITERATED, "+r")        /* what an iterator of a built-in type goes over */              \
    X(LOAD_DICT_ITEM, "+rk")      /* what a dict has under a key */                                \
    X(LOAD_ATTR, "+rK")           /* what getattr gives without running Python code */             \
    X(LOAD_OWN, "+rK")            /* an attribute in the object's dict or slot */                  \
    X(LOAD_CLASS, "+TK")          /* what a class or its bases have under a name, not bound */     \
    X(CLASS_LACKS, "TK")          /* neither a class nor its bases have a name */                  \
    X(CLASS_OWN_LACKS, "TK")      /* a class itself lacks a name */                                \
    X(BASE, "TnnT")               /* item n of the class's __mro__, of length n, is that class */  \
    X(ABC_TOKEN, "n")             /* abc.get_cache_token() is n */                                 \
    X(NOTHING_HANDLED, "")        /* the program handles no exception */                           \
    X(DICT_LACKS, "rk")           /* an exact dict lacks a key */                                  \
    X(INSTANCE_LACKS, "rK")       /* an object's dict or slot lacks an attribute */                \
    X(LOAD_CLOSURE, "+rn")        /* a cell of a function's closure */                             \
    X(LOAD_DEFAULT, "+rn")        /* a default of a function's positional parameters */            \
    X(LOAD_KWDEFAULT, "+rK")      /* a default of a function's keyword-only parameters */          \
    X(LOAD_CONST, "+o")           /* the operand, unless it has died */                            \
    X(LOAD_REMEMBERED, "+rkn")    /* what an lru_cache has under this key, of hash n */            \
    X(TYPE, "rT")                 /* this is the exact class */                                    \
    X(EITHER_TYPE, "rTT")         /* this or that is the exact class */                            \
    X(FIRST_TYPE, "rT")           /* a list or tuple, empty or with a first item of this class */  \
    X(IDENTITY, "ro")             /* this is the object */                                         \
    X(UNBOUND, "r")               /* the register is empty */                                      \
    X(BOUND, "r")                 /* the register is not empty */                                  \
    X(INT, "rn")                  /* an exact int of this value */                                 \
    X(BIG_INT, "rI")              /* an exact int of this value, which may not fit 64 bits */      \
    X(FLOAT, "rf")                /* an exact float of these bits */                               \
    X(NOT_FLOAT, "rf")            /* anything but an exact float of these bits */                  \
    X(STR, "rS")                  /* an exact str of this value */                                 \
    X(EQUAL, "rv")                /* an object of this class and value, floats by their bits */    \
    X(LENGTH, "rn")               /* a container of this length */                                 \
    X(DICT_KEYS, "rt")            /* a dict with these keys in this order */                       \
    X(SET_IS, "rF")               /* a set or frozenset with these members */                      \
    X(CELL_EMPTY, "r")            /* a cell with nothing in it */                                  \
    X(FUNCTION, "rCoo")           /* a function with this code, defaults and keyword defaults */   \
    X(ARRAY, "rdn")               /* an aligned, native-endian ndarray of this dtype and ndim */   \
    X(DEVICE_ARRAY, "rdnn")       /* an array of this dtype on the device of number n, of ndim n */ \
    X(DEVICE_LAYOUT, "rdnpb")     /* such an array, for which ORDER and CONTIGUOUS hold, too */    \
    X(WRITEABLE, "rb")            /* an array whose writeable flag is this */                      \
    X(ORDER, "rp")                /* an array whose axes lie in memory in this order */            \
    X(CONTIGUOUS, "rpb")          /* an array that lies so without gaps, or (false) does not */    \
    X(APART, "r")                 /* an array no two elements of which share memory */             \
    X(SIZE, "rnn")                /* an array's axis has this size */                              \
    X(RELATION, "R")              /* this relation between sizes holds */                          \
    X(DISJOINT, "rr")             /* two arrays share no memory */                                 \
    X(ALL_DISJOINT, "ns")         /* the first n of some arrays share none with any other */       \
    X(SAME, "rr")                 /* two registers have the same object */                         \
    X(DIFFERENT, "rr")            /* two registers have different objects that share no dict */  \
    X(NOT_DICT_OF, "rr")          /* the first is not where the second has its attributes */       \
    X(NO_FINALIZER, "r")          /* no Python code runs when the object dies */                   \
    X(NO_FINALIZER_ATTR, "rK")    /* the same for an attribute in the object's dict or slot */
/* clang-format on */

#define X(name, operands) GUARD_##name,
typedef enum { GUARD_KINDS(X) N_GUARD_KINDS } GuardKind;
#undef X

typedef struct GuardProgram GuardProgram;

#endif
