/*
 * Reductions over several axes or over some of them, with the bits of NumPy's `ufunc.reduce`:
 *
 * 1. Axes are walked in the order in which the operand lies in memory, and joined where they can
 *    be. The innermost one is one call of NumPy's loop.
 * 2. NumPy adds floating-point numbers along axes that cannot be joined in buffers: of as many
 *    whole inner axes as fit, along one axis around them.
 * 3. A largest number that is NaN or zero depends on the order: it is a doubt, unless it can only
 * be one zero.
 */
#include "nest/called/reduce.h"

#include "nest/form/own_memory.h"
#include "nest/called/numpy_loops.h"
#include "nest/called/space.h"
#include "loops/short_folds.h"

enum {
    FROM,
    TO,
    BUFFER = 8192, /* elements of NumPy's buffers */
};

/* A one of any dtype that arrays of nests have. */
static void
write_one(int type, char *at)
{
    Register one = {.whole = 1};
    if (type == NPY_FLOAT) {
        one.single = 1.0F;
    }
    else if (type == NPY_DOUBLE) {
        one.twice = 1.0;
    }
    number_store(type, at, one);
}

/* The value that `reduce` of a loop's ufunc begins with: of other than maximum and minimum. */
static void
write_start(const Loop *loop, char *at)
{
    if (strcmp(loop->name, "add") == 0 || strcmp(loop->name, "logical_or") == 0) {
        memset(at, 0, (size_t)number_bytes(loop->types[0]));
    }
    else {
        write_one(loop->types[0], at);
    }
}

/*
 * What `reduce` of a loop's ufunc gives over one axis, of as many elements. A doubt where it would
 * raise: of nothing there is no largest element.
 */
int
nest_fold(const Loop *loop, char *result, char *items, npy_intp step, int64_t count)
{
    int type = loop->types[0];
    if (strcmp(loop->name, "maximum") != 0 && strcmp(loop->name, "minimum") != 0) {
        write_start(loop, result);
    }
    else {
        if (count == 0) {
            return 1;
        }
        memcpy(result, items, (size_t)number_bytes(type));
        items += step;
        count--;
    }
    char *data[3] = {result, items, result};
    npy_intp steps[3] = {0, step, 0};
    return count == 0 ? 0 : nest_loop(loop, data, count, steps);
}

typedef struct {
    const Loop *loop;
    int axes;
    Axis axis[MOST_LENGTHS];
    npy_intp itemsize;
    char *buffer; /* where elements are put together, of whole inner axes */
    int64_t used, most;
    int inner;
} Reduction;

static bool
is_real(const Reduction *run)
{
    return PyTypeNum_ISFLOAT(run->loop->types[0]);
}

static bool
has_no_start(const Reduction *run)
{
    return strcmp(run->loop->name, "maximum") == 0 || strcmp(run->loop->name, "minimum") == 0;
}

/* Give every result its first value: `start`; NULL: the first element that goes into it. */
static void
write_starts(const Reduction *run, int axes, char *from, char *to, const char *start)
{
    if (axes == 0) {
        memcpy(to, start == NULL ? from : start, (size_t)run->itemsize);
        return;
    }
    const Axis *axis = &run->axis[axes - 1];
    int64_t results = axis->step[TO] == 0 ? 1 : axis->length;
    for (int64_t i = 0; i < results; i++) {
        write_starts(run, axes - 1, from + i * axis->step[FROM], to + i * axis->step[TO], start);
    }
}

/* One call of the loop. */
static int
run_row(const Reduction *run, char *from, npy_intp from_step, char *to, npy_intp to_step,
        int64_t count)
{
    char *data[3] = {to, from, to};
    npy_intp steps[3] = {to_step, from_step, to_step};
    return nest_loop(run->loop, data, count, steps);
}

static int
run_axes(const Reduction *run, int axes, char *from, char *to)
{
    const Axis *axis = &run->axis[axes - 1];
    if (axes == 1) {
        return run_row(run, from, axis->step[FROM], to, axis->step[TO], axis->length);
    }
    int status = 0;
    for (int64_t i = 0; i < axis->length && status == 0; i++) {
        status = run_axes(run, axes - 1, from + i * axis->step[FROM], to + i * axis->step[TO]);
    }
    return status;
}

/* Fold short rows, which are the innermost axis. */
static int
fold_short_rows(const Reduction *run, int axes, char *from, char *to)
{
    const Axis *row = &run->axis[0], *axis = &run->axis[axes - 1];
    npy_intp step = axis->step[FROM], to_step = axis->step[TO];
    if (axes == 2) {
        return short_fold(run->loop, from, step, row->step[FROM], row->length, axis->length, to,
                          to_step);
    }
    int status = 0;
    for (int64_t i = 0; i < axis->length && status == 0; i++) {
        status = fold_short_rows(run, axes - 1, from + i * step, to + i * to_step);
    }
    return status;
}

static int
add_buffer(Reduction *run, char *to)
{
    int64_t count = run->used;
    run->used = 0;
    return count == 0 ? 0 : run_row(run, run->buffer, run->itemsize, to, 0, count);
}

