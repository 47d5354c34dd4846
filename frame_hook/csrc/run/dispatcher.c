#include "run/dispatcher.h"

#include <stddef.h>
#include <structmember.h>

#include "python/code_extra.h"
#include "python/frames.h"
#include "python/recursion.h"
#include "run/bind.h"
#include "run/region.h"
#include "run/trampoline.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* owned; NULL until __init__ */
    CodeCache *cache;   /* owned; shared with the eval hook and with other dispatchers of the same
                           code and session */
    PyObject *session;  /* owned */
    PyObject *dict;
    PyObject *weakrefs;
    Py_ssize_t n_slots;
    Py_ssize_t n_free;
    Py_ssize_t n_simple; /* so many positional arguments, and no others, need no binding; -1: all
                            calls do */
    char enabled;
    bool generator_like;
    long long calls;
    long long hits;
    long long eager_calls;
} Dispatcher;

/* Put the closure's cells, borrowed, into the last slots. */
static inline void
fill_free_variables(Dispatcher *self, PyObject **slots)
{
    PyObject *closure = ((PyFunctionObject *)self->function)->func_closure;
    if (closure != NULL && PyTuple_GET_SIZE(closure) == self->n_free) {
        for (Py_ssize_t i = 0; i < self->n_free; i++) {
            slots[self->n_slots - self->n_free + i] = PyTuple_GET_ITEM(closure, i);
        }
    }
}

/*
 * Have CPython interpret the function; the eval hook takes the frames of what it calls, but not its
 * own. Returns the call's result or NULL with an exception set.
 */
static PyObject *
call_interpreted(Dispatcher *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyThreadState *thread = PyThreadState_Get();
    self->eager_calls++;
    Region outer = region_enter(self->cache->session, self->cache->every_frame);
    PyObject *passing = ufuse_thread.passing;
    ufuse_thread.passing = PyFunction_GET_CODE(self->function);
    int lent = lend_call(thread);
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    reclaim_recursion(thread, lent);
    ufuse_thread.passing = passing;
    region_leave(outer);
    return result;
}

/* Call the function as if there were no dispatcher. Returns as the call does. */
static PyObject *
call_function(Dispatcher *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyThreadState *thread = PyThreadState_Get();
    self->eager_calls++;
    PyObject *passing = ufuse_thread.passing;
    ufuse_thread.passing =
        ufuse_thread.session == NULL ? passing : PyFunction_GET_CODE(self->function);
    int lent = lend_call(thread);
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    reclaim_recursion(thread, lent);
    ufuse_thread.passing = passing;
    return result;
}

/*
 * Fill the registers' state from a call's arguments. Returns 1; 0 when the call is a TypeError; -1
 * with an exception set. Where no binding is needed, the values are borrowed from the caller.
 */
static int
bind_state(Dispatcher *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names,
           Registers *registers)
{
    PyObject **slots = registers->values;
    if (names == NULL && n_args == self->n_simple) {
        for (Py_ssize_t i = 0; i < n_args; i++) {
            slots[i] = args[i];
        }
        fill_free_variables(self, slots);
        return 1;
    }
    registers->owns_state = true;
    int bound = bind_arguments((PyFunctionObject *)self->function, args, n_args, names, slots);
    if (bound > 0 && self->n_free > 0) {
        fill_free_variables(self, slots);
        for (Py_ssize_t i = self->n_slots - self->n_free; i < self->n_slots; i++) {
            Py_XINCREF(slots[i]);
        }
    }
    return bound;
}

/*
 * Run a call on the trampoline. The caller owns the code: the program may set the function's
 * `__code__` meanwhile. Returns the call's result or NULL with an exception set.
 */
static PyObject *
call_through_cache(Dispatcher *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *result = NULL;
    FrameState *next = NULL;
    RunOutcome outcome = RUN_RAISED;
    int bound = -1;
    Registers registers;
    if (registers_begin(&registers, self->n_slots) == 0) {
        bound = bind_state(self, args, PyVectorcall_NARGS(nargsf), names, &registers);
        if (bound > 0) {
            self->cache->frames++;
            outcome = take_step(self->cache, 0, self->function, &registers, &result, &next);
        }
    }
    registers_end(&registers);
    if (bound == 0) {
        return call_function(self, args, nargsf, names);
    }
    switch (outcome) {
    case RUN_RETURNED:
        self->hits++;
        self->cache->whole++;
        return result;
    case RUN_RESUMES:
        self->hits++;
        return continue_frame(self->cache, self->function, next);
    case RUN_DECLINED:
        return call_interpreted(self, args, nargsf, names);
    default:
        return NULL;
    }
}

/*
 * What calling a dispatcher does. Arguments are borrowed; returns the call's result or NULL with an
 * exception set.
 */
static PyObject *
Dispatcher_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Dispatcher *self = (Dispatcher *)callable;
    if (self->function == NULL) {
        PyErr_SetString(PyExc_TypeError,
                        "this dispatcher has no function: its __init__ was not called");
        return NULL;
    }
    if (stack_is_spent()) {
        return NULL;
    }
    self->calls++;
    PyObject *code = PyFunction_GET_CODE(self->function);
    if (!self->enabled || self->generator_like || code != cache_code(self->cache) ||
        must_interpret(PyThreadState_Get(), code)) {
        return call_function(self, args, nargsf, names);
    }
    Py_INCREF(code);
    PyObject *result = call_through_cache(self, args, nargsf, names);
    Py_DECREF(code);
    return result;
}

