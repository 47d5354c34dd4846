/* Calling a program: slots on the stack, steps in order. */
#include "program/program_run.h"
#include "kernel/arguments.h"
#include "kernel/bind.h"

enum { SLOTS_ON_STACK = 64 };

typedef enum { STEP_DONE, STEP_GIVES_UP, STEP_FAILED } Outcome;

/* What one run knows of NumPy's error state and of its own warnings. */
typedef struct {
    unsigned mask;    /* the flags that the state does not ignore */
    PyObject *token;  /* while NumPy raises in place of warning, or NULL */
    unsigned strict;  /* the flags for which it does */
    PyObject *finish; /* what `in_order` gave, or NULL */
} State;

/* The flags that are not ignored where a step of the program stood. */
static unsigned
mask_of(const Step *step, unsigned mask)
{
    return (mask & ~step->ignored) | step->warned;
}

/* An exception is set: propagate it, or clear it where plain Python runs next and will raise it. */
static Outcome
outcome_of_exception(const Step *step)
{
    bool refuses = step->kind == STEP_CALL && step->first_write;
    if ((step->committed && !refuses) || !PyErr_ExceptionMatches(PyExc_Exception)) {
        return STEP_FAILED;
    }
    PyErr_Clear();
    return STEP_GIVES_UP;
}

/* Steals `value`. */
static void
store(PyObject **slots, int slot, PyObject *value)
{
    if (slot < 0) {
        Py_DECREF(value);
        return;
    }
    PyObject *before = slots[slot];
    slots[slot] = value;
    Py_XDECREF(before);
}

/* The objects in some slots, borrowed; NULL where a slot is empty. */
static void
take_slots(const Slots *from, PyObject **slots, PyObject **objects)
{
    for (int i = 0; i < from->count; i++) {
        objects[i] = slots[from->slot[i]];
    }
}

static void
leave_strict(State *state)
{
    if (state->token != NULL) {
        error_state_restore(state->token);
        state->token = NULL;
    }
}

/* Before Python code that may warn: the program's own error state, and warnings kept where order
 * matters. */
static int
begin_telling(const Program *self, State *state)
{
    leave_strict(state);
    if (self->in_order != NULL && state->finish == NULL) {
        state->finish = PyObject_CallNoArgs(self->in_order);
        return state->finish == NULL ? -1 : 0;
    }
    return 0;
}

/* Issue the warnings that were kept; an exception that is set stays. */
static Outcome
finish_telling(State *state, Outcome outcome)
{
    if (state->finish == NULL) {
        return outcome;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *answer = PyObject_CallNoArgs(state->finish);
    Py_CLEAR(state->finish);
    if (answer == NULL) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return STEP_FAILED;
    }
    Py_DECREF(answer);
    PyErr_Restore(type, value, traceback);
    return outcome;
}

/* Flags that the error state does not ignore: warn of them, or leave that to plain Python. */
static Outcome
report_flags(const Program *self, int number, PyObject *flags, State *state)
{
    const Step *step = &self->step[number];
    if (!step->committed || self->report == NULL) {
        return step->committed ? STEP_DONE : STEP_GIVES_UP;
    }
    PyObject *answer = begin_telling(self, state) < 0
                           ? NULL
                           : PyObject_CallFunction(self->report, "iO", number, flags);
    if (answer == NULL) {
        return STEP_FAILED;
    }
    Py_DECREF(answer);
    return STEP_DONE;
}

static PyObject *
tuple_of(PyObject *const *items, int count)
{
    PyObject *made = PyTuple_New(count);
    for (int i = 0; made != NULL && i < count; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(items[i]));
    }
    return made;
}

/* Whether the fallback gave what it has to; an exception where not. */
static bool
are_results(PyObject *made, int count)
{
    if (PyTuple_Check(made) && PyTuple_GET_SIZE(made) == count) {
        return true;
    }
    PyErr_Format(PyExc_TypeError, "expected a tuple of %d, not %R", count, made);
    return false;
}

/*
 * Call `fallback` for a step whose operations NumPy has to do after a visible write, one by one.
 * Runs Python code. The results are new references.
 */
