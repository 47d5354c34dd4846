/* The iterator of a range, read and moved without Python code. */
#include "nest/given/ranges.h"

/* As CPython lays it out; `ranges_begin` asks whether it still does. */
typedef struct {
    PyObject_HEAD
#if PY_VERSION_HEX < 0x030c0000
    long index; /* how many numbers of `len` were given */
#endif
    long start, step, len;
} RangeIterator;

_Static_assert(sizeof(long) == sizeof(int64_t), "ranges over C's long hold 64 bits");

static bool ranges_are_known;

static void
numbers_left(const RangeIterator *iterator, Range *range)
{
#if PY_VERSION_HEX < 0x030c0000
    unsigned long passed = (unsigned long)iterator->index * (unsigned long)iterator->step;
    range->next = (long)((unsigned long)iterator->start + passed);
    range->left = iterator->len - iterator->index;
#else
    range->next = iterator->start;
    range->left = iterator->len;
#endif
    range->step = iterator->step;
}

/*
 * Read an exact range_iterator. False: it is something else (ranges over larger integers have
 * another type), or the numbers that are left, and the one behind them, do not fit 64 bits.
 */
bool
range_read(PyObject *object, Range *range)
{
    if (!ranges_are_known || !Py_IS_TYPE(object, &PyRangeIter_Type)) {
        return false;
    }
    numbers_left((RangeIterator *)object, range);
    __int128 end = range->next + (__int128)range->left * range->step;
    return range->left >= 0 && end >= INT64_MIN && end <= INT64_MAX;
}

/* Move an iterator, of which `range_read` was true, on to where only `left` numbers are left. */
void
range_move(PyObject *object, int64_t left)
{
    RangeIterator *iterator = (RangeIterator *)object;
#if PY_VERSION_HEX < 0x030c0000
    iterator->index = iterator->len - left;
#else
    unsigned long passed = (unsigned long)(iterator->len - left) * (unsigned long)iterator->step;
    iterator->start = (long)((unsigned long)iterator->start + passed);
    iterator->len = left;
#endif
}

/* Find out whether CPython's iterators have the layout assumed here. -1: exception. */
int
ranges_begin(void)
{
    PyObject *range = PyObject_CallFunction((PyObject *)&PyRange_Type, "iii", 5, 50, 7);
    PyObject *iterator = range ? PyObject_GetIter(range) : NULL;
    Py_XDECREF(range);
    for (int i = 0; iterator != NULL && i < 2; i++) {
        PyObject *number = PyIter_Next(iterator);
        if (number == NULL) {
            Py_CLEAR(iterator);
        }
        Py_XDECREF(number);
    }
    if (iterator == NULL) {
        return -1;
    }
    if (Py_IS_TYPE(iterator, &PyRangeIter_Type) &&
        PyRangeIter_Type.tp_basicsize == sizeof(RangeIterator)) {
        Range found;
        numbers_left((RangeIterator *)iterator, &found);
        ranges_are_known = found.next == 19 && found.step == 7 && found.left == 5;
    }
    Py_DECREF(iterator);
    return 0;
}
