#include "run/entry.h"

#include <errno.h>
#include <stddef.h>
#include <structmember.h>

#include "python/state.h"

/* ---- registers ---- */

/* Make room for `capacity` registers; their values stay. Returns 0, or -1 with MemoryError set. */
static int
registers_grow(Registers *registers, Py_ssize_t capacity)
{
    PyObject **values = PyMem_New(PyObject *, capacity);
    if (values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(values, registers->values, (size_t)registers->n_used * sizeof(PyObject *));
    if (registers->values != registers->usual) {
        PyMem_Free(registers->values);
    }
    registers->values = values;
    registers->capacity = capacity;
    return 0;
}

/* `registers_grow` where it is needed. */
static inline int
registers_reserve(Registers *registers, Py_ssize_t capacity)
{
    return capacity <= registers->capacity ? 0 : registers_grow(registers, capacity);
}

/*
 * Begin with `n_state` empty state slots, borrowed. Returns 0, or -1 with MemoryError set; call
 * `registers_end` in both cases.
 */
int
registers_begin(Registers *registers, Py_ssize_t n_state)
{
    registers->values = registers->usual;
    registers->capacity = USUAL_REGISTERS;
    registers->n_state = registers->n_used = 0;
    registers->owns_state = false;
    registers->contents = NULL;
    registers->known_at = registers->began = (Quiet){0};
    registers->n_locals = n_state;
    if (registers_reserve(registers, n_state) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_state; i++) {
        registers->values[i] = NULL;
    }
    registers->n_state = registers->n_used = n_state;
    return 0;
}

/* Drop the registers behind the state's. Finalizers may run. */
void
registers_drop_appended(Registers *registers)
{
    while (registers->n_used > registers->n_state) {
        registers->n_used--;
        Py_XDECREF(registers->values[registers->n_used]);
    }
}

/* Drop everything that is owned. Finalizers may run. */
void
registers_end(Registers *registers)
{
    registers_drop_appended(registers);
    if (registers->owns_state) {
        drop_locals(registers->values, registers->n_state);
    }
    if (registers->values != registers->usual) {
        PyMem_Free(registers->values);
    }
}

/* ---- checking and running ---- */

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

/* ---- NULL ---- */

/* The repr of the object that stands for an empty slot. */
static PyObject *
Null_repr(PyObject *Py_UNUSED(self))
{
    return PyUnicode_FromString("NULL");
}

/* Survive a reference count error elsewhere, as None does: it is a static object. */
static void
Null_dealloc(PyObject *self)
{
    Py_SET_REFCNT(self, 1 << 20);
}

PyTypeObject Null_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.NullType",
    .tp_doc = "The type of NULL, which stands for an empty slot of a state.",
    .tp_basicsize = sizeof(PyObject),
    .tp_dealloc = Null_dealloc,
    .tp_repr = Null_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

NullObject Null_Object = {PyObject_HEAD_INIT(&Null_Type)};

/* A new tuple of values with NULL_Object for the empty ones, or NULL with MemoryError set. */
PyObject *
state_tuple(PyObject *const *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i] == NULL ? NULL_OBJECT : values[i]));
    }
    return tuple;
}

/* ---- the type ---- */

/*
 * Read what is known of the arrays in a state's slots: None, or a number for each. Returns 0, or -1
 * with an exception set.
 */
static int
compile_contents(Resuming *self, PyObject *given)
{
    if (given == Py_None) {
        return 0;
    }
    bool fits = PyTuple_Check(given) && PyTuple_GET_SIZE(given) == self->n_slots;
    if (fits) {
        self->contents =
            PyBytes_FromStringAndSize(NULL, self->n_slots * (Py_ssize_t)sizeof(int32_t));
        if (self->contents == NULL) {
            return -1;
        }
    }
    for (Py_ssize_t i = 0; fits && i < self->n_slots; i++) {
        long one = PyLong_AsLong(PyTuple_GET_ITEM(given, i));
        if (one == -1 && PyErr_Occurred()) {
            return -1;
        }
        /* what is less than CONTENTS_UNKNOWN is for the nest alone to read */
        fits = one >= INT32_MIN / 2 && one < self->n_slots && (one < 0 || self->slots[one] >= 0);
        self->copies = self->copies || one >= 0;
        ((int32_t *)PyBytes_AS_STRING(self->contents))[i] = (int32_t)one;
    }
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "%R says nothing about %zd slots", given, self->n_slots);
    }
    return fits ? 0 : -1;
}

