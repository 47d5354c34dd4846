/*
 * Trials: which way of running a piece of code is the fastest on this machine, at these sizes. A
 * trial times each way a few times, decides, and from then on costs nothing but a count;
 * after many runs it is held again.
 */
#ifndef UFUSE_TRIAL_H
#define UFUSE_TRIAL_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* The ways to run a call. */
typedef enum {
    WAY_COMPILED, /* its own entries and those of what it calls */
    WAY_CALLEES,  /* its own frame is interpreted; what it calls runs compiled */
    WAY_PLAIN,    /* as if there were no compiler */
    N_WAYS,
} Way;

enum { MOST_SAMPLES = 9, N_MAGNITUDES = 14, N_KINDS = 8 };

/* The durations of runs in one way, in nanoseconds. */
typedef struct {
    int64_t ns[MOST_SAMPLES]; /* of the first ones, shortest first */
    int count;
    int64_t more;    /* the sum of those behind them, of which none counts too much */
    int64_t longest; /* of these, as it counts */
} Samples;

typedef struct {
    Samples samples[N_WAYS];
    int warmed[N_WAYS]; /* runs that were too short to count where nothing was warm */
    Way way;            /* the fastest one, once it is decided */
    bool decided;
    int64_t saves;        /* nanoseconds of plain Python's that a run in that way saves */
    bool is_cut;          /* the plain run that decided was cut short: plain Python takes longer */
    int cuts;             /* plain runs that were cut short since it began */
    int64_t cut_after;    /* nanoseconds; 0: it is not known that plain Python takes far longer */
    int discarded;        /* runs that told nothing since the last sample */
    int reopened;         /* how often something new was captured after it was decided */
    int captured;         /* runs that captured something and told nothing */
    size_t extent;        /* of the arguments of the runs that are compared */
    int larger;           /* how often runs with larger arguments took their place */
    int smaller;          /* runs that were not timed because theirs were smaller */
    int failed;           /* runs in a row that raised an exception */
    int rests;            /* runs until it goes on, which wait as `trial_waits` says */
    int64_t last[N_WAYS]; /* what the last run took, also one that told nothing; 0: none */
    long long left;       /* once decided: runs until the trial is held again */
    long long runs;       /* the same when it was decided */
    long long period;     /* runs from the last decision to the next trial */
} Trial;

/*
 * What makes a run slow for once: how many other trials tried something, how often sessions were
 * asked for code, and how many nanoseconds sessions took. Guarded by the GIL.
 */
typedef struct {
    long long trials;
    long long captures;
    int64_t session_ns;
} Disturbances;
extern Disturbances ufuse_disturbances __attribute__((visibility("hidden")));

int64_t now_ns(void);
int64_t processor_ns(void);
size_t extent_of(PyObject *const *values, Py_ssize_t count);
bool has_device_arrays(PyObject *const *values, Py_ssize_t count);
int magnitude_of(size_t extent);
int kinds_of(PyObject *const *values, Py_ssize_t count);
bool trial_compares(Trial *trial, size_t extent);
void trial_clear(Trial *trial);
Way trial_next(const Trial *trial, bool tries_callees);
void trial_saw(Trial *trial, Way way, int64_t ns);
Way trial_waits(const Trial *trial, bool tries_callees);
bool trial_note(Trial *trial, Way way, int64_t ns, bool tries_callees);
bool trial_discard(Trial *trial, Way way, int64_t ns, const Disturbances *before);
void trial_estimate(Trial *trial, int64_t ns, int64_t plain_ns);
bool trial_cuts(const Trial *trial);
bool trial_note_cut(Trial *trial, int64_t ns, int64_t processor_ns);
void trial_rest(Trial *trial, int64_t ns);
void trial_reopen(Trial *trial);
int64_t samples_typical(const Samples *samples);

#endif
