#include "run/step.h"

#include "run/arrivals.h"
#include "run/plain_time.h"
#include "run/session.h"

enum { LOOP_DECLINES = 64 };

/* So often in a row an entry for whole calls may decline: each of these calls runs twice. And one
 * that has run none yet. */
enum { MOST_WHOLE_DECLINED = 256, FEW_WHOLE_DECLINED = 6 };

/* Whether the entry for whole calls runs those of the last one's order of magnitude. */
static bool
whole_is_for(const CodeCache *cache)
{
    return (cache->whole_call_for >> cache->magnitude & 1) != 0;
}

/*
 * Whether the session is told that an entry declined. One that runs a loop does so at each loop's
 * end: of those every so many, and only while it does hardly anything else.
 */
static bool
entry_tells_declined(Entry *entry)
{
    if (!entry->is_loop) {
        return true;
    }
    long long declined = entry->declined + 1;
    if (declined % LOOP_DECLINES != 0 || declined * 20 <= entry->hits * 19) {
        entry->declined = declined;
        return false;
    }
    return true;
}

/*
 * Run a whole call by the entry that is made for that. RUN_DECLINED: there is none, or not for
 * these arguments; then the registers are as they were. `*fits`: as `entry_matches` says.
 */
static RunOutcome
run_whole(CodeCache *cache, Registers *registers, PyObject **result, int *fits)
{
    RunOutcome outcome = RUN_DECLINED;
    FrameState *next = NULL;
    Entry *entry = (Entry *)Py_XNewRef(cache->whole_call);
    bool runs = entry != NULL && whole_is_for(cache) && entry->valid && !loops_run_plainly();
    *fits = runs ? entry_matches(entry, registers) : 0;
    if (*fits > 0) {
        entry->hits++;
        outcome = entry_run(entry, registers, result, &next);
        cache->whole_declined = outcome == RUN_DECLINED ? cache->whole_declined + 1 : 0;
        if (outcome == RUN_DECLINED) {
            entry->declined++;
            registers_drop_appended(registers);
        }
        int most = entry->declined == entry->hits ? FEW_WHOLE_DECLINED : MOST_WHOLE_DECLINED;
        if (cache->whole_declined >= most && cache->whole_call == entry) {
            Py_CLEAR(cache->whole_call);
            cache->whole_declined = 0;
        }
    }
    Py_XDECREF(entry);
    return *fits < 0 ? RUN_RAISED : outcome;
}

/* The same, after asking for such an entry, where that is due. */
static RunOutcome
take_whole(CodeCache *cache, PyObject *function, Registers *registers, PyObject **result)
{
    int fits;
    bool is_for = cache->whole_call == NULL || whole_is_for(cache);
    RunOutcome outcome = run_whole(cache, registers, result, &fits);
    if (fits != 0 || !is_for || cache->is_within || cache->whole_call_after <= 0 ||
        --cache->whole_call_after > 0) {
        return outcome;
    }
    registers->contents = NULL; /* Python code runs: it may see the arrays */
    int runs = ask_whole(cache, function, registers);
    if (runs <= 0) {
        return runs < 0 ? RUN_RAISED : RUN_DECLINED;
    }
    return run_whole(cache, registers, result, &fits);
}

/* Of what takes sides of branches for granted: runs that show nothing, and what is too many. */
enum { FEW_DECLINES = 8, SHARE_OF_DECLINES = 16 };

/*
 * An entry that takes sides of branches for granted has declined: run another one that does not,
 * which takes its place in `*entry`. One that declines too often is given up. RUN_DECLINED: there
 * is none.
 */
static RunOutcome
take_other_side(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **entry,
                PyObject **result, FrameState **next)
{
    Entry *sure = NULL;
    registers_drop_appended(registers);
    long long declined = (*entry)->declined + 1;
    if (declined >= FEW_DECLINES && declined * SHARE_OF_DECLINES > (*entry)->hits &&
        (*entry)->valid && tell_other_sides(cache, position, *entry) < 0) {
        return RUN_RAISED;
    }
    int found = cache_find_sure(cache, position, registers, &sure);
    if (found <= 0) {
        return found < 0 ? RUN_RAISED : RUN_DECLINED;
    }
    (*entry)->declined = declined;
    Py_SETREF(*entry, sure);
    return entry_run(sure, registers, result, next);
}

/*
 * Ask for an entry that is longer than one that is about to run. Python code runs, so its guards
 * are looked at once more. Returns 1 where they hold, 0 where they do not, or -1 with an exception.
 */
static int
grow_entry(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
           Entry *entry)
{
    Entry *longer = NULL;
    int status = ask_grow(cache, position, function, registers, entry, &longer);
    if (status > 0) {
        status = cache_has(cache, position, longer) ? 0 : cache_add(cache, position, longer);
        Py_DECREF(longer);
    }
    registers_drop_appended(registers);
    return status < 0 ? -1 : entry->valid ? entry_matches(entry, registers) : 0;
}

