/* Guards: one flat program over registers. The list below is the one place that names the kinds. */
#ifndef UFUSE_GUARDS_H
#define UFUSE_GUARDS_H

#include <Python.h>
#include <stdbool.h>

#include "guards/integers.h"

/* clang-format off */
/*
 * A row is `(KIND, operand, …)`. Operands, one letter each:
 *   r  a register             n  an int of 64 bits        b  a bool         f  an exact float
 *   D  a dict                 K  an exact str             S  an exact str   I  an exact int
 *   T  a type                 d  a dtype                  t  a tuple        C  a code object
 *   o  any object             v  an immutable value of built-in types
 *   k  any key; what is no such value is found by identity
 *   p  a permutation of axes, slowest first
 *   R  a relation             F  a frozenset of such values
 * A leading `+`: the row appends one register. The sentence says what is wrong when the row fails;
 * `{0}`, `{1}`, … are the operands (for a register, whoever prints it puts the user's name for the
 * value).
 */
/* clang-format on */
#define GUARD_KINDS(X)                                                                             \
    X(LOAD_CELL, "+r", "the variable {0} is unbound")                                              \
    X(LOAD_KEY, "+DK", "the name {1} is no longer defined")                                        \
    X(ABSENT, "DK", "the name {1} has been defined")                                               \
    X(LOAD_ITEM, "+rn", "{0} has no item {1}")                                                     \
    X(LOAD_DICT_ITEM, "+rk", "{0} has no key {1!r}")                                               \
    X(LOAD_ATTR, "+rK", "{0} has no attribute {1}")                                                \
    X(LOAD_OWN, "+rK", "{0} has no attribute {1} of its own")                                      \
    X(LOAD_CLASS, "+TK", "the class {0!r} has no {1}")                                             \
    X(CLASS_LACKS, "TK", "the class {0!r} has {1} now")                                            \
    X(CLASS_OWN_LACKS, "TK", "the class {0!r} itself has {1} now")                                 \
    X(BASE, "TnnT", "the classes that {0!r} inherits from have changed")                           \
    X(ABC_TOKEN, "n", "abstract classes have had other classes registered since")                  \
    X(NOTHING_HANDLED, "", "an exception is being handled")                                        \
    X(DICT_LACKS, "rk", "{0} has the key {1!r} now")                                               \
    X(INSTANCE_LACKS, "rK", "{0} has an attribute {1} of its own now")                             \
    X(LOAD_CLOSURE, "+rn", "{0} has no closure variable {1}")                                      \
    X(LOAD_DEFAULT, "+rn", "{0} has no default for its parameter {1}")                             \
    X(LOAD_KWDEFAULT, "+rK", "{0} has no default for its parameter {1}")                           \
    X(LOAD_CONST, "+o", "{0} is a constant")                                                       \
    X(TYPE, "rT", "{0} is no longer of type {1!r}")                                                \
    X(IDENTITY, "ro", "{0} is no longer the same object")                                          \
    X(UNBOUND, "r", "{0} is no longer unbound")                                                    \
    X(BOUND, "r", "{0} is unbound")                                                                \
    X(INT, "rn", "{0} is no longer {1}")                                                           \
    X(BIG_INT, "rI", "{0} is no longer {1}")                                                       \
    X(FLOAT, "rf", "{0} is no longer {1!r}")                                                       \
    X(NOT_FLOAT, "rf", "{0} is {1!r} now")                                                         \
    X(STR, "rS", "{0} is no longer {1!r}")                                                         \
    X(EQUAL, "rv", "{0} is no longer {1!r}")                                                       \
    X(LENGTH, "rn", "the length of {0} is no longer {1}")                                          \
    X(DICT_KEYS, "rt", "the keys of {0} are no longer {1}")                                        \
    X(SET_IS, "rF", "the members of {0} are no longer {1}")                                        \
    X(CELL_EMPTY, "r", "the variable {0} has a value now")                                         \
    X(FUNCTION, "rCoo", "the code or the defaults of {0} have been replaced")                      \
    X(ARRAY, "rdn",                                                                                \
      "{0} is no longer an array of {1} with {2} axes, aligned and of native byte order")          \
    X(WRITEABLE, "rb", "the writeable flag of {0} is no longer {1}")                               \
    X(ORDER, "rp", "the axes of {0} no longer lie in memory in the order {1}")                     \
    X(CONTIGUOUS, "rpb", "that {0} lies in memory without gaps in the order {1} is no longer {2}") \
    X(APART, "r", "elements of {0} may now share memory")                                          \
    X(SIZE, "rnn", "axis {1} of {0} no longer has size {2}")                                       \
    X(RELATION, "R", "the relation {0} between sizes no longer holds")                             \
    X(DISJOINT, "rr", "{0} and {1} may now share memory")                                          \
    X(SAME, "rr", "{0} and {1} are no longer the same object")                                     \
    X(DIFFERENT, "rr", "{0} and {1} are now the same object")                                      \
    X(NOT_DICT_OF, "rr", "{0} is where {1} has its attributes now")                                \
    X(QUIET, "r", "something runs now when {0} dies")                                              \
    X(QUIET_ATTR, "rK", "something runs now when {0}.{1} dies")

typedef struct GuardProgram GuardProgram;

GuardProgram *compile_guards(PyObject *rows, RegisterUse *use);
void free_guards(GuardProgram *guards);
int traverse_guards(GuardProgram *guards, visitproc visit, void *arg);
bool guards_find_alive(const GuardProgram *guards, PyObject *object);
bool guards_are_dead(const GuardProgram *guards);
void note_reads(GuardProgram *guards, const RegisterUse *use);
Py_ssize_t guards_loads(const GuardProgram *guards);
Py_ssize_t first_failing_guard(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state);
bool guards_hold(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state);
int export_guard_kinds(PyObject *module);

#endif