static int
run_fallback(const Program *self, int number, PyObject *const *arguments, PyObject **results,
             State *state)
{
    const Step *step = &self->step[number];
    int count = step->outputs.count;
    if (self->fallback == NULL) {
        PyErr_Format(PyExc_RuntimeError, "step %d refuses after a write was seen", number);
        return -1;
    }
    PyObject *given = tuple_of(arguments, step->inputs.count), *made = NULL;
    if (given != NULL && begin_telling(self, state) == 0) {
        made = PyObject_CallFunction(self->fallback, "iO", number, given);
    }
    Py_XDECREF(given);
    if (made == NULL) {
        return -1;
    }
    if (!are_results(made, count)) {
        Py_DECREF(made);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        results[i] = Py_NewRef(PyTuple_GET_ITEM(made, i));
    }
    Py_DECREF(made);
    return 0;
}

/*
 * Have NumPy compute what a kernel withheld, and write it to the kernel's results, some of which
 * may be replaced. Runs Python code.
 */
static int
run_withheld(const Program *self, int number, PyObject *const *arguments, PyObject **results,
             PyObject *withheld)
{
    const Step *step = &self->step[number];
    PyObject *given = tuple_of(arguments, step->inputs.count);
    PyObject *made = tuple_of(results, step->outputs.count), *done = NULL;
    if (given != NULL && made != NULL) {
        done = PyObject_CallFunction(self->fallback, "iOOO", number, given, made, withheld);
    }
    Py_XDECREF(given);
    Py_XDECREF(made);
    if (done == NULL || !are_results(done, step->outputs.count)) {
        Py_XDECREF(done);
        return -1;
    }
    for (int i = 0; i < step->outputs.count; i++) {
        Py_SETREF(results[i], Py_NewRef(PyTuple_GET_ITEM(done, i)));
    }
    Py_DECREF(done);
    return 0;
}

static PyObject *run_program(Program *self, PyObject *const *args, const unsigned *mask);

static void
store_results(const Step *step, PyObject **slots, PyObject **results)
{
    for (int i = 0; i < step->outputs.count; i++) {
        store(slots, step->outputs.slot[i], results[i]);
    }
}

/* A kernel or code over numbers refuses: too late for plain Python, or not. */
static Outcome
refused(const Program *self, int number, PyObject **slots, PyObject *const *arguments,
        PyObject **results, State *state)
{
    const Step *step = &self->step[number];
    if (!step->committed || step->first_write) {
        return STEP_GIVES_UP;
    }
    if (run_fallback(self, number, arguments, results, state) < 0) {
        return outcome_of_exception(step);
    }
    store_results(step, slots, results);
    return STEP_DONE; /* NumPy has warned already */
}

static Outcome
step_kernel(const Program *self, int number, PyObject **slots, State *state)
{
    const Step *step = &self->step[number];
    Kernel *kernel = (Kernel *)step->object;
    PyObject *arguments[step->inputs.count + 1], *results[step->outputs.count + 1], *flags;
    take_slots(&step->inputs, slots, arguments);
    if (kernel->on_hot != NULL) {
        leave_strict(state); /* it runs Python code */
    }
    PyObject *withheld = NULL;
    int done = kernel_run(kernel, arguments, mask_of(step, state->mask), results, &flags,
                          self->fallback != NULL ? &withheld : NULL);
    if (done == RUN_REFUSED) {
        return refused(self, number, slots, arguments, results, state);
    }
    if (done == RUN_FAILED) {
        return outcome_of_exception(step);
    }
    if (withheld != NULL) {
        leave_strict(state);
        int status = run_withheld(self, number, arguments, results, withheld);
        Py_DECREF(withheld);
        if (status < 0) {
            for (int i = 0; i < step->outputs.count; i++) {
                Py_DECREF(results[i]);
            }
            Py_DECREF(flags);
            return STEP_FAILED;
        }
    }
    store_results(step, slots, results);
    Outcome outcome = flags == Py_None ? STEP_DONE : report_flags(self, number, flags, state);
    Py_DECREF(flags);
    return outcome;
}

static Outcome
step_scalars(const Program *self, int number, PyObject **slots, State *state)
{
    const Step *step = &self->step[number];
    PyObject *arguments[step->inputs.count + 1], *results[step->outputs.count + 1];
    take_slots(&step->inputs, slots, arguments);
    int done = scalars_run(step->object, arguments, mask_of(step, state->mask), results);
    if (done == RUN_REFUSED) {
        return refused(self, number, slots, arguments, results, state);
    }
    if (done == RUN_FAILED) {
        return outcome_of_exception(step);
    }
    store_results(step, slots, results);
    return STEP_DONE;
}

