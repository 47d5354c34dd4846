#include "values/ranges.h"

/* As CPython lays it out; `ranges_ready` asks whether it still does. */
typedef struct {
    PyObject_HEAD
#if PY_VERSION_HEX < 0x030c0000
    long index; /* how many numbers of `len` were given */
#endif
    long start, step, len;
} RangeIterator;

static bool ranges_are_known;

static long
numbers_left(const RangeIterator *iterator)
{
#if PY_VERSION_HEX < 0x030c0000
    return iterator->len - iterator->index;
#else
    return iterator->len;
#endif
}

/* Whether an object is the exact iterator of a range, with no number left. */
bool
range_has_ended(PyObject *iterator)
{
    return ranges_are_known && Py_IS_TYPE(iterator, &PyRangeIter_Type) &&
           numbers_left((RangeIterator *)iterator) <= 0;
}

/* Find out whether CPython's iterators have the layout assumed here. 0, or -1 with an exception. */
int
ranges_ready(void)
{
    PyObject *range = PyObject_CallFunction((PyObject *)&PyRange_Type, "iii", 5, 50, 7);
    PyObject *iterator = range == NULL ? NULL : PyObject_GetIter(range);
    Py_XDECREF(range);
    bool is_known = iterator != NULL && Py_IS_TYPE(iterator, &PyRangeIter_Type) &&
                    PyRangeIter_Type.tp_basicsize == sizeof(RangeIterator);
    for (long left = 7; iterator != NULL && left > 0; left--) {
        is_known = is_known && numbers_left((RangeIterator *)iterator) == left;
        PyObject *number = PyIter_Next(iterator);
        if (number == NULL) {
            Py_CLEAR(iterator);
        }
        Py_XDECREF(number);
    }
    if (iterator == NULL) {
        return -1;
    }
    ranges_are_known = is_known && numbers_left((RangeIterator *)iterator) == 0;
    Py_DECREF(iterator);
    return 0;
}
