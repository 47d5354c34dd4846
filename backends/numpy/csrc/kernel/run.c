/* Running tiles: where each value lies, segments over it, status, commits. */
#include "kernel/run.h"

#include "kernel/rolls.h"
#include "kernel/total.h"
#include "kernel/unlike.h"
#include "loops/short_folds.h"

enum {
    FEW_IN_ROW =
        16, /* shorter rows are run together, their row values repeated, instead of one by one */
    SPREAD = 192, /* bytes between slots, so that equal offsets fall on different cache sets */
};

typedef struct {
    const Run *run;
    npy_intp tile, first, count; /* in the unit of run->size */
    npy_intp from, elements;     /* in elements */
    bool any_cut;
    char **data;
    npy_intp *step;
    unsigned char *cut; /* per operand: whether it needs a cursor in this tile */
    char *copies;       /* scratch memory for operands that are copied */
    char *expansions;
    bool replayed;
} Tile;

static size_t
slot_bytes(npy_intp itemsize, npy_intp count)
{
    return (((size_t)(itemsize * count) + 63) & ~(size_t)63) + SPREAD;
}

static size_t
plan_bytes(const Run *run, const Plan *plan)
{
    npy_intp rows = run->kernel->rows ? run->tile : 0;
    size_t bytes = 0;
    for (int i = 0; i < plan->slots; i++) {
        bytes += slot_bytes(plan->slot[i].itemsize, plan->slot[i].is_row ? rows : run->widest);
    }
    return bytes;
}

static size_t
larger_plan_bytes(const Run *run)
{
    size_t bytes = plan_bytes(run, run->plain);
    if (run->native != NULL) {
        size_t other = plan_bytes(run, run->native);
        bytes = other > bytes ? other : bytes;
    }
    return bytes;
}

/* Scratch memory of one thread. */
size_t
scratch_needed(const Run *run)
{
    const Kernel *kernel = run->kernel;
    size_t bytes = larger_plan_bytes(run);
    for (int i = 0; run->any_copies && i < kernel->operands; i++) {
        npy_intp itemsize = kernel->value[i].itemsize;
        if (run->readings[i] == READ_COPY) {
            bytes += slot_bytes(itemsize, run->widest);
        }
    }
    if (run->row_walks != NULL) {
        for (int i = 0; i < kernel->operands; i++) {
            bytes += slot_bytes(MAX_ITEM, run->tile);
        }
    }
    return bytes + (size_t)run->expansions * slot_bytes(MAX_ITEM, run->widest);
}

/* Point the plan's temporaries to their slots: the same in every tile of a thread. */
static void
bind_slots(const Run *run, const Plan *plan, char *scratch, Tile *tile)
{
    const Kernel *kernel = run->kernel;
    npy_intp rows = kernel->rows ? run->tile : 0;
    char *place[MAX_VALUES];
    for (int i = 0; i < plan->slots; i++) {
        place[i] = scratch;
        scratch += slot_bytes(plan->slot[i].itemsize, plan->slot[i].is_row ? rows : run->widest);
    }
    for (int v = kernel->operands; v < kernel->values; v++) {
        int slot = plan->slot_of[v];
        if (slot >= 0 && run->direct[v] == NULL) {
            tile->data[v] = place[slot];
            tile->step[v] = kernel->value[v].itemsize;
        }
    }
}

