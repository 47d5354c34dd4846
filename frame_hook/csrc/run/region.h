/*
 * Regions: while one is open on a thread, the eval-frame hook (PEP 523) gives a session the frames
 * of what that thread calls. The hook is installed while any thread has a region.
 */
#ifndef UFUSE_REGION_H
#define UFUSE_REGION_H

#include <Python.h>
#include <stdbool.h>

#include "python/line_events.h"
#include "python/state.h"

extern bool ufuse_always_eager __attribute__((visibility("hidden")));

/* Who evaluates the frames that the hook does not take: CPython, or a hook installed before ours.
 */
extern _PyFrameEvalFunction ufuse_next_evaluate __attribute__((visibility("hidden")));

/* Whether CPython is to interpret every frame of this thread now. */
static inline bool
runs_eagerly(void)
{
    return ufuse_always_eager || ufuse_thread.eager > 0;
}

/* Whether CPython is to interpret frames of this code on this thread now. */
static inline bool
must_interpret(PyThreadState *thread, PyObject *code)
{
    return runs_eagerly() || lines_are_traced(thread, code);
}

/* The session that is given the frames of what this thread calls now, borrowed; or NULL. */
static inline PyObject *
session_of_frames(void)
{
    return ufuse_thread.within ? ufuse_thread.session : ufuse_thread.ambient;
}

/* What `region_leave` puts back: whose region was open on the thread before. */
typedef struct {
    PyObject *session;
    bool within;
    bool every_frame;
    bool takes_loops;
    bool may_end_early;
    bool counted;
    long long passed;
    long long taken;
} Region;

/* What `plain_end` puts back. */
typedef struct {
    PyObject *session;
    bool within;
    bool paused;
} PlainRun;

Region region_enter(PyObject *session, bool every_frame, bool takes_loops, bool may_end_early);
void region_leave(Region outer);
void set_ambient(PyObject *session);
int lend_call(PyThreadState *thread);
PlainRun plain_begin(void);
void plain_end(PlainRun run);
bool pause_hook(void);
void resume_hook(void);
bool hook_is_installed(void);
void region_ready(_PyFrameEvalFunction hook);

#endif
