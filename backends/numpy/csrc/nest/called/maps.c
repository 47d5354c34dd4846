/*
 * Array statements of nests: elementwise work over a space. The laws:
 *
 * 1. Everything is read before anything is written: a target that may share memory with an operand,
 *    other than element for element, gets its contents from scratch.
 * 2. Axes are walked in the order in which the arrays lie in memory, and as few as they allow.
 * 3. What is in doubt may have been written to.
 * 4. Threads share rows, or tiles of one row, so what is called does not depend on their number.
 */
#include "nest/called/maps.h"

#include <stdatomic.h>

#include "nest/form/clock.h"
#include "nest/form/own_memory.h"
#include "nest/called/numpy_loops.h"
#include "nest/called/sharing.h"
#include "nest/called/space.h"

enum {
    TILE = 1024,      /* elements between two segments */
    LONG_ROW = 32,    /* elements that are worth putting side by side for vectors */
    SHORT_ROW = 8,    /* elements that are hardly worth a call */
    MOST_ARRAYS = 64, /* of a statement */
    CHUNKS = 16,      /* for each thread */
};

/* A run of operations: machine code, or one loop of NumPy's. */
typedef struct {
    const Loop *loop; /* or NULL */
    LoopFunction *function;
    int64_t arguments;
    int64_t argument[]; /* numbers: of arrays, then of rows between segments; inputs rise */
} Segment;

/* What loops of NumPy's take to give the same bits: a new result, and operands that lie as it reads
 * them, or anyhow. As `nest_code/maps.py` numbers them. */
enum { FRESH = 1, ANYHOW };

/* What machine code knows of a statement: words of 64 bits. */
struct NestMap {
    int64_t axes, arrays; /* the target is the last array */
    int64_t copies;       /* whether all it does is to copy one array or to cast it */
    int64_t fresh; /* FRESH or ANYHOW: loops of NumPy's that are called fill a new array; else 0 */
    int64_t item;  /* bytes that the widest element takes in a row */
    int64_t rows, segments;
    uint64_t shared; /* bits: operands that may share memory with the target */
    uint64_t single; /* bits: operands that machine code takes as one element for a whole row */
    uint64_t apart;  /* bits: arrays whose elements it takes from wherever they lie */
    int64_t word[];  /* bytes of an element of each array and row, then the segments */
};

/* A statement under way; axes innermost first. */
typedef struct {
    const NestMap *map;
    int axes;
    Axis axis[MOST_LENGTHS];
    char **data;
    char *rows;
    char *packed; /* a row for each array, or NULL */
} Run;

/* One segment for `count` elements from the element `first` on. */
static int
run_segment(const Run *run, const Segment *segment, int64_t first, int64_t count)
{
    const NestMap *map = run->map;
    char *data[MOST_ARRAYS];
    npy_intp steps[MOST_ARRAYS];
    for (int64_t i = 0; i < segment->arguments; i++) {
        int64_t number = segment->argument[i];
        if (number < map->arrays) {
            steps[i] = run->axis[0].step[number];
            data[i] = run->data[number] + first * steps[i];
        }
        else {
            steps[i] = map->word[number];
            data[i] = run->rows + (number - map->arrays) * TILE * map->item;
        }
    }
    if (segment->loop != NULL) {
        return nest_loop(segment->loop, data, count, steps);
    }
    return segment->function(data, &count, steps, NULL);
}

/* Whether a row is long, one piece of machine code, and has elements that are not side by side. */
static bool
has_gaps(const NestMap *map, const npy_intp *steps, int64_t length)
{
    const Segment *segment = (const Segment *)&map->word[map->arrays + map->rows];
    if (length < LONG_ROW || map->segments != 1 || segment->loop != NULL ||
        segment->arguments != map->arrays) {
        return false;
    }
    bool gaps = false;
    for (int64_t k = 0; k < map->arrays; k++) {
        bool is_single = (map->single >> k & 1) != 0;
        if (is_single && steps[k] != 0) {
            return false;
        }
        bool is_anywhere = is_single || (map->apart >> k & 1) != 0;
        gaps = gaps || (!is_anywhere && steps[k] != map->word[k]);
    }
    return gaps;
}

/* Whether rows along some axis may have such elements. */
static bool
may_have_gaps(const Run *run)
{
    bool gaps = false;
    for (int i = 0; i < run->axes; i++) {
        gaps = gaps || has_gaps(run->map, run->axis[i].step, run->axis[i].length);
    }
    return gaps;
}

/* A row whose elements are put side by side first, in `packed`, and its results where they belong.
 */
