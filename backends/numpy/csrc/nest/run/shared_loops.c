/*
 * Loops inside of a nest whose turns threads share. Machine code of the nest asks in front of each
 * such loop; a nest of its own, made for the loop, then does the turns on several threads, where
 * that pays.
 */
#include "nest/run/shared_loops.h"

#include "nest/form/clock.h"
#include "nest/called/sharing.h"
#include "nest/run/shared_turns.h"

enum { MOST_DOUBTS = 2 }; /* of a loop's nest, until it is not asked any more */

static _Thread_local RunningNest running;

/* Note whose better code runs on this thread from now on; what did before. */
RunningNest
shared_loops_enter(RunningNest entered)
{
    RunningNest before = running;
    running = entered;
    return before;
}

/* Do all turns on this thread. -1: one is odd. */
static int
run_here(Nest *loop, int64_t *words, Register *cells)
{
    NestMemory memory[loop->memories + 1];
    memset(memory, 0, sizeof memory);
    int verdict = loop->function(words, cells, memory);
    for (int i = 0; i < loop->memories; i++) {
        memory_give(memory[i].data);
    }
    return verdict != 0 || cells[loop->cells - 1].whole != 0 ? -1 : 0;
}

/* Do all turns of a loop on several threads, or on this one where that is to be timed. 0: neither,
 * they are still to be done; 1: they are done, and `cells` are as they have left them; -1: one is
 * odd, and the chunk has to be undone. */
static int
run_loop(Nest *nest, Nest *loop, unsigned mask, int64_t *words, Register *cells)
{
    int64_t turns = cells[loop->cells - 1].whole;
    Sharing *sharing = sharing_of(loop, turns);
    Register before[loop->cells];
    memcpy(before, cells, sizeof before);
    SharedTurns shared = {.nest = loop,
                          .function = loop->function,
                          .words = words,
                          .before = before,
                          .after = cells,
                          .mask = mask,
                          .turns = turns};
    bool pays = sharing_pays(sharing, turns);
    if ((!pays && !sharing_is_timed(sharing, turns)) || !shared_turns_fit(&shared)) {
        return 0;
    }
    unsigned flags = status_raw();
    double begin = now_ns();
    if (!pays) {
        if (run_here(loop, words, cells) < 0) {
            return -1;
        }
        sharing_learn_alone(sharing, turns, now_ns() - begin);
        return 1;
    }
    bool done = shared_turns_run(&shared);
    status_raise(flags);
    if (!done) {
        sharing_learn_failed(sharing);
        return -1;
    }
    sharing_learn_shared(sharing, turns, now_ns() - begin);
    nest->shared_turns += turns;
    return 1;
}

/* What machine code calls: `run_loop` of the loop with a number. Behind the cells are the addresses
 * of arrays, for LLVM alone. */
int
nest_share(int64_t number, int64_t *words, Register *cells)
{
    Nest *nest = running.nest;
    if (nest == NULL || nest->shares == NULL || turns_are_shared ||
        number >= PyTuple_GET_SIZE(nest->shares)) {
        return 0;
    }
    Nest *loop = (Nest *)PyTuple_GET_ITEM(nest->shares, number);
    if (loop->function == NULL || loop->doubts >= MOST_DOUBTS) {
        return 0;
    }
    int verdict = run_loop(nest, loop, running.mask, words, cells);
    loop->doubts += verdict < 0;
    return verdict;
}