/* Point operands and direct results to where the tile begins. */
static void
bind_tile(Tile *tile)
{
    const Run *run = tile->run;
    const Kernel *kernel = run->kernel;
    char *copies = tile->copies;
    int rolls = 0;
    tile->any_cut = false;
    for (int v = 0; v < kernel->operands; v++) {
        const Walk *walk = &run->walks[v];
        tile->cut[v] = 0;
        if (run->readings[v] == READ_LINEAR) {
            tile->step[v] = walk_step(walk);
            tile->data[v] = walk->base + tile->from * tile->step[v];
            continue;
        }
        npy_intp itemsize = kernel->value[v].itemsize;
        if (run->readings[v] == READ_COPY) {
            tile->data[v] = copies;
            tile->step[v] = itemsize;
            if (kernel->value[v].roll != NULL) {
                rolled_gather(&run->rolled[rolls++], tile->from, tile->elements, copies, itemsize);
            }
            else {
                walk_gather(walk, tile->from, tile->elements, copies, itemsize);
            }
            copies += slot_bytes(itemsize, run->widest);
            continue;
        }
        Cursor cursor;
        cursor_seek(walk, tile->from, &cursor);
        tile->data[v] = cursor.at;
        tile->step[v] = walk_step(walk);
        if (cursor.left < tile->elements) {
            tile->cut[v] = 1;
            tile->any_cut = true;
        }
    }
    for (int v = kernel->operands; v < kernel->values; v++) {
        if (run->direct[v] != NULL) {
            npy_intp at = kernel->value[v].is_row ? tile->first : tile->from;
            tile->step[v] = run->direct_step[v];
            tile->data[v] = run->direct[v] + at * tile->step[v];
        }
    }
}

/* The walk of row value `v` over the elements of the tile. */
static void
row_value_walk(const Tile *tile, int v, Walk *walk)
{
    walk->base = tile->data[v];
    walk->axes = 2;
    walk->extent[0] = tile->run->row;
    walk->stride[0] = 0;
    walk->extent[1] = tile->count;
    walk->stride[1] = tile->step[v];
}

/* Run a map whose arguments are not each one run of memory: a call for each piece where they are.
 */
static int
map_pieces(const Tile *tile, const Segment *segment)
{
    const Run *run = tile->run;
    char *data[MAX_ARGUMENTS];
    npy_intp steps[MAX_ARGUMENTS];
    Walk row_walks[MAX_ARGUMENTS];
    Cursor cursors[MAX_ARGUMENTS];
    const Walk *walks[MAX_ARGUMENTS];
    int expanded = 0;
    bool any_jumps = false;
    for (int i = 0; i < segment->arguments; i++) {
        int v = segment->values[i];
        bool is_row = run->kernel->value[v].is_row, output = i >= segment->loop->inputs;
        data[i] = tile->data[v];
        steps[i] = tile->step[v];
        walks[i] = NULL;
        if (is_row) {
            row_value_walk(tile, v, &row_walks[i]);
            if (!output && run->row < FEW_IN_ROW) {
                npy_intp itemsize = run->kernel->value[v].itemsize;
                data[i] = tile->expansions + (size_t)expanded++ * slot_bytes(MAX_ITEM, run->widest);
                steps[i] = itemsize;
                walk_gather(&row_walks[i], 0, tile->elements, data[i], itemsize);
                continue;
            }
            steps[i] = 0;
            walks[i] = &row_walks[i];
            cursor_seek(walks[i], 0, &cursors[i]);
            any_jumps = true;
        }
        else if (v < run->kernel->operands && tile->cut[v]) {
            walks[i] = &run->walks[v];
            cursor_seek(walks[i], tile->from, &cursors[i]);
            any_jumps = true;
        }
    }
    if (!any_jumps) {
        return loop_call(segment->loop, data, tile->elements, steps);
    }
    for (npy_intp done = 0; done < tile->elements;) {
        npy_intp piece = tile->elements - done;
        for (int i = 0; i < segment->arguments; i++) {
            if (walks[i] != NULL && cursors[i].left < piece) {
                piece = cursors[i].left;
            }
        }
        char *now[MAX_ARGUMENTS]; /* a copy: loops may move the pointers they are given */
        for (int i = 0; i < segment->arguments; i++) {
            now[i] = walks[i] != NULL ? cursors[i].at : data[i] + done * steps[i];
        }
        int result = loop_call(segment->loop, now, piece, steps);
        if (result != 0) {
            return result;
        }
        done += piece;
        for (int i = 0; i < segment->arguments && done < tile->elements; i++) {
            if (walks[i] != NULL) {
                cursor_advance(walks[i], &cursors[i], piece);
            }
        }
    }
    return 0;
}

/* Whether a map's arguments all are one run of memory in this tile. */
static bool
map_is_plain(const Tile *tile, const Segment *segment)
{
    if (segment->mixes_rows) {
        return false;
    }
    if (tile->any_cut) {
        for (int i = 0; i < segment->loop->inputs; i++) {
            int v = segment->values[i];
            if (v < tile->run->kernel->operands && tile->cut[v]) {
                return false;
            }
        }
    }
    return true;
}

