/*
 * Which work of nests is shared among threads, array statements and turns that do not depend on
 * each other: what takes less time so. What threads have cost, as where something else has their
 * cores, is made up for by work on one thread before they are asked again. Guarded by the GIL.
 */
#include "nest/called/sharing.h"

enum {
    FIRST_RUNS = 3,  /* on one thread, before others are asked */
    LOOKED_AT = 64,  /* one of so many short runs is timed */
    REFRESHED = 256, /* one of so many runs of a shared statement is on one thread */
    STATEMENTS = 256,
};

/* Statements over fewer elements, or shorter in ns, are not worth waking a thread. 0: all are. */
bool turns_are_shared;
int64_t sharing_fewest_elements = 1 << 13;
static double worth = 50e3;

/* What may be lost until each core has its part of the data; of gains, what may be lost later. ns
 */
static const double ALLOWANCE = 1.5e6, MOST_CREDIT = 2e6;

/* What one run may count as lost: the whole machine may have stood still. ns */
static const double MOST_LOSS = 10e6;

/* Of a run on one thread, that is no gain worth another. */
static const double GAIN = 0.05;

/* Times what was lost is done on one thread; at most so many times that, where trials fail again
 * and again. Of a process the first work, as it may have no more. ns */
enum { REPAID = 60, MOST_PENALTY = 8, FIRST_WORK = 60000000 };

/* Shared runs of a statement that gain nothing; then so many are on one thread. */
enum { VAIN_RUNS = 32, VAIN_REST = 2048 };

/* Beside ALLOWANCE, as the data of long ones is more. */
enum { ALLOWED_RUNS = 6 };

/* How much longer than before a run on one thread is believed to take: others may disturb it. */
static const double SLOWER = 1.25;

struct Sharing {
    const void *statement;
    int magnitude; /* of the number of elements: the position of its first bit */
    double each;   /* what an element takes on one thread */
    int vain;      /* shared runs without a gain, less those with one */
    int64_t runs, rest;
};

static Sharing sharings[STATEMENTS];

/* Of all statements: what sharing has gained; the work to be done on one thread now. */
static struct {
    double credit, rest, penalty;
} all = {.rest = FIRST_WORK, .penalty = 1};

/* What is known of a statement over about so many elements. */
Sharing *
sharing_of(const void *statement, int64_t elements)
{
    int magnitude = 63 - __builtin_clzll((unsigned long long)elements);
    size_t place = ((uintptr_t)statement / 8 * 31 + (uintptr_t)magnitude) % STATEMENTS;
    Sharing *found = &sharings[place];
    if (found->statement != statement || found->magnitude != magnitude) {
        *found = (Sharing){.statement = statement, .magnitude = magnitude};
    }
    return found;
}

static bool
is_long(const Sharing *sharing, int64_t elements)
{
    return sharing->each * (double)elements >= worth;
}

/* Whether threads should share the next run. */
bool
sharing_pays(const Sharing *sharing, int64_t elements)
{
    return worth == 0 || (is_long(sharing, elements) && sharing->runs >= FIRST_RUNS &&
                          sharing->rest == 0 && all.rest <= 0 && sharing->runs % REFRESHED != 0);
}

/* Whether threads share statements now, and that has paid lately: then each of them has its part of
 * the arrays in its caches. */
bool
sharing_goes_on(void)
{
    return (all.credit > 0 || worth == 0) && threads_count() > 1;
}

/* Whether a run on one thread is worth timing. */
bool
sharing_is_timed(const Sharing *sharing, int64_t elements)
{
    return sharing->runs < FIRST_RUNS || is_long(sharing, elements) ||
           sharing->runs % LOOKED_AT == 0;
}

/* Learn from a run on one thread; `elapsed` is 0 where it was not timed. */
void
sharing_learn_alone(Sharing *sharing, int64_t elements, double elapsed)
{
    sharing->runs++;
    sharing->rest -= sharing->rest > 0;
    if (elapsed > 0) {
        double each = elapsed / (double)elements;
        double most = sharing->each == 0 ? each : SLOWER * sharing->each;
        sharing->each = each < most ? each : most;
        all.rest -= is_long(sharing, elements) ? elapsed : 0;
    }
}

/* Learn from a run that was shared. */
void
sharing_learn_shared(Sharing *sharing, int64_t elements, double elapsed)
{
    double alone = sharing->each * (double)elements;
    double gained = (1 - GAIN) * alone - elapsed;
    sharing->runs++;
    sharing->vain += gained < 0 ? 1 : sharing->vain > 0 ? -1 : 0;
    if (sharing->vain >= VAIN_RUNS) {
        sharing->vain = 0;
        sharing->rest = VAIN_REST;
    }
    all.credit += gained < -MOST_LOSS ? -MOST_LOSS : gained;
    if (all.credit > MOST_CREDIT) {
        all.credit = MOST_CREDIT;
        all.penalty = 1;
    }
    if (all.credit < -(ALLOWANCE + ALLOWED_RUNS * alone)) {
        all.rest = -REPAID * all.penalty * all.credit;
        all.credit = 0;
        all.penalty = all.penalty < MOST_PENALTY ? 2 * all.penalty : MOST_PENALTY;
    }
}

/* Learn from a run that was shared and had to be done again. */
void
sharing_learn_failed(Sharing *sharing)
{
    sharing->runs++;
    sharing->rest = VAIN_REST;
}

static PyObject *
share_statements(PyObject *module, PyObject *arguments)
{
    long long elements;
    double nanoseconds;
    if (!PyArg_ParseTuple(arguments, "Ld:share_statements", &elements, &nanoseconds)) {
        return NULL;
    }
    PyObject *before = Py_BuildValue("(Ld)", (long long)sharing_fewest_elements, worth);
    sharing_fewest_elements = elements;
    worth = nanoseconds;
    return before;
}

PyMethodDef sharing_methods[] = {
    {"share_statements", share_statements, METH_VARARGS,
     PyDoc_STR("share_statements(elements, nanoseconds, /)\n--\n\nShare array statements of nests "
               "among threads where they are over so many elements, take so long, and threads have "
               "paid lately; for 0 ns always. Returns what held before.")},
    {NULL},
};
