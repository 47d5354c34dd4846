#include "run/entry.h"

#include <errno.h>

#include "python/state.h"

/*
 * Whether the entry's guards hold: then its loads are behind the state's registers, with room for
 * the rest. Returns 1 or 0, or -1 with MemoryError set. Runs what `guards_hold` runs.
 */
int
entry_matches(Entry *entry, Registers *registers)
{
    if (registers->n_state < entry->least_state) {
        return 0;
    }
    if (registers_reserve(registers, registers->n_state + entry->n_appended + 1) < 0) {
        return -1;
    }
    if (!guards_hold(entry->guards, registers->values, registers->n_state)) {
        return 0;
    }
    registers->n_used = registers->n_state + guards_loads(entry->guards);
    return 1;
}

/* What is known of the array in a register. */
static int32_t
contents_of(const Registers *registers, int32_t number)
{
    return number < registers->n_state
               ? ((const int32_t *)PyBytes_AS_STRING(registers->contents))[number]
               : CONTENTS_UNKNOWN;
}

/*
 * Have `entry->known` say what is known of the inputs: as the state's contents, but that arrays
 * which others equal come behind the inputs, and are named by their place there. None: nothing is.
 * Returns 0, or -1 with MemoryError set.
 */
static int
note_known(Entry *entry, const Registers *registers)
{
    if (entry->known_of == registers->contents) {
        return 0;
    }
    PyObject *known =
        PyBytes_FromStringAndSize(NULL, entry->n_inputs * (Py_ssize_t)sizeof(int32_t));
    if (known == NULL) {
        return -1;
    }
    bool any = false;
    Py_ssize_t behind = entry->n_inputs;
    int32_t *contents = (int32_t *)PyBytes_AS_STRING(known);
    for (Py_ssize_t i = 0; i < entry->n_inputs; i++) {
        int32_t found = contents_of(registers, entry->inputs[i]);
        contents[i] = found < 0 ? found : (int32_t)behind++;
        any = any || found != CONTENTS_UNKNOWN;
    }
    if (!any) {
        Py_SETREF(known, Py_NewRef(Py_None));
    }
    entry->known_copies = behind > entry->n_inputs;
    Py_XSETREF(entry->known, known);
    Py_XSETREF(entry->known_of, Py_NewRef(registers->contents));
    return 0;
}

static PyObject *contents_keyword; /* ("contents",) */

/*
 * Call the artefact as `call_artefact` does, with the arrays that inputs equal behind them, and the
 * keyword `contents`.
 */
static PyObject *
call_knowing(Entry *entry, Registers *registers)
{
    Py_ssize_t count = entry->n_inputs;
    PyObject *few[33];
    PyObject **inputs = few;
    if (count > 16 && (inputs = PyMem_New(PyObject *, 2 * count + 1)) == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < entry->n_inputs; i++) {
        int32_t number = entry->inputs[i], other = contents_of(registers, number);
        inputs[i] = registers->values[number];
        if (other >= 0) {
            PyObject *equal = registers->values[other];
            inputs[count++] = equal == NULL ? Py_None : equal;
        }
    }
    inputs[count] = entry->known;
    PyObject *outputs =
        PyObject_Vectorcall(entry->artefact, inputs, (size_t)count, contents_keyword);
    if (inputs != few) {
        PyMem_Free(inputs);
    }
    return outputs;
}

/*
 * Call the artefact with the entry's inputs. Returns a new reference, or NULL with an exception
 * set.
 */
