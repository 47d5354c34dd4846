/* The Program type: steps read from Python, checked once. */
#include "program/operators.h"
#include "program/program_run.h"
#include "kernel/kernel.h"
#include "kernel/plan.h"

#include <stddef.h>
#include <structmember.h>

PyTypeObject *program_type;

static void
free_slots(Slots *slots)
{
    PyMem_Free(slots->slot);
    slots->slot = NULL;
}

/* Slot numbers from a tuple, or from one number; None and -1 are no slot where `dropped` is
 * allowed. */
static int
read_slots(const Program *self, PyObject *given, bool dropped, Slots *slots)
{
    bool many = PyTuple_Check(given);
    slots->count = many ? (int)PyTuple_GET_SIZE(given) : 1;
    slots->slot = PyMem_Calloc((size_t)slots->count + 1, sizeof(int));
    if (slots->slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < slots->count; i++) {
        PyObject *number = many ? PyTuple_GET_ITEM(given, i) : given;
        if (dropped &&
            (number == Py_None || (PyLong_Check(number) && PyLong_AsLong(number) == -1))) {
            slots->slot[i] = -1;
            continue;
        }
        slots->slot[i] = number_between(number, self->slots, "a slot");
        if (slots->slot[i] < 0) {
            return -1;
        }
    }
    return 0;
}

/* One step's fields between its name and `clear, committed`: how many, and which are the slots. */
static const struct {
    const char *name;
    int fields; /* with the name, clear and committed */
    int inputs; /* the first field of inputs; -1: two single fields follow an operator's name */
    int outputs;
} forms[] = {
    [STEP_KERNEL] = {"kernel", 6, 2, 3},   [STEP_CALL] = {"call", 7, 2, 4},
    [STEP_GETITEM] = {"getitem", 6, 1, 3}, [STEP_BINARY] = {"binary", 7, 2, 4},
    [STEP_UNARY] = {"unary", 6, 2, 3},     [STEP_UNPACK] = {"unpack", 5, 1, 2},
    [STEP_TUPLE] = {"tuple", 5, 1, 2},     [STEP_SCALARS] = {"scalars", 6, 2, 3},
    [STEP_CHECK] = {"check", 6, 1, 3},     [STEP_BRANCH] = {"branch", 6, 2, 3},
};

static int
step_kind(PyObject *given)
{
    PyObject *name =
        PyTuple_Check(given) && PyTuple_GET_SIZE(given) > 0 ? PyTuple_GET_ITEM(given, 0) : NULL;
    for (int i = 0; name != NULL && PyUnicode_Check(name) && i < (int)Py_ARRAY_LENGTH(forms); i++) {
        if (PyUnicode_CompareWithASCIIString(name, forms[i].name) == 0 &&
            PyTuple_GET_SIZE(given) == forms[i].fields) {
            return i;
        }
    }
    PyErr_Format(PyExc_ValueError, "no such step: %R", given);
    return -1;
}

static int
read_kernel(Step *step, PyObject *given, bool first_committed)
{
    PyObject *kernel = PyTuple_GET_ITEM(given, 1);
    if (!Py_IS_TYPE(kernel, kernel_type)) {
        PyErr_Format(PyExc_TypeError, "no kernel: %R", kernel);
        return -1;
    }
    step->object = Py_NewRef(kernel);
    const Kernel *self = (Kernel *)kernel;
    step->first_write = first_committed && self->has_into;
    if (step->inputs.count != self->operands || step->outputs.count != self->results) {
        PyErr_Format(PyExc_ValueError, "a kernel of %d operands and %d results, not %d and %d",
                     self->operands, self->results, step->inputs.count, step->outputs.count);
        return -1;
    }
    return 0;
}

