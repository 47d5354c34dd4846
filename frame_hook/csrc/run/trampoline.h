/*
 * The trampoline: a frame runs one entry after another, and CPython interprets it up to the next
 * stop where there is none, until it returns. A stop is a position where resume code suspends the
 * frame, because an entry may take over there.
 */
#ifndef UFUSE_TRAMPOLINE_H
#define UFUSE_TRAMPOLINE_H

#include <Python.h>

#include "run/cache.h"

RunOutcome take_step(CodeCache *cache, Py_ssize_t position, PyObject *function,
                     Registers *registers, PyObject **result, FrameState **next);
RunOutcome begin_with_stops(const CodeCache *cache, Registers *registers, FrameState **next);
PyObject *continue_frame(CodeCache *cache, PyObject *function, FrameState *state);
int export_transfers(PyObject *module);

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
