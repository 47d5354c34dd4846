#include "run/trial.h"

#include <string.h>
#include <time.h>

#include "guards/integers.h"
#include "values/arrays.h"
#include "values/device_arrays.h"

enum {
    LEAST_SAMPLES = 3, /* of each way, before a clear difference decides */
    FORGOTTEN = 16,    /* the part of what a way took that is forgotten at each plain run */
    LEAST_GAIN = 20,   /* the part of plain Python's time that another way must save */
    WARM_RUNS = 2,     /* of each way, shorter than COLD_NS, before any counts */
    COLD_NS = 1000000,
    MOST_DISCARDED = 8, /* runs that told nothing: then the next one counts all the same */
    MOST_RISKED = 8,    /* so much of plain Python's time may be lost while runs are discarded */
    LEAST_RESTS = 2,    /* most runs are plain ones then */
    MOST_RESTS = 64,
    MOST_CAPTURED = 3, /* the same of runs that captured something */
    MOST_REOPENED = 8,
    MOST_LARGER = 4,             /* times that samples are dropped for larger arguments */
    MOST_SMALLER = 32,           /* runs that are not timed: then sizes are what they are */
    FIRST_PERIOD = 2000,         /* runs until a decision is first looked at again */
    FIRST_PLAIN_NS = 500000000,  /* the same of one for plain Python, where that is less */
    MOST_LOST = 50,              /* at most this part of these runs' time is lost by looking */
    ENOUGH_NS = 50000,           /* of runs in one way: they need not be many */
    ENOUGH_VARYING_NS = 1000000, /* the same where they are not alike */
    VARYING = 3,                 /* times the median: then runs are not alike */
    MOST_RUNS = 40,              /* in one way, where they are shorter */
    MOST_TIMES = 64,             /* the median: what a run counts at most */
    WORLDS = 8,                  /* times as long: one run of another way is enough */
    ESTIMATED_WORLDS = 16,       /* times as long by an estimate: a plain run is cut short */
    LEAST_STALL_NS = 1000000,    /* shorter plain runs are never cut short */
    CUT_AFTER = 4,               /* times what a compiled run took */
    MOST_CUTS = 8,               /* plain runs that are cut short, until one tells something */
    LEAST_SHARE = 4,        /* of that time the processor's at least, where other processes run */
    LONG_RUN_NS = 20000000, /* of a run as long as this, few samples of each way may decide */
    PAUSE_NS = 100000000,   /* what is shorter may be one pause, in which other processes ran */
    BITS_A_MAGNITUDE = 3,   /* sizes that differ by 8 × are measured apart */
    FIRST_ARGUMENTS = 8,    /* that are looked at */
};

Disturbances ufuse_disturbances;

/* A monotonic clock. */
int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The processor time of this thread: what else runs on the machine does not count. */
int64_t
processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How much there is to do with a value: elements of an array or list, the value of an int. */
static size_t
extent(PyObject *value)
{
    if (is_array(value)) {
        size_t elements = 1;
        for (int i = 0; i < array_ndim(value); i++) {
            elements *= (size_t)array_shape(value)[i];
        }
        return elements;
    }
    ArrayView view;
    if (view_of_device_array(value, &view)) {
        size_t elements = 1;
        for (int i = 0; i < view.ndim; i++) {
            elements *= (size_t)view.shape[i];
        }
        return elements;
    }
    if (PyLong_CheckExact(value)) {
        int64_t number;
        bool fits = exact_int64(value, &number);
        return !fits ? 0 : (size_t)(number < 0 ? -(number + 1) : number);
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        return (size_t)Py_SIZE(value);
    }
    return 0;
}

/* How much there is to do in a call, from its first arguments. */
size_t
extent_of(PyObject *const *values, Py_ssize_t count)
{
    size_t most = 0;
    for (Py_ssize_t i = 0; i < count && i < FIRST_ARGUMENTS; i++) {
        if (values[i] != NULL) {
            size_t found = extent(values[i]);
            most = found > most ? found : most;
        }
    }
    return most;
}

/* Whether one of the first arguments is an array on a device. */
bool
has_device_arrays(PyObject *const *values, Py_ssize_t count)
{
    ArrayView view;
    for (Py_ssize_t i = 0; i < count && i < FIRST_ARGUMENTS; i++) {
        if (values[i] != NULL && view_of_device_array(values[i], &view)) {
            return true;
        }
    }
    return false;
}

