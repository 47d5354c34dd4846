/*
 * Whether another thread has run, or a collection with finalizers of the program, since some
 * moment. CPython counts both; whoever runs code of the program on this thread knows of that.
 */
#include "internals.h"

#include "python/quiet.h"

#if PY_VERSION_HEX < 0x030C0000
#    include <internal/pycore_runtime.h>
#endif

/* This moment. */
Quiet
quiet_now(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
#if PY_VERSION_HEX < 0x030C0000
    Quiet now = {.switches = _PyRuntime.ceval.gil.switch_number};
#else
    Quiet now = {.switches = interpreter->ceval.gil->switch_number};
#endif
    for (int i = 0; i < NUM_GENERATIONS; i++) {
        now.collections += interpreter->gc.generation_stats[i].collections;
    }
    return now;
}

/* Whether no other thread has run since then, and no collection has ended. */
bool
quiet_since(Quiet then)
{
    Quiet now = quiet_now();
    return now.switches == then.switches && now.collections == then.collections;
}
