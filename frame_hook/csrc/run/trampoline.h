/*
 * The trampoline: a frame runs one entry after another, and CPython interprets it up to the next
 * stop where there is none, until it returns. A stop is a position where resume code suspends the
 * frame, because an entry may take over there.
 */
#ifndef UFUSE_TRAMPOLINE_H
#define UFUSE_TRAMPOLINE_H

#include <Python.h>

#include "run/cache.h"

PyObject *continue_frame(CodeCache *cache, PyObject *function, FrameState *state);

#endif
