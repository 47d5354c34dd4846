/* The Program type: steps read from Python, checked once. */
#include "program/program_run.h"
#include "kernel/kernel.h"

#include <stddef.h>
#include <structmember.h>

static PyTypeObject *program_type;

/* A number of a slot, from `first` on; -1 with an exception. */
static int
slot_of(const Program *self, PyObject *given, int first)
{
    long slot = PyLong_CheckExact(given) ? PyLong_AsLong(given) : -1;
    if (slot < first || slot >= self->slots) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "no slot: %R", given);
        return -1;
    }
    return (int)slot;
}

static int
read_slots(const Program *self, PyObject *given, int first, Slots *slots)
{
    slots->slot = PyMem_Calloc((size_t)PyTuple_GET_SIZE(given) + 1, sizeof(int));
    if (slots->slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        slots->slot[i] = slot_of(self, PyTuple_GET_ITEM(given, i), first);
        if (slots->slot[i] < 0) {
            return -1;
        }
        slots->count++;
    }
    return 0;
}

/* How many slots each kind of step reads and fills; -1: any number. */
static const struct {
    const char *name;
    int reads, outs;
} forms[] = {
    [STEP_KERNEL] = {"kernel", -1, -1}, [STEP_RUN] = {"run", -1, -1},
    [STEP_CALL] = {"call", -1, 1},      [STEP_GETITEM] = {"getitem", 2, 1},
    [STEP_APART] = {"apart", -1, 1},    [STEP_TRANSPOSE] = {"transpose", 2, 1},
    [STEP_UNPACK] = {"unpack", 1, -1},  [STEP_TUPLE] = {"tuple", -1, 1},
    [STEP_RESHAPE] = {"reshape", 2, 1}, [STEP_EMPTY] = {"empty", 2, 1},
};

static int
check_step(Program *self, const Step *step, PyObject *given)
{
    bool fits = (forms[step->kind].reads < 0 || forms[step->kind].reads == step->reads.count) &&
                (forms[step->kind].outs < 0 || forms[step->kind].outs == step->outs.count);
    if (step->kind == STEP_KERNEL) {
        const Kernel *kernel = (const Kernel *)step->object;
        fits = Py_IS_TYPE(step->object, kernel_type) && kernel->operands == step->reads.count &&
               kernel->results == step->outs.count;
        self->has_conditions |= fits && kernel->condition != NULL;
    }
    if (step->names != NULL && PyTuple_GET_SIZE(step->names) > step->reads.count) {
        fits = false;
    }
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "no step: %R", given);
        return -1;
    }
    return 0;
}

/* (kind, object, names, reads, outs, clear) */
static int
read_step(Program *self, PyObject *given)
{
    const char *kind;
    PyObject *object, *names, *reads, *outs, *clear;
    Step *step = &self->step[self->steps++];
    if (!is_tuple(given) ||
        !PyArg_ParseTuple(given, "sOO!O!O!O!;a step", &kind, &object, &PyTuple_Type, &names,
                          &PyTuple_Type, &reads, &PyTuple_Type, &outs, &PyTuple_Type, &clear)) {
        return -1;
    }
    size_t number = 0;
    while (number < Py_ARRAY_LENGTH(forms) && strcmp(forms[number].name, kind) != 0) {
        number++;
    }
    if (number == Py_ARRAY_LENGTH(forms)) {
        PyErr_Format(PyExc_ValueError, "no step: %R", given);
        return -1;
    }
    step->kind = (StepKind)number;
    step->object = Py_NewRef(object);
    step->names = PyTuple_GET_SIZE(names) > 0 ? Py_NewRef(names) : NULL;
    if (read_slots(self, reads, 0, &step->reads) < 0 ||
        read_slots(self, outs, self->inputs, &step->outs) < 0 ||
        read_slots(self, clear, self->inputs, &step->clear) < 0) {
        return -1;
    }
    step->for_kernels = PyMem_Calloc((size_t)step->outs.count + 1, sizeof(bool));
    if (step->for_kernels == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return check_step(self, step, given);
}

/* ((slot, object), ...) */
static int
read_constants(Program *self, PyObject *given)
{
    size_t room = (size_t)PyTuple_GET_SIZE(given) + 1;
    self->constant = PyMem_Calloc(room, sizeof(PyObject *));
    self->constant_slot = PyMem_Calloc(room, sizeof(int));
    if (self->constant == NULL || self->constant_slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        PyObject *number, *value;
        if (!is_tuple(PyTuple_GET_ITEM(given, i)) ||
            !PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "OO;a constant", &number, &value)) {
            return -1;
        }
        int slot = slot_of(self, number, self->inputs);
        for (int j = 0; slot >= 0 && j < self->constants; j++) {
            if (self->constant_slot[j] == slot) {
                PyErr_Format(PyExc_ValueError, "the slot %d is taken", slot);
                slot = -1;
            }
        }
        if (slot < 0) {
            return -1;
        }
        self->constant_slot[self->constants] = slot;
        self->constant[self->constants++] = Py_NewRef(value);
    }
    return 0;
}

