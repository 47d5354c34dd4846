#include "run/turns.h"

#include "run/arrivals.h"
#include "run/plain_time.h"
#include "run/session.h"

/*
 * What suspending a frame and resuming it costs, in nanoseconds. A turn that is interpreted so that
 * it can be timed costs that more, at each of its stops, than a turn of a loop that was given back,
 * which has none. Nine tenths of the least that a stop and what runs between two have ever taken.
 */
static int64_t crossing_ns = 300;

/* The stops of one turn: after more the frame has left the loop. */
enum { MOST_CROSSINGS = 1000 };

/* A loop stays compiled where that gains at least one part in so many. */
enum { LEAST_GAIN = 20 };

/*
 * How the turns from a position back to it are timed. At any time one position of a code object
 * leads: its turns are timed, and what is found holds for the others that most turns pass.
 */
typedef struct Turns {
    Trial trial;
    long long activation; /* of the frame whose turn it is */
    Disturbances before;  /* when the turn began */
    long long epoch;      /* of the cache, when the frame was here last and did not lead */
    int64_t began;
    int64_t plain_ns;     /* of the thread, when it began */
    bool is_cut;          /* its loops run plainly until it has taken `trial.cut_after` */
    int64_t processor_ns; /* when such a turn began */
    int crossings;        /* stops met in this turn */
    int count;            /* turns timed */
    Way way;
    bool timed;
    Py_ssize_t leader; /* the position that led when the frame was here, and how often it was */
    int together;
} Turns;

/* The turns of a position, made if need be; or NULL, with no exception, without memory for it. */
static Turns *
turns_of(CodeCache *cache, Py_ssize_t position)
{
    Position *at = cache_position(cache, position);
    if (at == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (at->turns == NULL) {
        at->turns = PyMem_Calloc(1, sizeof(Turns));
    }
    return at->turns;
}

/*
 * Whether this position leads, from now on if none does. It replaces one that the frame does not
 * come to any more, or less often: inner loops come first.
 */
static bool
leads(CodeCache *cache, Py_ssize_t position, Turns *turns)
{
    if (cache->leader == position || cache->leader < 0 || turns->epoch == cache->epoch) {
        cache->leader = position;
        cache->epoch++;
        return true;
    }
    turns->epoch = cache->epoch;
    return false;
}

/* Whether the frame is to be interpreted from here, because it is in a plain turn of the leader. */
static bool
is_plain_within(CodeCache *cache, long long activation)
{
    Turns *leader = cache->leader < 0 ? NULL : turns_of(cache, cache->leader);
    if (leader == NULL || !leader->timed || leader->activation != activation) {
        return false;
    }
    if (++leader->crossings > MOST_CROSSINGS) {
        leader->timed = false;
        return false;
    }
    return leader->way == WAY_PLAIN;
}

/* The frame meets another position in the leader's turn. Whether it is interpreted from here. */
static bool
follow(CodeCache *cache, Turns *turns, long long activation)
{
    if (turns->leader != cache->leader) {
        turns->leader = cache->leader;
        turns->together = 0;
    }
    turns->together++;
    return is_plain_within(cache, activation);
}

/* Note the turn that ends now. Returns whether that decides the trial. */
static bool
note_turn(Turns *turns, long long activation, int64_t now)
{
    if (!turns->timed || turns->activation != activation) {
        return false;
    }
    turns->count++;
    int64_t ns = now - turns->began - (ufuse_disturbances.session_ns - turns->before.session_ns);
    if (!turns->is_cut && loops_run_plainly()) {
        return false;
    }
    if (turns->is_cut) {
        ufuse_thread.plain_until = 0;
        return trial_note_cut(&turns->trial, ns, processor_ns() - turns->processor_ns);
    }
    if (turns->way == WAY_COMPILED) {
        trial_estimate(&turns->trial, ns, ufuse_thread.plain_ns - turns->plain_ns);
    }
    if (trial_discard(&turns->trial, turns->way, ns, &turns->before)) {
        return false;
    }
    if (turns->way == WAY_PLAIN) {
        int64_t most = ns / turns->crossings / 10 * 9;
        crossing_ns = most < crossing_ns && most > 0 ? most : crossing_ns;
        ns -= crossing_ns * turns->crossings;
    }
    else {
        ns += ns / LEAST_GAIN;
    }
    return trial_note(&turns->trial, turns->way, ns > 0 ? ns : 0, false);
}

/*
 * The trial of the position that leads is decided: so it is for those that most of its turns pass,
 * and the session is told. May run Python code and change the cache. Returns whether the frame is
 * interpreted from here.
 */
static bool
decide(CodeCache *cache, Py_ssize_t position, Turns *turns)
{
    Trial decided = turns->trial;
    int count = turns->count;
    cache->leader = -1;
    if (decided.way == WAY_PLAIN) {
        cache_give_back(cache);
    }
    PyObject *positions = Py_BuildValue("[n]", position); /* a collection may change the cache */
    for (Py_ssize_t i = 0; positions != NULL && i < cache->n_positions; i++) {
        Turns *other = cache->positions[i] == NULL ? NULL : cache->positions[i]->turns;
        if (other == NULL || i == position || other->trial.decided || other->leader != position ||
            other->together * 2 < count) {
            continue;
        }
        other->trial.decided = true;
        other->trial.way = decided.way;
        PyObject *number = PyLong_FromSsize_t(i);
        if (number == NULL || PyList_Append(positions, number) < 0) {
            Py_CLEAR(positions);
        }
        Py_XDECREF(number);
    }
    if (positions == NULL) {
        PyErr_Clear();
    }
    else {
        tell_decision(cache, positions, &decided);
        Py_DECREF(positions);
    }
    return decided.way == WAY_PLAIN;
}

/*
 * A frame is about to go on at a position: whether it is to be interpreted from there, though there
 * are entries. May tell the session of a decision, as `decide`. Sets no exception, and none may be
 * set.
 */
bool
turn_is_plain(CodeCache *cache, Py_ssize_t position, long long activation)
{
    if (position == 0) {
        return false;
    }
    if (cache_is_empty(cache, position)) {
        return is_plain_within(cache, activation);
    }
    if (cache_has_loop(cache, position)) {
        return is_plain_within(cache, activation) || arrival_is_plain(cache, position, activation);
    }
    Turns *turns = turns_of(cache, position);
    if (turns == NULL) {
        return false;
    }
    if (turns->trial.decided) {
        return turns->trial.way == WAY_PLAIN;
    }
    if (!leads(cache, position, turns)) {
        return follow(cache, turns, activation);
    }
    int64_t now = now_ns();
    if (note_turn(turns, activation, now)) {
        return decide(cache, position, turns);
    }
    bool in_loop = turns->count > 0; /* or the frame may never come back */
    turns->timed = true;
    turns->activation = activation;
    turns->way = in_loop ? trial_next(&turns->trial, false) : WAY_COMPILED;
    turns->is_cut = turns->way == WAY_PLAIN && trial_cuts(&turns->trial) && !loops_run_plainly();
    if (turns->is_cut) {
        turns->way = WAY_COMPILED;
        turns->processor_ns = processor_ns();
        ufuse_thread.plain_until = now + turns->trial.cut_after;
    }
    turns->crossings = 1;
    ufuse_disturbances.trials += in_loop;
    turns->before = ufuse_disturbances;
    turns->began = now;
    turns->plain_ns = ufuse_thread.plain_ns;
    return turns->way == WAY_PLAIN;
}
