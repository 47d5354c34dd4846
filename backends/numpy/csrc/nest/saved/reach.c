/*
 * What a chunk of turns may write of an array, where that is known: so nothing else is saved. All
 * that turns store is within boxes, whose sides are linear in the number of the turn.
 */
#include "nest/saved/reach.h"

#include "nest/saved/saved.h"

enum { MOST_BOXES = 8 /* of one array */ };

/* What a box is for so many turns, along each axis. */
typedef struct {
    npy_intp first[MOST_LENGTHS], count[MOST_LENGTHS];
    bool turning; /* it has more, the more turns there are */
} Extent;

/* Find an array by its number: the number of its slot, and of its first word; -1: there is none. */
static int
find_array(const Nest *nest, int array, int *word)
{
    *word = 0;
    for (int i = 0, number = 0; i < nest->slots; i++) {
        if (nest->slot[i].kind == SLOT_ARRAY && number++ == array) {
            return i;
        }
        *word += nest->slot[i].kind == SLOT_ARRAY ? 1 + 2 * nest->slot[i].axes : 0;
    }
    return -1;
}

/* Read (0, a cell, another one or -1, what each turn adds) or (1, an array, an axis, 0). */
static bool
read_factor(const Nest *nest, PyObject *given, ReachFactor *factor)
{
    int kind, at, other, word;
    long long each;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "iiiL", &kind, &at, &other, &each)) {
        return false;
    }
    if (kind == 0) {
        *factor = (ReachFactor){.at = at, .step = other, .each = each};
        return at >= 0 && at < nest->cells && other >= -1 && other < nest->cells;
    }
    int slot = find_array(nest, at, &word);
    *factor = (ReachFactor){.is_length = true, .at = word + 1 + other, .step = -1};
    return kind == 1 && slot >= 0 && other >= 0 && other < nest->slot[slot].axes;
}

/* Read (what is added, ((what it is multiplied with, factors), ...)). */
static bool
read_place(const Nest *nest, PyObject *given, ReachPlace *place)
{
    PyObject *terms, *factors;
    if (!PyTuple_Check(given) ||
        !PyArg_ParseTuple(given, "LO!", &place->more, &PyTuple_Type, &terms) ||
        PyTuple_GET_SIZE(terms) > MOST_TERMS) {
        return false;
    }
    place->terms = (int)PyTuple_GET_SIZE(terms);
    for (int i = 0; i < place->terms; i++) {
        ReachTerm *term = &place->term[i];
        PyObject *one = PyTuple_GET_ITEM(terms, i);
        if (!PyTuple_Check(one) ||
            !PyArg_ParseTuple(one, "LO!", &term->by, &PyTuple_Type, &factors) ||
            PyTuple_GET_SIZE(factors) > MOST_FACTORS) {
            return false;
        }
        term->factors = (int)PyTuple_GET_SIZE(factors);
        int turning = 0;
        for (int j = 0; j < term->factors; j++) {
            if (!read_factor(nest, PyTuple_GET_ITEM(factors, j), &term->factor[j])) {
                return false;
            }
            turning += term->factor[j].step >= 0 || term->factor[j].each != 0;
        }
        if (turning > 1) {
            return false;
        }
        place->turning = place->turning || turning > 0;
    }
    return true;
}

/* Read (number of an array, ((axis, least place, greatest place), ...)). */
static bool
read_box(const Nest *nest, PyObject *given, NestBox *box)
{
    int array, word;
    PyObject *sides;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "iO!", &array, &PyTuple_Type, &sides)) {
        return false;
    }
    box->array = find_array(nest, array, &word);
    if (box->array < 0 || PyTuple_GET_SIZE(sides) > MOST_LENGTHS) {
        return false;
    }
    const NestSlot *slot = &nest->slot[box->array];
    if (!slot->changed || slot->listed || slot->rebound) {
        return false;
    }
    box->sides = (int)PyTuple_GET_SIZE(sides);
    for (int i = 0; i < box->sides; i++) {
        ReachSide *side = &box->side[i];
        PyObject *one = PyTuple_GET_ITEM(sides, i), *least, *most;
        if (!PyTuple_Check(one) || !PyArg_ParseTuple(one, "iOO", &side->axis, &least, &most) ||
            side->axis < 0 || side->axis >= slot->axes || !read_place(nest, least, &side->least) ||
            !read_place(nest, most, &side->most)) {
            return false;
        }
    }
    return true;
}

/* Read the boxes of some arrays. 0, or -1 with an exception. */
int
reach_read(Nest *nest, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    nest->box = PyMem_Calloc((size_t)count + 1, sizeof(NestBox));
    if (nest->box == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int number[MOST_SLOTS] = {0};
    for (Py_ssize_t i = 0; i < count; i++) {
        NestBox *box = &nest->box[i];
        PyObject *one = PyTuple_GET_ITEM(given, i);
        if (!read_box(nest, one, box) || ++number[box->array] > MOST_BOXES) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "no part of a nest's array: %R", one);
            }
            return -1;
        }
        nest->boxes++;
    }
    return 0;
}