static int
segment_map(const Tile *tile, const Segment *segment)
{
    if (!map_is_plain(tile, segment)) {
        return map_pieces(tile, segment);
    }
    char *data[MAX_ARGUMENTS];
    npy_intp steps[MAX_ARGUMENTS];
    for (int i = 0; i < segment->arguments; i++) {
        data[i] = tile->data[segment->values[i]];
        steps[i] = tile->step[segment->values[i]];
    }
    return loop_call(segment->loop, data, tile->elements, steps);
}

/* One element per row: row values, and operands seen without their last axis. */
static int
segment_map_row(const Tile *tile, const Segment *segment)
{
    const Run *run = tile->run;
    char *data[MAX_ARGUMENTS], *copies = tile->expansions;
    npy_intp steps[MAX_ARGUMENTS];
    copies += (size_t)run->expansions * slot_bytes(MAX_ITEM, run->widest);
    for (int i = 0; i < segment->arguments; i++) {
        int v = segment->values[i];
        if (v >= run->kernel->operands) {
            data[i] = tile->data[v];
            steps[i] = tile->step[v];
            continue;
        }
        const Walk *walk = &run->row_walks[v];
        npy_intp itemsize = run->kernel->value[v].itemsize;
        if (walk_is_linear(walk) && run->readings[v] != READ_COPY) {
            steps[i] = walk_step(walk);
            data[i] = walk->base + tile->first * steps[i];
            continue;
        }
        data[i] = copies + (size_t)v * slot_bytes(MAX_ITEM, run->tile);
        steps[i] = itemsize;
        walk_gather(walk, tile->first, tile->count, data[i], itemsize);
    }
    return loop_call(segment->loop, data, tile->count, steps);
}

/* Whether rows have few elements, and a fold that begins as NumPy's does. */
static bool
folds_short_rows(const Run *run, const Segment *segment)
{
    static const char zero[MAX_ITEM];
    if (segment->loop->short_fold == NULL || run->row == 0 ||
        run->row >= segment->loop->short_limit) {
        return false;
    }
    if (!loop_adds(segment->loop)) {
        return segment->initial == NULL;
    }
    return segment->initial != NULL && memcmp(PyBytes_AS_STRING(segment->initial), zero,
                                              (size_t)PyBytes_GET_SIZE(segment->initial)) == 0;
}

/* Fold each row as NumPy folds the last axis of an array: one call over the row. */
static int
segment_reduce(const Tile *tile, const Segment *segment)
{
    const Run *run = tile->run;
    int input = segment->values[0], output = segment->values[1];
    npy_intp row = run->row, itemsize = run->kernel->value[output].itemsize;
    npy_intp steps[3] = {0, tile->step[input], 0};
    const char *initial = segment->initial ? PyBytes_AS_STRING(segment->initial) : NULL;
    npy_intp skip = initial ? 0 : 1;
    Cursor cursor;
    bool cut = input < run->kernel->operands && tile->cut[input];
    if (folds_short_rows(run, segment) && !cut) {
        return short_fold(segment->loop, tile->data[input], row * steps[1], steps[1], row,
                          tile->count, tile->data[output], tile->step[output]);
    }
    if (cut) {
        cursor_seek(&run->walks[input], tile->from, &cursor);
    }
    for (npy_intp i = 0; i < tile->count; i++) {
        char *accumulator = tile->data[output] + i * tile->step[output];
        char *items = cut ? cursor.at : tile->data[input] + i * row * steps[1];
        memcpy(accumulator, initial ? initial : items, (size_t)itemsize);
        char *data[3] = {accumulator, items + skip * steps[1], accumulator};
        if (row > skip) {
            int result = loop_call(segment->loop, data, row - skip, steps);
            if (result != 0) {
                return result;
            }
        }
        if (cut && i + 1 < tile->count) {
            cursor_advance(&run->walks[input], &cursor, row);
        }
    }
    return 0;
}

