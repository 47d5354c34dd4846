/*
 * The loop every frame goes through: an entry, or plain Python up to the next stop, until the frame
 * returns.
 */
#ifndef UFUSE_TRAMPOLINE_H
#define UFUSE_TRAMPOLINE_H

#include <Python.h>

#include "run/cache.h"

RunOutcome take_step(CodeCache *cache, Py_ssize_t position, PyObject *function,
                     Registers *registers, PyObject **result, FrameState **next);
PyObject *continue_frame(CodeCache *cache, PyObject *function, FrameState *state);
PyObject *restore_frame(PyObject *module, PyObject *key);
PyObject *suspend_frame(PyObject *module, PyObject *key);

#endif
