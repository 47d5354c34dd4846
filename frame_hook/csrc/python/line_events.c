#include "internals.h"

#include "python/line_events.h"

#if PY_VERSION_HEX >= 0x030C0000
/*
 * Bits of the tools of sys.monitoring. CPython's own two tools, behind the six of EVERY_TOOL, serve
 * sys.setprofile, and sys.settrace, which is set for a thread and looked at there. A debugger or
 * coverage tool may ask for PY_START everywhere, and for LINE only in the code it is interested in.
 */
enum { EVERY_TOOL = 0x3f, DEBUGGER_AND_COVERAGE = 0x03 };

/* Whether a tool of sys.monitoring has asked for lines, everywhere or in this code. */
static inline bool
tools_trace_lines(PyThreadState *thread, PyObject *code)
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
 * that run this code. Profilers do not count: they are to measure the compiled program. Runs no
 * Python code.
 */
bool
lines_are_traced(PyThreadState *thread, PyObject *code)
{
    if (thread->c_tracefunc != NULL) {
        return true;
    }
#if PY_VERSION_HEX >= 0x030C0000
    return tools_trace_lines(thread, code);
#else
    (void)code;
    return false;
#endif
}
