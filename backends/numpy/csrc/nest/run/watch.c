/* How long machine code may run before it looks at what waits for it. */
#include "nest/run/watch.h"

#include "nest/form/clock.h"
#include "nest/run/pending.h"

static const double OTHERS_WAIT = 100e6; /* nanoseconds: threads, for the end of a turn */

/* Turns of inner loops, or what takes as long, until machine code asks `nest_patience`. */
enum { PATIENCE = 1 << 20 };

Watch nest_watch;

static PyThreadState *
watched_thread(void)
{
    if (nest_watch.thread == NULL) { /* code that runs without a chunk, in the GIL's thread */
        nest_watch.thread = PyThreadState_Get();
    }
    return nest_watch.thread;
}

/* How many frames of Python the thread may still begin before a RecursionError. */
int64_t
nest_room(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return watched_thread()->py_recursion_remaining;
#else
    return watched_thread()->recursion_remaining;
#endif
}

/*
 * What machine code asks now and then in a long turn: how much of its work it may do before it asks
 * again, 0 where it is to end in a doubt.
 */
int64_t
nest_patience(void)
{
    Pending pending = pending_for(watched_thread());
    if (nest_watch.began == 0) {
        nest_watch.began = now_ns();
    }
    if (pending == PENDING_NOTHING ||
        (pending == PENDING_OTHERS && now_ns() - nest_watch.began < OTHERS_WAIT)) {
        return PATIENCE;
    }
    nest_watch.left_for = pending;
    return 0;
}
