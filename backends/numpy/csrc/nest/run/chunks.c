/* A call of a nest: chunks of turns, each of which is committed as a whole or has not happened. */
#include "nest/run/chunks.h"

#include <math.h>

#include "nest/form/clock.h"
#include "nest/form/costs.h"
#include "nest/form/own_memory.h"
#include "nest/called/sharing.h"
#include "nest/given/generators.h"
#include "nest/given/grids.h"
#include "nest/saved/known.h"
#include "nest/saved/saved.h"
#include "nest/containers/given_keys.h"
#include "nest/containers/lists.h"
#include "nest/run/call.h"
#include "nest/run/improved.h"
#include "nest/run/lean.h"
#include "nest/run/objects.h"
#include "nest/run/saving.h"
#include "nest/run/shared_loops.h"
#include "nest/run/shared_turns.h"
#include "nest/run/watch.h"

/* Times in nanoseconds. */
static const double FIRST = 0.3e6;         /* of the first chunk, by what calls before took */
static const double USUAL = 2e6;           /* of those behind it */
static const double LONGEST = 100e6;       /* where saving takes long */
static const double RELIABLE = 20e3;       /* what is shorter is measured badly */
static const double RISES = 1.1;           /* what a commit takes, if more each time */
static const double COMMIT = 150;          /* to begin and to commit a chunk, about */
static const double SHARED = 50e3;         /* where threads may share turns: fewer are not shared */
static const double WHOLE_AT_MOST = 0.3e6; /* of a whole call: longer ones run in parts */

/* What the usual turns grow by where a call is declined because they are few: a later call is not.
 */
static const double UNUSUAL = 1.1;

/* So many times the usual turns between odd ones without one: chunks need not be short any more. */
static const double CLEAN = 4;

/* Whether new tuples may begin a collection; from 3.12 on the interpreter's loop does that. */
enum { ALLOCATIONS_COLLECT = PY_VERSION_HEX < 0x030C0000 };

enum { MOST_CLEAN = 16 }; /* calls without odd turns: they are not expected any more */

static const double KEY = 20; /* to read a dict's entry, or to look at it in a commit, about */

enum { MOST_LONG_CALLS = 4 }; /* more than short ones */

enum { FIRST_SKIP = 16, SKIP_GROWTH = 4, MOST_SKIP = 1 << 24, MANY_TURNS = 64 };

/* Whole calls between two that are odd, from which on the calls behind these are worth trying. */
enum { ENOUGH_CALLS = 4 };

/* Make the chunk's end the state that is reached. False: there is no memory for its objects. */
static bool
commit(Call *call, int64_t turns)
{
    const Nest *nest = call->nest;
    if (!objects_make(nest, call->objects, call->given, call->cells, call->made)) {
        return false;
    }
    if (!lists_change(nest, call->objects, &call->saved)) {
        for (int i = 0; i < nest->outputs; i++) {
            Py_DECREF(call->made[i]);
        }
        return false;
    }
    for (int i = 0; i < nest->outputs; i++) {
        Py_XDECREF(call->outputs[i]); /* numbers and plain arrays: runs no code */
        call->outputs[i] = call->made[i];
    }
    memcpy(call->reached, call->cells, sizeof(Register) * (size_t)nest->cells);
    call->done += turns;
    return true;
}

/* What a run of machine code came to. */
typedef struct {
    bool doubt, flagged;
    int exit;
    int64_t begun; /* turns, with the one in doubt */
} Run;

