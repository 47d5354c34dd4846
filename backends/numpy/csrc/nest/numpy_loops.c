/* Calls of NumPy's loops from machine code of nests. */
#include "nest/nest.h"

/* Whether NumPy's loop set an exception, which plain Python will raise itself. */
static bool
has_failed(const Loop *loop, int result)
{
    if (loop->strided != NULL && (result < 0 || PyErr_Occurred())) {
        PyErr_Clear();
        return true;
    }
    return result != 0;
}

/* A loop over `count` elements of strided memory. Some of NumPy's clear all flags at their end. */
int
nest_loop(const Loop *loop, char **data, int64_t count, const npy_intp *steps)
{
    Status before = status_keep();
    int result = loop_call(loop, data, count, steps);
    if (loop->raises) {
        status_add(before);
    }
    else {
        status_put_back(before);
    }
    return has_failed(loop, result);
}
