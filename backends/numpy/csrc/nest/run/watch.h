/* The machine code of a nest that runs now, with the GIL, and what it may be asked to end for. */
#ifndef UFUSE_WATCH_H
#define UFUSE_WATCH_H

#include <stdatomic.h>

#include "nest/run/pending.h"

/*
 * The thread that runs it; when its machine code first asked, 0 where it has not, or when it was
 * shared among threads; and why it was asked to end.
 */
typedef struct {
    PyThreadState *thread;
    double began;
    _Atomic Pending left_for;
} Watch;

extern Watch nest_watch;

/* Machine code begins, on this thread. */
static inline void
watch_begin(void)
{
    nest_watch.thread = PyThreadState_Get();
    nest_watch.began = 0;
    nest_watch.left_for = PENDING_NOTHING;
}

int64_t nest_patience(void);
int64_t nest_room(void);

#endif