/* The order of magnitude of a call; below N_MAGNITUDES. */
int
magnitude_of(size_t extent)
{
    int bits = extent == 0 ? 0 : 64 - __builtin_clzll((unsigned long long)extent);
    int magnitude = (bits + BITS_A_MAGNITUDE - 1) / BITS_A_MAGNITUDE;
    return magnitude < N_MAGNITUDES ? magnitude : N_MAGNITUDES - 1;
}

/* A number below N_KINDS for the types of a call's first arguments: those of two may be the same.
 */
int
kinds_of(PyObject *const *values, Py_ssize_t count)
{
    uint64_t found = 0;
    for (Py_ssize_t i = 0; i < count && i < FIRST_ARGUMENTS; i++) {
        PyObject *value = values[i];
        /* within a page: static types lie elsewhere in each process */
        uint64_t kind = value == NULL ? 0 : ((uintptr_t)Py_TYPE(value) & 0xfff) >> 4;
        if (value != NULL && is_array(value)) {
            kind += (uint64_t)array_type(value) << 16 | (uint64_t)array_ndim(value) << 8;
        }
        found = (found + kind) * 0x9e3779b97f4a7c15;
    }
    return (int)(found >> 32) & (N_KINDS - 1);
}

/* How many durations are kept. */
static inline int
samples_kept(const Samples *samples)
{
    return samples->count < MOST_SAMPLES ? samples->count : MOST_SAMPLES;
}

/* The median of at least one sample. */
static inline int64_t
samples_median(const Samples *samples)
{
    return samples->ns[(samples_kept(samples) - 1) / 2];
}

/* What a run counts at most, by at least one sample: no usual one takes as long. */
static inline int64_t
samples_most(const Samples *samples)
{
    return MOST_TIMES * (samples_median(samples) + 1);
}

/* The sum of all, each of which counts no more than `most`. */
static inline int64_t
samples_sum(const Samples *samples, int64_t most)
{
    int64_t sum = samples->more;
    for (int i = 0; i < samples_kept(samples); i++) {
        sum += samples->ns[i] < most ? samples->ns[i] : most;
    }
    return sum;
}

/*
 * How long a run takes, from at least one sample: the median of a few, which one disturbance may
 * not change, or the mean of many but for the longest, as what a program waits for is their sum. Of
 * calls that end early now and then, and take ten times as long else, a median tells nothing.
 */
int64_t
samples_typical(const Samples *samples)
{
    if (samples->count <= MOST_SAMPLES) {
        return samples_median(samples);
    }
    int64_t most = samples_most(samples), longest = samples->ns[MOST_SAMPLES - 1];
    longest = longest < most ? longest : most;
    longest = longest > samples->longest ? longest : samples->longest;
    return (samples_sum(samples, most) - longest) / (samples->count - 1);
}

/* Add a duration: the first ones are kept, those behind them counted. */
static void
samples_add(Samples *samples, int64_t ns)
{
    if (samples->count >= MOST_SAMPLES) {
        int64_t most = samples_most(samples);
        ns = ns < most ? ns : most;
        samples->more += ns;
        samples->longest = ns > samples->longest ? ns : samples->longest;
    }
    else {
        int i = samples->count;
        for (; i > 0 && samples->ns[i - 1] > ns; i--) {
            samples->ns[i] = samples->ns[i - 1];
        }
        samples->ns[i] = ns;
    }
    samples->count++;
}

/* The slowest of at least one that is kept. */
static inline int64_t
samples_slowest(const Samples *samples)
{
    return samples->ns[samples_kept(samples) - 1];
}

/* Whether runs are not alike: several took far longer than others, or one than most. */
static bool
samples_vary(const Samples *samples)
{
    int kept = samples_kept(samples);
    bool one = samples_slowest(samples) / VARYING > samples_median(samples);
    bool several = kept > 3 && samples->ns[kept - 2] / VARYING >= samples->ns[1];
    return one || several;
}

/*
 * Whether runs are long, and alike, or there are so many, that more of them will hardly tell
 * anything else. Of runs that are not alike a median tells little: their mean is asked for.
 */
static bool
samples_suffice(const Samples *samples)
{
    if (!samples_vary(samples)) {
        return samples->count >= MOST_RUNS || samples_sum(samples, ENOUGH_NS) >= ENOUGH_NS;
    }
    int64_t took = samples_sum(samples, PAUSE_NS);
    bool has_mean = samples->count > MOST_SAMPLES || took >= PAUSE_NS;
    return samples->count >= MOST_RUNS || (has_mean && took >= ENOUGH_VARYING_NS);
}