/* Run machine code on the cells that are reached, on this thread. */
static Run
run_alone(Call *call, int64_t turns)
{
    const Nest *nest = call->nest;
    Register *left = &call->cells[nest->cells - 1];
    memcpy(call->cells, call->reached, sizeof(Register) * (size_t)nest->cells);
    left->whole = turns;
    lists_undo(nest, call->objects);
    nest_watch.began = 0;
    status_clear();
    RunningNest entered = {.nest = nest->shares == NULL ? NULL : call->nest, .mask = call->mask};
    RunningNest around = shared_loops_enter(entered);
    int verdict = call->function(call->words, call->cells, nest->memory);
    shared_loops_enter(around);
    Run run = {.doubt = verdict == 1 || verdict < 0 || verdict > 1 + nest->exits,
               .exit = verdict > 1 ? verdict - 1 : 0};
    run.flagged = (status_numbered(status_raw()) & call->mask) != 0;
    bool counted = left->whole >= 0 && left->whole <= turns;
    run.begun = counted ? turns - left->whole : 0;
    return run;
}

/*
 * Run turns on several threads, where none needs what another does, and that pays. False: they are
 * still to be done. As often as `sharing` asks for it they are done, and timed, on one.
 */
static bool
run_shared(Call *call, Sharing *sharing, int64_t turns)
{
    Nest *nest = call->nest;
    SharedTurns shared = {.nest = nest,
                          .function = call->function,
                          .words = call->words,
                          .before = call->reached,
                          .after = call->cells,
                          .mask = call->mask,
                          .turns = turns};
    if (!sharing_pays(sharing, turns) || !shared_turns_fit(&shared)) {
        return false;
    }
    double begin = nest_watch.began = now_ns();
    if (!shared_turns_run(&shared)) {
        if (nest_watch.left_for == PENDING_NOTHING) {
            sharing_learn_failed(sharing);
        }
        saved_restore(&call->saved);
        return false;
    }
    sharing_learn_shared(sharing, turns, now_ns() - begin);
    nest->shared_turns += turns;
    return true;
}

/* The same, shared among threads where that pays. */
static Run
run_turns(Call *call, int64_t turns)
{
    const Nest *nest = call->nest;
    watch_begin();
    Sharing *sharing = NULL;
    if (nest->part != NULL && threads_count() > 1) {
        sharing = sharing_of((const void *)call->function, turns);
        if (run_shared(call, sharing, turns)) {
            return (Run){.begun = turns};
        }
        nest_watch.left_for = PENDING_NOTHING;
    }
    bool timed = sharing != NULL && sharing_is_timed(sharing, turns);
    double begin = timed ? now_ns() : 0;
    Run run = run_alone(call, turns);
    if (sharing != NULL && !run.doubt && run.begun == turns) {
        sharing_learn_alone(sharing, turns, timed ? now_ns() - begin : 0);
    }
    return run;
}

/*
 * How many turns a chunk has at most where odd turns are near: what was done before one is done
 * again, on average half a chunk, and each chunk has to be committed. This has least of both.
 */
static double
turns_to_redo(const Call *call)
{
    const Nest *nest = call->nest;
    double time = nest->between * nest->turn_ns;
    if (time == 0 || (double)call->done > CLEAN * nest->between ||
        (nest->part != NULL && time > SHARED)) {
        return INFINITY;
    }
    double cost = COMMIT + (double)call->saved.bytes * BYTE;
    double turns = sqrt(2 * cost * time) / nest->turn_ns;
    return turns < 1 ? 1 : turns;
}

/*
 * Better code could not do the turns, perhaps for no reason: go on without it. Returns how many to
 * do. Turns before one in doubt are done by better code still, as they are many in a search, and
 * so are those behind it, as a loop may be odd at its ends.
 */
static int64_t
turns_of_both(Call *call, const Run *run, int64_t turns)
{
    call->undone = true;
    call->nest->late = run->doubt && run->begun == turns && turns > 1;
    if (run->doubt && run->begun > 1 && !call->nest->late && !call->suspected) {
        call->suspected = true;
        return run->begun - 1;
    }
    call->function = call->nest->function;
    return run->doubt && run->begun == 1 ? 1 : turns;
}

/*
 * How many turns to try where so many were odd. After flags the turn that raises one is searched
 * for by halves, from this call's next chunk on, too. 0: it is the next turn.
 */
