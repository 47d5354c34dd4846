/* Entry as Python sees it: made of a recipe and an ending, which are compiled for C. */
#include "run/entry_type.h"

#include <stddef.h>
#include <structmember.h>

#include "run/empty_slot.h"
#include "run/registers.h"

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
    if (entry_ready() < 0 || PyType_Ready(&Null_Type) < 0) {
        return -1;
    }
    return PyType_Ready(&Entry_Type);
}