/* ---- the type ---- */

static PyObject *
Dispatcher_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    Dispatcher *self = (Dispatcher *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = Dispatcher_vectorcall;
        self->enabled = 1;
    }
    return (PyObject *)self;
}

/*
 * The cache of a code object for a session: the one it has already, or a new one. A new reference,
 * or NULL.
 */
static CodeCache *
cache_of(PyObject *code, PyObject *session)
{
    PyObject *answer;
    if (find_answer(code, session, &answer) && answer != NULL) {
        return (CodeCache *)Py_NewRef(answer);
    }
    CodeCache *cache = CodeCache_New(code, session);
    if (cache != NULL && set_answer(code, session, (PyObject *)cache) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            Py_DECREF(cache);
            return NULL;
        }
        PyErr_Clear(); /* the session has no weak references: the cache is not shared */
    }
    return cache;
}

/* Dispatcher(function, session). Returns 0, or -1 with an exception set. */
static int
Dispatcher_init(Dispatcher *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "session", NULL};
    PyObject *function, *session;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:Dispatcher", names, &PyFunction_Type,
                                     &function, &session)) {
        return -1;
    }
    if (self->function != NULL) {
        PyErr_SetString(PyExc_TypeError, "a dispatcher keeps the function it was made for");
        return -1;
    }
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    self->cache = cache_of((PyObject *)code, session);
    if (self->cache == NULL) {
        return -1;
    }
    self->n_slots = code->co_nlocalsplus;
    self->n_free = code->co_nfreevars;
    bool simple =
        code->co_kwonlyargcount == 0 && (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) == 0;
    self->n_simple = simple ? code->co_argcount : -1;
    self->generator_like = (code->co_flags & GENERATOR_LIKE) != 0;
    self->session = Py_NewRef(session);
    self->function = Py_NewRef(function);
    return 0;
}

static int
Dispatcher_traverse(Dispatcher *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->cache);
    Py_VISIT(self->session);
    Py_VISIT(self->dict);
    return 0;
}

static int
Dispatcher_clear(Dispatcher *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->cache);
    Py_CLEAR(self->session);
    Py_CLEAR(self->dict);
    return 0;
}

static void
Dispatcher_dealloc(Dispatcher *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    (void)Dispatcher_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* `__get__`: a dispatcher in a class is a method, as the function would be. */
static PyObject *
Dispatcher_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyMemberDef Dispatcher_members[] = {
    {"function", T_OBJECT, offsetof(Dispatcher, function), READONLY, "The Python function."},
    {"cache", T_OBJECT, offsetof(Dispatcher, cache), READONLY, "The entries of its code."},
    {"session", T_OBJECT, offsetof(Dispatcher, session), READONLY, "Who is asked for entries."},
    {"enabled", T_BOOL, offsetof(Dispatcher, enabled), 0, "False: calls go to the function."},
    {"calls", T_LONGLONG, offsetof(Dispatcher, calls), READONLY, "How often it was called."},
    {"hits", T_LONGLONG, offsetof(Dispatcher, hits), READONLY,
     "Calls whose first entry was found and ran."},
    {"eager_calls", T_LONGLONG, offsetof(Dispatcher, eager_calls), READONLY,
     "Calls that ran the function from its start."},
    {0},
};

static PyGetSetDef Dispatcher_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {0},
};

PyTypeObject Dispatcher_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.Dispatcher",
    .tp_doc =
        "Dispatcher(function, session)\n--\n\nCalls a function through the entries of its code.",
    .tp_basicsize = sizeof(Dispatcher),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Dispatcher, vectorcall),
    .tp_dictoffset = offsetof(Dispatcher, dict),
    .tp_weaklistoffset = offsetof(Dispatcher, weakrefs),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = Dispatcher_get,
    .tp_new = Dispatcher_new,
    .tp_init = (initproc)Dispatcher_init,
    .tp_dealloc = (destructor)Dispatcher_dealloc,
    .tp_traverse = (traverseproc)Dispatcher_traverse,
    .tp_clear = (inquiry)Dispatcher_clear,
    .tp_members = Dispatcher_members,
    .tp_getset = Dispatcher_getset,
};

/*
 * enable_vectorcall(subclass): give a class made in Python the fast call of its base, which 3.11
 * does not inherit, and method calls without a bound method, which no version inherits. The class
 * must override neither __call__ nor __get__, then or later. Returns the class, so that it can be a
 * decorator; NULL with TypeError set.
 */
PyObject *
enable_vectorcall(PyObject *Py_UNUSED(module), PyObject *type)
{
    PyTypeObject *subclass = (PyTypeObject *)type;
    if (!PyType_Check(type) || !PyType_IsSubtype(subclass, &Dispatcher_Type) ||
        subclass->tp_call != PyVectorcall_Call || subclass->tp_descr_get != Dispatcher_get) {
        return PyErr_Format(PyExc_TypeError,
                            "%R is no subclass of Dispatcher that keeps its __call__ and __get__",
                            type);
    }
    subclass->tp_vectorcall_offset = offsetof(Dispatcher, vectorcall);
    subclass->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(subclass);
    return Py_NewRef(type);
}

/* Prepare the type. Returns 0, or -1 with an exception set. */
int
Dispatcher_Ready(void)
{
    return PyType_Ready(&Dispatcher_Type);
}
