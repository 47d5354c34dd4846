/*
 * Programs that draw random numbers. One that gives up has drawn in vain: plain Python draws again,
 * so generators are put back to where they were. Their locks are held meanwhile, as no other thread
 * may draw what is put back.
 */
#include "nest/given/generators.h"
#include "program/drawing.h"
#include "kernel/plan.h"

#include <stddef.h>
#include <structmember.h>

enum { MOST = 8 /* generators of a program */, ON_STACK = 4096 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *program;
    int count;
    int place[MOST]; /* of generators, among the inputs */
} Drawing;

static PyTypeObject *drawing_type;

static size_t
state_bytes(const Generator *one)
{
    size_t bytes = 0;
    for (int i = 0; i < one->parts; i++) {
        bytes += one->part[i].bytes;
    }
    return bytes;
}

/* Copy what its state is to memory, or back. Returns the memory behind. */
static char *
move_state(const Generator *one, char *memory, bool back)
{
    for (int i = 0; i < one->parts; i++) {
        size_t bytes = one->part[i].bytes;
        memcpy(back ? one->part[i].data : memory, back ? memory : one->part[i].data, bytes);
        memory += bytes;
    }
    return memory;
}

/* Run the program, its generators taken. Without memory it declines. */
static PyObject *
run_saved(const Drawing *self, const Generator *taken, PyObject *const *args, size_t nargsf)
{
    char few[ON_STACK], *memory = few;
    size_t bytes = 0;
    for (int i = 0; i < self->count; i++) {
        bytes += state_bytes(&taken[i]);
    }
    if (bytes > sizeof few) {
        memory = PyMem_Malloc(bytes);
        if (memory == NULL) {
            Py_RETURN_NOTIMPLEMENTED;
        }
    }
    char *at = memory;
    for (int i = 0; i < self->count; i++) {
        at = move_state(&taken[i], at, false);
    }
    PyObject *made = PyObject_Vectorcall(self->program, args, nargsf, NULL);
    at = memory;
    for (int i = 0; made == Py_NotImplemented && i < self->count; i++) {
        at = move_state(&taken[i], at, true);
    }
    if (memory != few) {
        PyMem_Free(memory);
    }
    return made;
}

static PyObject *
drawing_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Drawing *self = (Drawing *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf);
    Generator taken[MOST];
    int count = 0, failed = self->program == NULL || names != NULL;
    for (; !failed && count < self->count; count++) {
        failed = self->place[count] >= given;
        failed = failed ? 1 : generator_take(args[self->place[count]], &taken[count]);
        if (failed) {
            break;
        }
    }
    PyObject *made = failed < 0 ? NULL : Py_NewRef(Py_NotImplemented);
    if (!failed) {
        Py_INCREF(self); /* a step may drop the last other reference */
        Py_SETREF(made, run_saved(self, taken, args, nargsf));
        Py_DECREF(self);
    }
    while (count-- > 0) {
        generator_give(&taken[count]);
    }
    return made;
}

static PyObject *
drawing_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *program, *places;
    if (!PyArg_ParseTuple(args, "OO!:Drawing", &program, &PyTuple_Type, &places)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(places) > MOST) {
        return PyErr_Format(PyExc_ValueError, "%zd generators", PyTuple_GET_SIZE(places));
    }
    if (generators_begin(false) < 0) {
        return NULL;
    }
    Drawing *self = (Drawing *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = drawing_vectorcall;
    self->program = Py_NewRef(program);
    for (; self->count < PyTuple_GET_SIZE(places); self->count++) {
        int place =
            number_between(PyTuple_GET_ITEM(places, self->count), 1 << 20, "a generator's place");
        if (place < 0) {
            Py_DECREF(self);
            return NULL;
        }
        self->place[self->count] = place;
    }
    return (PyObject *)self;
}

static int
drawing_traverse(Drawing *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->program);
    return 0;
}

static int
drawing_clear(Drawing *self)
{
    Py_CLEAR(self->program);
    return 0;
}

static void
drawing_dealloc(Drawing *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    drawing_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef drawing_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Drawing, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot drawing_slots[] = {
    {Py_tp_doc, "Drawing(program, places, /)\n--\n\n"
                "A program, at the places of whose inputs are generators of random numbers: where "
                "it gives NotImplemented they are as they were."},
    {Py_tp_new, drawing_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, drawing_traverse},
    {Py_tp_clear, drawing_clear},
    {Py_tp_dealloc, drawing_dealloc},
    {Py_tp_members, drawing_members},
    {0, NULL},
};

static PyType_Spec drawing_spec = {
    "ufuse.backends.numpy._tiles.Drawing",
    sizeof(Drawing),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    drawing_slots,
};

int
drawing_begin(PyObject *module)
{
    if (drawing_type == NULL) {
        drawing_type = (PyTypeObject *)PyType_FromSpec(&drawing_spec);
    }
    return drawing_type == NULL
               ? -1
               : PyModule_AddObjectRef(module, "Drawing", (PyObject *)drawing_type);
}
