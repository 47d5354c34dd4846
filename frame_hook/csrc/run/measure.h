/* Calls are timed, compiled and plain, and run in the way that is faster. */
#ifndef UFUSE_MEASURE_H
#define UFUSE_MEASURE_H

#include <Python.h>

#include "run/cache.h"

/* A run that is being timed. */
typedef struct {
    Trial *trial; /* of the cache; NULL: it is not timed */
    Way way;
    bool on_device; /* it has arrays on a device, whose work is timed too, */
    PyObject *mark; /* from this on, or NULL */
    int64_t began;
    int64_t plain_ns;     /* of the thread, when it began */
    bool is_cut;          /* its loops run plainly until it has taken `trial->cut_after` */
    int64_t processor_ns; /* when such a run began */
    int64_t outer_until;  /* `plain_until` of the thread then: a run around this one may be cut */
    Disturbances before;
} Measured;

/*
 * Whether calls with these arguments were given back to plain Python, and none is to be timed yet.
 * Such a call is counted. It does nothing else of what `choose_way` does: it may be a tenth of a
 * microsecond long. Where loops were given back, some calls are left to `choose_way`, which looks
 * at the clock: there may be hours until one is timed.
 */
static inline bool
is_given_back(CodeCache *cache, PyObject *const *values, Py_ssize_t count)
{
    enum { LOOKED_AT = 256 }; /* every so many calls */
    if (!cache->gives_back || cache->measuring) {
        return false;
    }
    int magnitude = magnitude_of(extent_of(values, count));
    Trial *trial = cache->trials[kinds_of(values, count)][magnitude];
    if (trial == NULL || !trial->decided || trial->way != WAY_PLAIN || trial->left <= 1 ||
        (cache->gave_back && trial->left % LOOKED_AT == 0)) {
        return false;
    }
    trial->left--;
    cache->calls++;
    return true;
}

void choose_way(CodeCache *cache, PyObject *const *values, Py_ssize_t count, Measured *run);
void begin_measured(CodeCache *cache, Measured *run);
void end_measured(CodeCache *cache, Measured *run, bool succeeded);
PyObject *saved_nanoseconds(PyObject *module, PyObject *ignored);

#endif