static int
segment_total(const Tile *tile, const Segment *segment)
{
    const Run *run = tile->run;
    for (int i = 0; i < run->total_count; i++) {
        if (run->totals[i].value == segment->values[1]) {
            int input = segment->values[0];
            const Total *total = &run->totals[i];
            int result = total_partial(total, tile->tile, tile->from, tile->elements,
                                       tile->data[input], tile->step[input]);
            if (result == 0 && run->tiles > 1 &&
                total_is_unsure(total, tile->tile, tile->elements, tile->data[input],
                                tile->step[input])) {
                __atomic_store_n(&((Run *)run)->unsure, true, __ATOMIC_RELAXED);
            }
            return result;
        }
    }
    return 0;
}

/*
 * Whether the tile begins, for this segment, at a multiple of PHASE elements of one run of memory:
 * then NumPy's loop treats every element as it would in the whole array. A few elements by
 * themselves it treats otherwise, and one by the steps that NumPy has for it.
 */
static bool
keeps_places(const Tile *tile, const Segment *segment)
{
    const Run *run = tile->run;
    bool rows = segment->kind == SEGMENT_MAP_ROW;
    npy_intp from = rows ? tile->first : tile->from, count = rows ? tile->count : tile->elements;
    bool last = tile->tile == run->tiles - 1;
    if (run->withholds || segment->mixes_rows || run->size * run->row == 1 || from % PHASE != 0 ||
        (count % PHASE != 0 && !last) || (from > 0 && count < FEW)) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        int v = segment->values[i];
        if (v < run->kernel->operands ? rows || run->readings[v] != READ_LINEAR : run->apart[v]) {
            return false;
        }
    }
    return true;
}

/* How input `i` of a map or map_row lies over the tile; returns the position to begin at. */
static npy_intp
input_walk(const Tile *tile, const Segment *segment, int i, Walk *walk)
{
    const Run *run = tile->run;
    bool rows = segment->kind == SEGMENT_MAP_ROW;
    int v = segment->values[i];
    if (v < run->kernel->operands && run->kernel->value[v].roll == NULL) {
        *walk = rows ? run->row_walks[v] : run->walks[v];
        return rows ? tile->first : tile->from;
    }
    if (!rows && run->kernel->value[v].is_row) {
        row_value_walk(tile, v, walk);
    }
    else {
        walk_linear(walk, tile->data[v], rows ? tile->count : tile->elements, tile->step[v]);
    }
    return 0;
}

/* Look for unlike pairs (unlike.c) in a segment of a position-dependent loop. */
static void
look_for_unlike(const Tile *tile, const Segment *segment)
{
    const Loop *loop = segment->loop;
    npy_intp count = segment->kind == SEGMENT_MAP_ROW ? tile->count : tile->elements, first[2];
    Walk inputs[2];
    bool met;
    if (count == 0) {
        return; /* an empty array has no first number either */
    }
    if (loop->position_dependent_limit != 0) {
        first[0] = input_walk(tile, segment, 0, &inputs[0]);
        met = met_out_of_range(loop, &inputs[0], first[0], count);
    }
    else {
        /* A number and itself are alike. */
        bool product = loop->position_dependent_product && PyTypeNum_ISCOMPLEX(loop->types[0]);
        if ((segment->values[0] == segment->values[1] && !product) || keeps_places(tile, segment)) {
            return;
        }
        int out = segment->values[2];
        if (!suspects_unlike_pair(loop, count, tile->data[out], tile->step[out])) {
            return;
        }
        first[0] = input_walk(tile, segment, 0, &inputs[0]);
        first[1] = input_walk(tile, segment, 1, &inputs[1]);
        met = met_unlike_pair(loop, inputs, first, count);
    }
    if (met && tile->run->withholds) {
        tile->run->withheld[tile->tile] = 1;
    }
    else if (met) {
        __atomic_store_n(&((Run *)tile->run)->met_unlike, true, __ATOMIC_RELAXED);
    }
}

/*
 * Run a plan over the tile. `bits`, unless NULL, takes the flags of each segment; `seen` all of
 * them. Returns 0, or what a loop returned that was not 0.
 */