/*
 * Read `("resume", position, registers[, handled[, contents]])`. Returns 0, or -1 with an exception
 * set.
 */
static int
compile_resuming(Resuming *self, PyObject *ending, RegisterUse *use)
{
    const char *name;
    PyObject *position, *registers = NULL, *contents = Py_None;
    self->handled = AS_BEFORE;
    if (!PyTuple_Check(ending) || !PyArg_ParseTuple(ending, "sO|OnO;an ending", &name, &position,
                                                    &registers, &self->handled, &contents)) {
        return PyErr_Occurred()
                   ? -1
                   : (PyErr_Format(PyExc_TypeError, "an ending is a tuple, not %R", ending), -1);
    }
    if (strcmp(name, "resume") == 0 && registers != NULL) {
        self->position = PyLong_AsSsize_t(position);
        if (self->position == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (self->position >= 0) {
            if (read_registers(registers, use, true, &self->slots, &self->n_slots) < 0) {
                return -1;
            }
            if (self->handled >= AS_BEFORE && self->handled < self->n_slots) {
                return compile_contents(self, contents);
            }
        }
    }
    PyErr_Format(PyExc_ValueError, "%R is no ending", ending);
    return -1;
}

/* Whether an ending begins with this word. */
static bool
is_ending(PyObject *ending, const char *name)
{
    return PyTuple_Check(ending) && PyTuple_GET_SIZE(ending) >= 2 &&
           PyUnicode_Check(PyTuple_GET_ITEM(ending, 0)) &&
           PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(ending, 0), name) == 0;
}

/*
 * Read `("return", register)`, `("resume", position, registers[, handled[, contents]])`, where
 * `handled` is FrameState's, by default AS_BEFORE, and `contents` says what its bytes do,
 * `("choose", resume, ...)` with several of these, where the last output says which, or
 * `("branch", register, resume, resume)`: the first where the condition in the register is true.
 * Returns 0, or -1 with an exception set.
 */