static int64_t
turns_before_odd(Call *call, const Run *run, int64_t turns)
{
    if (run->doubt) {
        call->odd = true;
        return run->begun - 1;
    }
    call->odd = turns == 1;
    call->flagged = turns;
    call->nest->clean_turns = turns / 2 < MANY_TURNS ? MANY_TURNS : turns / 2;
    return turns / 2;
}

/* Learn from a chunk that was committed. */
static void
learn_chunk(Call *call, const Run *run, bool improved)
{
    Nest *nest = call->nest;
    if ((improved || call->undone) && !improved_learn(nest, improved ? run->begun : 0)) {
        call->better = nest->function;
    }
    call->undone = call->undone && improved;
    call->exit = run->exit;
    if (call->flagged > 0) {
        call->flagged -= run->begun;
        call->odd = call->odd || call->flagged == 1;
    }
    else if (nest->clean_turns > 0 && run->begun >= nest->clean_turns) {
        nest->clean_turns = run->begun < INT64_MAX / 4 ? 2 * run->begun : 0;
    }
}

/*
 * Run at most `turns` turns, from what is saved, and commit them. Where one is odd: only turns
 * before it, perhaps none. Returns how many.
 */
static int64_t
run_chunk(Call *call, int64_t turns)
{
    Nest *nest = call->nest;
    bool redone = nest->late && turns_to_redo(call) < INFINITY;
    call->function = call->flagged > 0 || redone ? nest->function : call->better;
    if (call->suspected) {
        call->suspected = false;
        call->function = nest->function;
        turns = 1;
    }
    while (turns > 0) {
        bool improved = call->function != nest->function;
        double start = call->timed ? now_ns() : 0;
        Run run = run_turns(call, turns);
        call->running = call->timed ? now_ns() - start : 0;
        bool odd = run.doubt || run.flagged;
        if (!odd && range_agrees(nest, call->reached, call->cells, run.begun) &&
            commit(call, run.begun)) {
            learn_chunk(call, &run, improved);
            return run.begun;
        }
        saved_restore(&call->saved);
        call->stopped = nest_watch.left_for == PENDING_SIGNALS;
        if (nest_watch.left_for != PENDING_NOTHING && nest_is_whole_call(nest)) {
            nest->most_size = nest->size; /* it would be for nothing each time */
        }
        if (call->stopped) {
            return 0;
        }
        if (improved) {
            turns = turns_of_both(call, &run, turns);
            continue;
        }
        if (!odd) {
            call->odd = true;
            return 0;
        }
        turns = turns_before_odd(call, &run, turns);
    }
    return 0;
}

/*
 * Remember how long a turn takes. What is measured badly is believed only where it is longer. To
 * commit a list or a dict that changes takes long, however few turns there were: the least that
 * what surrounds machine code has taken is no part of turns.
 */
static void
learn_turn(Nest *nest, double elapsed, double running, int64_t turns)
{
    double around = elapsed - running, risen = nest->commit_ns * RISES;
    nest->commit_ns = nest->commit_ns == 0 || around < risen ? around : risen;
    elapsed -= nest->commit_ns;
    double each = elapsed / (double)turns + 0.01;
    if (elapsed >= RELIABLE || each > nest->turn_ns) {
        nest->turn_ns = each;
    }
    else {
        nest->turn_ns = 0.75 * nest->turn_ns + 0.25 * each;
    }
}

/* Find out for which sizes whole calls are long; they are left to entries of the call's parts. */
static void
learn_whole(Nest *nest, double elapsed)
{
    if (!nest_is_whole_call(nest) || !nest->is_never_long) {
        return;
    }
    nest->long_calls += elapsed > WHOLE_AT_MOST ? 1 : -(nest->long_calls > 0);
    if (nest->long_calls >= MOST_LONG_CALLS) {
        nest->long_calls = 0;
        nest->most_size = nest->size;
    }
}

