/* Better machine code for a nest, made while it runs. */
#include "nest/run/improved.h"

#include "nest/form/clock.h"

/* Nanoseconds of native work until the nest's own code is made with more effort, and until better
 * code is asked for. */
static const double TUNE_AFTER = 0.5e6, IMPROVE_AFTER = 10e6;

/*
 * The GIL is left to the thread that makes code for some microseconds, of each millisecond. A
 * program that drops it often, and takes it again at once (`np.zeros` does), would keep that thread
 * waiting for ever: a waiter asks for the GIL only where nobody drops it for five milliseconds.
 */
static const double LEAVE_EVERY = 1e6;
static const struct timespec LEAVE_FOR = {0, 20000};
enum { MOST_LEAVES = 200 };

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
bool
arrays_are_apart(const Nest *nest, const int64_t *words)
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
    return nest->improved != NULL && arrays_are_apart(nest, words) ? nest->improved
                                                                   : nest->function;
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

/* Call `*whom`, once. May run Python code. 0, or -1 with an exception. */
static int
ask_once(Nest *nest, PyObject **whom)
{
    if (*whom == NULL || *whom == Py_None) {
        return 0;
    }
    PyObject *asked = *whom;
    *whom = NULL;
    nest->leaves = MOST_LEAVES;
    nest->awaited++;
    PyObject *given = PyTuple_Pack(1, nest);
    PyObject *answer = given == NULL ? NULL : PyObject_CallOneArg(asked, given);
    Py_XDECREF(given);
    Py_DECREF(asked);
    Py_XDECREF(answer);
    nest->awaited -= answer == NULL;
    return answer == NULL ? -1 : 0;
}

/* Leave the GIL to the threads that were asked, for a moment now and then. */
static void
leave_gil(Nest *nest)
{
    double now = now_ns();
    if (now - nest->left_at < LEAVE_EVERY) {
        return;
    }
    nest->leaves--;
    Py_BEGIN_ALLOW_THREADS
        ;
        nanosleep(&LEAVE_FOR, NULL);
    Py_END_ALLOW_THREADS;
    nest->left_at = now_ns();
}

/* Whether `improved_ask` runs no Python code, and leaves the GIL to nobody. */
bool
improved_is_quiet(const Nest *nest)
{
    bool tunes = nest->tuner != NULL && nest->tuner != Py_None;
    bool improves = nest->improver != NULL && nest->improver != Py_None;
    return nest->native_ns < TUNE_AFTER ||
           (nest->awaited == 0 && !tunes && (!improves || nest->native_ns < IMPROVE_AFTER));
}

/*
 * Ask for code that was made with more effort once the nest has worked for long enough. It comes
 * from another thread. May run Python code. 0, or -1 with an exception.
 */
int
improved_ask(Nest *nest)
{
    if (nest->native_ns < TUNE_AFTER) {
        return 0;
    }
    if (nest->awaited > 0 && nest->leaves > 0) {
        leave_gil(nest);
    }
    if (ask_once(nest, &nest->tuner) < 0) {
        return -1;
    }
    return nest->native_ns < IMPROVE_AFTER ? 0 : ask_once(nest, &nest->improver);
}

/* Nanoseconds that a call may take, about: a nest comes back soon to ask for tuned code. */
double
improved_budget(const Nest *nest)
{
    double budget = nest->budget * 1e9;
    bool asks = nest->tuner != NULL && nest->tuner != Py_None;
    return asks && budget > TUNE_AFTER ? TUNE_AFTER : budget;
}

/* The function at an address, for PyArg_ParseTuple; 0 with an exception. */
static int
function_at(PyObject *address, void *function)
{
    void *found = PyLong_AsVoidPtr(address);
    if (found == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "no address: 0");
        }
        return 0;
    }
    *(NestFunction **)function = (NestFunction *)found;
    return 1;
}

/* Python's `tune(address, owner)`. The code that was there may still run: its owner stays. */
PyObject *
nest_tune(PyObject *self, PyObject *args)
{
    NestFunction *function;
    PyObject *owner;
    if (!PyArg_ParseTuple(args, "O&O:tune", function_at, &function, &owner)) {
        return NULL;
    }
    Nest *nest = (Nest *)self;
    if (nest->function != NULL) {
        nest->function = function;
        Py_XSETREF(nest->tuned_owner, Py_NewRef(owner));
    }
    Py_RETURN_NONE;
}

/* Python's `improve(address, owner, next=None, shares=())`: of loops inside, one for each. */
PyObject *
nest_improve(PyObject *self, PyObject *args)
{
    NestFunction *function;
    PyObject *owner, *next = NULL, *shares = NULL;
    if (!PyArg_ParseTuple(args, "O&O|OO!:improve", function_at, &function, &owner, &next,
                          &PyTuple_Type, &shares)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; shares != NULL && i < PyTuple_GET_SIZE(shares); i++) {
        Nest *loop = (Nest *)PyTuple_GET_ITEM(shares, i);
        if (Py_TYPE(loop) != Py_TYPE(self) || loop->part == NULL) {
            PyErr_SetString(PyExc_TypeError, "improve: shares are nests whose turns do not depend "
                                             "on each other");
            return NULL;
        }
    }
    Nest *nest = (Nest *)self;
    Py_XSETREF(nest->improved_owner, Py_NewRef(owner));
    Py_XSETREF(nest->next_improver, Py_XNewRef(next));
    bool has_shares = shares != NULL && PyTuple_GET_SIZE(shares) > 0;
    Py_XSETREF(nest->shares, has_shares ? Py_NewRef(shares) : NULL);
    nest->improved = nest->function == NULL ? NULL : function;
    nest->improved_cost = 0;
    Py_RETURN_NONE;
}

/* Python's `answered()`. */
PyObject *
nest_answered(PyObject *self, PyObject *Py_UNUSED(none))
{
    Nest *nest = (Nest *)self;
    nest->awaited -= nest->awaited > 0;
    Py_RETURN_NONE;
}
