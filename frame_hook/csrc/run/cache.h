/*
 * CodeCache: for every position of a code object its entries, whether it is given up, and the
 * function that resumes there.
 */
#ifndef UFUSE_CACHE_H
#define UFUSE_CACHE_H

#include <Python.h>
#include <stdbool.h>

#include "run/entry.h"

typedef struct {
    Entry **entries; /* owned array of owned entries, most recently hit first */
    Py_ssize_t count;
    Py_ssize_t capacity;
    bool given_up;
    PyObject *resume_code;     /* owned, or NULL until it is needed */
    PyObject *resume_function; /* owned; for the globals of the function it was last needed for */
} Position;

/*
 * Who owns whom: a cache owns its session, visible to the garbage collector, and knows its code by
 * a weak reference; the mark a cache has on its code (marks.h) borrows it and is wiped before the
 * cache dies. So neither keeps the other alive, and whoever wants a cache to last holds it: a
 * Dispatcher its own, a session those it gives the eval hook, until their code dies. Whoever runs
 * frames through a cache keeps the code alive meanwhile.
 */
typedef struct {
    PyObject_HEAD
    PyObject *reference;  /* owned weak reference to the code; NULL once cleared */
    PyObject *session;    /* owned */
    PyObject *globals;    /* owned; of the first function captured: entries rely on them */
    Position **positions; /* owned array by position, each NULL until used */
    Py_ssize_t n_positions;
    PyObject *weakrefs;
    bool every_frame;   /* what the session wanted when the cache was made */
    char stops_later;   /* frames that no entry takes at their start may still be stopped later */
    long long frames;   /* frames of this code that were begun */
    long long whole;    /* those that an entry brought to their end */
    long long mixed;    /* those that ran entries and plain Python */
    long long misses;   /* look-ups that found no entry */
    long long captures; /* times the session was asked for one */
    long long suspensions; /* times a frame of this code came back from plain Python */
} CodeCache;

extern PyTypeObject CodeCache_Type;

/*
 * The code of a cache, borrowed; NULL when it is gone, or about to go: its references to others are
 * dropped before those to it are.
 */
static inline PyObject *
cache_code(const CodeCache *cache)
{
    PyObject *code =
        cache->reference == NULL ? NULL : ((PyWeakReference *)cache->reference)->wr_object;
    return code == NULL || code == Py_None || Py_REFCNT(code) <= 0 ? NULL : code;
}

CodeCache *CodeCache_New(PyObject *code, PyObject *session);
int cache_find(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **found);
int cache_add(CodeCache *cache, Py_ssize_t position, Entry *entry);
bool cache_has(CodeCache *cache, Py_ssize_t position, Entry *entry);
bool cache_serves(CodeCache *cache, PyObject *function);
bool cache_given_up(CodeCache *cache, Py_ssize_t position);
int cache_give_up(CodeCache *cache, Py_ssize_t position);
Position *cache_position(CodeCache *cache, Py_ssize_t position);
int CodeCache_Ready(void);

#endif