static int
read_scalars(Step *step, PyObject *given, bool first_committed)
{
    PyObject *block = PyTuple_GET_ITEM(given, 1);
    if (!Py_IS_TYPE(block, scalars_type)) {
        PyErr_Format(PyExc_TypeError, "no code over numbers: %R", block);
        return -1;
    }
    step->object = Py_NewRef(block);
    int inputs, results;
    bool stores;
    scalars_counts(block, &inputs, &results, &stores);
    step->first_write = first_committed && stores;
    if (step->inputs.count != inputs || step->outputs.count != results) {
        PyErr_Format(PyExc_ValueError, "code of %d inputs and %d results, not %d and %d", inputs,
                     results, step->inputs.count, step->outputs.count);
        return -1;
    }
    return 0;
}

/*
 * `("call", function, inputs, keywords, output, clear, committed)`: True, or 2 where it has written
 * nothing if it raises.
 */
static int
read_call(Step *step, PyObject *given, bool first_committed)
{
    PyObject *committed = PyTuple_GET_ITEM(given, PyTuple_GET_SIZE(given) - 1);
    step->first_write = first_committed && PyLong_CheckExact(committed);
    PyObject *names = PyTuple_GET_ITEM(given, 3);
    step->object = Py_NewRef(PyTuple_GET_ITEM(given, 1));
    if (names == Py_None || (PyTuple_Check(names) && PyTuple_GET_SIZE(names) == 0)) {
        return 0;
    }
    if (!PyTuple_Check(names) || PyTuple_GET_SIZE(names) > step->inputs.count) {
        PyErr_Format(PyExc_ValueError, "no keyword names: %R", names);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(names, i))) {
            PyErr_Format(PyExc_TypeError, "no keyword names: %R", names);
            return -1;
        }
    }
    step->names = Py_NewRef(names);
    return 0;
}

static int
read_operator(Step *step, PyObject *given)
{
    PyObject *name = PyTuple_GET_ITEM(given, 1);
    if (PyUnicode_Check(name)) {
        step->binary = step->kind == STEP_BINARY ? binary_operator(name) : NULL;
        step->unary = step->kind == STEP_UNARY ? unary_operator(name) : NULL;
    }
    if (step->binary == NULL && step->unary == NULL) {
        PyErr_Format(PyExc_ValueError, "no operator: %R", name);
        return -1;
    }
    return 0;
}

/* `("check", (slot,), expected, (), clear, committed)` */
static int
read_check(Step *step, PyObject *given)
{
    int expected = PyObject_IsTrue(PyTuple_GET_ITEM(given, 2));
    step->expected = expected == 1;
    if (expected >= 0 && (step->committed || step->inputs.count != 1 || step->outputs.count != 0)) {
        PyErr_Format(PyExc_ValueError, "no check before every write: %R", given);
        return -1;
    }
    return expected < 0 ? -1 : 0;
}

/*
 * `("branch", (then, otherwise), (condition, input, ...), outputs, clear, committed)`. The sides of
 * one behind a visible write are late: they do not refuse.
 */
static int
read_branch(Step *step, PyObject *given, bool first_committed)
{
    PyObject *sides = PyTuple_GET_ITEM(given, 1);
    bool fits = PyTuple_Check(sides) && PyTuple_GET_SIZE(sides) == 2 && step->inputs.count > 0;
    bool late = step->committed && !first_committed;
    for (int i = 0; fits && i < 2; i++) {
        PyObject *side = PyTuple_GET_ITEM(sides, i);
        fits = Py_IS_TYPE(side, program_type) && ((Program *)side)->late == late &&
               ((Program *)side)->inputs == step->inputs.count - 1;
    }
    step->first_write = first_committed;
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "no branch with two sides of its kind: %R", given);
        return -1;
    }
    step->object = Py_NewRef(sides);
    return 0;
}