/* Whether a trial tries a way. */
static inline bool
is_tried(int way, bool tries_callees)
{
    return way != WAY_CALLEES || tries_callees;
}

/* Whether each of some runs, of which there are two at least, took less than an eighth of `ns`. */
static bool
are_worlds_below(const Samples *samples, int64_t ns)
{
    return samples->count >= 2 && samples_slowest(samples) < ns / WORLDS;
}

/* Whether compiled runs take an eighth of plain ones. The first trial is decided so, without a try
 * of callees alone: each may stall the program. */
static bool
is_far_faster(const Trial *trial)
{
    const Samples *plain = &trial->samples[WAY_PLAIN];
    return trial->period == 0 && plain->count > 0 &&
           are_worlds_below(&trial->samples[WAY_COMPILED], plain->ns[0]);
}

/*
 * In which order the ways take part in a round: of every two rounds that follow each other, one
 * begins with a way that seems drawn and the other goes back. With one order for all rounds, calls
 * with odd numbers might all go one way, and those with even ones another.
 */
static Way
taking_part(int round, int place)
{
    uint32_t number = (uint32_t)round / 2 + 1;
    number = (number ^ number >> 16) * 0x7feb352du;
    number = (number ^ number >> 15) * 0x846ca68bu;
    int first = (int)((number >> 16) % N_WAYS);
    return (Way)((first + (round % 2 == 0 ? place : N_WAYS - 1 - place)) % N_WAYS);
}

/*
 * The way that the next run of an undecided trial is to go: compiled twice, then plainly, then in
 * rounds. One plain run comes earlier where compiled ones are disturbed: nothing disturbs plain
 * runs, and the others are compared with it.
 */
Way
trial_next(const Trial *trial, bool tries_callees)
{
    bool is_first = trial->samples[WAY_PLAIN].count == 0;
    if (is_first && trial->discarded > 0) {
        return WAY_PLAIN;
    }
    if (trial->samples[WAY_COMPILED].count < 2) {
        return WAY_COMPILED;
    }
    if (is_first) {
        return WAY_PLAIN;
    }
    tries_callees = tries_callees && !is_far_faster(trial);
    int round = trial->samples[WAY_COMPILED].count;
    for (int way = 0; way < N_WAYS; way++) {
        bool is_behind = is_tried(way, tries_callees) && trial->samples[way].count < round;
        round = is_behind ? trial->samples[way].count : round;
    }
    Way next = WAY_COMPILED;
    for (int place = N_WAYS - 1; place >= 0; place--) {
        Way way = taking_part(round, place);
        if (is_tried(way, tries_callees) && trial->samples[way].count == round) {
            next = way;
        }
    }
    return next;
}

/*
 * A run took `ns`, whether or not that tells how long others will take. What other ways took is
 * believed less after each plain run: one of them may have been slow for once.
 */
void
trial_saw(Trial *trial, Way way, int64_t ns)
{
    for (int other = 0; way == WAY_PLAIN && other < N_WAYS; other++) {
        trial->last[other] -= trial->last[other] / FORGOTTEN;
    }
    trial->last[way] = ns > 0 ? ns : 1;
}

/*
 * The way of a run that tells nothing, since the trial has to wait: plain Python's, unless another
 * one took clearly less the last time, or is estimated to take far less. What a function calls may
 * have been decided, and be far faster, long before anything is known of the function itself.
 */
Way
trial_waits(const Trial *trial, bool tries_callees)
{
    if (trial->samples[WAY_PLAIN].count == 0) {
        return trial->cut_after > 0 ? WAY_COMPILED : WAY_PLAIN;
    }
    int64_t plain = samples_typical(&trial->samples[WAY_PLAIN]), least = plain - plain / LEAST_GAIN;
    Way best = WAY_PLAIN;
    for (int way = 0; way < N_WAYS; way++) {
        if (way != WAY_PLAIN && trial->last[way] != 0 && trial->last[way] < least) {
            best = (Way)way;
            least = trial->last[way];
        }
    }
    return best == WAY_PLAIN && tries_callees && trial->last[WAY_CALLEES] == 0 ? WAY_CALLEES : best;
}

/*
 * The way whose runs are the shortest; of equal ones the first. Plain Python unless that is clearly
 * faster: what is given back costs least around it, and never loses. Every tried way has a sample.
 */
