#include "python/state.h"

#include <stddef.h>

enum { USUAL_CAPACITY = 32, MOST_FREE_STATES = 16 };

_Thread_local ThreadRecord ufuse_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A free list of states of the usual capacity. Guarded by the GIL. */
static FrameState *free_states[MOST_FREE_STATES];
static int n_free_states;

/*
 * Make a state whose `size` slots are all NULL. Runs no Python code. Returns a new reference, or
 * NULL with MemoryError set.
 */
FrameState *
FrameState_New(Py_ssize_t position, Py_ssize_t size, Py_ssize_t n_locals)
{
    FrameState *state;
    Py_ssize_t capacity = size > USUAL_CAPACITY ? size : USUAL_CAPACITY;
    if (capacity == USUAL_CAPACITY && n_free_states > 0) {
        state = free_states[--n_free_states];
    }
    else {
        state =
            PyObject_Malloc(offsetof(FrameState, slots) + (size_t)capacity * sizeof(PyObject *));
        if (state == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    (void)PyObject_Init((PyObject *)state, &FrameState_Type);
    state->position = position;
    state->size = size;
    state->n_locals = n_locals < size ? n_locals : size;
    state->capacity = capacity;
    state->handled = -1;
    state->declined = false;
    state->escaped = NULL;
    state->contents = NULL;
    memset(state->slots, 0, (size_t)size * sizeof(PyObject *));
    return state;
}

/* Drop a frame's locals in the order in which CPython does. Finalizers may run. */
void
drop_locals(PyObject **slots, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_CLEAR(slots[PY_VERSION_HEX < 0x030e0000 ? i : count - 1 - i]);
    }
}

/* Drop what no frame has taken: first the stack, from its top. Finalizers may run. */
static void
FrameState_dealloc(FrameState *self)
{
    for (Py_ssize_t i = self->size; i-- > self->n_locals;) {
        Py_CLEAR(self->slots[i]);
    }
    drop_locals(self->slots, self->n_locals);
    Py_CLEAR(self->escaped);
    Py_CLEAR(self->contents);
    if (self->capacity == USUAL_CAPACITY && n_free_states < MOST_FREE_STATES) {
        free_states[n_free_states++] = self;
    }
    else {
        PyObject_Free(self);
    }
}

PyTypeObject FrameState_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.Suspension",
    .tp_doc = "The values of a suspended frame; opaque.",
    .tp_basicsize = sizeof(FrameState),
    .tp_dealloc = (destructor)FrameState_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

/* Prepare the type. Returns 0, or -1 with an exception set. */
int
FrameState_Ready(void)
{
    return PyType_Ready(&FrameState_Type);
}
