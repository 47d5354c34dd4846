/* Calls of NumPy's loops from machine code of nests. */
#include "nest/called/numpy_loops.h"

/* Whether NumPy's loop set an exception, which plain Python will raise itself. */
static bool
has_failed(const Loop *loop, int result)
{
    if (loop->fails && (result < 0 || PyErr_Occurred())) {
        PyErr_Clear();
        return true;
    }
    return result != 0;
}

/* A loop of NumPy's over a space, as it describes it itself. Some clear all flags at their end. One
 * that never fails needs no GIL. */
int
nest_loop_over(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps)
{
    Status before = status_keep();
    int result = loop->quick != NULL ? loop->quick(loop, data, lengths[0], steps)
                 : loop->strided != NULL
                     ? loop->strided(loop->context, data, lengths, steps, loop->auxdata)
                     : loop->function(data, lengths, steps, NULL);
    if (loop->raises) {
        status_add(before);
    }
    else {
        status_put_back(before);
    }
    return has_failed(loop, result);
}

/* A loop over `count` elements of strided memory. */
int
nest_loop(const Loop *loop, char **data, int64_t count, const npy_intp *steps)
{
    const npy_intp lengths[1] = {count};
    return nest_loop_over(loop, data, lengths, steps);
}
