/* Calls are timed, compiled and plain, and run in the way that is faster. */
#ifndef UFUSE_MEASURE_H
#define UFUSE_MEASURE_H

#include <Python.h>

#include "run/cache.h"

/* A run that is being timed. */
typedef struct {
    Trial *trial; /* of the cache; NULL: it is not timed */
    Way way;
    int64_t began;
    Disturbances before;
} Measured;

void choose_way(CodeCache *cache, PyObject *const *values, Py_ssize_t count, Measured *run);
void begin_measured(CodeCache *cache, Measured *run);
void end_measured(CodeCache *cache, Measured *run, bool succeeded);

#endif