static int
run_segments(const Tile *tile, const Plan *plan, unsigned char *bits, unsigned *seen)
{
    bool checks = tile->run->checks_for_unlike;
    for (int i = 0; i < plan->segments; i++) {
        const Segment *segment = &plan->segment[i];
        int result = 0;
        switch (segment->kind) {
        case SEGMENT_MAP:
            result = tile->elements > 0 ? segment_map(tile, segment) : 0;
            break;
        case SEGMENT_MAP_ROW:
            result = segment_map_row(tile, segment);
            break;
        case SEGMENT_REDUCE:
            result = segment_reduce(tile, segment);
            break;
        case SEGMENT_TOTAL:
            result = segment_total(tile, segment);
            break;
        }
        if (segment->loop->raises) {
            unsigned flags = status_take();
            *seen |= flags;
            if (bits != NULL) {
                bits[i] |= (unsigned char)flags;
            }
        }
        if (result != 0) {
            return result;
        }
        if (segment->loop->position_dependent && segment->kind <= SEGMENT_MAP_ROW && checks) {
            look_for_unlike(tile, segment);
        }
    }
    return 0;
}

static int
run_tile(Tile *tile, char *scratch, unsigned char *bits)
{
    const Run *run = tile->run;
    unsigned seen = 0;
    if (run->native != NULL) {
        int result = run_segments(tile, run->native, NULL, &seen);
        if (result < 0) {
            return -1;
        }
        if (result == 0 && (seen & run->mask) == 0) {
            return 0;
        }
        __atomic_fetch_add(&((Run *)run)->flagged, 1, __ATOMIC_RELAXED);
        bind_slots(run, run->plain, scratch, tile);
        tile->replayed = true;
        return run_segments(tile, run->plain, bits, &seen);
    }
    return run_segments(tile, run->plain, bits, &seen);
}

static void
commit_tile(const Tile *tile)
{
    const Run *run = tile->run;
    for (int i = 0; i < run->commit_count; i++) {
        const Commit *commit = &run->commits[i];
        const Value *value = &run->kernel->value[commit->value];
        npy_intp from = value->is_row ? tile->first : tile->from;
        npy_intp count = value->is_row ? tile->count : tile->elements;
        walk_scatter(commit->walk, from, count, tile->data[commit->value],
                     tile->step[commit->value], value->itemsize);
    }
}

/*
 * Run tiles `first` to `past` on this thread; `bits` takes the flags by plain segment. -1: a loop
 * failed, with an exception if this thread has the GIL, or there is no memory.
 */
int
run_tiles(Run *run, npy_intp first, npy_intp past, unsigned char *bits)
{
    const Kernel *kernel = run->kernel;
    char *data[MAX_VALUES];
    npy_intp step[MAX_VALUES];
    unsigned char cut[MAX_VALUES];
    char *scratch = NULL;
    if (run->scratch_bytes > 0) {
        scratch = threads_scratch(run->scratch_bytes);
        if (scratch == NULL) {
            return -1;
        }
    }
    Tile tile = {.run = run, .data = data, .step = step, .cut = cut};
    if (run->scratch_bytes > 0) {
        tile.copies = scratch + larger_plan_bytes(run);
        tile.expansions = tile.copies;
        for (int i = 0; run->any_copies && i < kernel->operands; i++) {
            if (run->readings[i] == READ_COPY) {
                tile.expansions += slot_bytes(kernel->value[i].itemsize, run->widest);
            }
        }
    }
    bind_slots(run, run->native != NULL ? run->native : run->plain, scratch, &tile);
    if (status_raw() != 0) {
        status_clear();
    }
    for (npy_intp i = first; i < past; i++) {
        tile.tile = i;
        tile.first = tile_start(run, i);
        tile.count = tile_past(run, i) - tile.first;
        tile.from = tile.first * run->row;
        tile.elements = tile.count * run->row;
        if (tile.replayed) {
            bind_slots(run, run->native, scratch, &tile);
            tile.replayed = false;
        }
        bind_tile(&tile);
        int result = run_tile(&tile, scratch, bits);
        if (result != 0) {
            run->failed_tile = i;
            return -1;
        }
        if (!run->withholds || run->withheld[i] == 0) {
            commit_tile(&tile);
        }
    }
    return 0;
}
