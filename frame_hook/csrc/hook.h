/*
 * The eval-frame hook: it catches the frames of callees while a session runs a frame in plain
 * Python.
 */
#ifndef UFUSE_HOOK_H
#define UFUSE_HOOK_H

#include <Python.h>
#include <stdbool.h>

#include "frames.h"

extern bool ufuse_always_eager;
extern bool ufuse_every_frame; /* also those that bring no array are worth a question */

/* Whether this thread runs everything plainly now. */
static inline bool
runs_eagerly(void)
{
    return ufuse_always_eager || ufuse_thread.eager > 0;
}

enum { GENERATOR_LIKE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };

PyObject *region_enter(PyObject *session);
void region_leave(PyObject *outer);
bool hook_is_installed(void);

#endif
