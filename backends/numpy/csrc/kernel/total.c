/* Totals: a fold over a whole space, in parts, with the bits of NumPy's one call over all of it. */
#include "kernel/total.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/*
 * NumPy adds floating-point numbers on a tree: n elements are n / 2, rounded down to a multiple of
 * 8, and the rest, down to 128. NumPy's own loop on a node's elements gives that node's sum.
 * A complex number counts for two, so its nodes are multiples of `granule` 4.
 */
static npy_intp
left_part(npy_intp size, npy_intp granule)
{
    npy_intp half = size / 2;
    return half - half % granule;
}

static npy_intp
count_nodes(npy_intp size, npy_intp granule, npy_intp largest)
{
    if (size <= largest) {
        return 1;
    }
    npy_intp left = left_part(size, granule);
    return count_nodes(left, granule, largest) + count_nodes(size - left, granule, largest);
}

static npy_intp *
write_starts(npy_intp from, npy_intp size, npy_intp granule, npy_intp largest, npy_intp *starts)
{
    if (size <= largest) {
        *starts = from;
        return starts + 1;
    }
    npy_intp left = left_part(size, granule);
    starts = write_starts(from, left, granule, largest, starts);
    return write_starts(from + left, size - left, granule, largest, starts);
}

/*
 * The nodes of at most `largest` (128 or more) elements, as their starts and the end; malloc'ed.
 * Returns their number, or -1 without an exception where there is no memory.
 */
npy_intp
tree_starts(npy_intp size, npy_intp granule, npy_intp largest, npy_intp **starts)
{
    npy_intp nodes = count_nodes(size, granule, largest);
    *starts = malloc(sizeof(npy_intp) * (size_t)(nodes + 1));
    if (*starts == NULL) {
        return -1;
    }
    *write_starts(0, size, granule, largest, *starts) = size;
    return nodes;
}

/* acc = fold(acc, count items) in one call. */
static int
fold_call(const Loop *loop, char *accumulator, char *items, npy_intp count, npy_intp step)
{
    if (count == 0) {
        return 0;
    }
    char *data[3] = {accumulator, items, accumulator};
    npy_intp steps[3] = {0, step, 0};
    return loop_call(loop, data, count, steps);
}

/* The neutral element of addition: unlike 0.0 it keeps a sum of negative zeros. */
static void
write_minus_zero(int type, char *out)
{
    switch (type) {
    case NPY_FLOAT:
    case NPY_CFLOAT: {
        float zeros[2] = {-0.0f, -0.0f};
        memcpy(out, zeros, type == NPY_FLOAT ? 4 : 8);
        break;
    }
    case NPY_DOUBLE:
    case NPY_CDOUBLE: {
        double zeros[2] = {-0.0, -0.0};
        memcpy(out, zeros, type == NPY_DOUBLE ? 8 : 16);
        break;
    }
    default: {
        npy_longdouble zeros[2] = {-0.0L, -0.0L};
        memset(out, 0, MAX_ITEM);
        memcpy(out, zeros, sizeof(npy_longdouble) * (type == NPY_LONGDOUBLE ? 1 : 2));
    }
    }
}

/* Take a tile of a total's input: its partial result, or its place in the whole. */
int
total_partial(const Total *total, npy_intp tile, npy_intp first, npy_intp count, char *input,
              npy_intp step)
{
    npy_intp itemsize = total->input_itemsize;
    if (total->whole != NULL) {
        copy_strided(total->whole + first * itemsize, itemsize, input, step, count, itemsize);
        return 0;
    }
    const Loop *loop = total->segment->loop;
    char *partial = total->partials + tile * MAX_ITEM;
    if (total->fold == FOLD_PAIRWISE) {
        write_minus_zero(loop->types[1], partial);
        return fold_call(loop, partial, input, count, step);
    }
    memcpy(partial, input, (size_t)itemsize);
    return fold_call(loop, partial, input + step, count - 1, step);
}

/*
 * Whether a sum of these numbers is NaN, and may be one of several: unlike NaN are among them, or
 * infinities (or what soon adds up to one). Raises no flag.
 */
#define IS_UNSURE(NAME, TYPE, MOST)                                                                \
    static bool NAME(const char *sum, const char *input, npy_intp step, npy_intp count, int parts) \
    {                                                                                              \
        const TYPE *sums = (const TYPE *)sum;                                                      \
        if (!isnan(sums[0]) && !isnan(sums[parts - 1])) {                                          \
            return false;                                                                          \
        }                                                                                          \
        const TYPE *seen = NULL;                                                                   \
        for (npy_intp i = 0; i < count * parts; i++) {                                             \
            const TYPE *item = (const TYPE *)(input + i / parts * step) + i % parts;               \
            bool makes_nan = isgreater(fabs((double)*item), MOST);                                 \
            bool unlike = isnan(*item) && seen != NULL && memcmp(item, seen, sizeof(TYPE)) != 0;   \
            if (makes_nan || unlike) {                                                             \
                return true;                                                                       \
            }                                                                                      \
            seen = isnan(*item) ? item : seen;                                                     \
        }                                                                                          \
        return false;                                                                              \
    }
IS_UNSURE(is_unsure_float, float, (double)FLT_MAX * 1e-9)
IS_UNSURE(is_unsure_double, double, DBL_MAX * 1e-9)

/*
 * Whether a tile's partial sum is NaN, and NumPy's may be another one: of two unlike NaN it keeps
 * the left or the right by how deep in the tree they meet.
 */
