/* A kernel: values, two plans that compute them, results; and one run of it over a space. */
#ifndef UFUSE_KERNEL_FORM_H
#define UFUSE_KERNEL_FORM_H

#include "loops/loop.h"

typedef enum { SEGMENT_MAP, SEGMENT_MAP_ROW, SEGMENT_REDUCE, SEGMENT_TOTAL } SegmentKind;

typedef struct {
    Loop *loop;
    SegmentKind kind;
    int node;
    int arguments;     /* how many inputs and outputs */
    short *values;     /* numbers of the values they are: inputs, then outputs */
    bool mixes_rows;   /* a map that reads or writes row values */
    PyObject *initial; /* bytes or NULL, of a reduce or total */
} Segment;

/* A part of each tile's scratch memory, for temporaries of `itemsize` whose lives do not overlap.
 */
typedef struct {
    npy_intp itemsize;
    bool is_row;
} Slot;

/* Segments in order, with scratch slots assigned; counted by `references` under the GIL. */
typedef struct {
    Py_ssize_t references;
    int segments, slots;
    bool native, has_map_row;
    Segment *segment;
    short *slot_of; /* per value: its slot, or -1 */
    Slot *slot;
} Plan;

typedef enum { RESULT_NEW, RESULT_INTO, RESULT_SCALAR, RESULT_ROWS } ResultKind;

typedef struct {
    ResultKind kind;
    int value;
    int operand;      /* into */
    bool keepdims;    /* rows */
    bool direct;      /* segments write the value straight into the result's memory */
    bool unread;      /* into: no plain segment reads the operand */
    bool read_before; /* into: no plain segment reads the operand once the value is made */
    bool given_out;   /* into: NumPy's loop, too, would write to the operand */
    int axes;         /* new: of the order, or -1 for C order */
    signed char order[MAX_AXES];
} Result;

/* How an operand's elements are moved: for each of some axes, by their numbers, how far. */
typedef struct {
    int count;
    int axis[MAX_AXES];
    npy_intp places[MAX_AXES];
} Roll;

typedef struct {
    PyArray_Descr *descr;
    npy_intp itemsize;
    bool is_row, is_total;
    Roll *roll; /* of an operand, or NULL */
} Value;

typedef struct {
    PyObject_HEAD
    int operands, values, results, rolled;
    bool rows, raises, has_into, maps_rows, depends_on_strides;
    bool position_dependent; /* some plain segment's loop is */
    int totals;
    Value *value;
    Result *result;
    Plan *plain, *native; /* native: or NULL */
    double cost;
    PyObject *on_hot; /* or NULL */
    long long hot, elements, runs, flagged;
    const Result *order; /* the result whose axis order is walked, or NULL for C order */
} Kernel;

/* How an operand is read in a run. */
typedef enum {
    READ_LINEAR, /* one pointer and one step for the whole space */
    READ_PIECES, /* through a cursor, piece by piece */
    READ_COPY,   /* copied into scratch memory, tile by tile */
} Reading;

/* A total in a run: the places of partial results, one per tile, or of the whole input. */
typedef struct {
    int value, input;
    const Segment *segment;
    npy_intp input_itemsize;
    Fold fold;
    char *partials; /* MAX_ITEM bytes for each tile; NULL when `whole` */
    char *whole;
} Total;

/*
 * The elements of a rolled operand: element p of each block of so many in a row, in the order of
 * the walk, is that which lies `back` before it there, and those in front of the block's begin at
 * its end. Blocks lie in one another, the outermost first.
 */
typedef struct {
    const Walk *walk;
    int blocks;
    npy_intp block[MAX_AXES], back[MAX_AXES];
} Rolled;

/* Memory written at the end of each tile from a value's scratch memory. */
typedef struct {
    int value;
    const Walk *walk;
} Commit;

typedef struct {
    Kernel *kernel;
    const Plan *plain, *native; /* native: NULL where it must not be used */
    unsigned mask;
    npy_intp size;        /* elements of the space, or rows where the kernel has rows */
    npy_intp row;         /* elements of a row, 1 where the kernel has none */
    npy_intp tile, tiles; /* in the unit of size; tile 0 where `starts` says where tiles begin */
    const npy_intp *starts;
    Walk *walks;     /* of operands */
    Walk *row_walks; /* of operands over rows; NULL where no segment needs them */
    unsigned char *readings;
    Rolled *rolled; /* of the operands that are rolled, in their order */
    int rolls;
    char **direct;         /* per value: where it goes, or NULL */
    npy_intp *direct_step; /* per value */
    Commit *commits;
    Total *totals;
    int commit_count, total_count, expansions;
    bool any_copies; /* some operand is READ_COPY */
    size_t scratch_bytes;
    npy_intp widest;     /* elements of the largest tile */
    unsigned char *bits; /* flags by plain segment, of the whole run */
    long long flagged;
    npy_intp failed_tile;
    /* Pairs whose bits depend on their position: unlike.c. A run that writes over operands cannot
     * refuse when it meets some: it withholds the tiles in which it does. */
    bool checks_for_unlike, met_unlike, withholds;
    bool *apart;             /* per value: NumPy may walk it otherwise */
    unsigned char *withheld; /* by tile; or NULL */
    bool unsure;             /* a partial sum is not NumPy's for certain: total.c */
} Run;

static inline npy_intp
tile_start(const Run *run, npy_intp tile)
{
    return run->starts != NULL ? run->starts[tile] : tile * run->tile;
}

static inline npy_intp
tile_past(const Run *run, npy_intp tile)
{
    if (run->starts != NULL) {
        return run->starts[tile + 1];
    }
    npy_intp past = (tile + 1) * run->tile;
    return past < run->size ? past : run->size;
}

#endif
