/* The Nest type. */
#include "nest/type/nest_type.h"

#include <structmember.h>

#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/called/sharing.h"
#include "nest/given/grids.h"
#include "nest/given/iterators.h"
#include "nest/given/ranges.h"
#include "nest/saved/reach.h"
#include "nest/containers/keys.h"
#include "nest/run/chunks.h"
#include "nest/run/improved.h"
#include "nest/run/lean.h"
#include "nest/type/exports.h"
#include "nest/type/slots.h"

static PyTypeObject *nest_type;

/* (character of the dtype, axes) of each temporary. 0, or -1 with an exception. */
static int
read_temporaries(Nest *self, PyObject *given, int scratches)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > MOST_MEMORIES || scratches < 0 || scratches > MOST_MEMORIES) {
        PyErr_Format(PyExc_ValueError, "%zd temporaries and %d scratches", count, scratches);
        return -1;
    }
    self->temporary = PyMem_Calloc((size_t)count + 1, sizeof(NestSlot));
    self->memory = PyMem_Calloc((size_t)(count + scratches + self->lists) + 1, sizeof(NestMemory));
    if (self->temporary == NULL || self->memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        NestSlot *slot = &self->temporary[i];
        PyObject *one = PyTuple_GET_ITEM(given, i), *character;
        if (!PyTuple_Check(one)) {
            PyErr_Format(PyExc_TypeError, "no temporary of a nest: %R", one);
            return -1;
        }
        if (!PyArg_ParseTuple(one, "Ui|i", &character, &slot->axes, &slot->within) ||
            set_type(slot, one, character, MOST_LENGTHS) < 0) {
            return -1;
        }
        if (slot->within < 0 || slot->within > WITHIN_COLUMN || (slot->within && slot->axes != 1)) {
            PyErr_Format(PyExc_ValueError, "no temporary of a nest: %R", one);
            return -1;
        }
    }
    self->temporaries = (int)count;
    self->memories = (int)count + scratches + self->lists;
    for (int i = 0; i < self->slots; i++) {
        self->slot[i].memory += self->slot[i].kind == SLOT_KEYS ? 0 : (int)count + scratches;
    }
    return 0;
}

/* Whether there is a temporary of one axis of so large elements. */
static bool
is_column(const Nest *self, int temporary, int itemsize)
{
    return temporary >= 0 && temporary < self->temporaries &&
           self->temporary[temporary].axes == 1 && self->temporary[temporary].itemsize == itemsize;
}

/* Whether the columns of all lists, and those of dicts and sets, are temporaries that fit. 0, or -1
 * with an exception. */
static int
check_columns(const Nest *self)
{
    for (int i = 0; i < self->slots; i++) {
        const NestSlot *slot = &self->slot[i];
        if (slot->kind == SLOT_KEYS &&
            (!keys_fit(self, slot) || !is_column(self, slot->memory, sizeof(int64_t)) ||
             !is_column(self, slot->index, sizeof(int32_t)) ||
             (slot->values >= 0) != (slot->value != SLOT_ARRAY) ||
             (slot->places >= 0) != (slot->origin >= 0) ||
             (slot->places >= 0 && !is_column(self, slot->places, sizeof(int64_t))) ||
             (slot->values >= 0 &&
              !is_column(self, slot->values,
                         number_bytes(item_number(slot->value, true)->type))))) {
            PyErr_Format(PyExc_ValueError, "no dict or set of a nest: slot %d", i);
            return -1;
        }
        for (int k = 0; k < slot->columns; k++) {
            const NestColumn *column = &slot->column[k];
            if (!is_column(self, column->memory,
                           number_bytes(item_number(column->item, true)->type))) {
                PyErr_Format(PyExc_ValueError, "no column of a list: temporary %d", column->memory);
                return -1;
            }
        }
    }
    return 0;
}

/* (number of the array, pairs of an axis and a step) of each view; a new axis is (-1, 0). */
static int
read_views(Nest *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > MOST_MEMORIES) {
        PyErr_Format(PyExc_ValueError, "%zd views", count);
        return -1;
    }
    self->view = PyMem_Calloc((size_t)count + 1, sizeof(NestView));
    if (self->view == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; self->views < count; self->views++) {
        NestView *view = &self->view[self->views];
        PyObject *one = PyTuple_GET_ITEM(given, self->views), *axes;
        if (!PyTuple_Check(one) ||
            !PyArg_ParseTuple(one, "iO!", &view->array, &PyTuple_Type, &axes)) {
            return PyErr_Occurred() ? -1 : (PyErr_Format(PyExc_TypeError, "no view: %R", one), -1);
        }
        view->axes = (int)PyTuple_GET_SIZE(axes);
        bool known = view->array >= 0 && view->array < self->arrays + self->temporaries &&
                     view->axes <= MOST_LENGTHS;
        for (int i = 0; known && i < view->axes; i++) {
            long long step;
            PyObject *pair = PyTuple_GET_ITEM(axes, i);
            if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "iL", &view->axis[i], &step)) {
                return PyErr_Occurred() ? -1
                                        : (PyErr_Format(PyExc_TypeError, "no axis: %R", pair), -1);
            }
            view->step[i] = step;
        }
        if (!known) {
            PyErr_Format(PyExc_ValueError, "no view of a nest: %R", one);
            return -1;
        }
    }
    return 0;
}