static PyObject *
call_artefact(Entry *entry, Registers *registers)
{
    PyObject **values = registers->values;
    if (entry->takes_contents && registers->contents != NULL) {
        if (note_known(entry, registers) < 0) {
            return NULL;
        }
        if (entry->known != Py_None && (!entry->known_copies || quiet_since(registers->known_at))) {
            return call_knowing(entry, registers);
        }
    }
    if (entry->inputs_in_order) {
        return PyObject_Vectorcall(entry->artefact, values, (size_t)entry->n_inputs, NULL);
    }
    PyObject *few[17];
    PyObject **inputs = few;
    if (entry->n_inputs > 16 && (inputs = PyMem_New(PyObject *, entry->n_inputs + 1)) == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < entry->n_inputs; i++) {
        inputs[i + 1] = values[entry->inputs[i]];
    }
    PyObject *outputs =
        PyObject_Vectorcall(entry->artefact, inputs + 1,
                            (size_t)entry->n_inputs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (inputs != few) {
        PyMem_Free(inputs);
    }
    return outputs;
}

/* Whether an input register is empty: then SystemError is set. */
static bool
lacks_input(Entry *entry, Registers *registers)
{
    for (Py_ssize_t i = 0; i < entry->n_inputs; i++) {
        if (registers->values[entry->inputs[i]] == NULL) {
            PyErr_Format(PyExc_SystemError, "ufuse: input register %d of an artefact is empty",
                         (int)entry->inputs[i]);
            return true;
        }
    }
    return false;
}

/*
 * Append what the artefact returned (stolen) as registers. Returns 0, or -1 with SystemError set.
 */
static int
append_outputs(Entry *entry, Registers *registers, PyObject *outputs)
{
    PyObject **free_registers = registers->values + registers->n_used;
    if (entry->n_outputs == 1) {
        free_registers[0] = outputs;
        registers->n_used++;
        return 0;
    }
    if (entry->n_outputs > 0) {
        if (!PyTuple_CheckExact(outputs) || PyTuple_GET_SIZE(outputs) != entry->n_outputs) {
            PyErr_Format(PyExc_SystemError,
                         "ufuse: an artefact returned %.100s instead of a tuple of %zd outputs",
                         Py_TYPE(outputs)->tp_name, entry->n_outputs);
            Py_DECREF(outputs);
            return -1;
        }
        for (Py_ssize_t i = 0; i < entry->n_outputs; i++) {
            free_registers[i] = Py_NewRef(PyTuple_GET_ITEM(outputs, i));
        }
        registers->n_used += entry->n_outputs;
    }
    Py_DECREF(outputs);
    return 0;
}

/* A new state, a new reference; NULL with MemoryError set. */
static FrameState *
build_state(const Resuming *resuming, Registers *registers)
{
    FrameState *state = FrameState_New(resuming->position, resuming->n_slots, registers->n_locals);
    for (Py_ssize_t i = 0; state != NULL && i < resuming->n_slots; i++) {
        int32_t number = resuming->slots[i];
        state->slots[i] = number < 0 ? NULL : Py_XNewRef(registers->values[number]);
    }
    if (state != NULL) {
        state->handled = resuming->handled;
        if (!resuming->copies || quiet_since(registers->began)) {
            state->contents = Py_XNewRef(resuming->contents);
            state->known_at = registers->began;
        }
    }
    return state;
}

/* The way to go on that the last output (in `number`) names; NULL with SystemError set. */
static const Resuming *
chosen_way(Entry *entry, PyObject *number)
{
    Py_ssize_t chosen = PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
    if (chosen < 0 || chosen >= entry->n_resuming) {
        PyErr_Format(PyExc_SystemError, "ufuse: %R is none of %zd ways to go on", number,
                     entry->n_resuming);
        return NULL;
    }
    return &entry->resuming[chosen];
}

/* The way to go on by the truth of the condition, a number; NULL with an exception set. */
static const Resuming *
way_by_truth(Entry *entry, PyObject *condition)
{
    int truth = condition == Py_True ? 1 : condition == Py_False ? 0 : -1;
    if (condition == NULL) {
        PyErr_SetString(PyExc_SystemError, "ufuse: the register of a condition is empty");
        return NULL;
    }
    if (truth < 0 && (truth = PyObject_IsTrue(condition)) < 0) {
        return NULL;
    }
    entry->were_true += truth;
    entry->were_false += !truth;
    return &entry->resuming[truth ? 0 : 1];
}

/* Run what follows the artefact: the recipe, then the ending. As `entry_run`. */
static RunOutcome
end_entry(Entry *entry, Registers *registers, PyObject **result, FrameState **next)
{
    const Resuming *resuming = entry->resuming;
    if (entry->n_resuming > 1 && entry->condition < 0 &&
        (resuming = chosen_way(entry, registers->values[registers->n_used - 1])) == NULL) {
        return RUN_RAISED;
    }
    Py_ssize_t rows = recipe_rows(entry->recipe);
    if (rows > 0) {
        int status = run_recipe(entry->recipe, registers->values, registers->n_used);
        registers->n_used += rows;
        if (status < 0) {
            return RUN_RAISED;
        }
    }
    if (entry->condition >= 0 &&
        (resuming = way_by_truth(entry, registers->values[entry->condition])) == NULL) {
        return RUN_RAISED;
    }
    if (resuming != NULL) {
        *next = build_state(resuming, registers);
        return *next == NULL ? RUN_RAISED : RUN_RESUMES;
    }
    *result = Py_XNewRef(registers->values[entry->result]);
    if (*result == NULL) {
        PyErr_Format(PyExc_SystemError, "ufuse: register %d, which a frame is to return, is empty",
                     (int)entry->result);
        return RUN_RAISED;
    }
    return RUN_RETURNED;
}

/*
 * Run an entry whose guards hold, on the registers that `entry_matches` filled. The caller owns the
 * entry: the artefact may release the GIL, and the recipe may run code of the program. `*result` or
 * `*next` is a new reference where the outcome says so. The eval hook takes frames that the recipe
 * calls, but none of the artefact's. CPython's abs() of a complex NaN raises where an underflow has
 * left its error in `errno`: in the artefact nothing of before does, and nothing of it behind.
 */
RunOutcome
entry_run(Entry *entry, Registers *registers, PyObject **result, FrameState **next)
{
    if (entry->resuming != NULL && entry->resuming->copies) {
        registers->began = quiet_now();
    }
    if (entry->artefact != NULL) {
        if (lacks_input(entry, registers)) {
            return RUN_RAISED;
        }
        PyObject *session = ufuse_thread.session;
        bool within = ufuse_thread.within;
        ufuse_thread.session = NULL;
        ufuse_thread.within = true;
        errno = 0;
        PyObject *outputs = call_artefact(entry, registers);
        errno = 0;
        ufuse_thread.session = session;
        ufuse_thread.within = within;
        if (outputs == NULL) {
            return RUN_RAISED;
        }
        if (outputs == Py_NotImplemented) {
            Py_DECREF(outputs);
            return RUN_DECLINED;
        }
        if (entry->may_return_output && entry->result == registers->n_used) {
            *result = outputs;
            return RUN_RETURNED;
        }
        if (append_outputs(entry, registers, outputs) < 0) {
            return RUN_RAISED;
        }
    }
    return end_entry(entry, registers, result, next);
}

/* Whether an entry may be run again: `valid` was not set to false, and no operand is dead. */
bool
entry_is_valid(Entry *entry)
{
    return entry->valid && !guards_are_dead(entry->guards);
}

/* Prepare what calls of artefacts need. Returns 0, or -1 with an exception set. */
int
entry_ready(void)
{
    if (contents_keyword == NULL) {
        contents_keyword = Py_BuildValue("(s)", "contents");
    }
    return contents_keyword == NULL ? -1 : 0;
}