static int
read_step(Program *self, Step *step, PyObject *given)
{
    int kind = step_kind(given);
    if (kind < 0) {
        return -1;
    }
    step->kind = (StepKind)kind;
    int last = forms[kind].fields - 1;
    bool pair = kind == STEP_GETITEM || kind == STEP_BINARY;
    PyObject *inputs = pair ? PyTuple_GetSlice(given, forms[kind].inputs, forms[kind].inputs + 2)
                            : Py_NewRef(PyTuple_GET_ITEM(given, forms[kind].inputs));
    if (inputs == NULL) {
        return -1;
    }
    int read = read_slots(self, inputs, false, &step->inputs);
    Py_DECREF(inputs);
    if (read < 0 ||
        read_slots(self, PyTuple_GET_ITEM(given, forms[kind].outputs), true, &step->outputs) < 0 ||
        read_slots(self, PyTuple_GET_ITEM(given, last - 1), false, &step->clear) < 0) {
        return -1;
    }
    int committed = PyObject_IsTrue(PyTuple_GET_ITEM(given, last));
    step->committed = committed == 1;
    bool first_committed = step->committed && !self->has_committed && !self->late;
    self->has_committed |= step->committed;
    self->has_kernels |= kind == STEP_KERNEL || kind == STEP_SCALARS;
    self->has_calls |= kind == STEP_CALL || kind == STEP_BINARY || kind == STEP_UNARY;
    bool single = kind != STEP_KERNEL && kind != STEP_SCALARS && kind != STEP_UNPACK &&
                  kind != STEP_CHECK && kind != STEP_BRANCH;
    if (committed == 0 && self->late) {
        PyErr_Format(PyExc_ValueError, "a step before every write in a late program: %R", given);
        return -1;
    }
    if (committed >= 0 &&
        ((single && step->outputs.count != 1) ||
         ((kind == STEP_UNARY || kind == STEP_UNPACK) && step->inputs.count != 1))) {
        PyErr_Format(PyExc_ValueError, "one slot, not several: %R", given);
        return -1;
    }
    switch (step->kind) {
    case STEP_KERNEL:
        return committed < 0 ? -1 : read_kernel(step, given, first_committed);
    case STEP_SCALARS:
        return committed < 0 ? -1 : read_scalars(step, given, first_committed);
    case STEP_CALL:
        return committed < 0 ? -1 : read_call(step, given, first_committed);
    case STEP_BINARY:
    case STEP_UNARY:
        return committed < 0 ? -1 : read_operator(step, given);
    case STEP_CHECK:
        return committed < 0 ? -1 : read_check(step, given);
    case STEP_BRANCH:
        return committed < 0 ? -1 : read_branch(step, given, first_committed);
    default:
        return committed < 0 ? -1 : 0;
    }
}

static int
read_constants(Program *self, PyObject *constants)
{
    Py_ssize_t count = PyTuple_GET_SIZE(constants);
    self->constant = PyMem_Calloc((size_t)count + 1, sizeof(PyObject *));
    self->constant_slot = PyMem_Calloc((size_t)count + 1, sizeof(int));
    if (self->constant == NULL || self->constant_slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyTuple_GET_ITEM(constants, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_Format(PyExc_TypeError, "a constant is (slot, object), not %R", pair);
            return -1;
        }
        int slot = number_between(PyTuple_GET_ITEM(pair, 0), self->slots, "a constant's slot");
        if (slot < 0) {
            return -1;
        }
        bool taken = slot < self->inputs;
        for (int j = 0; j < self->constants; j++) {
            taken |= self->constant_slot[j] == slot;
        }
        if (taken) {
            PyErr_Format(PyExc_ValueError, "the constant's slot %d is taken", slot);
            return -1;
        }
        self->constant_slot[i] = slot;
        self->constant[i] = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
        self->constants++;
    }
    return 0;
}

