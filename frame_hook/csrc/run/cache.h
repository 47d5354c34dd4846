/*
 * CodeCache: for each position of a code object, its entries, whether the session has given it up,
 * and the function that resumes there.
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
 * Who owns whom: a cache owns its session, visible to the garbage collector, and refers to its code
 * weakly; the code's co_extra borrows the cache, which is removed there before it dies. So neither
 * keeps the other alive, and whoever wants a cache to last owns it: a Dispatcher its own, a session
 * those it gives the eval hook, until their code dies. Whoever runs frames through a cache owns the
 * code meanwhile.
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
    char stops_later;   /* a frame that no entry takes at its start is suspended at later stops */
    long long frames;   /* frames of this code that were begun */
    long long whole;    /* those that one entry brought to their end */
    long long mixed;    /* those that ran entries and were interpreted as well */
    long long misses;   /* look-ups that found no entry */
    long long captures; /* times the session was asked for one */
    long long suspensions; /* times a frame of this code was suspended */
} CodeCache;

extern PyTypeObject CodeCache_Type;

/*
 * The code of a cache, borrowed; NULL when it is dead, or being deallocated: then weak references
 * still name it while it drops what it refers to.
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
