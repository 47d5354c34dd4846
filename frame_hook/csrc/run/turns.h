/*
 * Turns of a loop whose body has entries are timed, run by them and interpreted, while the frame
 * runs: a long loop of which compiled code is too small a part is given back after a few turns.
 */
#ifndef UFUSE_TURNS_H
#define UFUSE_TURNS_H

#include <Python.h>
#include <stdbool.h>

#include "run/cache.h"

bool turn_is_plain(CodeCache *cache, Py_ssize_t position, long long activation);

#endif
