/* Better machine code for a nest, made while it runs. */
#include "nest/nest.h"

/* Nanoseconds of native work until better code is asked for. */
static const double ASK_AFTER = 10e6;

/* What an undone chunk of better code costs, how much of that until it is given up, and how many
 * turns make up for it. */
enum { COST = 4, MOST_COST = 16, MANY_TURNS = 16 };

typedef struct {
    uintptr_t begin, end;
    bool written;
} Extent;

/* The memory between an array's first and last byte; empty for an array without elements. */
static Extent
extent_of(const NestSlot *slot, const int64_t *words)
{
    Extent extent = {(uintptr_t)words[0], (uintptr_t)words[0], slot->changed};
    for (int axis = 1; axis <= slot->axes; axis++) {
        if (words[axis] == 0) {
            extent.end = extent.begin;
            return extent;
        }
        int64_t reach = (words[axis] - 1) * words[slot->axes + axis];
        *(reach < 0 ? &extent.begin : &extent.end) += (uintptr_t)reach;
    }
    extent.end += (uintptr_t)slot->itemsize;
    return extent;
}

/* Whether no array that is written may share memory with another. */
static bool
are_apart(const Nest *nest, const int64_t *words)
{
    Extent extents[nest->arrays + 1];
    int count = 0;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind != SLOT_ARRAY) {
            continue;
        }
        Extent one = extent_of(slot, words);
        words += 1 + 2 * slot->axes;
        for (int other = 0; other < count; other++) {
            if ((one.written || extents[other].written) && one.begin < extents[other].end &&
                extents[other].begin < one.end) {
                return false;
            }
        }
        extents[count++] = one;
    }
    return true;
}

/* The machine code to begin with, for arrays that `words` describe. */
NestFunction *
improved_function(const Nest *nest, const int64_t *words)
{
    return nest->improved != NULL && are_apart(nest, words) ? nest->improved : nest->function;
}

/*
 * Note how many turns of a chunk of better code were kept. Where mostly none are, it is given up
 * for code that is perhaps asked for then. False: there is none now.
 */
bool
improved_learn(Nest *nest, int64_t kept)
{
    nest->improved_turns += kept;
    nest->improved_cost += kept == 0 ? COST : kept < MANY_TURNS ? -1 : -COST;
    nest->improved_cost = nest->improved_cost < 0 ? 0 : nest->improved_cost;
    if (nest->improved_cost >= MOST_COST) {
        nest->improved = NULL;
        if (nest->improver == NULL) {
            nest->improver = nest->next_improver;
            nest->next_improver = NULL;
        }
    }
    return nest->improved != NULL;
}

/*
 * Ask for better code once the nest has worked for long enough. It comes from another thread. May
 * run Python code. 0, or -1 with an exception.
 */
int
improved_ask(Nest *nest)
{
    if (nest->improver == NULL || nest->improver == Py_None || nest->native_ns < ASK_AFTER) {
        return 0;
    }
    PyObject *improver = nest->improver;
    nest->improver = NULL;
    PyObject *given = PyTuple_Pack(1, nest);
    PyObject *asked = given == NULL ? NULL : PyObject_CallOneArg(improver, given);
    Py_XDECREF(given);
    Py_DECREF(improver);
    Py_XDECREF(asked);
    return asked == NULL ? -1 : 0;
}

/* Python's `improve(address, owner, next=None)`. */
PyObject *
nest_improve(PyObject *self, PyObject *args)
{
    PyObject *address, *owner, *next = NULL;
    if (!PyArg_ParseTuple(args, "O!O|O:improve", &PyLong_Type, &address, &owner, &next)) {
        return NULL;
    }
    void *function = PyLong_AsVoidPtr(address);
    if (function == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "no address: 0");
    }
    Nest *nest = (Nest *)self;
    Py_XSETREF(nest->improved_owner, Py_NewRef(owner));
    Py_XSETREF(nest->next_improver, Py_XNewRef(next));
    nest->improved = nest->function == NULL ? NULL : (NestFunction *)function;
    nest->improved_cost = 0;
    Py_RETURN_NONE;
}
