/* Compiled guards, for the files that compile, check and skip them. */
#ifndef UFUSE_GUARD_ROWS_H
#define UFUSE_GUARD_ROWS_H

#include "guards/integers.h"
#include "guards/kinds.h"
#include "guards/references.h"
#include "values/dict_watchers.h"
#include "values/storage.h"

/* One compiled row: its operands by type, each type in the order of the row. */
typedef struct {
    GuardKind kind;
    bool loads;
    uint8_t n_sources;
    int32_t source[2];
    int64_t number[2];    /* n, b, and the bits of an f */
    AttributePlace known; /* where the attribute was last found; of LOAD_KEY, the index alone; of
                             rows about a class, the version in which they held */
    PyObject *on_class;   /* borrowed from the class while it has that version: what LOAD_CLASS
                             loads */
    Reference object[3];
    FunctionParts *parts; /* owned; the objects of FUNCTION */
    int32_t *axes;        /* owned; the permutation, or the registers of an s */
    Py_ssize_t n_axes;
    bool c_order;             /* the permutation is 0, 1, 2, … */
    IntegerProgram *relation; /* owned */
} Guard;

/* A row that is checked even while the watched names are unchanged. */
typedef struct {
    Guard *guard;
    Py_ssize_t appended; /* the number of the register it appends; else 0 */
} RemainingGuard;

/* A class that rows are about, and the version in which they last held. */
typedef struct {
    const Reference *type; /* a row's */
    unsigned int version;
} StableClass;

/*
 * Once an entry has been found often, the dict entries that its rows LOAD_KEY and ABSENT are about
 * are watched, and the versions of the classes that rows name are noted. While none changes, rows
 * that depend on nothing else are skipped.
 */
struct GuardProgram {
    Py_ssize_t count;
    Py_ssize_t loads;       /* registers all rows together append */
    RegisterUse use;        /* what the entry reads, without what its guards do */
    int n_checks;           /* successful checks until watching began; -1: it never does */
    uint64_t held_at_epoch; /* `watch_epoch` when all rows last held; 0: check all */
    Py_ssize_t n_state;     /* the number of state slots for which `remaining` was made */
    Py_ssize_t n_remaining;
    RemainingGuard *remaining; /* owned; NULL until watching has begun */
    Py_ssize_t n_classes;
    StableClass *classes; /* owned */
    Py_ssize_t n_watches;
    Watch **watches; /* owned array of references */
    Guard rows[1];
};

#endif