/* ((slot, dtype), ...) */
static int
read_numbers(Program *self, PyObject *given)
{
    self->number = PyMem_Calloc((size_t)PyTuple_GET_SIZE(given) + 1, sizeof(CheckedNumber));
    if (self->number == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        PyObject *slot, *dtype;
        if (!is_tuple(PyTuple_GET_ITEM(given, i)) ||
            !PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "OO!;a number", &slot, &PyArrayDescr_Type,
                              &dtype)) {
            return -1;
        }
        CheckedNumber *number = &self->number[i];
        number->slot = slot_of(self, slot, 0);
        if (number->slot < 0) {
            return -1;
        }
        if (PyDataType_ELSIZE((PyArray_Descr *)dtype) > (npy_intp)sizeof(Cell) ||
            PyDataType_REFCHK((PyArray_Descr *)dtype)) {
            PyErr_Format(PyExc_ValueError, "no dtype of an argument: %R", dtype);
            return -1;
        }
        number->dtype = Py_NewRef(dtype);
        self->numbers++;
    }
    return 0;
}

static int
read_steps(Program *self, PyObject *given)
{
    self->step = PyMem_Calloc((size_t)PyTuple_GET_SIZE(given) + 1, sizeof(Step));
    if (self->step == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        if (read_step(self, PyTuple_GET_ITEM(given, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool
has_slot(const Slots *slots, int slot)
{
    for (int i = 0; i < slots->count; i++) {
        if (slots->slot[i] == slot) {
            return true;
        }
    }
    return false;
}

static bool
takes_view(const Step *step)
{
    return step->kind == STEP_GETITEM || step->kind == STEP_TRANSPOSE || step->kind == STEP_RESHAPE;
}

/* Whether a step reads a slot as the array of a view that only kernels read. */
static bool
views_for_kernels(const Step *step, int slot)
{
    return takes_view(step) && step->for_kernels[0] && step->reads.slot[0] == slot &&
           step->reads.slot[1] != slot;
}

/* Whether what a step leaves in a slot is read by kernels alone. */
static bool
is_for_kernels(const Program *self, int number, int slot)
{
    for (int i = number + 1; i < self->steps; i++) {
        const Step *step = &self->step[i];
        if (has_slot(&step->reads, slot) && step->kind != STEP_KERNEL &&
            !views_for_kernels(step, slot)) {
            return false;
        }
        if (has_slot(&step->outs, slot) || has_slot(&step->clear, slot)) {
            return true;
        }
    }
    return !has_slot(&self->outputs, slot);
}

/* Find the views and results of which no array has to be made; the last first. */
static void
find_for_kernels(Program *self)
{
    for (int i = self->steps; i-- > 0;) {
        Step *step = &self->step[i];
        bool may_be = takes_view(step) || step->kind == STEP_KERNEL || step->kind == STEP_EMPTY;
        for (int j = 0; may_be && j < step->outs.count; j++) {
            step->for_kernels[j] = is_for_kernels(self, i, step->outs.slot[j]);
        }
    }
}

/* Find out whether several launches follow each other anywhere, which may be replayed. */
static int
find_replays(Program *self)
{
    int launches = 0, most = 0;
    for (int i = 0; i < self->steps; i++) {
        const Step *step = &self->step[i];
        if (!leaves_waiting(step)) {
            launches = 0;
        }
        else if (step->kind == STEP_KERNEL) { /* a reduction may take two */
            launches += ((const Kernel *)step->object)->record == NULL ? 1 : 2;
            most = Py_MAX(most, launches);
        }
    }
    if (most < LEAST_REPLAYED) {
        return 0;
    }
    self->replay = PyMem_Calloc(REPLAYS, sizeof(Replay));
    if (self->replay == NULL) {
        PyErr_NoMemory();
    }
    return self->replay == NULL ? -1 : 0;
}

/* Every slot that is read has been filled by then, so a run meets no empty one. */
static int
check_order(const Program *self)
{
    bool filled[self->slots + 1];
    memset(filled, 0, sizeof(filled));
    memset(filled, true, (size_t)self->inputs * sizeof(bool));
    for (int i = 0; i < self->constants; i++) {
        filled[self->constant_slot[i]] = true;
    }
    bool fine = true;
    for (int i = 0; i < self->steps; i++) {
        const Step *step = &self->step[i];
        for (int j = 0; j < step->reads.count; j++) {
            fine = fine && filled[step->reads.slot[j]];
        }
        for (int j = 0; j < step->outs.count; j++) {
            filled[step->outs.slot[j]] = true;
        }
        for (int j = 0; j < step->clear.count; j++) {
            filled[step->clear.slot[j]] = false;
        }
    }
    for (int i = 0; i < self->outputs.count; i++) {
        fine = fine && filled[self->outputs.slot[i]];
    }
    if (!fine) {
        PyErr_SetString(PyExc_ValueError, "a slot is read before it is filled");
    }
    return fine ? 0 : -1;
}

static PyObject *
program_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"inputs",  "slots",     "constants", "numbers",   "steps",
                            "outputs", "committed", "refused",   "otherwise", NULL};
    int inputs, slots, committed;
    PyObject *constants, *numbers, *steps, *outputs, *refused, *otherwise = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "iiO!O!O!O!iO|O:Program", names, &inputs,
                                     &slots, &PyTuple_Type, &constants, &PyTuple_Type, &numbers,
                                     &PyTuple_Type, &steps, &PyTuple_Type, &outputs, &committed,
                                     &refused, &otherwise)) {
        return NULL;
    }
    if (inputs < 0 || slots < inputs || slots > 100000) {
        return PyErr_Format(PyExc_ValueError, "%d inputs in %d slots", inputs, slots);
    }
    Program *self = (Program *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = program_vectorcall;
    self->inputs = inputs;
    self->slots = slots;
    self->committed = committed;
    self->refused = Py_NewRef(refused);
    self->otherwise = otherwise == Py_None ? NULL : Py_NewRef(otherwise);
    if (read_constants(self, constants) < 0 || read_numbers(self, numbers) < 0 ||
        read_steps(self, steps) < 0 || read_slots(self, outputs, 0, &self->outputs) < 0 ||
        check_order(self) < 0 || find_replays(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    find_for_kernels(self);
    return (PyObject *)self;
}

static int
program_traverse(Program *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->refused);
    Py_VISIT(self->otherwise);
    for (int i = 0; i < self->constants; i++) {
        Py_VISIT(self->constant[i]);
    }
    for (int i = 0; i < self->steps; i++) {
        Py_VISIT(self->step[i].object);
    }
    return 0;
}

/* tp_clear of a garbage cycle: a later call, from a finalizer, would find no steps. */
static PyObject *
forgotten(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(count),
          PyObject *Py_UNUSED(names))
{
    Py_RETURN_NOTIMPLEMENTED;
}

static int
program_clear(Program *self)
{
    self->vectorcall = forgotten;
    for (int i = 0; self->replay != NULL && i < REPLAYS; i++) {
        replay_free(&self->replay[i]); /* before the functions that its nodes call */
    }
    Py_CLEAR(self->refused);
    Py_CLEAR(self->otherwise);
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
        PyMem_Free(step->reads.slot);
        PyMem_Free(step->outs.slot);
        PyMem_Free(step->clear.slot);
        PyMem_Free(step->for_kernels);
    }
    return 0;
}

static void
program_dealloc(Program *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    program_clear(self);
    for (int i = 0; i < self->numbers; i++) {
        Py_DECREF(self->number[i].dtype);
    }
    PyMem_Free(self->replay);
    queue_free(self->queue);
    PyMem_Free(self->number);
    PyMem_Free(self->outputs.slot);
    PyMem_Free(self->step);
    PyMem_Free(self->constant);
    PyMem_Free(self->constant_slot);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef program_members[] = {
    {"refused", T_OBJECT_EX, offsetof(Program, refused), READONLY,
     "What is asked where a step raises; it knows why the last call was left to plain Python."},
    {"steps", T_INT, offsetof(Program, steps), READONLY, "How many steps."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Program, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_doc,
     "Program(inputs, slots, constants, numbers, steps, outputs, committed, refused, "
     "otherwise=None)\n--\n\n"
     "Steps over slots, called with the inputs. NotImplemented: run plain Python. Where that "
     "is to run, `otherwise` is called with them, and says what is."},
    {Py_tp_new, program_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_members, program_members},
    {0, NULL},
};

static PyType_Spec program_spec = {
    "ufuse.backends._launch.Program",
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