static Way
fastest(const Trial *trial, bool tries_callees)
{
    Way best = WAY_COMPILED;
    if (tries_callees && samples_typical(&trial->samples[WAY_CALLEES]) <
                             samples_typical(&trial->samples[WAY_COMPILED])) {
        best = WAY_CALLEES;
    }
    int64_t plain = samples_typical(&trial->samples[WAY_PLAIN]);
    bool gains = samples_typical(&trial->samples[best]) < plain - plain / LEAST_GAIN;
    return gains ? best : WAY_PLAIN;
}

/*
 * Whether the samples so far decide for `best`: there are enough; or its slowest run beats
 * the others' fastest, by a half where there are but two, by far where there is but one; or runs
 * are long, and the difference is large. One run alone decides only where it took longer than the
 * machine lets other processes run.
 */
static bool
is_clear(const Trial *trial, Way best, bool tries_callees)
{
    const Samples *own = &trial->samples[best];
    for (int way = 0; way < N_WAYS; way++) {
        const Samples *other = &trial->samples[way];
        if (way == (int)best || !is_tried(way, tries_callees)) {
            continue;
        }
        int fewest = own->count < other->count ? own->count : other->count;
        bool all = fewest >= MOST_SAMPLES;
        int64_t slowest = samples_slowest(own);
        bool apart = fewest >= LEAST_SAMPLES && slowest < other->ns[0];
        bool far_apart = fewest >= 2 && slowest * 3 < other->ns[0] * 2;
        bool worlds_apart = are_worlds_below(own, other->ns[0]);
        bool longer = other->ns[0] >= LONG_RUN_NS && samples_typical(own) * 5 < other->ns[0] * 4;
        bool believed = other->count >= 2 || other->ns[0] >= PAUSE_NS;
        if (!all && !apart && !far_apart && !((worlds_apart || longer) && believed)) {
            return false;
        }
        if (!worlds_apart && !(samples_suffice(own) && samples_suffice(other))) {
            return false;
        }
    }
    return true;
}

/* What a trial has cost: how much longer its runs took than they would have taken in the best way.
 */
static int64_t
cost_of(const Trial *trial, Way best)
{
    int64_t cost = 0;
    for (int way = 0; way < N_WAYS; way++) {
        const Samples *samples = &trial->samples[way];
        if (samples->count > 0) {
            int64_t more = samples_typical(samples) - samples_typical(&trial->samples[best]);
            cost += samples->count * (more > 0 ? more : 0);
        }
    }
    return cost;
}

/*
 * The trial is over; the next one will cost about as many nanoseconds, and waits for so long. Where
 * plain Python was faster, what is compiled may only not have been ready, or other processes ran:
 * it does not wait for longer than a second, then four, and so on.
 */
static void
decide(Trial *trial, Way best, int64_t cost)
{
    trial->way = best;
    trial->decided = true;
    trial->period = trial->period == 0 ? FIRST_PERIOD : trial->period * 4;
    int64_t own = samples_typical(&trial->samples[best]);
    own = own > 0 ? own : 1;
    int64_t plain_ns = samples_typical(&trial->samples[WAY_PLAIN]);
    trial->saves = plain_ns > own ? plain_ns - own : 0;
    long long runs = cost * MOST_LOST / own, least = trial->period;
    if (best == WAY_PLAIN) {
        long long plain = FIRST_PLAIN_NS / own * (trial->period / FIRST_PERIOD) + 1;
        least = plain < least ? plain : least;
        runs = 2 * plain < runs ? 2 * plain : runs;
    }
    trial->left = trial->runs = runs > least ? runs : least;
}

/* Note how long a run in one way took. Returns whether that decides the trial. */
bool
trial_note(Trial *trial, Way way, int64_t ns, bool tries_callees)
{
    if (ns < COLD_NS && trial->warmed[way] < WARM_RUNS) {
        trial->warmed[way]++;
        return false;
    }
    samples_add(&trial->samples[way], ns);
    trial->discarded = 0;
    tries_callees = tries_callees && !is_far_faster(trial);
    for (int other = 0; other < N_WAYS; other++) {
        if (is_tried(other, tries_callees) && trial->samples[other].count == 0) {
            return false;
        }
    }
    Way best = fastest(trial, tries_callees);
    if (!is_clear(trial, best, tries_callees)) {
        return false;
    }
    trial->is_cut = false;
    decide(trial, best, cost_of(trial, best));
    return true;
}

/*
 * A compiled run took `ns`, and plain Python would have taken about `plain_ns` for its loops: where
 * that is far longer, and would stall the program, the first plain run is cut short. Turns of a
 * short run take longer than they do in plain Python, while they are counted and may be stopped.
 */
