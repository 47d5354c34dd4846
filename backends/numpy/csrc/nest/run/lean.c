/*
 * Short whole calls that are given numbers, and arrays that are only read, and give numbers and new
 * arrays. There is nothing to save and one turn, so that of what chunks.c does hardly anything is
 * left: of calls of some hundred nanoseconds that was most.
 */
#include "nest/run/lean.h"

#include "nest/form/costs.h"
#include "nest/form/own_memory.h"
#include "nest/run/call.h"
#include "nest/run/improved.h"
#include "nest/run/objects.h"
#include "nest/run/watch.h"

enum { MOST_CELLS = 64, MOST_WORDS = 64 };

/* Whether a slot is a number, or an array that is only read; behind those that have an object: a
 * number or an array that is given, or the call itself. */
static bool
slot_fits(const NestSlot *slot, bool has_object)
{
    if (!has_object) {
        return slot->kind == SLOT_NUMBER || slot->kind == SLOT_ONCE ||
               (slot->kind == SLOT_RESULT && !slot->is_list && slot->container == 0);
    }
    if (slot->kind == SLOT_ARRAY) {
        return !slot->changed && !slot->rebound && !slot->listed;
    }
    return slot->kind > SLOT_ARRAY && slot->kind <= SLOT_COMPLEX;
}

/* Whether short calls of a nest may be taken here. */
bool
lean_fits(const Nest *nest)
{
    bool fits = nest_is_whole_call(nest) && nest->iterators == 1 && nest->exits == 0 &&
                nest->lists == 0 && nest->changing == 0 && nest->keyed == 0 &&
                nest->generators == 0 && nest->cells <= MOST_CELLS && nest->words <= MOST_WORDS &&
                nest->outputs > 0;
    for (int i = 0; fits && i < nest->slots; i++) {
        fits = slot_fits(&nest->slot[i], i < nest->given);
    }
    return fits;
}

/* Whether calls like the last ones are short, none of them was odd, and none is to be timed now. */
static bool
is_lean_now(const Nest *nest)
{
    return nest->turn_ns > 0 && nest->turn_ns < SHORT && nest->runs % TIMED_EVERY != 0 &&
           nest->shares == NULL && nest->clean_turns == 0 && nest->between == 0 &&
           nest->skipped == 0 && !nest->after_odd;
}

/* The results as one object: one, or a tuple; takes the references. NULL, with no exception: there
 * is no memory. */
static PyObject *
one_of_many(const Nest *nest, PyObject **made)
{
    if (nest->outputs == 1) {
        return made[0];
    }
    PyObject *all = PyTuple_New(nest->outputs);
    if (all == NULL) {
        PyErr_Clear();
    }
    for (int i = 0; i < nest->outputs; i++) {
        if (all == NULL) {
            Py_DECREF(made[i]);
        }
        else {
            PyTuple_SET_ITEM(all, i, made[i]);
        }
    }
    return all;
}

/* Run the machine code from `given` on. False: it is in doubt, or raises a flag of `mask`. */
static bool
run(const Nest *nest, NestFunction *function, int64_t *words, const Register *given,
    Register *cells, unsigned mask)
{
    memcpy(cells, given, sizeof(Register) * (size_t)nest->cells);
    cells[nest->cells - 1].whole = 1;
    watch_begin();
    status_clear();
    int verdict = function(words, cells, nest->memory);
    bool flagged = (status_numbered(status_raw()) & mask) != 0;
    return verdict == 0 && !flagged && cells[nest->cells - 1].whole == 0 &&
           range_agrees(nest, given, cells, 1);
}

/*
 * The call of borrowed objects. NULL, with no exception: it is not for this; nothing has happened.
 */
PyObject *
lean_call(Nest *nest, PyObject *const *objects, unsigned mask)
{
    Register given[MOST_CELLS], cells[MOST_CELLS];
    int64_t words[MOST_WORDS];
    if (!is_lean_now(nest) || !objects_read_cells(nest, objects, given) ||
        !objects_read_arrays(nest, objects, words)) {
        return NULL;
    }
    double size = objects_size(nest, words, given);
    if (size > 4 * nest->size || size >= nest->most_size) {
        return NULL; /* it may be long */
    }
    bool improved = nest->improved != NULL;
    Status before = status_keep();
    PyObject *made[MOST_CELLS];
    bool done = run(nest, improved ? nest->improved : nest->function, words, given, cells, mask) &&
                objects_make(nest, objects, given, cells, made);
    own_memory_drop(nest, KEPT_BYTES);
    if (!done || !objects_clear_status(nest, given)) {
        status_put_back(before);
    }
    else {
        status_clear();
    }
    if (!done) {
        return NULL;
    }
    if (improved) {
        improved_learn(nest, 1);
    }
    nest->size = size;
    nest->native_ns += nest->turn_ns;
    nest->runs++;
    nest->lean_runs++;
    nest->turns++;
    return one_of_many(nest, made);
}
