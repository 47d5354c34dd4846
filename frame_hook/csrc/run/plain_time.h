/*
 * What plain Python takes for loops that run as native code. What it would have taken for their
 * turns is counted while a trial times something, as far as it is known. Where that is far longer,
 * a plain run of the whole would stall the program: loops then run plainly for some time only.
 */
#ifndef UFUSE_PLAIN_TIME_H
#define UFUSE_PLAIN_TIME_H

#include <Python.h>

#include "python/state.h"
#include "run/cache.h"
#include "run/trial.h"

/* A run begins in this thread that asks. Pair it with `plain_time_end`, which is given the result.
 */
static inline int64_t
plain_time_begin(void)
{
    ufuse_thread.timed++;
    return ufuse_thread.plain_ns;
}

/* It ends. Returns the nanoseconds that plain Python would have taken, about, for its loops. */
static inline int64_t
plain_time_end(int64_t began)
{
    ufuse_thread.timed--;
    return ufuse_thread.plain_ns - began;
}

/*
 * Whether turns of this entry are to be counted now: a call is timed, or a turn of a loop of the
 * same code. In calls with smaller arguments than when it was found a turn may take less.
 */
static inline bool
plain_time_counts(const Entry *entry, const CodeCache *cache)
{
    return entry->turn_ns > 0 && (ufuse_thread.timed > 0 || cache->leader >= 0) &&
           cache->magnitude >= entry->magnitude;
}

/*
 * Whether a loop that stands at its header is to go on in plain Python, though it has native code:
 * the time for that is not up.
 */
static inline bool
loops_run_plainly(void)
{
    if (ufuse_thread.plain_until != 0 && now_ns() >= ufuse_thread.plain_until) {
        ufuse_thread.plain_until = 0;
    }
    return ufuse_thread.plain_until != 0;
}

long long entry_turns(const Entry *entry);
void plain_time_add(const Entry *entry, long long turns);

#endif