static Outcome
step_unpack(const Step *step, PyObject **slots)
{
    PyObject *tuple = slots[step->inputs.slot[0]];
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != step->outputs.count) {
        PyErr_Format(PyExc_ValueError, "expected a tuple of %d, not %R", step->outputs.count,
                     tuple);
        return outcome_of_exception(step);
    }
    Py_INCREF(tuple); /* an output may take its slot */
    for (int i = 0; i < step->outputs.count; i++) {
        store(slots, step->outputs.slot[i], Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    }
    Py_DECREF(tuple);
    return STEP_DONE;
}

static PyObject *
call(const Step *step, PyObject **slots)
{
    int count = step->inputs.count;
    PyObject *arguments[count + 1];
    arguments[0] = NULL; /* room for a bound method's self */
    for (int i = 0; i < count; i++) {
        arguments[i + 1] = slots[step->inputs.slot[i]];
    }
    Py_ssize_t named = step->names ? PyTuple_GET_SIZE(step->names) : 0;
    return PyObject_Vectorcall(step->object, arguments + 1,
                               (size_t)(count - named) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                               step->names);
}

/*
 * A call. After a visible write one that would warn has raised FloatingPointError here, with
 * nothing done that cannot be done again: `fallback` repeats it and warns for the user's line.
 */
static Outcome
step_call(const Program *self, int number, PyObject **slots, State *state)
{
    const Step *step = &self->step[number];
    bool by_fallback = step->object == Py_None;
    PyObject *value = by_fallback ? NULL : call(step, slots);
    if (value == NULL && step->committed && state->token != NULL && self->fallback != NULL &&
        !by_fallback && PyErr_ExceptionMatches(PyExc_FloatingPointError)) {
        PyErr_Clear();
        by_fallback = true;
    }
    if (by_fallback) {
        PyObject *arguments[step->inputs.count + 1];
        take_slots(&step->inputs, slots, arguments);
        if (run_fallback(self, number, arguments, &value, state) < 0) {
            return outcome_of_exception(step);
        }
    }
    if (value == NULL) {
        return outcome_of_exception(step);
    }
    store(slots, step->outputs.slot[0], value);
    return STEP_DONE;
}

static PyObject *
make_tuple(const Slots *from, PyObject **slots)
{
    PyObject *tuple = PyTuple_New(from->count);
    for (int i = 0; tuple != NULL && i < from->count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(slots[from->slot[i]]));
    }
    return tuple;
}

/* Whether a number is true as expected: else the rest is not run. */
static Outcome
step_check(const Step *step, PyObject *number)
{
    int truth = number == Py_True ? 1 : number == Py_False ? 0 : PyObject_IsTrue(number);
    return truth < 0                 ? outcome_of_exception(step)
           : truth == step->expected ? STEP_DONE
                                     : STEP_GIVES_UP;
}

/*
 * What a side gives. Where nothing visible has been written yet, a side that refuses has not done
 * so either, and one that fails behind a write of its own fails for the whole program. One that is
 * late has the error state that the program began with, and warns behind all steps before it.
 */
static PyObject *
result_of_side(Program *side, PyObject *const *inputs, State *state)
{
    leave_strict(state); /* it reads the error state itself, or warns */
    if (!side->late) {
        return run_program(side, inputs, NULL);
    }
    if (finish_telling(state, STEP_DONE) == STEP_FAILED) {
        return NULL;
    }
    PyObject *made = run_program(side, inputs, &state->mask);
    if (made == Py_NotImplemented) {
        Py_CLEAR(made);
        PyErr_SetString(PyExc_RuntimeError, "a side refuses after a write was seen");
    }
    return made;
}

