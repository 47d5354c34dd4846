#define Py_BUILD_CORE 1
#include <Python.h>
#ifdef _PyGC_FINALIZED
#    undef _PyGC_FINALIZED /* as in slots.h */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030C0000
#    include <internal/pycore_instruments.h>
#endif
#pragma GCC diagnostic pop

#include "python/line_events.h"

#if PY_VERSION_HEX >= 0x030C0000
/*
 * The tools of sys.monitoring that show lines. CPython's own two, behind them, serve
 * sys.setprofile, and sys.settrace, which is a thread's own. Debuggers and coverage tools ask for
 * the starts of functions first, and for the lines of those that they want to look into.
 */
enum { EVERY_TOOL = 0x3f, DEBUGGER_AND_COVERAGE = 0x03 };

/* Whether a tool of sys.monitoring is to be told of lines, everywhere or in this code. */
static inline bool
tools_watch(PyThreadState *thread, PyObject *code)
{
    const uint8_t *everywhere = thread->interp->monitors.tools;
    uint8_t lines =
        everywhere[PY_MONITORING_EVENT_LINE] | everywhere[PY_MONITORING_EVENT_INSTRUCTION];
    uint8_t starts = everywhere[PY_MONITORING_EVENT_PY_START] & DEBUGGER_AND_COVERAGE;
    const _PyCoMonitoringData *own = ((PyCodeObject *)code)->_co_monitoring;
    if (own != NULL) {
        const uint8_t *here = own->local_monitors.tools;
        lines |= here[PY_MONITORING_EVENT_LINE] | here[PY_MONITORING_EVENT_INSTRUCTION];
    }
    return ((lines & EVERY_TOOL) | starts) != 0;
}
#endif

/*
 * Whether this thread's trace function, or a tool of sys.monitoring, is to see the lines of frames
 * that run this code: they run as plain Python then. Profilers do not count: what they are to
 * measure is the compiled program. Runs no Python code.
 */
bool
lines_are_traced(PyThreadState *thread, PyObject *code)
{
    if (thread->c_tracefunc != NULL) {
        return true;
    }
#if PY_VERSION_HEX >= 0x030C0000
    return tools_watch(thread, code);
#else
    (void)code;
    return false;
#endif
}
