#include "run/cache.h"

/* Loops that were given back are looked at again after so many ns, which double so many times. */
static const int64_t FIRST_DOUBT = 1000000000;
enum { MOST_DOUBTS = 10 };

/* ---- positions ---- */

/* What is kept for a position, made when there was nothing; borrowed. NULL with an exception. */
Position *
cache_position(CodeCache *cache, Py_ssize_t position)
{
    Position *found = existing_position(cache, position);
    if (found != NULL) {
        return found;
    }
    PyObject *code = cache_code(cache);
    if (code == NULL) {
        PyErr_SetString(PyExc_ReferenceError, "this cache is gone");
        return NULL;
    }
    Py_ssize_t n_units = (Py_ssize_t)Py_SIZE(code);
    if (position < 0 || position >= n_units) {
        PyErr_Format(PyExc_ValueError, "%zd is no position of %S", position,
                     ((PyCodeObject *)code)->co_qualname);
        return NULL;
    }
    if (position >= cache->n_positions) {
        /* most code is entered only at its start */
        Py_ssize_t wanted = position == 0 ? 1 : n_units;
        Position **grown = PyMem_Realloc(cache->positions, (size_t)wanted * sizeof(Position *));
        if (grown == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        memset(grown + cache->n_positions, 0,
               (size_t)(wanted - cache->n_positions) * sizeof(Position *));
        cache->positions = grown;
        cache->n_positions = wanted;
    }
    found = PyMem_Calloc(1, sizeof(Position));
    if (found == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    cache->positions[position] = found;
    return found;
}

/* Take entry `i` out of a position. Returns it; the caller owns it then. */
static Entry *
take_entry(Position *position, Py_ssize_t i)
{
    Entry *entry = position->entries[i];
    position->count--;
    memmove(position->entries + i, position->entries + i + 1,
            (size_t)(position->count - i) * sizeof(Entry *));
    return entry;
}

/* Drop everything that is kept for a position. Finalizers may run. */
static void
free_position(Position *position)
{
    for (Py_ssize_t i = 0; i < position->count; i++) {
        Py_DECREF(position->entries[i]);
    }
    PyMem_Free(position->entries);
    Py_XDECREF(position->resume_code);
    Py_XDECREF(position->resume_function);
    PyMem_Free(position->turns);
    PyMem_Free(position->arrivals);
    PyMem_Free(position);
}

/* Drop what is kept for positions. The cache has none before a finalizer may run. */
void
cache_free_positions(CodeCache *cache)
{
    Position **positions = cache->positions;
    Py_ssize_t count = cache->n_positions;
    cache->positions = NULL;
    cache->n_positions = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (positions[i] != NULL) {
            free_position(positions[i]);
        }
    }
    PyMem_Free(positions);
}

/* ---- entries ---- */

/* What trials have found may be wrong now, and is to be found anew. */
static void
reopen_trials(CodeCache *cache)
{
    for (int i = 0; i < N_KINDS * N_MAGNITUDES; i++) {
        Trial *trial = trial_at(cache, i);
        if (trial != NULL && trial->decided && trial->way != WAY_PLAIN) {
            trial_reopen(trial);
        }
    }
}

/* What compiled calls took so far tells nothing of those that come, where no trial has ended. */
void
cache_forget_compiled(CodeCache *cache)
{
    for (int i = 0; i < N_KINDS * N_MAGNITUDES; i++) {
        Trial *trial = trial_at(cache, i);
        if (trial != NULL && !trial->decided) {
            memset(&trial->samples[WAY_COMPILED], 0, sizeof(Samples));
            trial->warmed[WAY_COMPILED] = 0;
        }
    }
}

/* The trial of calls with such arguments; NULL, with no exception, without memory for it. */
Trial *
cache_trial(CodeCache *cache, int kinds, int magnitude)
{
    Trial **trial = &cache->trials[kinds][magnitude];
    if (*trial == NULL) {
        *trial = PyMem_Calloc(1, sizeof(Trial));
    }
    return *trial;
}

/*
 * Where an entry belongs among those of its position, now or once it is there: in front, but behind
 * those that take sides of branches for granted, of which it may be what runs where they decline.
 */
static Py_ssize_t
place_of(const Position *at, const Entry *entry)
{
    Py_ssize_t place = 0;
    while (entry->expects == 0 && place < at->count && at->entries[place]->expects > 0) {
        place++;
    }
    return place;
}

/* Put `entry` among the others of its position. Returns 0, or -1 with an exception set. */
int
cache_add(CodeCache *cache, Py_ssize_t position, Entry *entry)
{
    Position *at = cache_position(cache, position);
    if (at == NULL) {
        return -1;
    }
    if (at->count == at->capacity) {
        Py_ssize_t wanted = at->capacity == 0 ? 2 : at->capacity * 2;
        Entry **grown = PyMem_Realloc(at->entries, (size_t)wanted * sizeof(Entry *));
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        at->entries = grown;
        at->capacity = wanted;
    }
    Py_ssize_t place = place_of(at, entry);
    memmove(at->entries + place + 1, at->entries + place,
            (size_t)(at->count - place) * sizeof(Entry *));
    at->entries[place] = (Entry *)Py_NewRef((PyObject *)entry);
    at->count++;
    entry->magnitude = cache->magnitude;
    reopen_trials(cache);
    return 0;
}

/* The index of an entry at a position (or NULL), or -1. */
static Py_ssize_t
index_of(Position *at, Entry *entry)
{
    for (Py_ssize_t i = 0; at != NULL && i < at->count; i++) {
        if (at->entries[i] == entry) {
            return i;
        }
    }
    return -1;
}

/* Whether the position has no entry. */
bool
cache_is_empty(CodeCache *cache, Py_ssize_t position)
{
    Position *at = existing_position(cache, position);
    return at == NULL || at->count == 0;
}

/* Whether an entry of the position runs turns of a loop. */
bool
cache_has_loop(CodeCache *cache, Py_ssize_t position)
{
    Position *at = existing_position(cache, position);
    return at != NULL && at->count > 0 && at->entries[0]->is_loop;
}

/* Whether the position has this entry. */
bool
cache_has(CodeCache *cache, Py_ssize_t position, Entry *entry)
{
    return index_of(existing_position(cache, position), entry) >= 0;
}

/*
 * Find the first entry of a position whose guards hold, and move it to the front; entries that can
 * never hold again are removed on the way. Returns 1 with `*found` a new reference and its loads in
 * the registers, 0 when there is none, or -1 with MemoryError set. Dropping what guards have loaded
 * may run a finalizer, which may change the cache: so the position is looked up again after guards.
 */
int
cache_find(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **found)
{
    for (Py_ssize_t i = 0;;) {
        Position *at = existing_position(cache, position);
        if (at == NULL || i >= at->count) {
            return 0;
        }
        Entry *entry = at->entries[i];
        if (!entry->valid) {
            Py_DECREF(take_entry(at, i));
            continue;
        }
        Py_INCREF(entry);
        int status = entry_matches(entry, registers);
        if (status != 0) {
            if (status < 0) {
                Py_DECREF(entry);
                return -1;
            }
            entry->hits++;
            if (i > 0) {
                at = existing_position(cache, position);
                Py_ssize_t now = index_of(at, entry);
                Py_ssize_t place = now > 0 ? place_of(at, entry) : 0;
                if (now > place) {
                    memmove(at->entries + place + 1, at->entries + place,
                            (size_t)(now - place) * sizeof(Entry *));
                    at->entries[place] = entry;
                }
            }
            *found = entry;
            return 1;
        }
        entry->valid = entry_is_valid(entry); /* no: the next turn of the loop removes it */
        i += entry->valid;
        Py_DECREF(entry);
    }
}

/* `cache_find` among the entries that take no side of a branch for granted. */
int
cache_find_sure(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **found)
{
    for (Py_ssize_t i = 0;; i++) {
        Position *at = existing_position(cache, position);
        if (at == NULL || i >= at->count) {
            return 0;
        }
        Entry *entry = (Entry *)Py_NewRef((PyObject *)at->entries[i]);
        int fits = entry->expects > 0 || !entry->valid ? 0 : entry_matches(entry, registers);
        if (fits > 0) {
            entry->hits++;
            *found = entry;
            return 1;
        }
        Py_DECREF(entry);
        if (fits < 0) {
            return -1;
        }
    }
}

/*
 * Whether a function's frames may use the entries, which rely on the globals of the first function
 * that came. Functions with one code object may have different globals.
 */
bool
cache_serves(CodeCache *cache, PyObject *function)
{
    PyObject *globals = ((PyFunctionObject *)function)->func_globals;
    if (cache->globals == NULL) {
        cache->globals = Py_NewRef(globals);
    }
    return cache->globals == globals;
}

/* Whether the session is not to be asked about a position any more. */
bool
cache_given_up(CodeCache *cache, Py_ssize_t position)
{
    Position *at = existing_position(cache, position);
    return at != NULL && at->given_up;
}

/* Never ask the session about a position again. Its entries stay. Returns 0, or -1. */
int
cache_give_up(CodeCache *cache, Py_ssize_t position)
{
    Position *at = cache_position(cache, position);
    if (at == NULL) {
        return -1;
    }
    at->given_up = true;
    return 0;
}

/*
 * Loops are left to plain Python. What decided that may have been the values of the day: after a
 * second the session is told to look at them again, behind the next time after two, and so on.
 */
void
cache_give_back(CodeCache *cache)
{
    if (!cache->gave_back) {
        cache->doubt_after = now_ns() + (FIRST_DOUBT << cache->doubts);
        cache->doubts += cache->doubts < MOST_DOUBTS;
    }
    cache->gave_back = true;
}

/* Where a frame at a loop's header goes on when no turn is left; 0: that is not known. */
Py_ssize_t
cache_leave_at(CodeCache *cache, Py_ssize_t position)
{
    Position *at = existing_position(cache, position);
    return at == NULL ? 0 : at->leave_at;
}

/* What was given up at a position, or given back of its loop, may be asked for and timed again. */
void
cache_reconsider(CodeCache *cache, Py_ssize_t position)
{
    Position *at = existing_position(cache, position);
    if (at != NULL) {
        at->given_up = false;
        PyMem_Free(at->turns);
        PyMem_Free(at->arrivals);
        at->turns = NULL;
        at->arrivals = NULL;
    }
}

/* Take an entry away from a position. Another thread may have removed it since the caller saw it.
 */
void
cache_remove(CodeCache *cache, Py_ssize_t position, Entry *entry)
{
    Position *at = existing_position(cache, position);
    Py_ssize_t i = index_of(at, entry);
    if (i >= 0) {
        Py_DECREF(take_entry(at, i));
    }
}

/* Have the resume code of a position (-1: of all) made again when it is needed. */
void
cache_drop_resume(CodeCache *cache, Py_ssize_t only)
{
    for (Py_ssize_t i = only < 0 ? 0 : only; i < (only < 0 ? cache->n_positions : only + 1); i++) {
        Position *at = existing_position(cache, i);
        if (at != NULL) {
            PyObject *function = at->resume_function;
            PyObject *code = at->resume_code;
            at->resume_function = at->resume_code = NULL;
            Py_XDECREF(function);
            Py_XDECREF(code);
        }
    }
}

/* Forget every entry, resume function, position given up and trial. */
void
cache_forget(CodeCache *cache)
{
    cache_free_positions(cache);
    cache->leader = -1;
    cache->ask_after = 0;
    cache->whole_call_after = 0;
    cache->whole_call_for = -1;
    Py_CLEAR(cache->whole_call);
    Py_CLEAR(cache->globals);
    cache->largest = -1;
    cache->kinds = 0;
    cache->gave_back = false;
    cache->doubts = 0;
    for (int i = 0; i < N_KINDS * N_MAGNITUDES; i++) {
        if (trial_at(cache, i) != NULL) { /* a call may be using it */
            memset(trial_at(cache, i), 0, sizeof(Trial));
        }
    }
}