/* Find the array and the iterator of a part. False: there are none such. */
static bool
find_part(const Nest *self, NestPart *part, int array)
{
    part->word = part->cell = part->array = -1;
    for (int i = 0, word = 0, cell = 0, number = 0; i < self->slots; i++) {
        const NestSlot *slot = &self->slot[i];
        if (slot->kind == SLOT_ARRAY) {
            bool found = number++ == array && slot->changed && !slot->listed && part->axis >= 0 &&
                         part->axis < slot->axes;
            part->array = found ? i : part->array;
            part->word = found ? word : part->word;
            word += 1 + 2 * slot->axes;
        }
        bool found = i == part->slot && slot_iterates(slot) && slot->kind != SLOT_ONCE;
        part->cell = found ? cell : part->cell;
        cell += slot->cells;
    }
    return part->word >= 0 && part->cell >= 0;
}

/* (number of an array, axis, slot of an iterator, what is more) for each array that is written. 0,
 * or -1 with an exception. */
static int
read_parts(Nest *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count != self->written || self->changing > 0 || self->keyed > 0 || self->rebound > 0 ||
        self->exits > 0 || self->generators > 0 || self->range < 0 || self->given < self->slots) {
        PyErr_Format(PyExc_ValueError, "turns of such a nest are not independent: %R", given);
        return -1;
    }
    self->part = PyMem_Calloc((size_t)count + 1, sizeof(NestPart));
    if (self->part == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    bool seen[MOST_SLOTS] = {false};
    for (Py_ssize_t i = 0; i < count; i++) {
        NestPart *part = &self->part[i];
        int array;
        PyObject *one = PyTuple_GET_ITEM(given, i);
        if (!PyTuple_Check(one)) {
            PyErr_Format(PyExc_TypeError, "no part of an array: %R", one);
            return -1;
        }
        if (!PyArg_ParseTuple(one, "iiiL", &array, &part->axis, &part->slot, &part->more)) {
            return -1;
        }
        if (!find_part(self, part, array) || seen[part->array]) {
            PyErr_Format(PyExc_ValueError, "no part of a nest's array: %R", one);
            return -1;
        }
        seen[part->array] = true;
    }
    return 0;
}

static PyObject *
nest_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"address", "owner", "slots", "temporaries", "scratches",
                            "views",   "exits", "parts", "reach",       NULL};
    PyObject *address, *owner, *slots, *temporaries = NULL, *views = NULL, *parts = Py_None;
    PyObject *reach = NULL;
    int scratches = 0, exits = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO!|O!iO!iOO!:Nest", names, &PyLong_Type,
                                     &address, &owner, &PyTuple_Type, &slots, &PyTuple_Type,
                                     &temporaries, &scratches, &PyTuple_Type, &views, &exits,
                                     &parts, &PyTuple_Type, &reach)) {
        return NULL;
    }
    if (exits < 0 || exits > MOST_EXITS) {
        return PyErr_Format(PyExc_ValueError, "%d exits", exits);
    }
    if (parts != Py_None && !PyTuple_Check(parts)) {
        return PyErr_Format(PyExc_TypeError, "parts: a tuple or None, not %R", parts);
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
    self->range = self->range_cell = -1;
    self->step = 1;
    self->exits = exits;
    self->budget = 0.010;
    self->is_never_long = true;
    self->most_size = Py_HUGE_VAL;
    self->takes_contents = true;
    temporaries = temporaries == NULL ? PyTuple_New(0) : Py_NewRef(temporaries);
    if (temporaries == NULL || read_slots(self, slots) < 0 ||
        read_temporaries(self, temporaries, scratches) < 0 || check_columns(self) < 0 ||
        (views != NULL && read_views(self, views) < 0) ||
        (parts != Py_None && read_parts(self, parts) < 0) ||
        (reach != NULL && reach_read(self, reach) < 0)) {
        Py_CLEAR(self);
    }
    else {
        self->is_lean = lean_fits(self);
    }
    Py_XDECREF(temporaries);
    return (PyObject *)self;
}

static int
nest_traverse(Nest *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->owner);
    Py_VISIT(self->tuned_owner);
    Py_VISIT(self->tuner);
    Py_VISIT(self->improved_owner);
    Py_VISIT(self->improver);
    Py_VISIT(self->next_improver);
    Py_VISIT(self->shares);
    return 0;
}

/* tp_clear of a garbage cycle: a later call, from a finalizer, finds no machine code. */
static int
nest_clear(Nest *self)
{
    self->function = NULL;
    self->improved = NULL;
    Py_CLEAR(self->owner);
    Py_CLEAR(self->tuned_owner);
    Py_CLEAR(self->tuner);
    Py_CLEAR(self->improved_owner);
    Py_CLEAR(self->improver);
    Py_CLEAR(self->next_improver);
    Py_CLEAR(self->shares);
    return 0;
}

