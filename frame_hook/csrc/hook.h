/*
 * The eval-frame hook: it catches the frames of callees while a session runs a frame in plain
 * Python.
 */
#ifndef UFUSE_HOOK_H
#define UFUSE_HOOK_H

#include <Python.h>
#include <stdbool.h>

#include "cache.h"
#include "frames.h"
#include "line_events.h"
#include "recursion.h"

extern bool ufuse_always_eager;

/* Whether this thread runs everything plainly now. */
static inline bool
runs_eagerly(void)
{
    return ufuse_always_eager || ufuse_thread.eager > 0;
}

/* Whether this thread runs frames of this code plainly now. */
static inline bool
runs_plainly(PyThreadState *thread, PyObject *code)
{
    return runs_eagerly() || lines_are_watched(thread, code);
}

enum { GENERATOR_LIKE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };

/* What the thread did before a region. */
typedef struct {
    PyObject *session;
    bool every_frame;
} Region;

Region region_enter(CodeCache *cache);
void region_leave(Region outer);
PyObject *passed_frames(PyObject *module, PyObject *ignored);
int lend_call(PyThreadState *thread);
bool pause_hook(void);
void resume_hook(void);
bool hook_is_installed(void);

#endif
