#include "run/measure.h"

#include "guards/references.h"
#include "python/state.h"
#include "run/plain_time.h"
#include "run/session.h"

/* A call as long as this brings nearer the time when it is asked again whether a trace may be made,
 * by so many times what it takes: it may be by then. */
static const int64_t PAYS_NS = 1000000, PAYS_TIMES = 8;

enum { MOST_FAILED = 8 }; /* calls in a row that raised an exception, before these are timed */

/*
 * What a plain run takes longer, in nanoseconds, while it is timed: it is chosen, the clock is read
 * twice, and CPython calls the hook. Calls that are given back have none of that. Nine tenths at
 * most of the least that such a run has ever taken.
 */
static int64_t timing_ns = 150;

/* How long a plain run would have taken that was not timed. */
static int64_t
without_timing(int64_t ns)
{
    int64_t most = ns / 10 * 9;
    timing_ns = most < timing_ns && most > 0 ? most : timing_ns;
    return ns > timing_ns ? ns - timing_ns : 0;
}

/* What calls have saved, as trials found; those inside of others count, too. Guarded by the GIL. */
static int64_t saved_ns;

/* saved_nanoseconds(): how much longer calls that were timed would have taken plain Python so far.
 */
PyObject *
saved_nanoseconds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLongLong(saved_ns);
}

/* Whether it can make a difference to compile only what a function calls. */
static bool
tries_callees(CodeCache *cache)
{
    return cache->calls_pay && cache->n_positions > 0;
}

/* Have a trial find anew what it has decided. */
static void
begin_again(CodeCache *cache, Trial *trial)
{
    trial_clear(trial);
    cache->passed = 0;
    cache->barren = 0;
    cache->calls_pay = false;
}

/* Begin a decided trial anew. The runs since then were not timed: they took what others did. */
static void
hold_again(CodeCache *cache, Trial *trial)
{
    cache->run_ns += trial->runs * samples_typical(&trial->samples[trial->way]);
    begin_again(cache, trial);
}

/* Tell the session what a trial has decided; it may change what runs, and have the trial held
 * again.
 */
static void
end_trial(CodeCache *cache, Trial *trial)
{
    if (tell_decision(cache, NULL, trial)) {
        begin_again(cache, trial);
    }
}

/* A run took so long: a sample of its trial, which it may decide. */
static void
note(CodeCache *cache, Trial *trial, Way way, int64_t ns)
{
    if (trial_note(trial, way, ns, tries_callees(cache))) {
        cache->gives_back = cache->gives_back || trial->way == WAY_PLAIN;
        end_trial(cache, trial);
    }
}

/*
 * The run on a device that has ended for the host, one at a time: it becomes a sample when the
 * device has done its work. The trial is the cache's.
 */
typedef struct {
    Reference cache; /* `object` is NULL: there is none */
    Trial *trial;
    Way way;
    int64_t ns; /* of the host */
    PyObject *began, *ended;
} Pending;

static Pending pending;

static void
release(Pending *run)
{
    Py_CLEAR(run->cache.object);
    Py_CLEAR(run->began);
    Py_CLEAR(run->ended);
}

/* Take over two marks for a run that has ended for the host. */
static void
keep_pending(CodeCache *cache, const Measured *run, int64_t ns, PyObject *began, PyObject *ended)
{
    Pending one = {.trial = run->trial, .way = run->way, .ns = ns, .began = began, .ended = ended};
    if (refer_to((PyObject *)cache, &one.cache) < 0) {
        PyErr_Clear();
    }
    if (one.cache.object == NULL || pending.cache.object != NULL) {
        release(&one);
        return;
    }
    pending = one;
}

/*
 * Note the run that waits for a device, if that is done. Returns false where it is not: no other is
 * to be timed. A device's time counts where it is longer than the host's, which goes on meanwhile.
 */
static bool
settle(void)
{
    if (pending.cache.object == NULL) {
        return true;
    }
    Pending run = pending; /* other threads may run */
    pending = (Pending){0};
    CodeCache *cache = (CodeCache *)Py_XNewRef(referent(&run.cache));
    bool done = true;
    if (cache != NULL && !run.trial->decided) {
        int64_t ns;
        done = device_took(cache, run.began, run.ended, &ns);
        if (done && !run.trial->decided) {
            note(cache, run.trial, run.way, ns > run.ns ? ns : run.ns);
        }
    }
    Py_XDECREF(cache);
    if (!done && pending.cache.object == NULL) {
        pending = run;
    }
    else {
        release(&run);
    }
    return done;
}

/* Whether the session is not to be asked for entries for a while. */
static bool
is_put_off(CodeCache *cache)
{
    if (cache->ask_after != 0 && now_ns() >= cache->ask_after) {
        cache->ask_after = 0;
    }
    return cache->ask_after != 0;
}

/* Whether what loops were given back for is to be found out anew. */
static bool
is_doubted(const CodeCache *cache)
{
    return now_ns() >= cache->doubt_after;
}

/*
 * How a call with these arguments is to run: `run->way`, and whether it is timed. While the session
 * waits until calls have taken enough time for a trace, all are but those that are given back.
 * Where calls were never so large before, or of these types, or loops were given back some time
 * ago, the session is told, which runs Python code.
 */