static int
run_packed_row(const NestMap *map, char *const *from, const npy_intp *along, int64_t length,
               char *packed)
{
    const Segment *segment = (const Segment *)&map->word[map->arrays + map->rows];
    const int64_t target = map->arrays - 1;
    char *data[MOST_ARRAYS];
    npy_intp steps[MOST_ARRAYS];
    for (int64_t first = 0; first < length; first += TILE) {
        int64_t count = length - first < TILE ? length - first : TILE;
        for (int64_t k = 0; k < map->arrays; k++) {
            npy_intp itemsize = map->word[k], step = along[k];
            bool stays = step == itemsize || ((map->single | map->apart) >> k & 1) != 0;
            char *items = from[k] + first * step;
            data[k] = stays ? items : packed + k * TILE * map->item;
            steps[k] = stays ? step : itemsize;
            if (!stays && k < target) {
                copy_strided(data[k], itemsize, items, step, count, itemsize);
            }
        }
        if (segment->function(data, &count, steps, NULL) != 0) {
            return 1;
        }
        npy_intp step = along[target], itemsize = map->word[target];
        char *items = from[target] + first * step;
        if (data[target] != items) {
            copy_strided(items, step, data[target], itemsize, count, itemsize);
        }
    }
    return 0;
}

static int
run_row(const Run *run)
{
    const NestMap *map = run->map;
    const Axis *axis = &run->axis[0];
    const Segment *segment = (const Segment *)&map->word[map->arrays + map->rows];
    if (run->packed != NULL && has_gaps(map, axis->step, axis->length)) {
        return run_packed_row(map, run->data, axis->step, axis->length, run->packed);
    }
    if (map->segments == 1 && segment->loop == NULL && segment->arguments == map->arrays) {
        return segment->function(run->data, &axis->length, axis->step, NULL);
    }
    for (int64_t first = 0; first < axis->length; first += TILE) {
        int64_t count = axis->length - first < TILE ? axis->length - first : TILE;
        const Segment *each = segment;
        for (int64_t i = 0; i < map->segments; i++) {
            if (run_segment(run, each, first, count) != 0) {
                return 1;
            }
            each = (const Segment *)&each->argument[each->arguments];
        }
    }
    return 0;
}

static int
run_axes(const Run *run, int axes)
{
    if (axes == 1) {
        return run_row(run);
    }
    int64_t arrays = run->map->arrays;
    const Axis *axis = &run->axis[axes - 1];
    for (int64_t i = 0; i < axis->length; i++) {
        if (run_axes(run, axes - 1) != 0) {
            return 1;
        }
        for (int64_t k = 0; k < arrays; k++) {
            run->data[k] += axis->step[k];
        }
    }
    for (int64_t k = 0; k < arrays; k++) {
        run->data[k] -= axis->length * axis->step[k];
    }
    return 0;
}

/* What makes a new array looks at its operands only. */
static void
sort_axes(Run *run)
{
    axes_sort(run->axis, run->axes, run->map->arrays - (run->map->fresh != 0));
}

/* As few axes as can be; where a row would be short, another axis makes longer ones. */
static void
join_axes(Run *run)
{
    run->axes = axes_join(run->axis, run->axes, run->map->arrays);
    Axis first = run->axis[0];
    if (first.length < SHORT_ROW && run->map->fresh == 0) {
        int longest = 0;
        for (int i = 1; i < run->axes; i++) {
            longest = run->axis[i].length > run->axis[longest].length ? i : longest;
        }
        if (run->axis[longest].length >= LONG_ROW) {
            run->axis[0] = run->axis[longest];
            run->axis[longest] = first;
        }
    }
}

/* The bytes that an array's part of the space lies in. */
static void
find_extent(const Run *run, int64_t array, uintptr_t *low, uintptr_t *past)
{
    *low = *past = (uintptr_t)run->data[array];
    for (int i = 0; i < run->axes; i++) {
        npy_intp span = (run->axis[i].length - 1) * run->axis[i].step[array];
        *(span < 0 ? low : past) += (uintptr_t)span;
    }
    *past += (uintptr_t)run->map->word[array];
}

static bool
is_same(const Run *run, int64_t left, int64_t right)
{
    bool same = run->data[left] == run->data[right];
    for (int i = 0; i < run->axes; i++) {
        same = same && run->axis[i].step[left] == run->axis[i].step[right];
    }
    return same;
}