/* The side that the first input chooses gets the others. */
static Outcome
step_branch(const Step *step, PyObject **slots, State *state)
{
    PyObject *inputs[step->inputs.count + 1];
    take_slots(&step->inputs, slots, inputs);
    int truth = inputs[0] == Py_True ? 1 : inputs[0] == Py_False ? 0 : PyObject_IsTrue(inputs[0]);
    if (truth < 0) {
        return outcome_of_exception(step);
    }
    Program *side = (Program *)PyTuple_GET_ITEM(step->object, truth ? 0 : 1);
    PyObject *made = result_of_side(side, inputs + 1, state);
    if (made == NULL) {
        return outcome_of_exception(step);
    }
    if (made == Py_NotImplemented) {
        Py_DECREF(made);
        return STEP_GIVES_UP;
    }
    if (step->outputs.count == 1) {
        store(slots, step->outputs.slot[0], made);
        return STEP_DONE;
    }
    if (!PyTuple_Check(made) || PyTuple_GET_SIZE(made) != step->outputs.count) {
        PyErr_Format(PyExc_ValueError, "expected a tuple of %d, not %R", step->outputs.count, made);
        Py_DECREF(made);
        return outcome_of_exception(step);
    }
    for (int i = 0; i < step->outputs.count; i++) {
        store(slots, step->outputs.slot[i], Py_NewRef(PyTuple_GET_ITEM(made, i)));
    }
    Py_DECREF(made);
    return STEP_DONE;
}

static Outcome
run_step(const Program *self, int number, PyObject **slots, State *state)
{
    const Step *step = &self->step[number];
    const int *in = step->inputs.slot;
    PyObject *value = NULL;
    for (int i = 0; i < step->inputs.count; i++) {
        if (slots[in[i]] == NULL) {
            PyErr_Format(PyExc_SystemError, "step %d reads slot %d, which is empty", number, in[i]);
            return STEP_FAILED;
        }
    }
    switch (step->kind) {
    case STEP_KERNEL:
        return step_kernel(self, number, slots, state);
    case STEP_SCALARS:
        return step_scalars(self, number, slots, state);
    case STEP_UNPACK:
        return step_unpack(step, slots);
    case STEP_CALL:
        return step_call(self, number, slots, state);
    case STEP_CHECK:
        return step_check(step, slots[in[0]]);
    case STEP_BRANCH:
        return step_branch(step, slots, state);
    case STEP_GETITEM:
        value = PyObject_GetItem(slots[in[0]], slots[in[1]]);
        break;
    case STEP_BINARY:
        value = step->binary(slots[in[0]], slots[in[1]]);
        break;
    case STEP_UNARY:
        value = step->unary(slots[in[0]]);
        break;
    case STEP_TUPLE:
        value = make_tuple(&step->inputs, slots);
        break;
    }
    if (value == NULL) {
        return outcome_of_exception(step);
    }
    store(slots, step->outputs.slot[0], value);
    return STEP_DONE;
}

/* Read the error state, for programs with kernels. One that writes must not run into an exception.
 */
static Outcome
read_state(const Program *self, unsigned *mask)
{
    bool only_warns;
    *mask = 0;
    if (!self->has_kernels && !self->has_calls && !self->has_committed) {
        return STEP_DONE;
    }
    if (error_state_read(mask, &only_warns) < 0) {
        return STEP_FAILED;
    }
    if (!self->has_committed) {
        return STEP_DONE;
    }
    if (!only_warns) {
        return STEP_GIVES_UP;
    }
    int plain = error_state_warnings_are_plain();
    return plain < 0 ? STEP_FAILED : plain ? STEP_DONE : STEP_GIVES_UP;
}

/*
 * NumPy's own calls raise where they would warn, and nowhere else: before a visible write plain
 * Python then runs and warns instead, behind one `fallback` does. Kernels are given the mask.
 */
static int
watch(const Program *self, const Step *step, State *state)
{
    bool calls = step->kind == STEP_CALL || step->kind == STEP_BINARY || step->kind == STEP_UNARY;
    if (calls && step->committed && (step->kind != STEP_CALL || self->fallback == NULL)) {
        leave_strict(state); /* NumPy warns by itself */
        return 0;
    }
    if (!calls || step->object == Py_None) {
        return 0;
    }
    unsigned mask = mask_of(step, state->mask);
    if (state->token != NULL && state->strict != mask) {
        leave_strict(state);
    }
    if (state->token == NULL && (mask | state->mask) != 0) {
        state->token = error_state_raise(mask);
        state->strict = mask;
        return state->token == NULL ? -1 : 0;
    }
    return 0;
}

