/*
 * A nest: machine code that runs turns of a loop over a range, as transactions. The laws:
 *
 * 1. What the program can see is its state before a turn, with every turn before that done, and
 *    none of those behind.
 * 2. A turn in doubt is undone, and left to plain Python: an index out of range, an integer that
 *    does not fit, a floating-point flag that the error state does not ignore.
 * 3. From saving to committing or restoring no Python code runs, and no other thread's.
 * 4. A turn in which the loop is left by an exit is a turn that was done.
 */
#ifndef UFUSE_NEST_NEST_H
#define UFUSE_NEST_NEST_H

#include "nest/form/slot.h"
#include "nest/form/writes.h"

/* What an array variable may be: for each axis that of the array and a step along it; or axis -1.
 */
typedef struct {
    int array, axes;
    int axis[MOST_LENGTHS];
    int64_t step[MOST_LENGTHS];
} NestView;

/* Memory of a nest's own: of a temporary, with its lengths, or scratch. Of the column of a list
 * that grows the second length is how many elements the list has; of a table the lengths are its
 * own; of a dict's or set's keys the second length is how many of them it has. */
typedef struct {
    char *data;
    int64_t capacity; /* bytes */
    int64_t length[MOST_LENGTHS];
} NestMemory;

/*
 * The machine code. `words`: for each array its address, lengths, and strides in bytes. `cells`:
 * for each number its value, a complex one's two parts, and whether it is NumPy's; for one that a
 * whole call gives twice the place of its kind, one more for NumPy's, and a value for each kind;
 * for each array that is rebound the number of an array, its own at first, or behind the
 * temporaries' that of a view; behind that of keys the number of what they lead to; for one that
 * may be a view MOST_LENGTHS places and lengths; of an iterator the next number or place, the step,
 * and how many turns are left; how many turns may begin. `memory`: the temporaries', then scratch.
 * Returns 0 with all cells stored; 1 for a doubt, with the last one stored; 1 + n with all cells
 * stored where the loop was left by exit n.
 */
typedef int NestFunction(int64_t *words, Register *cells, NestMemory *memory);

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    NestFunction *function; /* NULL once garbage */
    PyObject *owner;        /* of the machine code */
    PyObject *tuned_owner;  /* of what came for it, or NULL */
    PyObject *tuner;        /* to be asked for that with (nest,); NULL where it was, or cannot be */
    int awaited;            /* answers of a tuner and of improvers */
    int leaves;             /* how often the GIL is still left to their threads */
    double left_at;         /* when it last was, in ns */
    /* Better machine code, or NULL. It takes arrays of which none that is written shares memory
     * with another; it may doubt too often, and raise flags too many: `function` decides then. */
    NestFunction *improved;
    PyObject *improved_owner;
    PyObject *improver;      /* to be asked for it with (nest,); NULL where it was, or cannot be */
    PyObject *next_improver; /* where what that gave is given up; or NULL */
    PyObject *shares;        /* a tuple: nests of loops inside that threads may share; or NULL */
    NestSlot *slot;
    NestSlot *temporary;
    NestMemory *memory;
    NestView *view;
    int views;
    int given; /* slots for which an object comes, the first ones */
    int slots, arrays, words, cells, written, rebound, outputs;
    int temporaries, memories; /* memories: with scratch, and numbers of lists */
    int lists, changing;       /* lists whose numbers are read; those that the nest changes */
    int keyed, entered;        /* dicts and sets; those of them that the nest changes */
    int tables;                /* of the former, those that are lists of lists */
    int apart;                 /* lists that are apart, and SLOT_OBJECTs; 0: law 2 says nothing */
    int generators;
    int iterators;
    int products; /* of these */
    int range,
        range_cell; /* the slot of the first iterator, and its first cell; -1: there is none */
    long long step; /* of the first iterator in the last call; 1 before */
    int exits;
    NestPart *part; /* for each array that is written; NULL where turns may depend on each other */
    NestBox *box;   /* for those arrays of which it is known what a turn writes */
    int boxes;
    bool is_lean;        /* a whole call that lean.c can take */
    double budget;       /* seconds that a call may take, about */
    bool takes_contents; /* true */
    /* What calls before have shown. */
    double usual_turns;    /* until the loop is left by an exit; 0: not known */
    double turn_ns;        /* 0: not known */
    double commit_ns;      /* of a chunk, however few turns it has; 0: not known */
    long long costly;      /* calls that were declined, as copying takes too long */
    double declined_at;    /* when the first turns were, of those before one was timed; or 0 */
    double size;           /* of what the last call was given, about */
    bool is_never_long;    /* a whole call: long ones are left to native code of its parts */
    double most_size;      /* of what a whole call may be given */
    int long_calls;        /* of these, less short ones */
    int64_t clean_turns;   /* chunks are as long where flags were raised lately; 0: none were */
    double between;        /* turns from one that is odd to the next, about; 0: unknown */
    int clean_calls;       /* in a row, with many more turns and no odd one */
    bool late;             /* better code looks at its doubts behind all turns of a chunk */
    bool after_odd;        /* the turn behind the last call was odd */
    int64_t skip, skipped; /* how many calls to decline still; how many, after the last failure */
    long long odd_at;      /* how many calls had run when the last one was odd, with that */
    double native_ns;      /* in machine code */
    double call_ns;        /* of calls that were timed, with saving and committing */
    long long saved_bytes; /* that were copied before chunks */
    int improved_cost;     /* of chunks of better code that were undone */
    long long runs, lean_runs, turns, doubts, improved_turns, shared_turns;
} Nest;

static inline bool
nest_is_whole_call(const Nest *nest)
{
    return nest->range >= 0 && nest->slot[nest->range].kind == SLOT_ONCE;
}

#endif
