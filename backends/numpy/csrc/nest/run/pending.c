/* What waits for machine code to end: alone here because it needs CPython's internal headers. */
#include "internals.h"

#include "nest/run/pending.h"

/* What a frame of a thread that has the GIL would do now, at a backward jump; asked by any thread.
 * Signals count in whichever thread it is. */
Pending
pending_for(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030D0000
    uintptr_t events = _Py_atomic_load_uintptr_relaxed(&thread->eval_breaker);
    if (events & _PY_SIGNALS_PENDING_BIT) {
        return PENDING_SIGNALS;
    }
    return events & _PY_EVAL_EVENTS_MASK ? PENDING_OTHERS : PENDING_NOTHING;
#else
    PyInterpreterState *interpreter = thread->interp;
    if (_Py_atomic_load_relaxed(&interpreter->ceval.eval_breaker) == 0) {
        return PENDING_NOTHING;
    }
    bool signals = _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) != 0;
    return signals ? PENDING_SIGNALS : PENDING_OTHERS;
#endif
}
