/*
 * A collection in the middle of our own work would run finalizers of the program, which may change
 * what is being read. gc.disable() would be seen by other threads, and would be undone by their
 * gc.enable(); so `gc.collecting` is set, as CPython itself does while it collects.
 */
#include "internals.h"

#include <pthread.h>

#include "python/collector.h"

static PyInterpreterState *interpreter;
static int n_holding;     /* calls of `hold_off_collections` that have not ended; under the GIL */
static bool flag_is_ours; /* `gc.collecting` was set here, not by a running collection */

/* Let nothing be collected until `allow_collections` was called as often. Runs no Python code. */
void
hold_off_collections(void)
{
    if (n_holding++ > 0 || interpreter->gc.collecting) {
        return;
    }
    flag_is_ours = true;
    interpreter->gc.collecting = 1;
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
    /* 3.12 runs a scheduled collection whatever the flag; the next allocation schedules it again */
    _Py_atomic_store_relaxed(&interpreter->ceval.gc_scheduled, 0);
#endif
}

/* End what the last call of `hold_off_collections` began. Runs no Python code. */
void
allow_collections(void)
{
    if (--n_holding == 0 && flag_is_ours) {
        flag_is_ours = false;
        interpreter->gc.collecting = 0;
    }
}

/* The threads that held collections off do not exist in the child. */
static void
after_fork_in_child(void)
{
    if (flag_is_ours) {
        interpreter->gc.collecting = 0;
    }
    flag_is_ours = false;
    n_holding = 0;
}

/* Get ready. Returns 0, or -1 with OSError set. */
int
collector_ready(void)
{
    interpreter = PyInterpreterState_Main();
    static bool registered;
    if (!registered && pthread_atfork(NULL, NULL, after_fork_in_child) != 0) {
        PyErr_SetString(PyExc_OSError, "_hook: no fork handler left");
        return -1;
    }
    registered = true;
    return 0;
}
