/* What a turn of a nest writes of an array, as far as it is known. */
#ifndef UFUSE_NEST_WRITES_H
#define UFUSE_NEST_WRITES_H

#include "nest/form/slot.h"

/* Of an array that is written, where turns do not depend on each other: a turn touches only what is
 * along an axis at the place of an iterator, and `more`. */
typedef struct {
    int array, word; /* its number, and that of its first word */
    int axis;
    int slot, cell; /* of the iterator, and its first cell */
    long long more;
} NestPart;

/*
 * What a turn may write of an array: what is within all sides. A place is a sum of products of
 * cells and lengths, in each of which one cell at most is turning: each turn adds the same to it.
 */
enum { MOST_TERMS = 4, MOST_FACTORS = 2 };

typedef struct {
    bool is_length;
    int at, step;   /* a cell and that of what each turn adds, or -1; the word of a length */
    long long each; /* what each turn adds, where no cell has it */
} ReachFactor;

typedef struct {
    long long by;
    int factors;
    ReachFactor factor[MOST_FACTORS];
} ReachTerm;

typedef struct {
    long long more;
    bool turning;
    int terms;
    ReachTerm term[MOST_TERMS];
} ReachPlace;

typedef struct {
    int axis;
    ReachPlace least, most;
} ReachSide;

typedef struct {
    int array, sides; /* the number of its slot */
    ReachSide side[MOST_LENGTHS];
} NestBox;

#endif
