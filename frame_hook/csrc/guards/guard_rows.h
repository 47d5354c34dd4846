/* Guards as they are compiled; for the files that compile, check and skip them. */
#ifndef UFUSE_GUARD_ROWS_H
#define UFUSE_GUARD_ROWS_H

#include "guards/guards.h"
#include "guards/references.h"
#include "python/dict_watchers.h"

#define X(name, operands) GUARD_##name,
typedef enum { GUARD_KINDS(X) N_GUARD_KINDS } GuardKind;
#undef X

/* One compiled row: its operands by type, each type in the order of the row. */
typedef struct {
    GuardKind kind;
    bool loads;
    uint8_t n_sources;
    int32_t source[2];
    int64_t number[2]; /* n, b, and the bits of an f */
    Py_ssize_t place;  /* where LOAD_KEY last found its name */
    Held object[3];
    FunctionParts *parts; /* owned; the objects of FUNCTION */
    int32_t *axes;        /* owned; the permutation */
    Py_ssize_t n_axes;
    Program *relation; /* owned */
} Guard;

/* A row that is checked even while the names that others are about are as they were. */
typedef struct {
    Guard *guard;
    Py_ssize_t appended; /* which of the appended registers it loads; else 0 */
} AwakeGuard;

struct GuardProgram {
    Py_ssize_t count;
    Py_ssize_t loads;   /* registers all rows together append */
    RegisterUse use;    /* what the entry reads, but for what rows with one register do */
    uint64_t quiet_at;  /* `names_epoch` when every row held; 0: there is more to check */
    Py_ssize_t n_state; /* slots of the states for which the rest is right */
    int passes;         /* until watching begins; -1: it never does */
    Py_ssize_t n_awake;
    AwakeGuard *awake; /* owned; NULL until watching has begun */
    Py_ssize_t n_watches;
    Watch **watches; /* owned array of references */
    Guard rows[1];
};

#endif