static int64_t
turns_for(const Call *call, double time)
{
    const Nest *nest = call->nest;
    if (call->flagged > 0) {
        return call->flagged / 2;
    }
    int64_t left = turns_left(nest, call->reached);
    double most = turns_to_redo(call);
    left = most < (double)left ? (int64_t)most : left;
    left = nest->clean_turns > 0 && nest->clean_turns < left ? nest->clean_turns : left;
    double turns = nest->turn_ns == 0 ? 1 : time / nest->turn_ns;
    return turns >= (double)left ? left : turns < 1 ? 1 : (int64_t)turns;
}

/*
 * Behind a commit: have the machine code begin with what the array variables are now. False: it
 * cannot, as one is no array of the slot's dtype.
 */
static bool
rebind(Call *call)
{
    const Nest *nest = call->nest;
    bool moved = false;
    for (int i = 0, output = 0, cell = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_ARRAY && slot->rebound) {
            moved = moved || call->objects[i] != call->outputs[output];
            call->objects[i] = call->outputs[output];
            call->reached[cell].whole = call->given[cell].whole;
        }
        output += slot->kind == SLOT_ARRAY ? slot->rebound : slot->changed;
        cell += slot->cells;
    }
    if (!moved) {
        return true;
    }
    if (!objects_read_arrays(nest, call->objects, call->words)) {
        return false;
    }
    save_written(call, turns_expected(nest, call->reached));
    call->better = improved_function(nest, call->words);
    return true;
}

/* Run chunks until the range, the time or the luck ends. */
static void
run_chunks(Call *call)
{
    Nest *nest = call->nest;
    double begin = now_ns();
    double saving = (double)(call->saved.bytes - call->saved.rowed + call->saved.spared) * BYTE;
    double reading = (double)keys_held(nest) * KEY; /* for each call anew, and to commit */
    saving += nest->entered > 0 ? reading : 0;
    double time = FIRST;
    while (turns_left(nest, call->reached) > 0) {
        time = time < SAVINGS * saving ? SAVINGS * saving : time;
        int64_t turns = turns_for(call, time < LONGEST ? time : LONGEST);
        turns = save_chunk(call, turns, &saving);
        if (turns == 0) {
            return;
        }
        double start = now_ns();
        int64_t done = run_chunk(call, turns);
        double end = now_ns();
        if (call->odd || call->stopped) {
            return;
        }
        bool more = forget_known(call);
        if (nest->rebound > 0 && call->exit == 0 && !rebind(call)) {
            return;
        }
        if (call->flagged == 0 && !call->suspected) {
            learn_turn(nest, end - start, call->running, done);
        }
        learn_whole(nest, end - start);
        nest->native_ns += end - start;
        time = improved_budget(nest);
        time = (time < SAVINGS * reading ? SAVINGS * reading : time) - (end - begin);
        if (time < FIRST || call->exit > 0 ||
            (more &&
             saving_is_too_long(nest, call->saved.bytes, turns_left(nest, call->reached)))) {
            return;
        }
        time = time < USUAL ? time : USUAL;
    }
}

/* Whether all turns together are too short to be timed, as some calls before were. */
static bool
is_short(const Call *call)
{
    const Nest *nest = call->nest;
    double turns = (double)turns_expected(nest, call->given);
    return nest->turn_ns > 0 && turns * nest->turn_ns < SHORT && nest->clean_turns == 0 &&
           turns <= turns_to_redo(call) && call->saved.bytes <= FEW_BYTES &&
           nest->runs % TIMED_EVERY != 0;
}

/* Run all turns that are expected as one chunk, and read no clock. */
static void
run_short(Call *call)
{
    Nest *nest = call->nest;
    if (call->saved.arrays == 0 || save_noted(call)) {
        int64_t done = run_chunk(call, turns_expected(nest, call->given));
        nest->native_ns += (double)done * nest->turn_ns;
    }
}

/*
 * Decline the call of the turn that is odd, at which plain Python would only find the same nest
 * again, and ever more calls behind it where odd turns come one soon after the other. Where most
 * whole calls are not odd, those that are lose less than skipping would.
 */
