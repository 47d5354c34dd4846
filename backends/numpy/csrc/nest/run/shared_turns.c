/*
 * Turns that do not depend on each other, shared among threads. Each of these runs the nest's
 * machine code over some turns, with cells and temporaries of its own, as if the loop had no
 * others. Where any is odd nothing of it counts: the caller restores what was saved, and does the
 * turns alone.
 */
#include "nest/run/shared_turns.h"

#include "nest/called/sharing.h"
#include "nest/run/improved.h"

enum { PARTS_OF_EACH = 4 }; /* for a thread, as turns may be of different lengths */

typedef struct {
    SharedTurns *shared;
    npy_intp parts;
} Parts;

/* Whether the elements of an array lie apart from each other, so that two indices never mean the
 * same. `words`: those of the array. */
static bool
elements_are_apart(const NestSlot *slot, const int64_t *words)
{
    int64_t strides[MOST_LENGTHS], lengths[MOST_LENGTHS], reach = slot->itemsize;
    int count = 0;
    for (int axis = 0; axis < slot->axes; axis++) {
        int64_t length = words[1 + axis], stride = words[1 + slot->axes + axis];
        if (length < 2) {
            continue;
        }
        int at = count++;
        stride = stride < 0 ? -stride : stride;
        for (; at > 0 && strides[at - 1] > stride; at--) {
            strides[at] = strides[at - 1];
            lengths[at] = lengths[at - 1];
        }
        strides[at] = stride;
        lengths[at] = length;
    }
    for (int i = 0; i < count; i++) {
        if (strides[i] < reach) {
            return false;
        }
        reach += strides[i] * (lengths[i] - 1);
    }
    return true;
}

/* Whether all indices of a part's axis are inside of the array, so that none wraps. */
static bool
part_is_inside(const NestPart *part, const SharedTurns *shared)
{
    const Register *cell = &shared->before[part->cell];
    int64_t length = shared->words[part->word + 1 + part->axis];
    int64_t first, reach, last;
    return !__builtin_add_overflow(cell[0].whole, (int64_t)part->more, &first) &&
           !__builtin_mul_overflow(cell[1].whole, shared->turns - 1, &reach) &&
           !__builtin_add_overflow(first, reach, &last) && cell[1].whole != 0 && first >= 0 &&
           first < length && last >= 0 && last < length;
}

/* Whether these turns of the nest, of which `part` is known, do not depend on each other. */
bool
shared_turns_fit(const SharedTurns *shared)
{
    const Nest *nest = shared->nest;
    if (shared->turns < 2 || threads_count() < 2) {
        return false;
    }
    for (int i = 0; i < nest->written; i++) {
        const NestPart *part = &nest->part[i];
        if (!part_is_inside(part, shared) ||
            !elements_are_apart(&nest->slot[part->array], &shared->words[part->word])) {
            return false;
        }
    }
    return arrays_are_apart(nest, shared->words);
}

/* Move all iterators by so many turns; how many are left says the first. */
static void
cells_begin(const Nest *nest, Register *cells, int64_t skipped, int64_t turns)
{
    for (int i = 0, cell = 0; i < nest->slots; i++) {
        if (slot_iterates(&nest->slot[i])) {
            cells[cell].whole += skipped * cells[cell + 1].whole;
        }
        cell += nest->slot[i].cells;
    }
    cells[nest->range_cell + 2].whole -= skipped;
    cells[nest->cells - 1].whole = turns;
}

/* Do some parts. -1: a turn is odd. */
static int
run_parts(void *context, npy_intp first, npy_intp past)
{
    const Parts *parts = context;
    SharedTurns *shared = parts->shared;
    const Nest *nest = shared->nest;
    int64_t begin = shared->turns * first / parts->parts;
    int64_t end = shared->turns * past / parts->parts;
    Register cells[nest->cells];
    memcpy(cells, shared->before, sizeof cells);
    cells_begin(nest, cells, begin, end - begin);
    NestMemory memory[nest->memories + 1];
    memset(memory, 0, sizeof memory);
    status_clear();
    int verdict = shared->function(shared->words, cells, memory);
    for (int i = 0; i < nest->memories; i++) {
        memory_give(memory[i].data);
    }
    bool flagged = (status_numbered(status_raw()) & shared->mask) != 0;
    if (verdict != 0 || flagged || cells[nest->cells - 1].whole != 0) {
        return -1;
    }
    if (past == parts->parts) {
        memcpy(shared->after, cells, sizeof cells);
    }
    return 0;
}

/* Run the turns. False: some are odd, and all have to be undone. */
bool
shared_turns_run(SharedTurns *shared)
{
    int64_t most = (int64_t)threads_count() * PARTS_OF_EACH;
    Parts parts = {.shared = shared, .parts = shared->turns < most ? shared->turns : most};
    turns_are_shared = true;
    bool done = threads_run_awake(run_parts, &parts, parts.parts, 1);
    turns_are_shared = false;
    return done;
}