bool
total_is_unsure(const Total *total, npy_intp tile, npy_intp count, const char *input, npy_intp step)
{
    if (total->whole != NULL || total->fold != FOLD_PAIRWISE) {
        return false;
    }
    const char *sum = total->partials + tile * MAX_ITEM;
    switch (total->segment->loop->types[1]) {
    case NPY_FLOAT:
        return is_unsure_float(sum, input, step, count, 1);
    case NPY_CFLOAT:
        return is_unsure_float(sum, input, step, count, 2);
    case NPY_DOUBLE:
        return is_unsure_double(sum, input, step, count, 1);
    case NPY_CDOUBLE:
        return is_unsure_double(sum, input, step, count, 2);
    case NPY_LONGDOUBLE:
        return isnan(*(const npy_longdouble *)sum);
    default:
        return isnan(((const npy_longdouble *)sum)[0]) || isnan(((const npy_longdouble *)sum)[1]);
    }
}

/* One component of the sum of two partial sums. Of two unlike NaN NumPy's choice is not known. */
#define ADD_PARTS(TYPE, COMPONENTS)                                                                \
    {                                                                                              \
        TYPE a[COMPONENTS], b[COMPONENTS];                                                         \
        memcpy(a, left, sizeof a);                                                                 \
        memcpy(b, right, sizeof b);                                                                \
        for (int i = 0; i < COMPONENTS; i++) {                                                     \
            bool unlike =                                                                          \
                isnan(a[i]) && isnan(b[i]) && memcmp(&a[i], &b[i], NAN_BYTES(TYPE)) != 0;          \
            *exact = *exact || unlike;                                                             \
            a[i] = a[i] + b[i];                                                                    \
        }                                                                                          \
        memcpy(left, a, sizeof a);                                                                 \
        return;                                                                                    \
    }
#define NAN_BYTES(TYPE) (sizeof(TYPE) > 8 ? 10 : sizeof(TYPE))

static void
add_parts(int type, char *left, const char *right, bool *exact)
{
    switch (type) {
    case NPY_FLOAT:
        ADD_PARTS(float, 1)
    case NPY_CFLOAT:
        ADD_PARTS(float, 2)
    case NPY_DOUBLE:
        ADD_PARTS(double, 1)
    case NPY_CDOUBLE:
        ADD_PARTS(double, 2)
    case NPY_LONGDOUBLE:
        ADD_PARTS(npy_longdouble, 1)
    default:
        ADD_PARTS(npy_longdouble, 2)
    }
}

typedef struct {
    const Run *run;
    const Total *total;
    npy_intp granule, next;
    bool *exact;
} Tree;

static void
add_tree(Tree *tree, npy_intp size, char *sum)
{
    const npy_intp *starts = tree->run->starts;
    if (starts[tree->next + 1] - starts[tree->next] == size) {
        memcpy(sum, tree->total->partials + tree->next * MAX_ITEM, MAX_ITEM);
        tree->next++;
        return;
    }
    char right[MAX_ITEM];
    npy_intp left = left_part(size, tree->granule);
    add_tree(tree, left, sum);
    add_tree(tree, size - left, right);
    add_parts(tree->total->segment->loop->types[1], sum, right, tree->exact);
}

static bool
zero_or_nan(int type, const char *item)
{
    if (type == NPY_FLOAT) {
        float value;
        memcpy(&value, item, sizeof value);
        return isnan(value) || value == 0;
    }
    if (type == NPY_DOUBLE) {
        double value;
        memcpy(&value, item, sizeof value);
        return isnan(value) || value == 0;
    }
    npy_longdouble value;
    memcpy(&value, item, sizeof value);
    return isnan(value) || value == 0;
}

/*
 * Write the total to `out`. `exact` becomes true where the parts do not decide NumPy's bits:
 * the whole input must then be folded at once. The space is not empty, or there is an initial
 * value.
 */
int
total_finish(const Run *run, const Total *total, char *out, bool *exact)
{
    const Segment *segment = total->segment;
    const Loop *loop = segment->loop;
    npy_intp itemsize = total->input_itemsize;
    const char *initial = segment->initial ? PyBytes_AS_STRING(segment->initial) : NULL;
    if (total->whole != NULL) {
        memcpy(out, initial ? initial : total->whole, (size_t)itemsize);
        npy_intp skip = initial ? 0 : 1;
        return fold_call(loop, out, total->whole + skip * itemsize, run->size - skip, itemsize);
    }
    if (run->size == 0) {
        memcpy(out, initial, (size_t)itemsize);
        return 0;
    }
    if (total->fold == FOLD_PAIRWISE) {
        char sum[MAX_ITEM];
        int type = loop->types[1];
        Tree tree = {run, total, PyTypeNum_ISCOMPLEX(type) ? 4 : 8, 0, exact};
        add_tree(&tree, run->size, sum);
        memset(out, 0, MAX_ITEM);
        memcpy(out, initial, (size_t)itemsize);
        add_parts(type, out, sum, exact);
        return 0;
    }
    npy_intp skip = initial ? 0 : 1;
    memcpy(out, initial ? initial : total->partials, (size_t)itemsize);
    int result =
        fold_call(loop, out, total->partials + skip * MAX_ITEM, run->tiles - skip, MAX_ITEM);
    if (total->fold == FOLD_EXTREME && zero_or_nan(loop->types[1], out)) {
        *exact = true;
    }
    return result;
}