/* Whether what is written may be read later. */
static bool
shares_memory(const Run *run)
{
    int64_t target = run->map->arrays - 1;
    uintptr_t low, past;
    find_extent(run, target, &low, &past);
    for (int64_t i = 0; i < target; i++) {
        if (run->map->shared >> i & 1) {
            uintptr_t first, end;
            find_extent(run, i, &first, &end);
            if (first < past && low < end && !is_same(run, i, target)) {
                return true;
            }
        }
    }
    return false;
}

static bool
writes_twice(const Run *run)
{
    for (int i = 0; i < run->axes; i++) {
        if (run->axis[i].step[run->map->arrays - 1] == 0 && run->axis[i].length > 1) {
            return true;
        }
    }
    return false;
}

/* Take the axes of the statement that are longer than one. Returns the number of elements. */
static int64_t
take_axes(Run *run, const int64_t *lengths, npy_intp *steps)
{
    int64_t elements = 1;
    for (int64_t i = 0; i < run->map->axes; i++) {
        elements *= lengths[i];
    }
    run->axes = axes_take(run->axis, run->map->axes, lengths, steps, run->map->arrays);
    return elements;
}

/* Copy elements that lie one after another to memory with other steps; axes innermost first. */
static const char *
spread(char *to, const npy_intp *step, const int64_t *length, int axes, const char *from,
       npy_intp itemsize)
{
    if (axes == 1) {
        copy_strided(to, step[0], from, itemsize, length[0], itemsize);
        return from + length[0] * itemsize;
    }
    for (int64_t i = 0; i < length[axes - 1]; i++) {
        from = spread(to + i * step[axes - 1], step, length, axes - 1, from, itemsize);
    }
    return from;
}

/* Work that threads share: parts of an axis, in units of so many elements along it. */
typedef struct {
    Task *task;
    int axis;
    int64_t length, unit;
    const Run *run;
    atomic_uint flags; /* that were raised in any thread */
    /* of a `spread` */
    char *to;
    const char *from;
    const npy_intp *step;
    const int64_t *lengths;
} Shared;

/* Parts of a statement, by machine code and loops that need no GIL. */
static int
share_run(void *context, npy_intp first, npy_intp past)
{
    Shared *shared = context;
    Run part = *shared->run;
    const NestMap *map = part.map;
    char *data[MOST_ARRAYS];
    Axis *axis = &part.axis[shared->axis];
    first *= shared->unit;
    past = past * shared->unit < axis->length ? past * shared->unit : axis->length;
    for (int64_t k = 0; k < map->arrays; k++) {
        data[k] = part.data[k] + first * axis->step[k];
    }
    axis->length = past - first;
    part.data = data;
    int64_t rows = part.packed != NULL ? map->arrays : map->rows;
    if (rows > 0) {
        part.rows = threads_scratch((size_t)(rows * TILE * map->item));
        part.packed = part.packed != NULL ? part.rows : NULL;
        if (part.rows == NULL) {
            return -1;
        }
    }
    int status = run_axes(&part, part.axes);
    unsigned flags = status_raw();
    if (flags & ~atomic_load_explicit(&shared->flags, memory_order_relaxed)) {
        atomic_fetch_or_explicit(&shared->flags, flags, memory_order_relaxed);
    }
    return status == 0 ? 0 : -1;
}

/* Parts of a `spread`, along its outermost axis. */
static int
share_spread(void *context, npy_intp first, npy_intp past)
{
    const Shared *shared = context;
    const npy_intp itemsize = shared->run->map->word[shared->run->map->arrays - 1];
    int64_t lengths[MOST_LENGTHS], inner = 1;
    for (int i = 0; i < shared->axis; i++) {
        lengths[i] = shared->lengths[i];
        inner *= lengths[i];
    }
    first *= shared->unit;
    past = past * shared->unit < shared->length ? past * shared->unit : shared->length;
    lengths[shared->axis] = past - first;
    spread(shared->to + first * shared->step[shared->axis], shared->step, lengths, shared->axis + 1,
           shared->from + first * inner * itemsize, itemsize);
    return 0;
}

/* Have threads share work. 1 for a doubt. */
static int
share(Shared *shared)
{
    int64_t units = (shared->length + shared->unit - 1) / shared->unit;
    int64_t chunk = units / (CHUNKS * (int64_t)threads_count());
    bool done = threads_run_awake(shared->task, shared, units, chunk < 1 ? 1 : chunk);
    status_raise(atomic_load(&shared->flags));
    return !done;
}