static void
nest_dealloc(Nest *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    nest_clear(self);
    own_memory_drop(self, 0);
    PyMem_Free(self->memory);
    PyMem_Free(self->temporary);
    PyMem_Free(self->view);
    PyMem_Free(self->part);
    PyMem_Free(self->box);
    for (int i = 0; i < self->slots; i++) {
        Py_XDECREF(self->slot[i].lacked);
        Py_XDECREF(self->slot[i].nothing);
        Py_XDECREF(self->slot[i].attribute);
    }
    PyMem_Free(self->slot);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"runs", T_LONGLONG, offsetof(Nest, runs), READONLY, "Calls that ran machine code."},
    {"lean_runs", T_LONGLONG, offsetof(Nest, lean_runs), READONLY,
     "Short calls of these, of which nothing had to be saved."},
    {"turns", T_LONGLONG, offsetof(Nest, turns), READONLY, "Turns that it completed."},
    {"doubts", T_LONGLONG, offsetof(Nest, doubts), READONLY,
     "Calls that a turn in doubt, or a floating-point flag, ended."},
    {"costly", T_LONGLONG, offsetof(Nest, costly), READONLY,
     "Calls that were declined because to copy what they read or write takes too long."},
    {"shared_turns", T_LONGLONG, offsetof(Nest, shared_turns), READONLY,
     "Turns of these that threads shared."},
    {"improved_turns", T_LONGLONG, offsetof(Nest, improved_turns), READONLY,
     "Turns of these that better code did."},
    {"call_ns", T_DOUBLE, offsetof(Nest, call_ns), READONLY,
     "Nanoseconds that calls took, but for those too short to be timed: with saving and "
     "committing."},
    {"saved_bytes", T_LONGLONG, offsetof(Nest, saved_bytes), READONLY,
     "Bytes that were copied before chunks of turns."},
    {"step", T_LONGLONG, offsetof(Nest, step), READONLY,
     "The step of the first iterator in the last call."},
    {"awaited", T_INT, offsetof(Nest, awaited), READONLY,
     "How many tuners and improvers were called, and have not said that they are done."},
    {"budget", T_DOUBLE, offsetof(Nest, budget), 0,
     "Seconds a call may take, about: signals and other threads wait for its end."},
    {"tuner", T_OBJECT, offsetof(Nest, tuner), 0,
     "Called once with (self,) when the nest has worked for a short time; or None. From a thread "
     "it "
     "is to call `tune`, where it can, and then `answered`."},
    {"improver", T_OBJECT, offsetof(Nest, improver), 0,
     "Called once with (self,) when the nest has worked for some time; or None. From a thread it "
     "is "
     "to call `improve`, where it can, and then `answered`."},
    {"is_never_long", T_BOOL, offsetof(Nest, is_never_long), 0,
     "Of a whole call: whether long ones are left to native code of its parts."},
    {"takes_contents", T_BOOL, offsetof(Nest, takes_contents), READONLY,
     "True: a call takes the keyword `contents`, bytes, an int32 for each slot. It says what is "
     "known of an array of which there is no other reference; -3: nothing, -2: nobody has seen its "
     "elements, -1: they are zero, else the place of an array that it equals, behind the objects."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Nest, vectorcall), READONLY, NULL},
    {NULL},
};

static PyMethodDef methods[] = {
    {"tune", nest_tune, METH_VARARGS,
     "tune(address, owner)\n--\n\nTake machine code that does the same in less time."},
    {"improve", nest_improve, METH_VARARGS,
     "improve(address, owner, next=None)\n--\n\nTake better machine code, where no array that is "
     "written shares memory with another. What it doubts, or raises flags in, is done again "
     "without "
     "it; where that is mostly so, `next` is the improver."},
    {"answered", nest_answered, METH_NOARGS,
     "answered()\n--\n\nWho was called for code is done: the GIL need not be left to it."},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Nest(address, owner, slots, temporaries=(), scratches=0, views=(), exits=0, "
     "parts=None, reach=())\n--\n\n"
     "Machine code for turns of a loop, called with an object for each slot. Moves the iterators, "
     "and gives the numbers that have changed, the arrays that are bound "
     "again and the results of a whole call, last by which exit the loop was left where it has "
     "any, "
     "0 for none: one alone, or a tuple, or None. NotImplemented: nothing was done."},
    {Py_tp_new, nest_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, nest_traverse},
    {Py_tp_clear, nest_clear},
    {Py_tp_dealloc, nest_dealloc},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
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
        if (ranges_begin() < 0 || iterators_begin() < 0 || grids_begin() < 0 || items_begin() < 0 ||
            exports_begin() < 0 || keys_begin() < 0) {
            return -1;
        }
        nest_type = (PyTypeObject *)PyType_FromSpec(&spec);
    }
    return nest_type == NULL || PyModule_AddFunctions(module, nest_methods) < 0 ||
                   PyModule_AddFunctions(module, sharing_methods) < 0
               ? -1
               : PyModule_AddObjectRef(module, "Nest", (PyObject *)nest_type);
}