/*
 * Find or capture an entry for the state in the registers, and run it. Python code may run. Returns
 * what `entry_run` does; RUN_DECLINED also where there is no entry, and no effect either.
 */
RunOutcome
take_step(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
          PyObject **result, FrameState **next)
{
    Entry *entry = NULL;
    if (!cache_serves(cache, function)) {
        return RUN_DECLINED;
    }
    if (position == 0 && (cache->whole_call != NULL || cache->whole_call_after > 0)) {
        RunOutcome outcome = take_whole(cache, function, registers, result);
        if (outcome != RUN_DECLINED) {
            return outcome;
        }
    }
    int found = cache_find(cache, position, registers, &entry);
    if (found == 0 && !cache_given_up(cache, position)) {
        bool has_whole = cache->whole_call != NULL;
        registers->contents = NULL; /* Python code runs: it may see the arrays */
        found = ask_capture(cache, position, function, registers, &entry);
        if (found == 0 && position == 0 && !has_whole && cache->whole_call != NULL) {
            return run_whole(cache, registers, result, &found); /* a first call, which is long */
        }
        if (found > 0) {
            if (!cache_has(cache, position, entry) && cache_add(cache, position, entry) < 0) {
                found = -1;
            }
            else {
                found = entry->valid ? entry_matches(entry, registers) : 0;
                entry->hits += found > 0;
            }
            if (found <= 0) {
                Py_DECREF(entry);
            }
        }
    }
    if (found > 0 && entry->asks_after > 0 && --entry->asks_after == 0) {
        registers->contents = NULL;
        found = grow_entry(cache, position, function, registers, entry);
        if (found <= 0) {
            Py_DECREF(entry);
        }
    }
    if (found <= 0) {
        return found == 0 ? RUN_DECLINED : RUN_RAISED;
    }
    if (entry->is_loop && loops_run_plainly()) {
        Py_DECREF(entry);
        return RUN_DECLINED;
    }
    bool counts = plain_time_counts(entry, cache);
    long long turns = counts ? entry_turns(entry) : 0;
    RunOutcome outcome = entry_run(entry, registers, result, next);
    if (counts && outcome != RUN_RAISED) {
        plain_time_add(entry, entry_turns(entry) - turns);
    }
    if (outcome == RUN_DECLINED && entry->expects > 0) {
        outcome = take_other_side(cache, position, registers, &entry, result, next);
    }
    if (outcome == RUN_DECLINED && entry_tells_declined(entry) &&
        tell_eager_run(cache, position, entry) < 0) {
        outcome = RUN_RAISED;
    }
    Py_DECREF(entry);
    return outcome;
}

/* So many frames of one code that no entry takes at their start are suspended later, where every
 * frame is: it is slow. */
enum { MOST_STOPPED = 50000 };

/*
 * Have a frame that no entry has taken at its start run in resume code, which suspends it at later
 * stops. Runs no Python code. RUN_DECLINED: not so often; RUN_RAISED: with MemoryError set.
 */
RunOutcome
begin_with_stops(const CodeCache *cache, Registers *registers, FrameState **next)
{
    if (cache->every_frame && cache->frames >= MOST_STOPPED) {
        return RUN_DECLINED;
    }
    FrameState *state = FrameState_New(0, registers->n_state, registers->n_state);
    for (Py_ssize_t i = 0; state != NULL && i < registers->n_state; i++) {
        state->slots[i] = Py_XNewRef(registers->values[i]);
    }
    if (state != NULL) {
        state->declined = true;
    }
    *next = state;
    return state == NULL ? RUN_RAISED : RUN_RESUMES;
}

/*
 * To look at the clock takes longer than all else of a stop. So where turns are short, and there is
 * time until the session is to be asked, only some of them do; at most half of that time passes.
 */
static void
look_seldom(Position *at, int64_t now, int64_t until)
{
    enum { MOST_UNLOOKED = 15 };
    int64_t turns = at->passed - at->looked_passed;
    if (turns > 0 && at->looked_at != 0) {
        int64_t turn = (now - at->looked_at) / turns + 1, most = (until - now) / (2 * turn);
        at->unlooked = most < MOST_UNLOOKED ? (int)most : MOST_UNLOOKED;
    }
    at->looked_passed = at->passed;
    at->looked_at = now;
}

/*
 * Whether no entry begins at a position now, and the session is not asked for one: a frame that
 * stops there need not leave CPython. The header of a loop is met in each turn.
 */
bool
nothing_begins_now(CodeCache *cache, Py_ssize_t position)
{
    if (!cache_is_empty(cache, position)) {
        return cache_has_loop(cache, position) &&
               (loops_run_plainly() || arrival_passes(cache, position));
    }
    Position *at = position < cache->n_positions ? cache->positions[position] : NULL;
    if (at != NULL && at->unlooked > 0) {
        at->unlooked--;
        at->passed++;
        return true;
    }
    int64_t until = left_alone_until(cache, position), now = until == 0 ? 0 : now_ns();
    if (now >= until) {
        return false;
    }
    if (at != NULL) {
        look_seldom(at, now, until);
        at->passed++;
    }
    return true;
}