void
trial_estimate(Trial *trial, int64_t ns, int64_t plain_ns)
{
    bool stalls = plain_ns >= LEAST_STALL_NS && plain_ns / ESTIMATED_WORLDS > ns;
    trial->cut_after = stalls ? CUT_AFTER * ns : 0;
}

/* Whether a plain run that comes next is to be cut short, after `trial->cut_after` nanoseconds. */
bool
trial_cuts(const Trial *trial)
{
    return trial->cut_after > 0 && trial->cuts < MOST_CUTS && trial->samples[WAY_PLAIN].count == 0;
}

/*
 * Note a run whose loops ran plainly until it was cut: nanoseconds, and those of the processor.
 * Where it was plain Python takes longer still: the trial is decided, and true is returned. Where
 * it ended before plain Python is to be timed. Other processes may have had most of the time: then
 * another run is cut.
 */
bool
trial_note_cut(Trial *trial, int64_t ns, int64_t processor_ns)
{
    bool had_time = processor_ns >= trial->cut_after / LEAST_SHARE;
    trial->cuts = ns < trial->cut_after ? MOST_CUTS : trial->cuts + 1;
    if (ns < trial->cut_after || !had_time) {
        return false;
    }
    if (trial->samples[WAY_COMPILED].count == 0) {
        samples_add(&trial->samples[WAY_COMPILED], trial->cut_after / CUT_AFTER);
    }
    samples_add(&trial->samples[WAY_PLAIN], ns);
    trial->is_cut = true;
    decide(trial, WAY_COMPILED, cost_of(trial, WAY_COMPILED));
    return true;
}

/*
 * Whether a run is discarded, because it was disturbed and tells nothing of how long the next will
 * take. Where many were, this is how long runs take. No run is that took far longer than compiled
 * ones, though only callees were compiled: that way is given up.
 */
bool
trial_discard(Trial *trial, Way way, int64_t ns, const Disturbances *before)
{
    if (way == WAY_CALLEES && are_worlds_below(&trial->samples[WAY_COMPILED], ns)) {
        return false;
    }
    if (before->captures != ufuse_disturbances.captures && trial->captured < MOST_CAPTURED) {
        trial->captured++;
        return true;
    }
    if (before->trials != ufuse_disturbances.trials && trial->discarded < MOST_DISCARDED) {
        trial->discarded++;
        return true;
    }
    return false;
}

/* Forget all samples, and that they have decided. */
void
trial_clear(Trial *trial)
{
    trial->decided = false;
    trial->cuts = 0;
    trial->extent = 0;
    trial->larger = trial->smaller = 0;
    memset(trial->warmed, 0, sizeof(trial->warmed));
    memset(trial->samples, 0, sizeof(trial->samples));
    memset(trial->last, 0, sizeof(trial->last));
}

/*
 * A run that told nothing took `ns`. Where that is longer than plain Python takes, the next runs
 * are plain ones: a long call may have to wait for the trials of all that it calls.
 */
void
trial_rest(Trial *trial, int64_t ns)
{
    if (trial->samples[WAY_PLAIN].count == 0) {
        return;
    }
    int64_t plain = samples_typical(&trial->samples[WAY_PLAIN]);
    if (ns > plain + plain / LEAST_GAIN) {
        int64_t rests = (ns - plain) * MOST_RISKED / (plain > 0 ? plain : 1);
        rests = rests > MOST_RESTS ? MOST_RESTS : rests;
        trial->rests = rests > LEAST_RESTS ? (int)rests : LEAST_RESTS;
    }
}

/* Something new was captured: what was decided may be wrong now. */
void
trial_reopen(Trial *trial)
{
    if (trial->reopened < MOST_REOPENED) {
        trial->captured = 0;
        trial->reopened++;
        trial_clear(trial);
    }
}

/*
 * Whether a run with such arguments may be compared with those before: calls of a recursive
 * function get ever smaller, and their sizes come in step with the ways in turn. Samples of much
 * smaller ones are dropped.
 */
bool
trial_compares(Trial *trial, size_t extent)
{
    if (extent - extent / 5 > trial->extent && trial->larger < MOST_LARGER) {
        trial->larger += trial->samples[WAY_COMPILED].count > 0;
        memset(trial->samples, 0, sizeof(trial->samples));
        trial->extent = extent;
    }
    if (extent < trial->extent - trial->extent / 5 && trial->smaller < MOST_SMALLER) {
        trial->smaller++;
        return false;
    }
    return true;
}
