/* The Nest type. */
#include "nest/nest.h"

#include <structmember.h>

static PyTypeObject *nest_type;

/* ("array", character of the dtype, axes, whether it is written). 0, or -1 with an exception. */
static int
read_array(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *character;
    int written;
    if (!PyArg_ParseTuple(given, "UUip", &name, &character, &slot->axes, &written)) {
        return -1;
    }
    static const struct {
        const char *character;
        int type;
    } types[] = {{"d", NPY_DOUBLE}, {"l", NPY_LONG}, {"?", NPY_BOOL}};
    slot->kind = SLOT_ARRAY;
    slot->changed = written;
    slot->type = -1;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(types); i++) {
        if (PyUnicode_CompareWithASCIIString(character, types[i].character) == 0) {
            slot->type = types[i].type;
        }
    }
    if (slot->type < 0 || slot->axes < 0 || slot->axes > MAX_AXES) {
        PyErr_Format(PyExc_ValueError, "no array of a nest: %R", given);
        return -1;
    }
    self->words += 1 + 2 * slot->axes;
    self->written += written;
    return 0;
}

/* ("float", whether it is changed), with "int" and "bool" the same; ("range",). */
static int
read_slot(Nest *self, NestSlot *slot, PyObject *given)
{
    static const char *const kinds[] = {"array", "float", "int", "bool", "range"};
    PyObject *name =
        PyTuple_Check(given) && PyTuple_GET_SIZE(given) > 0 ? PyTuple_GET_ITEM(given, 0) : NULL;
    int kind = 0, kind_count = Py_ARRAY_LENGTH(kinds);
    while (kind < kind_count && name != NULL && PyUnicode_Check(name) &&
           PyUnicode_CompareWithASCIIString(name, kinds[kind]) != 0) {
        kind++;
    }
    bool known = name != NULL && PyUnicode_Check(name) && kind < kind_count;
    if (known && kind == SLOT_ARRAY) {
        return read_array(self, slot, given);
    }
    slot->kind = (SlotKind)kind;
    if (known && kind == SLOT_RANGE && PyTuple_GET_SIZE(given) == 1 && self->range < 0) {
        self->range = (int)(slot - self->slot);
        self->range_cell = self->cells;
        self->cells += 3;
        return 0;
    }
    if (known && kind < SLOT_RANGE && PyTuple_GET_SIZE(given) == 2) {
        int changed = PyObject_IsTrue(PyTuple_GET_ITEM(given, 1));
        slot->changed = changed == 1;
        self->cells += 2;
        self->outputs += slot->changed;
        return changed < 0 ? -1 : 0;
    }
    PyErr_Format(PyExc_ValueError, "no slot of a nest, or a second range: %R", given);
    return -1;
}

static int
read_slots(Nest *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > MOST_SLOTS) {
        PyErr_Format(PyExc_ValueError, "%zd slots, more than %d", count, MOST_SLOTS);
        return -1;
    }
    self->slot = PyMem_Calloc((size_t)count + 1, sizeof(NestSlot));
    if (self->slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_slot(self, &self->slot[i], PyTuple_GET_ITEM(given, i)) < 0) {
            return -1;
        }
    }
    self->slots = (int)count;
    self->cells++; /* how many turns may begin */
    if (self->range < 0) {
        PyErr_SetString(PyExc_ValueError, "a nest has a range");
        return -1;
    }
    return 0;
}

static PyObject *
nest_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"address", "owner", "slots", NULL};
    PyObject *address, *owner, *slots;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO!:Nest", names, &PyLong_Type, &address,
                                     &owner, &PyTuple_Type, &slots)) {
        return NULL;
    }
    void *function = PyLong_AsVoidPtr(address);
    if (function == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "no address: 0");
    }
    Nest *self = (Nest *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = nest_vectorcall;
    self->function = (NestFunction *)function;
    self->owner = Py_NewRef(owner);
    self->range = -1;
    self->budget = 0.010;
    if (read_slots(self, slots) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
nest_traverse(Nest *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->owner);
    return 0;
}

/* tp_clear of a garbage cycle: a later call, from a finalizer, finds no machine code. */
static int
nest_clear(Nest *self)
{
    self->function = NULL;
    Py_CLEAR(self->owner);
    return 0;
}

static void
nest_dealloc(Nest *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    nest_clear(self);
    PyMem_Free(self->slot);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"runs", T_LONGLONG, offsetof(Nest, runs), READONLY, "Calls that ran machine code."},
    {"turns", T_LONGLONG, offsetof(Nest, turns), READONLY, "Turns that it completed."},
    {"doubts", T_LONGLONG, offsetof(Nest, doubts), READONLY,
     "Calls that a turn in doubt, or a floating-point flag, ended."},
    {"budget", T_DOUBLE, offsetof(Nest, budget), 0,
     "Seconds a call may take, about: signals and other threads wait for its end."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Nest, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Nest(address, owner, slots)\n--\n\n"
     "Machine code for turns of a loop over a range, called with an object for each slot. Moves "
     "the "
     "range's iterator, and gives the numbers that have changed: one alone, or a tuple, or None. "
     "NotImplemented: nothing was done."},
    {Py_tp_new, nest_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, nest_traverse},
    {Py_tp_clear, nest_clear},
    {Py_tp_dealloc, nest_dealloc},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    "ufuse.backends.numpy._tiles.Nest",
    sizeof(Nest),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

int
nest_begin(PyObject *module)
{
    if (nest_type == NULL) {
        if (ranges_begin() < 0 || objects_begin() < 0) {
            return -1;
        }
        nest_type = (PyTypeObject *)PyType_FromSpec(&spec);
    }
    return nest_type == NULL ? -1 : PyModule_AddObjectRef(module, "Nest", (PyObject *)nest_type);
}
