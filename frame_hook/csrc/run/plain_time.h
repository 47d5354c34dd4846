/*
 * What plain Python would have taken for the turns of loops that ran as native code, as far as it
 * is known. It is counted only while a trial times something: there it saves a plain run, which may
 * take a hundred times as long as the compiled one.
 */
#ifndef UFUSE_PLAIN_TIME_H
#define UFUSE_PLAIN_TIME_H

#include <Python.h>

#include "python/state.h"
#include "run/cache.h"

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

long long entry_turns(const Entry *entry);
void plain_time_add(const Entry *entry, long long turns);

#endif
