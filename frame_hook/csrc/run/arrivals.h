/*
 * A frame whose outer loop is plain Python comes to an inner one again and again. Each time native
 * code reads the containers of the inner loop anew, which may take far longer than its few turns
 * are worth, and ever longer where they grow. So while a frame runs, the processor time from one
 * arrival at the header to a later one is taken, of turns by native code and in plain Python.
 */
#ifndef UFUSE_ARRIVALS_H
#define UFUSE_ARRIVALS_H

#include <Python.h>
#include <stdbool.h>

#include "run/cache.h"

/* What blocks took, the last ones most of all. */
typedef struct {
    double ns, turns;
} Took;

/* Turns that follow each other are timed together: a block. */
typedef struct Arrivals {
    long long activation; /* of the frame that was here last */
    Way way;              /* how turns run now */
    bool timed;           /* they are a block */
    int64_t began;
    int64_t began_processor; /* the processor time of the thread then */
    Disturbances before;     /* when it began */
    long long blocks;        /* plain ones of all loops, then */
    int disturbed;           /* blocks in a row that told nothing */
    long long turns;         /* of native code, when it began */
    long long passed;        /* how often the frame was at the header since */
    int64_t until;           /* when plain turns end, or the next block of native ones begins */
    int unlooked;            /* so many more times it passes without a look at the clock */
    double native_each;      /* nanoseconds of a turn of native code, by the last blocks */
    int64_t native_ns;       /* of that block */
    Took took[2];            /* by native code, in plain Python */
    int lost;                /* how often in a row plain Python took less */
    int64_t lost_since;      /* when the first of these began */
    int64_t first;           /* when the frame came here for the first time */
} Arrivals;

/*
 * Whether a frame at the header of a loop that runs in plain Python for some time is to go on, as
 * that is not up. The frame is not stopped then, so this takes little.
 */
static inline bool
arrival_passes(CodeCache *cache, Py_ssize_t position)
{
    enum { MOST_UNLOOKED = 7 };
    Position *at = existing_position(cache, position);
    Arrivals *arrivals = at == NULL ? NULL : at->arrivals;
    if (arrivals == NULL || arrivals->way != WAY_PLAIN) {
        return false;
    }
    if (arrivals->unlooked > 0) {
        arrivals->unlooked--;
        arrivals->passed++;
        return true;
    }
    arrivals->unlooked = MOST_UNLOOKED;
    bool passes = now_ns() < arrivals->until;
    arrivals->passed += passes;
    return passes;
}

bool arrival_is_plain(CodeCache *cache, Py_ssize_t position, long long activation);

#endif