/* The axis whose parts threads take: the outermost one of those that are not short. */
static int
shared_axis(const Run *run)
{
    for (int i = run->axes - 1; i > 0; i--) {
        if (run->axis[i].length >= CHUNKS * (int64_t)threads_count()) {
            return i;
        }
    }
    int longest = 0;
    for (int i = 1; i < run->axes; i++) {
        int64_t parts = longest == 0 ? run->axis[0].length / TILE : run->axis[longest].length;
        longest = run->axis[i].length > parts ? i : longest;
    }
    return longest;
}

/* Run all of a statement, on this thread or several. 1 for a doubt. */
static int
run_space(const Run *run, bool is_shared)
{
    if (!is_shared) {
        return run_axes(run, run->axes);
    }
    int axis = shared_axis(run);
    Shared shared = {.task = share_run,
                     .axis = axis,
                     .length = run->axis[axis].length,
                     .unit = axis == 0 ? TILE : 1,
                     .run = run};
    return share(&shared);
}

/* Whether all that the statement calls needs no GIL. */
static bool
is_free(const NestMap *map)
{
    const Segment *segment = (const Segment *)&map->word[map->arrays + map->rows];
    for (int64_t i = 0; i < map->segments; i++) {
        if (segment->loop != NULL && segment->loop->fails) {
            return false;
        }
        segment = (const Segment *)&segment->argument[segment->arguments];
    }
    return true;
}

/* Whether no two elements of the target share memory. */
static bool
writes_apart(const Run *run)
{
    const int64_t target = run->map->arrays - 1;
    Axis axis[MOST_LENGTHS];
    npy_intp span[MOST_LENGTHS], reach = run->map->word[target];
    for (int i = 0; i < run->axes; i++) {
        npy_intp step = run->axis[i].step[target];
        npy_intp far = step < 0 ? -step : step;
        int place = i;
        for (; place > 0 && span[place - 1] > far; place--) {
            span[place] = span[place - 1];
            axis[place] = axis[place - 1];
        }
        span[place] = far;
        axis[place] = run->axis[i];
    }
    for (int i = 0; i < run->axes; i++) {
        if (axis[i].length > 1 && span[i] < reach) {
            return false;
        }
        reach += (axis[i].length - 1) * span[i];
    }
    return true;
}

/* Run with memory of its own as the target, then copy that to the target. */
static int
run_through(Run *run, char *scratch, bool is_shared)
{
    const int64_t target = run->map->arrays - 1;
    npy_intp steps[MOST_LENGTHS], itemsize = run->map->word[target], step = itemsize;
    int64_t lengths[MOST_LENGTHS];
    int axes = run->axes;
    char *to = run->data[target];
    for (int i = 0; i < axes; i++) {
        steps[i] = run->axis[i].step[target];
        lengths[i] = run->axis[i].length;
        run->axis[i].step[target] = step;
        step *= lengths[i];
    }
    run->data[target] = scratch;
    join_axes(run);
    if (run_space(run, is_shared) != 0) {
        return 1;
    }
    if (!is_shared) {
        spread(to, steps, lengths, axes, scratch, itemsize);
        return 0;
    }
    Shared shared = {.task = share_spread,
                     .axis = axes - 1,
                     .length = lengths[axes - 1],
                     .unit = axes == 1 ? TILE : 1,
                     .run = run,
                     .to = to,
                     .from = scratch,
                     .step = steps,
                     .lengths = lengths};
    return share(&shared);
}

/* Whether NumPy's assignment of a vector would read what it has written: it makes no copy first
 * where both go the same way, with other steps. */
static bool
copies_as_it_reads(const Run *run)
{
    const NestMap *map = run->map;
    npy_intp from = run->axis[0].step[0], to = run->axis[0].step[map->arrays - 1];
    return map->copies != 0 && map->axes == 1 && from != to && (from < 0) == (to < 0);
}

/* Whether rows of an operand are contiguous, or it is a single element. */
static bool
lies_in_rows(const Run *run, int64_t k)
{
    bool single = true;
    for (int i = 0; i < run->axes; i++) {
        single = single && run->axis[i].step[k] == 0;
    }
    return single || run->axis[0].step[k] == run->map->word[k];
}

/* Whether NumPy too would run its loops on the operands as they lie: it may copy some to buffers
 * first, so they must be as the copies are. What machine code reads may lie anyhow. */
static bool
lie_as_numpy_reads_them(const Run *run, int64_t elements)
{
    const NestMap *map = run->map;
    if (map->axes == 1 && elements > 1) {
        return true;
    }
    const Segment *segment = (const Segment *)&map->word[map->arrays + map->rows];
    for (int64_t i = 0; i < map->segments; i++) {
        for (int64_t j = 0; segment->loop != NULL && j < segment->arguments; j++) {
            int64_t k = segment->argument[j];
            if (k < map->arrays - 1 && !lies_in_rows(run, k)) {
                return false;
            }
        }
        segment = (const Segment *)&segment->argument[segment->arguments];
    }
    return elements > 1;
}