static int
add_in_buffers(Reduction *run, int axes, char *from, char *to)
{
    const Axis *axis = &run->axis[axes - 1];
    if (axes == 1) {
        char *end = run->buffer + run->used * run->itemsize;
        copy_strided(end, run->itemsize, from, axis->step[FROM], axis->length, run->itemsize);
        run->used += axis->length;
        return 0;
    }
    int status = 0;
    for (int64_t i = 0; i < axis->length && status == 0; i++) {
        status = add_in_buffers(run, axes - 1, from + i * axis->step[FROM], to);
        if (run->used == run->most) {
            status = add_buffer(run, to);
        }
    }
    return status != 0 || axes <= run->inner ? status : add_buffer(run, to);
}

/* The sum of floating-point numbers over axes that cannot be joined. */
static int
add_all(Reduction *run, char *from, char *to, NestMemory *scratch)
{
    int64_t core = 1;
    run->inner = 0;
    while (run->inner < run->axes && run->axis[run->inner].length <= BUFFER / core) {
        core *= run->axis[run->inner++].length;
    }
    if (run->inner == 0) { /* a row is longer: it needs no buffer */
        return run_axes(run, run->axes, from, to);
    }
    run->most = BUFFER / core * core;
    if (nest_grow(scratch, run->most * run->itemsize) < 0) {
        return 1;
    }
    run->buffer = scratch->data;
    int status = add_in_buffers(run, run->axes, from, to);
    return status != 0 ? status : add_buffer(run, to);
}

static double
number_at(const Reduction *run, const char *at)
{
    if (run->loop->types[0] == NPY_FLOAT) {
        float single;
        memcpy(&single, at, sizeof single);
        return (double)single;
    }
    double number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* Whether some element of an array is what `is_odd` looks for. */
static bool
has_odd(const Reduction *run, int axes, const char *at, int array, bool (*is_odd)(double))
{
    if (axes == 0) {
        return is_odd(number_at(run, at));
    }
    const Axis *axis = &run->axis[axes - 1];
    int64_t count = axis->step[array] == 0 ? 1 : axis->length;
    for (int64_t i = 0; i < count; i++) {
        if (has_odd(run, axes - 1, at + i * axis->step[array], array, is_odd)) {
            return true;
        }
    }
    return false;
}

static bool
is_nan(double number)
{
    return number != number;
}

static bool
is_zero(double number)
{
    return number == 0;
}

static bool
is_minus_zero(double number)
{
    return number == 0 && signbit(number);
}

/* Whether the largest or least numbers depend on the order. */
static bool
is_in_doubt(const Reduction *run, const char *from, const char *to)
{
    return has_odd(run, run->axes, to, TO, is_nan) ||
           (has_odd(run, run->axes, to, TO, is_zero) &&
            has_odd(run, run->axes, from, FROM, is_minus_zero));
}

/*
 * Reduce an array. `table`: the lengths of its axes, the data of the array and of the results, and
 * for each axis the steps of both; that of the results is 0 along an axis that is folded, or where
 * there are no results. Returns 1 for a doubt.
 */
int
nest_reduce(const Loop *loop, int64_t axes, int64_t *table, NestMemory *scratch)
{
    char **data = (char **)(table + axes);
    npy_intp *steps = (npy_intp *)(table + axes + 2);
    Reduction run = {.loop = loop, .itemsize = number_bytes(loop->types[0])};
    bool is_empty = false;
    for (int64_t i = 0; i < axes; i++) {
        is_empty = is_empty || table[i] == 0;
    }
    if (is_empty && has_no_start(&run)) {
        return 1;
    }
    run.axes = axes_take(run.axis, axes, table, steps, 2);
    Register start[2]; /* of a complex number both parts */
    write_start(loop, (char *)start);
    const char *first = has_no_start(&run) ? NULL : (char *)start;
    if (is_empty) {
        write_starts(&run, run.axes, data[FROM], data[TO], first);
        return 0;
    }
    axes_sort(run.axis, run.axes, 1);
    run.axes = axes_join(run.axis, run.axes, 2);
    int folded = 0;
    for (int i = 0; i < run.axes; i++) {
        folded += run.axis[i].step[TO] == 0;
    }
    if (folded == 1 && run.axes == 1) {
        return nest_fold(loop, data[TO], data[FROM], run.axis[0].step[FROM], run.axis[0].length);
    }
    bool adds = is_real(&run) && strcmp(loop->name, "add") == 0;
    if (adds && folded == 1 && run.axis[0].step[TO] == 0 && loop->short_fold != NULL &&
        run.axis[0].length < loop->short_limit) {
        return fold_short_rows(&run, run.axes, data[FROM], data[TO]);
    }
    write_starts(&run, run.axes, data[FROM], data[TO], first);
    if (adds && folded > 1) {
        return folded < run.axes ? 1 : add_all(&run, data[FROM], data[TO], scratch);
    }
    int status = run_axes(&run, run.axes, data[FROM], data[TO]);
    return status != 0 ||
           (is_real(&run) && has_no_start(&run) && is_in_doubt(&run, data[FROM], data[TO]));
}
