/* What it costs to read and to save, and whether that is too long. */
#ifndef UFUSE_NEST_COSTS_H
#define UFUSE_NEST_COSTS_H

#include "nest/form/nest.h"

/* Times in nanoseconds. */
static const double SAVINGS = 20; /* a chunk takes so many times what saving takes */
static const double BYTE = 0.15;  /* to save a byte, about */
static const double SHORT = 10e3; /* what is shorter is not timed each time */

enum { TIMED_EVERY = 16 }; /* short calls */

/* Of temporaries and scratch, between calls. */
static const size_t KEPT_BYTES = (size_t)64 << 10;

/* Bytes that are always worth saving. */
static const size_t FEW_BYTES = (size_t)16 << 10;

bool list_takes_too_long(Nest *nest, int64_t count, int64_t left);
bool saving_is_too_long(Nest *nest, size_t bytes, int64_t left);

#endif