void
choose_way(CodeCache *cache, PyObject *const *values, Py_ssize_t count, Measured *run)
{
    run->trial = NULL;
    run->way = WAY_COMPILED;
    run->is_cut = false;
    run->on_device = false;
    cache->is_within = cache->measuring;
    if (cache->measuring) { /* what it takes, the call around it takes */
        run->way = cache->way;
        return;
    }
    cache->calls++;
    size_t extent = extent_of(values, count);
    int magnitude = magnitude_of(extent);
    int kinds = kinds_of(values, count);
    Trial *trial = cache_trial(cache, kinds, magnitude);
    if (trial == NULL) {
        return;
    }
    cache->magnitude = magnitude;
    bool is_new = magnitude > cache->largest || (cache->kinds & 1 << kinds) == 0;
    if (cache->gave_back && (is_new || is_doubted(cache))) {
        cache->gave_back = false;
        tell_larger(cache);
    }
    if (is_new) {
        cache->largest = magnitude > cache->largest ? magnitude : cache->largest;
        cache->kinds |= 1 << kinds;
    }
    bool put_off = is_put_off(cache);
    if (trial->decided && --trial->left > 0) {
        run->way = trial->way;
        saved_ns += trial->saves;
        run->trial = put_off && trial->way != WAY_PLAIN ? trial : NULL;
        return;
    }
    if (trial->decided) {
        hold_again(cache, trial);
    }
    if (trial->rests > 0 && !put_off) {
        trial->rests--;
        run->way = trial_waits(trial, tries_callees(cache));
        /* Plain ones are timed, as calls within them, which are shorter, are timed one by one else;
         * but not those on a device, of which the host's time tells nothing.
         */
        bool is_untold = run->way == WAY_PLAIN && has_device_arrays(values, count);
        run->trial = is_untold ? NULL : trial;
        return;
    }
    if (!trial_compares(trial, extent)) {
        run->way = put_off ? WAY_PLAIN : trial->way;
        return;
    }
    run->on_device = has_device_arrays(values, count);
    if (run->on_device && !settle()) {
        run->way = put_off ? WAY_PLAIN : WAY_COMPILED;
        return;
    }
    if (trial->decided) {
        run->way = trial->way;
        return;
    }
    run->trial = trial;
    bool callees = tries_callees(cache);
    run->way = put_off ? trial_waits(trial, callees) : trial_next(trial, callees);
    run->is_cut = !put_off && run->way == WAY_PLAIN && trial_cuts(trial);
    if (run->is_cut) {
        run->way = WAY_COMPILED;
    }
}

/*
 * Whether what a call took tells how long others take: a call that raised an exception may have
 * ended early, so it does only where several in a row have.
 */
static bool
tells(Measured *run, bool succeeded)
{
    Trial *trial = run->trial;
    trial->failed = succeeded ? 0 : trial->failed + 1;
    return succeeded || (trial->failed > MOST_FAILED && !run->on_device);
}

/* The call begins. Pair it with `end_measured` where `run->trial` is not NULL. */
void
begin_measured(CodeCache *cache, Measured *run)
{
    cache->measuring = true;
    cache->way = run->way;
    run->plain_ns = plain_time_begin();
    run->outer_until = loops_run_plainly() ? ufuse_thread.plain_until : 0;
    if (run->is_cut) {
        run->processor_ns = processor_ns();
        ufuse_thread.plain_until = now_ns() + run->trial->cut_after;
    }
    run->mark = run->on_device ? mark_device(cache) : NULL;
    run->before = ufuse_disturbances;
    run->began = now_ns();
}

/*
 * The call has ended; one that `succeeded`, or failed as those before, is a sample, unless a trace
 * was put off in it, or a loop may become native code soon: then it says nothing of how long
 * compiled calls will take. An exception that is set stays set. Tells the session of a decision.
 */
void
end_measured(CodeCache *cache, Measured *run, bool succeeded)
{
    int64_t spent = ufuse_disturbances.session_ns - run->before.session_ns;
    int64_t ns = now_ns() - run->began - spent;
    Trial *trial = run->trial;
    PyObject *mark = run->mark;
    int64_t plain_ns = plain_time_end(run->plain_ns);
    if (run->is_cut) {
        ufuse_thread.plain_until = run->outer_until;
    }
    cache->run_ns += ns;
    cache->measuring = false;
    if (trial->decided) {
        Py_XDECREF(mark);
        return;
    }
    bool put_off = cache->put_off && cache->ask_after != 0;
    if (put_off && ns >= PAYS_NS) {
        int64_t sooner = cache->ask_after - PAYS_TIMES * ns;
        cache->ask_after = sooner > 0 ? sooner : 1; /* 0 would be: nothing is put off */
    }
    if (run->is_cut) {
        Py_XDECREF(mark);
        ufuse_disturbances.trials++;
        if (trial_note_cut(trial, ns, processor_ns() - run->processor_ns - spent)) {
            end_trial(cache, trial);
        }
        return;
    }
    if (run->way == WAY_COMPILED) {
        trial_estimate(trial, ns, plain_ns);
    }
    else if (run->way == WAY_PLAIN) {
        ns = without_timing(ns);
    }
    bool told = tells(run, succeeded);
    if (told && !run->on_device) {
        trial_saw(trial, run->way, ns);
    }
    bool waits = run->way != WAY_PLAIN && (put_off || cache->loops_wait > 0);
    cache->loops_wait -= cache->loops_wait > 0;
    bool discarded = waits || !told || run->outer_until != 0;
    discarded = discarded || trial_discard(trial, run->way, ns, &run->before);
    ufuse_disturbances.trials++; /* of what this call is a part of */
    if (discarded) {
        if (!waits && told && run->way != WAY_PLAIN) {
            trial_rest(trial, ns);
        }
        Py_XDECREF(mark);
        return;
    }
    PyObject *ended = mark == NULL ? NULL : mark_device(cache);
    if (ended != NULL) {
        keep_pending(cache, run, ns, mark, ended);
        return;
    }
    Py_XDECREF(mark);
    note(cache, trial, run->way, ns);
}