/*
 * Whether the numbers that are known before the first committed step fit the kernels from there on.
 * Where one does not, NumPy may raise: plain Python must run while that is possible.
 */
static bool
later_kernels_take_numbers(const Program *self, int first, PyObject **slots, unsigned mask)
{
    for (int i = first; i < self->steps; i++) {
        const Step *step = &self->step[i];
        if (step->kind != STEP_KERNEL) {
            continue;
        }
        PyObject *arguments[step->inputs.count + 1];
        take_slots(&step->inputs, slots, arguments);
        if (!kernel_takes_numbers((const Kernel *)step->object, arguments, mask_of(step, mask))) {
            return false;
        }
    }
    return true;
}

/* `mask`: of a late program, the flags that the error state does not ignore; else NULL. */
static Outcome
run_steps(const Program *self, PyObject **slots, const unsigned *mask)
{
    State state = {.mask = mask == NULL ? 0 : *mask};
    bool committed = self->late;
    Outcome outcome = mask == NULL ? read_state(self, &state.mask) : STEP_DONE;
    for (int i = 0; outcome == STEP_DONE && i < self->steps; i++) {
        if (self->step[i].committed && !committed) {
            committed = true;
            if (!later_kernels_take_numbers(self, i, slots, state.mask)) {
                outcome = STEP_GIVES_UP;
                break;
            }
        }
        if (watch(self, &self->step[i], &state) < 0) {
            outcome = STEP_FAILED;
            break;
        }
        outcome = run_step(self, i, slots, &state);
        const Slots *clear = &self->step[i].clear;
        for (int j = 0; outcome == STEP_DONE && j < clear->count; j++) {
            Py_CLEAR(slots[clear->slot[j]]);
        }
    }
    leave_strict(&state);
    return finish_telling(&state, outcome);
}

static PyObject *
take_outputs(const Program *self, PyObject **slots)
{
    for (int i = 0; i < self->outputs.count; i++) {
        if (slots[self->outputs.slot[i]] == NULL) {
            return PyErr_Format(PyExc_SystemError, "output slot %d is empty",
                                self->outputs.slot[i]);
        }
    }
    if (self->outputs.count == 1) {
        return Py_NewRef(slots[self->outputs.slot[0]]);
    }
    return make_tuple(&self->outputs, slots);
}

/* What a program gives for its inputs: a new reference. `mask`: as `run_steps` takes it. */
static PyObject *
run_program(Program *self, PyObject *const *args, const unsigned *mask)
{
    PyObject *few[SLOTS_ON_STACK], **slots = few;
    if (self->slots > SLOTS_ON_STACK) {
        slots = PyMem_Malloc(sizeof(PyObject *) * (size_t)self->slots);
        if (slots == NULL) {
            return PyErr_NoMemory();
        }
    }
    for (int i = 0; i < self->inputs; i++) {
        slots[i] = Py_NewRef(args[i]);
    }
    for (int i = self->inputs; i < self->slots; i++) {
        slots[i] = NULL;
    }
    for (int i = 0; i < self->constants; i++) {
        slots[self->constant_slot[i]] = Py_NewRef(self->constant[i]);
    }
    Py_INCREF(self); /* a step may drop the last other reference */
    Outcome outcome = run_steps(self, slots, mask);
    PyObject *result = NULL;
    if (outcome == STEP_DONE) {
        result = take_outputs(self, slots);
    }
    else if (outcome == STEP_GIVES_UP) {
        result = Py_NewRef(Py_NotImplemented);
    }
    for (int i = 0; i < self->slots; i++) {
        Py_XDECREF(slots[i]);
    }
    if (slots != few) {
        PyMem_Free(slots);
    }
    Py_DECREF(self);
    return result;
}

PyObject *
program_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Program *self = (Program *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (count != self->inputs || (names != NULL && PyTuple_GET_SIZE(names) > 0)) {
        return PyErr_Format(PyExc_TypeError, "a program of %d inputs, called with %zd",
                            self->inputs, count);
    }
    if (self->late) {
        PyErr_SetString(PyExc_RuntimeError, "a side of a branch is not called by itself");
        return NULL;
    }
    return run_program(self, args, NULL);
}
