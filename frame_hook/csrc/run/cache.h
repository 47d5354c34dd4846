/*
 * CodeCache: for each position of a code object, its entries, whether the session has given it up,
 * and the function that resumes there.
 */
#ifndef UFUSE_CACHE_H
#define UFUSE_CACHE_H

#include <Python.h>
#include <stdbool.h>

#include "run/entry.h"
#include "run/region.h"
#include "run/trial.h"

typedef struct {
    Entry **entries; /* owned array of owned entries, most recently hit first */
    Py_ssize_t count;
    Py_ssize_t capacity;
    bool given_up;
    int64_t ask_after;       /* the session is not asked about it before (`now_ns`) */
    long long passed;        /* frames that were not stopped there, as it is not to be asked yet */
    long long looked_passed; /* the same when the clock was looked at last, and what it said */
    int64_t looked_at;
    int unlooked;              /* so many more frames pass without a look at it */
    Py_ssize_t leave_at;       /* of a header: where frames go on without turns left; 0: here */
    struct Turns *turns;       /* owned, or NULL: how turns of the loop around it are timed */
    struct Arrivals *arrivals; /* owned, or NULL: of its native code, and without */
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
    PyObject *reference; /* owned weak reference to the code; NULL once cleared */
    PyObject *session;   /* owned */
    PyObject *globals;   /* owned; of the first function captured: entries rely on them */
    PyObject *shared;    /* owned: options, globals and builtins, a tuple, of the functions that are
                            to have this cache's session; or NULL */
    Entry *whole_call;   /* owned: runs whole calls, before any entry of position 0; or NULL */
    int whole_call_for;  /* calls of which orders of magnitude it runs: a bit for each */
    int whole_declined;  /* so often in a row it did not take a call that it fits */
    int whole_call_after; /* so many more calls that it does not take: then it is made; 0: never */
    Position **positions; /* owned array by position, each NULL until used */
    Py_ssize_t n_positions;
    PyObject *weakrefs;
    bool every_frame; /* what the session wanted when the cache was made */
    bool takes_loops; /* the same */
    bool measures;    /* calls that do not pay run as plain Python; the session's wish, too */
    bool measuring;   /* a call is being timed: calls of the same code inside it run as it does */
    bool is_within;   /* the last call for which a way was chosen is one of these */
    Way way;          /* how that call runs */
    bool gives_back;  /* some trial has found plain Python to be the fastest */
    bool calls_pay;   /* some frame that this code called has run an entry */
    Trial *trials[N_KINDS][N_MAGNITUDES]; /* owned, NULL until used; they live as long as the cache:
                                             by types and order of magnitude of the arguments */
    long long run_ns;      /* what timed calls took, without what sessions took of it */
    long long calls;       /* for which a way to run was chosen */
    long long passed;      /* frames that it called and that ran no entry, since one did */
    int barren;            /* calls in a row with many of these and none that ran one */
    long long activations; /* frames that ran in several steps */
    Py_ssize_t leader;     /* the position whose turns are being timed, or -1 */
    long long epoch;       /* of arrivals at that position */
    int largest;           /* of the magnitudes of calls; -1: none was measured */
    int magnitude;         /* of the last call whose way was chosen by it */
    int kinds;             /* of calls, a bit for each */
    bool gave_back;        /* loops, since the session was last told to look at them again */
    int64_t doubt_after;   /* it is told then (`now_ns`), if not before */
    int doubts;            /* how often loops were given back */
    int loops_wait;     /* so many calls tell nothing, as some loop may become native code soon */
    int64_t ask_after;  /* the session is not asked for entries before (`now_ns`) */
    char put_off;       /* the session has answered so: a trace has to wait for its time */
    char stops_later;   /* a frame that no entry takes at its start is suspended at later stops */
    long long frames;   /* frames of this code that were begun */
    long long whole;    /* those that one entry brought to their end */
    long long mixed;    /* those that ran entries and were interpreted as well */
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

/* What is kept for a position, borrowed, or NULL. */
static inline Position *
existing_position(CodeCache *cache, Py_ssize_t position)
{
    return position >= 0 && position < cache->n_positions ? cache->positions[position] : NULL;
}

/* One of all trials of a code object; NULL where none was begun. */
static inline Trial *
trial_at(const CodeCache *cache, int i)
{
    return cache->trials[i / N_MAGNITUDES][i % N_MAGNITUDES];
}

/* So many frames that run no entry are enough: the hook is not installed for more of them; where
 * some frame did run one once, when so many calls in a row had as many frames that did not. */
enum { MOST_PASSED = 512, MOST_BARREN = 8 };

/* Enter a region for the frames that a frame of this code calls, unless they never run entries. */
static inline Region
cache_region_enter(CodeCache *cache)
{
    bool useless = cache->measures && !cache->calls_pay && cache->passed >= MOST_PASSED;
    return region_enter(useless ? NULL : cache->session, cache->every_frame, cache->takes_loops,
                        cache->measures);
}

/* End it, and note what became of those frames. */
static inline void
cache_region_leave(CodeCache *cache, Region outer)
{
    long long passed = ufuse_thread.passed - outer.passed;
    bool taken = ufuse_thread.taken != outer.taken;
    cache->barren = taken ? 0 : cache->barren + (passed >= MOST_PASSED);
    cache->calls_pay = taken || (cache->calls_pay && cache->barren < MOST_BARREN);
    cache->passed += passed;
    region_leave(outer);
}

CodeCache *CodeCache_New(PyObject *code, PyObject *session);
int cache_find(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **found);
int cache_find_sure(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **found);
int cache_add(CodeCache *cache, Py_ssize_t position, Entry *entry);
void cache_remove(CodeCache *cache, Py_ssize_t position, Entry *entry);
Trial *cache_trial(CodeCache *cache, int kinds, int magnitude);
void cache_reconsider(CodeCache *cache, Py_ssize_t position);
bool cache_is_empty(CodeCache *cache, Py_ssize_t position);
bool cache_has_loop(CodeCache *cache, Py_ssize_t position);
bool cache_has(CodeCache *cache, Py_ssize_t position, Entry *entry);
bool cache_serves(CodeCache *cache, PyObject *function);
bool cache_given_up(CodeCache *cache, Py_ssize_t position);
int cache_give_up(CodeCache *cache, Py_ssize_t position);
void cache_give_back(CodeCache *cache);
Position *cache_position(CodeCache *cache, Py_ssize_t position);
Py_ssize_t cache_leave_at(CodeCache *cache, Py_ssize_t position);
void cache_forget_compiled(CodeCache *cache);
void cache_drop_resume(CodeCache *cache, Py_ssize_t only);
void cache_forget(CodeCache *cache);
void cache_free_positions(CodeCache *cache);
PyObject *shared_session(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
int CodeCache_Ready(void);

#endif