/* Run a statement of one axis and one piece of machine code, where nothing is in the way of that.
 */
static bool
is_run_at_once(const NestMap *map, int64_t *table, NestMemory *scratch, int *status)
{
    const Segment *segment = (const Segment *)&map->word[map->arrays];
    if (map->axes != 1 || map->segments != 1 || segment->loop != NULL ||
        segment->arguments != map->arrays) {
        return false;
    }
    const int64_t target = map->arrays - 1, last = table[0] - 1;
    char **data = (char **)(table + 1);
    npy_intp *steps = (npy_intp *)(table + 1 + map->arrays), step = steps[target];
    if (last < 0 || step == 0) {
        return false;
    }
    const uintptr_t width = (uintptr_t)map->item;
    const uintptr_t at = (uintptr_t)data[target], span = (uintptr_t)(last * step);
    const uintptr_t low = step < 0 ? at + span : at, past = (step < 0 ? at : at + span) + width;
    for (uint64_t shared = map->shared; shared != 0; shared &= shared - 1) {
        int k = __builtin_ctzll(shared);
        const uintptr_t other = (uintptr_t)data[k], length = (uintptr_t)(last * steps[k]);
        const uintptr_t first = steps[k] < 0 ? other + length : other;
        const uintptr_t end = (steps[k] < 0 ? other : other + length) + width;
        if (first < past && low < end && (other != at || steps[k] != step)) {
            return false;
        }
    }
    if (!has_gaps(map, steps, table[0])) {
        *status = segment->function(data, table, steps, NULL);
        return true;
    }
    const int64_t bytes = map->arrays * TILE * map->item;
    *status = nest_grow(scratch, bytes) < 0 ||
              run_packed_row(map, data, steps, table[0], scratch->data) != 0;
    return true;
}

/* Run a statement that has elements. 1 for a doubt. */
static int
run_statement(Run *run, int64_t elements, NestMemory *scratch, bool is_shared)
{
    const NestMap *map = run->map;
    bool through = map->fresh != 0 || (map->shared != 0 && shares_memory(run));
    sort_axes(run);
    bool packs = may_have_gaps(run);
    int64_t rows = (packs ? map->arrays : map->rows) * TILE * map->item;
    if (writes_twice(run) ||
        ((through || rows > 0) &&
         nest_grow(scratch, rows + (through ? elements * map->item : 0)) < 0)) {
        return 1;
    }
    run->rows = scratch->data;
    run->packed = packs ? scratch->data : NULL;
    if (map->fresh == FRESH && !lie_as_numpy_reads_them(run, elements)) {
        return 1;
    }
    if (through) {
        return copies_as_it_reads(run) ? 1 : run_through(run, scratch->data + rows, is_shared);
    }
    join_axes(run);
    return run_space(run, is_shared);
}

/* Run a statement of many elements, by as many threads as have paid. 1 for a doubt. */
static int
run_large(Run *run, int64_t elements, NestMemory *scratch)
{
    Sharing *sharing = sharing_of(run->map, elements);
    bool is_shared = sharing_pays(sharing, elements) && is_free(run->map) && writes_apart(run);
    bool is_timed = is_shared || sharing_is_timed(sharing, elements);
    double begun = is_timed ? now_ns() : 0;
    int status = run_statement(run, elements, scratch, is_shared);
    double elapsed = is_timed ? now_ns() - begun : 0;
    if (is_shared) {
        sharing_learn_shared(sharing, elements, elapsed);
    }
    else {
        sharing_learn_alone(sharing, elements, elapsed);
    }
    return status;
}

/*
 * Run a statement. `table`: the lengths of its axes, the data of its arrays, and for each axis the
 * steps of its arrays, which are overwritten. Returns 1 for a doubt.
 */
int
nest_map(const NestMap *map, int64_t *table, NestMemory *scratch)
{
    int status;
    if (!sharing_is_possible(table[0]) && is_run_at_once(map, table, scratch, &status)) {
        return status;
    }
    Run run = {.map = map, .data = (char **)(table + map->axes)};
    int64_t elements = take_axes(&run, table, (npy_intp *)(table + map->axes + map->arrays));
    if (elements == 0) {
        return 0;
    }
    return sharing_is_possible(elements) ? run_large(&run, elements, scratch)
                                         : run_statement(&run, elements, scratch, false);
}