static void
learn_odd(Nest *nest, const Call *call)
{
    if (call->done >= MANY_TURNS || !call->odd) {
        nest->skipped = 0;
    }
    nest->after_odd = call->odd;
    if (!call->odd) {
        return;
    }
    bool whole = nest_is_whole_call(nest);
    bool rare = nest->runs - nest->odd_at > ENOUGH_CALLS;
    nest->odd_at = nest->runs;
    if (whole && rare) {
        return;
    }
    int64_t first = whole ? FIRST_SKIP : 1;
    nest->skipped = nest->skipped == 0 ? first : nest->skipped * SKIP_GROWTH;
    nest->skipped = nest->skipped < MOST_SKIP ? nest->skipped : MOST_SKIP;
    nest->skip = nest->skipped - (call->done == 0); /* which is declined already */
}

/* Learn how many turns lie between odd ones; after many more without one that is unknown again. */
static void
learn_between(Nest *nest, const Call *call)
{
    double done = (double)call->done;
    if (call->odd && call->done > 0) {
        nest->between = nest->between == 0 ? done : 0.75 * nest->between + 0.25 * done;
        nest->clean_calls = 0;
    }
    else if (!call->odd && done > CLEAN * nest->between && ++nest->clean_calls >= MOST_CLEAN) {
        nest->between = 0;
        nest->clean_calls = 0;
    }
}

/* Remember what the call came to. */
static void
learn_call(Nest *nest, const Call *call)
{
    nest->runs++;
    nest->turns += call->done;
    nest->doubts += call->odd;
    if (nest->exits > 0 && call->done > 0) {
        double done = (double)call->done;
        bool first = nest->usual_turns == 0 || (call->exit == 0 && done > nest->usual_turns);
        nest->usual_turns = first ? done : 0.75 * nest->usual_turns + 0.25 * done;
    }
    learn_between(nest, call);
    learn_odd(nest, call);
}

/*
 * Prepare the call of borrowed objects, and run it. Leaves the flags of the thread as they were,
 * or, where turns of NumPy's operations were done, cleared.
 */
static void
run_call(Call *call)
{
    Nest *nest = call->nest;
    struct SavedArray arrays[nest->written + nest->boxes + 2 * nest->generators + 1];
    struct KnownArray made[nest->written + 1];
    call->saved = (Saved){.array = arrays, .made = made};
    save_written(call, turns_expected(nest, call->given));
    double size = objects_size(nest, call->words, call->given);
    if (size > 4 * nest->size) {
        nest->turn_ns = nest->commit_ns = 0; /* inner loops may be longer: measure again */
    }
    nest->size = size;
    if (size >= nest->most_size) {
        return;
    }
    if (saving_is_too_long(nest, call->saved.bytes, turns_expected(nest, call->given))) {
        nest->usual_turns *= UNUSUAL;
        return;
    }
    call->better = improved_function(nest, call->words);
    Status before = status_keep(), cleared = before;
    if (nest->after_odd || objects_clear_status(nest, call->given)) {
        status_clear();
        cleared = status_keep();
    }
    if (is_short(call)) {
        run_short(call);
    }
    else {
        double begin = now_ns();
        call->timed = true;
        run_chunks(call);
        nest->call_ns += now_ns() - begin;
    }
    status_put_back(call->done > 0 ? cleared : before);
    saved_drop(&call->saved);
    keys_end_call(nest);
    own_memory_drop(nest, KEPT_BYTES);
    learn_call(nest, call);
}

/*
 * Read the objects and run. False: nothing was done. Else the iterators have moved, the last thing
 * that can be seen, and `outputs` are new references. `results` are as of `grids_prepare`.
 */
