#include "run/arrivals.h"

#include "run/plain_time.h"
#include "run/session.h"

/* In nanoseconds: a block takes as long at least; a plain one a part of what native code took, and
 * no longer than this; what a frame loses that passes a header. */
enum { BLOCK_NS = 30000, PART = 8, LONGEST_NS = 5000000, PASS_NS = 40 };

/* What blocks before count, beside the last one. */
static const double EARLIER = 0.5;

/* Plain Python is faster where it takes less than this part of what native code does. */
static const double LESS = 0.9;

/* So often in a row it has to be faster before the loop is left to it for a while, that many times
 * what finding out took; so often, and for so long, before that is for good. */
enum { OFTEN_LOST = 3, LEFT_FOR = 8, ALWAYS_LOST = 8, ALWAYS_NS = 20000000 };

/* After blocks in which native code was the faster one, nanoseconds until the next one begins: as
 * many as since the frame was first here, within these. */
enum { LEAST_REST = 1000000, MOST_REST = 100000000 };

/* Blocks in a row that something else made slow: then they count all the same. */
enum { MOST_DISTURBED = 64 };

/* Plain blocks so far, of all loops: they take a small part of a call, and disturb no trial of one.
 * Guarded by the GIL. */
static long long plain_blocks;

/* How many turns the native code at a position has run. */
static long long
native_turns(const Position *at)
{
    long long turns = 0;
    for (Py_ssize_t i = 0; i < at->count; i++) {
        turns += entry_turns(at->entries[i]);
    }
    return turns;
}

static void
begin_block(Arrivals *arrivals, const Position *at, Way way, int64_t now)
{
    plain_blocks += way == WAY_PLAIN;
    arrivals->blocks = plain_blocks;
    arrivals->way = way;
    arrivals->timed = true;
    arrivals->began = now;
    arrivals->began_processor = processor_ns();
    arrivals->before = ufuse_disturbances;
    arrivals->turns = native_turns(at);
    arrivals->passed = 0;
    int64_t part = arrivals->native_ns / PART;
    arrivals->until = now + (part < BLOCK_NS ? BLOCK_NS : part > LONGEST_NS ? LONGEST_NS : part);
    arrivals->unlooked = 0;
}

/* Note a block. Returns how long a turn takes in its way, about. */
static double
turn_of(Arrivals *arrivals, Way way, int64_t ns, long long turns)
{
    Took *took = &arrivals->took[way == WAY_PLAIN];
    took->ns = EARLIER * took->ns + (double)ns;
    took->turns = EARLIER * took->turns + (double)turns;
    return took->ns / took->turns;
}

/* What a block took that ends now, without what sessions took of it, nor anything else that the
 * machine ran meanwhile. */
static int64_t
block_ns(const Arrivals *arrivals)
{
    int64_t sessions = ufuse_disturbances.session_ns - arrivals->before.session_ns;
    int64_t ns = processor_ns() - arrivals->began_processor - sessions;
    return ns > 0 ? ns : 1;
}

/* Whether a block that ends now tells nothing. */
static bool
is_disturbed(Arrivals *arrivals)
{
    const Disturbances *before = &arrivals->before;
    bool disturbed = plain_blocks != arrivals->blocks ||
                     ufuse_disturbances.trials != before->trials ||
                     ufuse_disturbances.captures != before->captures;
    arrivals->disturbed = disturbed ? arrivals->disturbed + 1 : 0;
    return disturbed && arrivals->disturbed <= MOST_DISTURBED;
}

/* Leave turns to native code until twice as much time has passed. */
static void
rest_natively(Arrivals *arrivals, int64_t now)
{
    int64_t rest = now - arrivals->first;
    arrivals->until = now + (rest < LEAST_REST ? LEAST_REST : rest > MOST_REST ? MOST_REST : rest);
    arrivals->lost = 0;
    arrivals->way = WAY_COMPILED;
    arrivals->timed = false;
}