/* What a place is in a turn, the first of which is 0. False: no 64 bits hold it. */
static bool
place_at(const ReachPlace *place, const int64_t *words, const Register *cells, int64_t turn,
         int64_t *found)
{
    *found = place->more;
    for (int i = 0; i < place->terms; i++) {
        const ReachTerm *term = &place->term[i];
        int64_t part = term->by;
        for (int j = 0; j < term->factors; j++) {
            const ReachFactor *factor = &term->factor[j];
            int64_t now = factor->is_length ? words[factor->at] : cells[factor->at].whole;
            int64_t way = factor->step >= 0 ? cells[factor->step].whole : factor->each;
            if (__builtin_mul_overflow(way, turn, &way) || __builtin_add_overflow(now, way, &now) ||
                __builtin_mul_overflow(part, now, &part)) {
                return false;
            }
        }
        if (__builtin_add_overflow(*found, part, found)) {
            return false;
        }
    }
    return true;
}

/*
 * Between which places so many turns may write along a side. As places are linear they are least
 * and greatest in the first turn or the last. Those that are counted from the end are told from the
 * beginning. False: they may be any.
 */
static bool
side_within(const ReachSide *side, const int64_t *words, const Register *cells, int64_t turns,
            npy_intp length, npy_intp *first, npy_intp *count)
{
    int64_t least[2], most[2];
    for (int i = 0; i < 2; i++) {
        if (!place_at(&side->least, words, cells, i * (turns - 1), &least[i]) ||
            !place_at(&side->most, words, cells, i * (turns - 1), &most[i])) {
            return false;
        }
    }
    int64_t low = least[0] < least[1] ? least[0] : least[1];
    int64_t high = most[0] > most[1] ? most[0] : most[1];
    if (low < 0) {
        if (high >= 0) {
            return false;
        }
        low = low < -length ? 0 : low + length;
        high += length;
    }
    high = high < length ? high : length - 1; /* what lies behind is a doubt, and not stored */
    *first = low;
    *count = high >= low ? high - low + 1 : 0;
    return true;
}

/* What a box is for so many turns. */
static Extent
box_within(const NestBox *box, PyArrayObject *array, const int64_t *words, const Register *cells,
           int64_t turns)
{
    Extent extent = {.turning = false};
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        extent.count[axis] = PyArray_DIM(array, axis);
    }
    for (int i = 0; i < box->sides; i++) {
        const ReachSide *side = &box->side[i];
        npy_intp first, count, length = PyArray_DIM(array, side->axis);
        if (side_within(side, words, cells, turns, length, &first, &count)) {
            extent.first[side->axis] = first;
            extent.count[side->axis] = count;
            extent.turning = extent.turning || side->least.turning || side->most.turning;
        }
    }
    return extent;
}

/* How many elements lie in it. */
static npy_intp
volume(const Extent *extent, int axes)
{
    npy_intp found = 1;
    for (int axis = 0; axis < axes; axis++) {
        found *= extent->count[axis];
    }
    return found;
}

/* The box around another one and what has been found. */
static void
enclose(Extent *around, const Extent *other, int axes)
{
    for (int axis = 0; axis < axes; axis++) {
        npy_intp first = around->first[axis], past = first + around->count[axis];
        npy_intp begin = other->first[axis], end = begin + other->count[axis];
        around->first[axis] = first < begin ? first : begin;
        around->count[axis] = (past > end ? past : end) - around->first[axis];
    }
    around->turning = around->turning || other->turning;
}

/*
 * Note what so many turns from `cells` on may write of the array in a slot: its boxes, or where
 * that is less the box around them. False: it is not known, and nothing is noted.
 */
bool
reach_add(const Nest *nest, int number, PyArrayObject *array, const int64_t *words,
          const Register *cells, int64_t turns, Saved *saved)
{
    int axes = PyArray_NDIM(array), boxes = 0;
    npy_intp all = 0;
    Extent each[MOST_BOXES], around;
    if (axes > MOST_LENGTHS) {
        return false;
    }
    for (int i = 0; i < nest->boxes; i++) {
        if (nest->box[i].array != number) {
            continue;
        }
        Extent one = box_within(&nest->box[i], array, words, cells, turns);
        if (volume(&one, axes) == 0) {
            one = (Extent){.turning = one.turning};
            each[boxes++] = one;
            continue;
        }
        if (all == 0) {
            around = one;
        }
        enclose(&around, &one, axes);
        all += volume(&one, axes);
        each[boxes++] = one;
    }
    if (boxes == 0) {
        return false;
    }
    if (all > 0 && volume(&around, axes) <= all) {
        each[0] = around;
        boxes = 1;
    }
    for (int i = 0; i < boxes; i++) {
        saved_add_box(saved, array, each[i].first, each[i].count, each[i].turning);
    }
    return true;
}