/* For each step the flags that its own error state ignores, and those of which it warns. */
static int
read_errors(Program *self, PyObject *errors)
{
    if (PyTuple_GET_SIZE(errors) != self->steps) {
        PyErr_Format(PyExc_ValueError, "error states of %zd steps, not of %d",
                     PyTuple_GET_SIZE(errors), self->steps);
        return -1;
    }
    for (int i = 0; i < self->steps; i++) {
        Step *step = &self->step[i];
        PyObject *pair = PyTuple_GET_ITEM(errors, i);
        if (!PyTuple_Check(pair)) {
            PyErr_Format(PyExc_TypeError, "an error state is a pair of masks, not %R", pair);
            return -1;
        }
        if (!PyArg_ParseTuple(pair, "II", &step->ignored, &step->warned)) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
program_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"n_inputs", "n_slots",  "constants", "steps",  "outputs", "report",
                            "fallback", "in_order", "late",      "errors", NULL};
    int inputs, slots, late = 0;
    PyObject *constants, *steps, *outputs;
    PyObject *report = Py_None, *fallback = Py_None, *in_order = Py_None, *errors = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "iiO!O!O!|OOOpO!:Program", names, &inputs,
                                     &slots, &PyTuple_Type, &constants, &PyTuple_Type, &steps,
                                     &PyTuple_Type, &outputs, &report, &fallback, &in_order, &late,
                                     &PyTuple_Type, &errors)) {
        return NULL;
    }
    if (inputs < 0 || slots < inputs || slots > 1000000) {
        return PyErr_Format(PyExc_ValueError, "%d inputs in %d slots", inputs, slots);
    }
    Program *self = (Program *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = program_vectorcall;
    self->late = late;
    self->inputs = inputs;
    self->slots = slots;
    self->report = report == Py_None ? NULL : Py_NewRef(report);
    self->fallback = fallback == Py_None ? NULL : Py_NewRef(fallback);
    self->in_order = in_order == Py_None ? NULL : Py_NewRef(in_order);
    Py_ssize_t count = PyTuple_GET_SIZE(steps);
    self->step = PyMem_Calloc((size_t)count + 1, sizeof(Step));
    if (self->step == NULL) {
        PyErr_NoMemory();
    }
    if (self->step == NULL || read_constants(self, constants) < 0 ||
        read_slots(self, outputs, false, &self->outputs) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        self->steps++;
        if (read_step(self, &self->step[i], PyTuple_GET_ITEM(steps, i)) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    if (errors != NULL && PyTuple_GET_SIZE(errors) > 0 && read_errors(self, errors) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
program_traverse(Program *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->report);
    Py_VISIT(self->fallback);
    Py_VISIT(self->in_order);
    for (int i = 0; i < self->constants; i++) {
        Py_VISIT(self->constant[i]);
    }
    for (int i = 0; i < self->steps; i++) {
        Py_VISIT(self->step[i].object);
    }
    return 0;
}

/* tp_clear of a garbage cycle: a later call, from a finalizer, finds no steps. */
static int
program_clear(Program *self)
{
    Py_CLEAR(self->report);
    Py_CLEAR(self->fallback);
    Py_CLEAR(self->in_order);
    int constants = self->constants, steps = self->steps;
    self->constants = 0;
    self->steps = 0;
    for (int i = 0; i < constants; i++) {
        Py_CLEAR(self->constant[i]);
    }
    for (int i = 0; i < steps; i++) {
        Step *step = &self->step[i];
        Py_CLEAR(step->object);
        Py_CLEAR(step->names);
        free_slots(&step->inputs);
        free_slots(&step->outputs);
        free_slots(&step->clear);
    }
    return 0;
}

static void
program_dealloc(Program *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    program_clear(self);
    free_slots(&self->outputs);
    PyMem_Free(self->step);
    PyMem_Free(self->constant);
    PyMem_Free(self->constant_slot);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef program_members[] = {
    {"steps", T_INT, offsetof(Program, steps), READONLY, "How many steps."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Program, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_doc, "Program(n_inputs, n_slots, constants, steps, outputs, report=None, fallback=None, "
                "in_order=None, late=False, errors=())\n--\n\n"
                "Steps over slots, called with the inputs. NotImplemented: run plain Python; one "
                "that is late, a side of a branch, never gives that. `errors`: for each step the "
                "flags that are ignored and warned of there whatever the error state says."},
    {Py_tp_new, program_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_members, program_members},
    {0, NULL},
};

static PyType_Spec program_spec = {
    "ufuse.backends.numpy._tiles.Program",
    sizeof(Program),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    program_slots,
};

int
program_begin(PyObject *module)
{
    if (program_type == NULL) {
        program_type = (PyTypeObject *)PyType_FromSpec(&program_spec);
    }
    return program_type == NULL
               ? -1
               : PyModule_AddObjectRef(module, "Program", (PyObject *)program_type);
}
