/* What it costs to read and to save, and whether plain Python takes less time for all turns that
 * are left. */
#include "nest/form/costs.h"

#include "nest/form/clock.h"

/* Of a list that is read as a whole: a number of items that is always worth it; nanoseconds for an
 * item, about; for a plain turn, where that is not known, and times what a native one takes. */
enum { FEW_ITEMS = 1024 };
static const double ITEM = 3, UNKNOWN_TURN = 10e3, PLAIN_AT_LEAST = 20, GROWN = 4;

/* No plain turn takes less. */
static const double SHORTEST_PLAIN = 60;

/* Bytes to save: for a turn of unknown length; ever. */
static const size_t TURN_BYTES = (size_t)64 << 10, MOST_BYTES = (size_t)1 << 30;

/* How long so many plain turns take at least, where native ones were timed. */
static double
plain_at_least(const Nest *nest, int64_t turns)
{
    double turn = nest->turn_ns * PLAIN_AT_LEAST;
    return (double)turns * (turn > SHORTEST_PLAIN ? turn : SHORTEST_PLAIN);
}

/* Count calls that are declined for what copying costs. */
static bool
costs(Nest *nest, bool too_long)
{
    nest->costly += too_long;
    return too_long;
}

/*
 * Whether reading a whole list takes longer than plain Python needs for all turns that are left. As
 * long as no turn was timed, or only with much less to go over, it may take as long as plain Python
 * has since the first call was declined for that: else a loop of a few long turns would never be
 * run.
 */
bool
list_takes_too_long(Nest *nest, int64_t count, int64_t left)
{
    if (count <= FEW_ITEMS) {
        return false;
    }
    if (nest->turn_ns > 0 && (double)count <= GROWN * nest->size) {
        return costs(nest, (double)count * ITEM > plain_at_least(nest, left));
    }
    double now = now_ns();
    nest->declined_at = nest->declined_at > 0 ? nest->declined_at : now;
    return costs(nest,
                 (double)count * ITEM > (double)left * UNKNOWN_TURN + now - nest->declined_at);
}

/*
 * Whether copying so many bytes takes longer than plain Python needs for all turns that are left.
 * As long as no turn was timed, it may take as long as plain Python has since the first call was
 * declined for that: else a loop of a few long turns would never be run.
 */
bool
saving_is_too_long(Nest *nest, size_t bytes, int64_t left)
{
    if (bytes <= FEW_BYTES || bytes > MOST_BYTES) {
        return costs(nest, bytes > MOST_BYTES);
    }
    if (nest->turn_ns > 0) {
        return costs(nest, (double)bytes * BYTE > plain_at_least(nest, left));
    }
    double now = now_ns();
    nest->declined_at = nest->declined_at > 0 ? nest->declined_at : now;
    double worth = (double)left * (double)TURN_BYTES + (now - nest->declined_at) / BYTE;
    if ((double)bytes > worth) {
        return costs(nest, true);
    }
    nest->declined_at = 0;
    return false;
}