static bool
call_outputs(Nest *nest, const Known *known, unsigned mask, const Generator *generators,
             PyObject **results, PyObject **outputs)
{
    PyObject *const *objects = known->objects;
    int64_t words[nest->words + 1];
    Register given[nest->cells], reached[nest->cells], cells[nest->cells];
    PyObject *made[nest->outputs + 1], *current[nest->slots];
    if (!objects_read_cells(nest, objects, given) ||
        ((nest->lists > 0 || nest->iterators > 1) && !objects_read_lists(nest, objects, given)) ||
        turns_left(nest, given) < 1 || !objects_read_arrays(nest, objects, words) ||
        !lists_begin(nest, objects, turns_usual(nest, given))) {
        return false;
    }
    for (int i = 0; i < nest->generators; i++) {
        words[nest->words - nest->generators + i] = (int64_t)(intptr_t)generators[i].bits;
    }
    nest->step = nest->range < 0 ? 1 : given[nest->range_cell + 1].whole;
    given[nest->cells - 1].whole = 0;
    memcpy(current, objects, sizeof(PyObject *) * (size_t)nest->given);
    for (int i = nest->given; i < nest->slots; i++) {
        current[i] = NULL;
    }
    memcpy(reached, given, sizeof reached);
    Call call = {
        .nest = nest,
        .objects = current,
        .mask = mask,
        .words = words,
        .given = given,
        .reached = reached,
        .cells = cells,
        .outputs = outputs,
        .made = made,
        .generators = generators,
        .known = known->contents == NULL ? NULL : known,
    };
    run_call(&call);
    if (call.done == 0) {
        return false;
    }
    if (nest->exits > 0) {
        outputs[nest->outputs] = PyLong_FromLong(call.exit); /* small: never fails */
    }
    objects_move(nest, objects, call.done, results);
    return true;
}

/* NotImplemented, or NULL with an exception that no program expects to be lost. */
static PyObject *
declined(void)
{
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear();
    }
    return Py_NewRef(Py_NotImplemented);
}

/* Whatever runs Python code, a collection too, comes before the objects are read. */
PyObject *
nest_vectorcall(PyObject *self, PyObject *const *objects, size_t count, PyObject *names)
{
    Nest *nest = (Nest *)self;
    Known known;
    if (known_read(nest, objects, PyVectorcall_NARGS(count), names, &known) < 0) {
        return NULL;
    }
    if (nest->skip > 0) {
        nest->skip--;
        return Py_NewRef(Py_NotImplemented);
    }
    if (!improved_is_quiet(nest) || nest->generators > 0) {
        known.count = nest->given; /* what others equal may change */
    }
    unsigned mask;
    bool only_warns;
    if (improved_ask(nest) < 0 || nest->function == NULL ||
        error_state_read(&mask, &only_warns) < 0) {
        return declined();
    }
    PyObject *lean = nest->is_lean ? lean_call(nest, objects, mask) : NULL;
    if (lean != NULL) {
        return lean;
    }
    int count_made = nest->outputs + (nest->exits > 0);
    PyObject *output = NULL;
    /* a finalizer may change what an array equals */
    bool collects = ALLOCATIONS_COLLECT && PyGC_Disable();
    PyObject *outputs = count_made < 2 ? NULL : PyTuple_New(count_made);
    PyObject *results[nest->products + 1];
    bool ready = (count_made < 2 || outputs != NULL) && grids_prepare(nest, objects, results) == 0;
    if (collects) {
        PyGC_Enable();
    }
    PyObject **made = outputs == NULL ? &output : ((PyTupleObject *)outputs)->ob_item;
    Generator generators[nest->generators + 1];
    if (!ready || generators_take(nest, objects, generators) != 0) {
        if (ready) {
            grids_drop(nest, results);
        }
        Py_XDECREF(outputs);
        return declined();
    }
    bool was_run = call_outputs(nest, &known, mask, generators, results, made);
    grids_drop(nest, results);
    generators_give(nest, generators);
    if (!was_run) {
        Py_XDECREF(outputs);
        return declined();
    }
    return outputs != NULL ? outputs : output != NULL ? output : Py_NewRef(Py_None);
}
