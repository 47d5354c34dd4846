/* What the chunks of a call save, and how many turns are worth that. */
#include "nest/run/saving.h"

#include "nest/form/clock.h"
#include "nest/form/costs.h"
#include "nest/given/generators.h"
#include "nest/saved/known.h"
#include "nest/saved/reach.h"
#include "nest/saved/saved.h"
#include "nest/containers/tables.h"
#include "nest/run/call.h"

/* A loop that is left by an exit is expected to be left after so many times the usual turns. */
static const double LATE = 4;

/* Of rows that a chunk saves: a part of a core's own cache. */
static const double CACHED_BYTES = 512 << 10;

/* How many turns the iterators have left, or `times` the turns after which a loop is usually left
 * before. */
static int64_t
turns_until(const Nest *nest, const Register *cells, double times)
{
    int64_t left = turns_left(nest, cells);
    double turns = times * (nest->usual_turns + 1);
    return nest->usual_turns > 0 && turns < (double)left ? (int64_t)turns : left;
}

/* How many turns are left, as far as they may be done. */
int64_t
turns_expected(const Nest *nest, const Register *cells)
{
    return turns_until(nest, cells, LATE);
}

/* How many turns are left, as far as most calls do them. */
int64_t
turns_usual(const Nest *nest, const Register *cells)
{
    return turns_until(nest, cells, 1);
}

/* Note what of an array a chunk of so many turns saves. */
static void
save_array(Call *call, int number, int64_t turns)
{
    PyArrayObject *array = (PyArrayObject *)call->objects[number];
    if (call->known != NULL && known_add(call->known, call->nest, number, &call->saved)) {
        return;
    }
    if (!reach_add(call->nest, number, array, call->words, call->reached, turns, &call->saved)) {
        saved_add(&call->saved, array);
    }
}

/* Note what a chunk of so many turns saves. */
void
save_written(Call *call, int64_t turns)
{
    const Nest *nest = call->nest;
    call->saved.arrays = call->saved.known = 0;
    call->saved.bytes = call->saved.rowed = call->saved.spared = 0;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind != SLOT_ARRAY || !slot->changed) {
            continue;
        }
        if (slot->listed) {
            saved_add_vector(&call->saved, nest->memory[slot->memory].data,
                             slot_numbers(nest, slot, call->objects[i]), slot->itemsize);
        }
        else {
            save_array(call, i, turns);
        }
    }
    for (int i = 0; i < nest->generators; i++) {
        const Generator *one = &call->generators[i];
        for (int part = 0; part < one->parts; part++) {
            saved_add_vector(&call->saved, one->part[part].data, (int64_t)one->part[part].bytes, 1);
        }
    }
}

/* Behind the first commit: all arrays have to be saved from now on. Whether that is more. */
bool
forget_known(Call *call)
{
    bool more = call->known != NULL && call->saved.spared > 0;
    call->known = NULL;
    if (more) {
        save_written(call, turns_expected(call->nest, call->reached));
    }
    return more;
}

/*
 * How many of some turns are a chunk, which takes `time` at least where the rows that it saves are
 * many: as long as their copy stays in a core's cache it costs half. Threads have larger parts.
 */
static int64_t
turns_of_rows(const Call *call, int64_t turns, double time)
{
    const Nest *nest = call->nest;
    bool shares = nest->part != NULL && threads_count() > 1;
    double each = (double)call->saved.rowed / (double)turns;
    if (shares || each == 0 || nest->turn_ns == 0) {
        return turns;
    }
    double most = CACHED_BYTES / each, least = time / nest->turn_ns;
    most = most < least ? least : most;
    return most >= (double)turns ? turns : most < 1 ? 1 : (int64_t)most;
}

/* Save what is noted. False, with no exception: there is no memory. */
bool
save_noted(Call *call)
{
    bool done = saved_take(&call->saved);
    call->nest->saved_bytes += done ? (long long)call->saved.bytes : 0;
    return done;
}

/*
 * Save what a chunk may write. Returns of how many turns it is, of `turns` at most; 0: there is no
 * memory. `*saving` is what that takes, about, however many turns there are.
 */
int64_t
save_chunk(Call *call, int64_t turns, double *saving)
{
    Saved *saved = &call->saved;
    if (call->nest->boxes > 0) {
        save_written(call, turns);
        int64_t fewer = turns_of_rows(call, turns, SAVINGS * *saving);
        if (fewer < turns) {
            turns = fewer;
            save_written(call, turns);
        }
    }
    if (saved->arrays > 0) {
        double start = now_ns();
        if (!save_noted(call)) {
            return 0;
        }
        if (saved->spared == 0 && saved->bytes > 0) {
            double whole = (double)(saved->bytes - saved->rowed) / (double)saved->bytes;
            *saving = (now_ns() - start) * whole;
        }
    }
    return turns;
}
