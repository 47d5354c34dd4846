/* How deep calls may nest: CPython's counts of Python frames and of C calls, and the C stack. */
#ifndef UFUSE_RECURSION_H
#define UFUSE_RECURSION_H

#include <Python.h>
#include <stdbool.h>

#include "python/state.h"

int lend_recursion(PyThreadState *thread);
bool stack_is_deep(void);
int lend_frames(PyThreadState *thread);
void reclaim_frames(PyThreadState *thread, int lent);
void reclaim_recursion(PyThreadState *thread, int lent);
bool stack_is_nearly_spent(void);

/* Whether this thread's C stack was measured and has room. */
static inline bool
stack_has_room(void)
{
    char *end = ufuse_thread.stack_hard;
    return end != NULL && (char *)__builtin_frame_address(0) > end;
}

/* Whether this thread's C stack is nearly used up: then RecursionError is set. */
static inline bool
stack_is_spent(void)
{
    return !stack_has_room() && stack_is_nearly_spent();
}

#endif
