/* A call of a nest while its chunks run. */
#ifndef UFUSE_NEST_CALL_H
#define UFUSE_NEST_CALL_H

#include "nest/given/generators.h"
#include "nest/saved/known.h"

/* A call under way. */
typedef struct {
    Nest *nest;
    PyObject **objects; /* borrowed; of array variables what they are behind the last commit; NULL
                           where no object comes */
    unsigned mask;      /* of the flags that are not ignored */
    int64_t *words;
    const Register *given; /* cells when the call began */
    Register *reached;     /* cells behind the last turn that is committed */
    Register *cells;       /* those of the chunk under way */
    PyObject **outputs;    /* made of `reached`; NULL before the first commit */
    PyObject **made;
    const Generator *generators;
    const Known *known; /* of arrays before the first commit; or NULL */
    Saved saved;
    NestFunction *function; /* `better`, or the nest's own */
    NestFunction *better;   /* what chunks begin with; the nest's own where there is none */
    int64_t done;           /* turns */
    int exit;               /* by which the loop was left behind the last commit, or 0 */
    bool undone;            /* a chunk of better code, and it is not known whether it had to be */
    bool suspected;         /* better code was in doubt: the next turn is not for it */
    int64_t flagged;        /* of so many next turns at least one raises a flag; 0: unknown */
    bool odd;               /* the next turn is in doubt, or raises a flag */
    bool stopped;           /* for a signal; what was not committed has not happened */
    bool timed;             /* chunks are */
    double running;         /* nanoseconds that machine code took for the last chunk */
} Call;

/* How many turns the iterators have left. */
static inline int64_t
turns_left(const Nest *nest, const Register *cells)
{
    return nest->range < 0 ? INT64_MAX / 2 : cells[nest->range_cell + 2].whole;
}

/* Whether the range is where it has to be after so many turns more: what machine code says is never
 * believed blindly. */
static inline bool
range_agrees(const Nest *nest, const Register *reached, const Register *cells, int64_t turns)
{
    if (nest->range < 0) {
        return turns > 0;
    }
    const Register *before = &reached[nest->range_cell], *after = &cells[nest->range_cell];
    return turns > 0 && after[2].whole == before[2].whole - turns &&
           after[1].whole == before[1].whole &&
           after[0].whole == before[0].whole + turns * before[1].whole;
}

#endif
