/*
 * A step of a frame: the entry for a state, found or captured, runs it up to the next one, or to
 * the frame's end. And whether there is anything to begin at a stop.
 */
#ifndef UFUSE_STEP_H
#define UFUSE_STEP_H

#include <Python.h>
#include <stdbool.h>

#include "run/cache.h"

RunOutcome take_step(CodeCache *cache, Py_ssize_t position, PyObject *function,
                     Registers *registers, PyObject **result, FrameState **next);
RunOutcome begin_with_stops(const CodeCache *cache, Registers *registers, FrameState **next);
bool nothing_begins_now(CodeCache *cache, Py_ssize_t position);

/* Whether a position has no entries, and the session is not asked for one. */
static inline bool
nothing_begins_at(const CodeCache *cache, Py_ssize_t position)
{
    const Position *at = position < cache->n_positions ? cache->positions[position] : NULL;
    return at != NULL && at->given_up && at->count == 0;
}

/* `take_step` of a frame that begins. RUN_RESUMES also where only later stops are to be looked at.
 */
static inline RunOutcome
take_start(CodeCache *cache, PyObject *function, Registers *registers, PyObject **result,
           FrameState **next)
{
    cache->frames++;
    RunOutcome outcome = take_step(cache, 0, function, registers, result, next);
    return outcome == RUN_DECLINED && cache->stops_later ? begin_with_stops(cache, registers, next)
                                                         : outcome;
}

#endif