static int
compile_ending(Entry *self, PyObject *ending, RegisterUse *use)
{
    if (is_ending(ending, "return") && PyTuple_GET_SIZE(ending) == 2) {
        return read_register(PyTuple_GET_ITEM(ending, 1), use, false, &self->result);
    }
    bool chooses = is_ending(ending, "choose"), branches = is_ending(ending, "branch");
    Py_ssize_t first = chooses ? 1 : branches ? 2 : 0;
    Py_ssize_t count = first > 0 ? PyTuple_GET_SIZE(ending) - first : 1;
    if ((chooses && self->n_outputs == 0) || (branches && count != 2)) {
        PyErr_Format(PyExc_ValueError, "nothing chooses the ending of %R", ending);
        return -1;
    }
    if (branches && read_register(PyTuple_GET_ITEM(ending, 1), use, false, &self->condition) < 0) {
        return -1;
    }
    self->resuming = PyMem_Calloc((size_t)count, sizeof(Resuming));
    if (self->resuming == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->n_resuming = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = first > 0 ? PyTuple_GET_ITEM(ending, first + i) : ending;
        if (compile_resuming(&self->resuming[i], one, use) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Note which shortcuts of `entry_run` apply. */
static void
note_shortcuts(Entry *self)
{
    self->inputs_in_order = true;
    for (Py_ssize_t i = 0; i < self->n_inputs; i++) {
        self->inputs_in_order = self->inputs_in_order && self->inputs[i] == i;
    }
    self->may_return_output = self->artefact != NULL && self->n_outputs == 1 &&
                              recipe_rows(self->recipe) == 0 && self->resuming == NULL;
}

/*
 * Entry(guards, inputs, artefact, n_outputs, recipe, ending). Returns a new reference, or NULL with
 * an exception set.
 */
static PyObject *
Entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"guards", "inputs", "artefact", "n_outputs", "recipe", "ending", NULL};
    PyObject *guards, *inputs, *artefact, *recipe, *ending;
    Py_ssize_t n_outputs;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOnOO:Entry", names, &guards, &inputs,
                                     &artefact, &n_outputs, &recipe, &ending)) {
        return NULL;
    }
    if (artefact != Py_None && !PyCallable_Check(artefact)) {
        return PyErr_Format(PyExc_TypeError, "an artefact is a callable or None, not %R", artefact);
    }
    if (n_outputs < 0 || n_outputs > INT32_MAX / 4 || (artefact == Py_None && n_outputs > 0)) {
        return PyErr_Format(PyExc_ValueError, "an artefact %R cannot have %zd outputs", artefact,
                            n_outputs);
    }
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    RegisterUse use = {0};
    self->valid = 1;
    self->artefact = artefact == Py_None ? NULL : Py_NewRef(artefact);
    self->n_outputs = n_outputs;
    self->condition = -1;
    self->position = Py_NewRef(Py_None);
    self->data = Py_NewRef(Py_None);
    if ((self->guards = compile_guards(guards, &use)) == NULL ||
        read_registers(inputs, &use, false, &self->inputs, &self->n_inputs) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    use.appended += n_outputs;
    if ((self->recipe = compile_recipe(recipe, self->guards, &use)) == NULL ||
        compile_ending(self, ending, &use) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->least_state = use.least_state;
    self->n_appended = use.appended;
    note_reads(self->guards, &use);
    note_shortcuts(self);
    return (PyObject *)self;
}

static int
Entry_traverse(Entry *self, visitproc visit, void *arg)
{
    Py_VISIT(self->artefact);
    Py_VISIT(self->position);
    Py_VISIT(self->data);
    int status = traverse_guards(self->guards, visit, arg);
    return status != 0 ? status : traverse_recipe(self->recipe, visit, arg);
}

static void
Entry_dealloc(Entry *self)
{
    PyObject_GC_UnTrack(self);
    free_guards(self->guards);
    free_recipe(self->recipe);
    Py_XDECREF(self->artefact);
    Py_XDECREF(self->position);
    Py_XDECREF(self->data);
    Py_XDECREF(self->known_of);
    Py_XDECREF(self->known);
    PyMem_Free(self->inputs);
    for (Py_ssize_t i = 0; i < self->n_resuming; i++) {
        PyMem_Free(self->resuming[i].slots);
        Py_XDECREF(self->resuming[i].contents);
    }
    PyMem_Free(self->resuming);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Break cycles. An entry that a finalizer can still reach is never run again. */
static int
Entry_clear(Entry *self)
{
    self->valid = 0;
    Py_CLEAR(self->artefact);
    Py_CLEAR(self->position);
    Py_CLEAR(self->data);
    return 0;
}

/*
 * entry.first_failing(state): the index of the first guard that does not hold for a tuple of
 * values, or None.
 */
static PyObject *
Entry_first_failing(Entry *self, PyObject *state)
{
    if (!PyTuple_Check(state)) {
        return PyErr_Format(PyExc_TypeError, "a state is a tuple, not %.100s",
                            Py_TYPE(state)->tp_name);
    }
    Py_ssize_t n_state = PyTuple_GET_SIZE(state);
    if (n_state < self->least_state) {
        return PyErr_Format(PyExc_ValueError, "a state of this entry has at least %zd values",
                            self->least_state);
    }
    Registers registers;
    Py_ssize_t failing = -1;
    bool begun = registers_begin(&registers, n_state) == 0 &&
                 registers_reserve(&registers, n_state + self->n_appended + 1) == 0;
    if (begun) {
        for (Py_ssize_t i = 0; i < n_state; i++) {
            PyObject *value = PyTuple_GET_ITEM(state, i);
            registers.values[i] = value == NULL_OBJECT ? NULL : value;
        }
        failing = first_failing_guard(self->guards, registers.values, n_state);
        registers.n_used += failing < 0 ? guards_loads(self->guards) : 0;
    }
    registers_end(&registers);
    if (!begun) {
        return NULL;
    }
    return failing < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(failing);
}

/* Whether an entry may be run again: `valid` was not set to false, and no operand is dead. */
bool
entry_is_valid(Entry *entry)
{
    return entry->valid && !guards_are_dead(entry->guards);
}

static PyObject *
Entry_get_valid(Entry *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(entry_is_valid(self));
}

static int
Entry_set_valid(Entry *self, PyObject *value, void *Py_UNUSED(closure))
{
    int truth = value == NULL ? 0 : PyObject_IsTrue(value);
    self->valid = truth > 0;
    return truth < 0 ? -1 : 0;
}

static PyGetSetDef Entry_getset[] = {
    {"valid", (getter)Entry_get_valid, (setter)Entry_set_valid,
     "False, also where a class or function of its guards is dead: the next look-up forgets the "
     "entry.",
     NULL},
    {0},
};

static PyMethodDef Entry_methods[] = {
    {"first_failing", (PyCFunction)Entry_first_failing, METH_O,
     "The index of the first guard that does not hold for a state (a tuple, NULL for empty slots), "
     "or None."},
    {0},
};

static PyMemberDef Entry_members[] = {
    {"artefact", T_OBJECT, offsetof(Entry, artefact), READONLY,
     "What computes the outputs, or None."},
    {"position", T_OBJECT, offsetof(Entry, position), 0, "Where the entry belongs; for its maker."},
    {"data", T_OBJECT, offsetof(Entry, data), 0, "Anything its maker wants to keep with it."},
    {"is_loop", T_BOOL, offsetof(Entry, is_loop), 0,
     "Whether it runs turns of a loop: it may decline often, and its own turns are not timed."},
    {"turn_ns", T_LONGLONG, offsetof(Entry, turn_ns), 0,
     "How many nanoseconds such a turn takes plain Python, about; 0: it is not known."},
    {"takes_contents", T_BOOL, offsetof(Entry, takes_contents), 0,
     "Whether its artefact takes the keyword `contents`: bytes, an int32 for each input, what is "
     "known of an array that only the frame holds; -3: nothing, -2: nobody has seen its elements, "
     "-1: they are zero, else the place of an array that it equals, behind the inputs."},
    {"expects", T_INT, offsetof(Entry, expects), 0,
     "How many sides of branches it takes for granted: where one is not taken it declines, and "
     "another entry may run."},
    {"asks_after", T_LONGLONG, offsetof(Entry, asks_after), 0,
     "After so many more runs `session.grow` is asked for a longer entry; 0: never."},
    {"were_true", T_LONGLONG, offsetof(Entry, were_true), READONLY,
     "How often the condition of the branch at its end was true."},
    {"were_false", T_LONGLONG, offsetof(Entry, were_false), READONLY, "How often it was false."},
    {"hits", T_LONGLONG, offsetof(Entry, hits), READONLY, "How often its guards held."},
    {"declined", T_LONGLONG, offsetof(Entry, declined), READONLY,
     "How often plain Python ran in its place."},
    {0},
};

PyTypeObject Entry_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.Entry",
    .tp_doc = "Entry(guards, inputs, artefact, n_outputs, recipe, ending)\n--\n\nOne "
              "specialisation of one position.",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = Entry_new,
    .tp_dealloc = (destructor)Entry_dealloc,
    .tp_traverse = (traverseproc)Entry_traverse,
    .tp_clear = (inquiry)Entry_clear,
    .tp_methods = Entry_methods,
    .tp_members = Entry_members,
    .tp_getset = Entry_getset,
};

/* Prepare the types. Returns 0, or -1 with an exception set. */
int
Entry_Ready(void)
{
    if (contents_keyword == NULL && (contents_keyword = Py_BuildValue("(s)", "contents")) == NULL) {
        return -1;
    }
    return PyType_Ready(&Null_Type) < 0 ? -1 : PyType_Ready(&Entry_Type);
}