/* Leave the loop to plain Python: the session is told. May run Python code and change the cache. */
static void
give_back(CodeCache *cache, Py_ssize_t position, double native_each, double plain_each)
{
    Trial decided = {.decided = true, .way = WAY_PLAIN};
    decided.samples[WAY_COMPILED] = (Samples){.ns = {(int64_t)native_each}, .count = 1};
    decided.samples[WAY_PLAIN] = (Samples){.ns = {(int64_t)plain_each}, .count = 1};
    cache_give_back(cache);
    PyObject *positions = Py_BuildValue("[n]", position);
    if (positions == NULL) {
        PyErr_Clear();
        return;
    }
    tell_decision(cache, positions, &decided);
    Py_DECREF(positions);
}

/* A block of plain turns ends: whether the loop goes on in plain Python. */
static bool
end_plain_block(CodeCache *cache, Py_ssize_t position, Arrivals *arrivals, int64_t now)
{
    arrivals->timed = false;
    if (is_disturbed(arrivals)) {
        return false;
    }
    /* Passing takes no longer than the shortest turn, however fast the machine is. */
    int64_t ns = block_ns(arrivals), passing = PASS_NS * arrivals->passed;
    ns -= passing < ns / 2 ? passing : ns / 2;
    double each = turn_of(arrivals, WAY_PLAIN, ns, arrivals->passed + 1);
    if (each >= LESS * arrivals->native_each) {
        rest_natively(arrivals, now);
        return false;
    }
    if (arrivals->lost == 0) {
        arrivals->lost_since = arrivals->began;
    }
    arrivals->lost++;
    if (arrivals->lost < OFTEN_LOST) {
        return false;
    }
    int64_t lost_for = now - arrivals->lost_since;
    if (arrivals->lost >= ALWAYS_LOST && lost_for >= ALWAYS_NS) {
        rest_natively(arrivals, now);
        give_back(cache, position, arrivals->native_each, each);
        return true;
    }
    arrivals->until = now + LEFT_FOR * arrivals->native_ns;
    return true;
}

/* A block of native turns may end. Whether a block of plain ones begins. */
static bool
end_native_block(Arrivals *arrivals, const Position *at, int64_t now)
{
    arrivals->passed++;
    if (now - arrivals->began < BLOCK_NS) {
        return false;
    }
    long long turns = native_turns(at) - arrivals->turns;
    if (turns <= 0 || is_disturbed(arrivals)) { /* an entry may have gone, with its turns */
        begin_block(arrivals, at, WAY_COMPILED, now);
        return false;
    }
    /* A plain run may be at the header once more than it has turns. */
    arrivals->native_ns = block_ns(arrivals);
    arrivals->native_each =
        turn_of(arrivals, WAY_COMPILED, arrivals->native_ns, turns + arrivals->passed);
    begin_block(arrivals, at, WAY_PLAIN, now);
    return true;
}

/*
 * A frame is about to go on at the header of a loop that has native code: whether it is to be
 * interpreted from there. May tell the session of a decision, which may run Python code and change
 * the cache. Sets no exception, and none may be set.
 */
bool
arrival_is_plain(CodeCache *cache, Py_ssize_t position, long long activation)
{
    Position *at = cache_position(cache, position);
    if (at != NULL && at->arrivals == NULL) {
        at->arrivals = PyMem_Calloc(1, sizeof(Arrivals));
    }
    if (at == NULL || at->arrivals == NULL) {
        PyErr_Clear();
        return false;
    }
    Arrivals *arrivals = at->arrivals;
    if (arrivals->activation != activation) {
        *arrivals = (Arrivals){.activation = activation, .way = WAY_COMPILED};
        return false; /* the frame may never come back */
    }
    int64_t now = now_ns();
    arrivals->first = arrivals->first == 0 ? now : arrivals->first;
    if (arrivals->way == WAY_PLAIN) {
        if (now < arrivals->until ||
            (arrivals->timed && end_plain_block(cache, position, arrivals, now))) {
            return true;
        }
    }
    else if (arrivals->timed) {
        return end_native_block(arrivals, at, now);
    }
    if (arrivals->way == WAY_PLAIN || now >= arrivals->until) {
        begin_block(arrivals, at, WAY_COMPILED, now);
    }
    return false;
}
