/*
 * No garbage collection in the middle of our own work: it would run finalizers of the user's while
 * what they change is being read. gc.disable() would be seen by other threads, and undo what they
 * ask for meanwhile; so the collector is told that it is at work already, as it is for everybody
 * while it runs.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#ifdef _PyGC_FINALIZED
#    undef _PyGC_FINALIZED /* as in frames.c */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <internal/pycore_interp.h>
#pragma GCC diagnostic pop
#include <pthread.h>

#include "python/collector.h"

static PyInterpreterState *interpreter;
static int holders; /* threads in work of ours; under the interpreter's lock */
static bool told;   /* whether it was us who told the collector so */

/* Until as many calls of `allow_collections`, nothing is collected. */
void
hold_off_collections(void)
{
    if (holders++ > 0 || interpreter->gc.collecting) {
        return;
    }
    told = true;
    interpreter->gc.collecting = 1;
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
    /* one that was asked for would run without a look at that; the next allocation asks again */
    _Py_atomic_store_relaxed(&interpreter->ceval.gc_scheduled, 0);
#endif
}

/* End what the last call of `hold_off_collections` began. */
void
allow_collections(void)
{
    if (--holders == 0 && told) {
        told = false;
        interpreter->gc.collecting = 0;
    }
}

/* The threads that held it off are not in the child. */
static void
after_fork_in_child(void)
{
    if (told) {
        interpreter->gc.collecting = 0;
    }
    told = false;
    holders = 0;
}

/* Get ready. Returns 0, or -1 with an exception set. */
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
