#include "run/dispatcher.h"

#include <stddef.h>
#include <structmember.h>

#include "values/attributes.h"
#include "python/code_extra.h"
#include "python/frames.h"
#include "python/recursion.h"
#include "run/bind.h"
#include "run/measure.h"
#include "run/region.h"
#include "run/step.h"
#include "run/trampoline.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* owned; NULL until __init__ */
    CodeCache *cache;   /* owned; shared with the eval hook and with other dispatchers of the same
                           code and session */
    PyObject *session;  /* owned */
    PyObject *wrapped;  /* owned: `__wrapped__`, the function unless the program sets it; or NULL */
    PyObject *weakrefs;
    Py_ssize_t n_simple; /* so many positional arguments, and no others, need no binding; -1: all
                            calls do */
    char enabled;
    bool generator_like;
    long long calls;
    long long hits;
    long long eager_calls;
} Dispatcher;

/*
 * The cache of a code object for a session: the one it has already, or a new one. A new reference,
 * or NULL.
 */
static CodeCache *
cache_of(PyObject *code, PyObject *session)
{
    PyObject *answer;
    bool for_loops;
    if (find_answer(code, session, &answer, &for_loops) && answer != NULL) {
        return (CodeCache *)Py_NewRef(answer);
    }
    CodeCache *cache = CodeCache_New(code, session);
    if (cache != NULL && set_answer(code, session, (PyObject *)cache, false) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            Py_DECREF(cache);
            return NULL;
        }
        PyErr_Clear(); /* the session has no weak references: the cache is not shared */
    }
    return cache;
}

/*
 * Take the code that the function has now, and its cache; what was captured of another code is let
 * go. Returns 0, or -1 with an exception set and nothing changed.
 */
static int
adopt_code(Dispatcher *self)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(self->function);
    CodeCache *cache = cache_of((PyObject *)code, self->session);
    if (cache == NULL) {
        return -1;
    }
    bool simple =
        code->co_kwonlyargcount == 0 && (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) == 0;
    self->n_simple = simple ? code->co_argcount : -1;
    self->generator_like = (code->co_flags & GENERATOR_LIKE) != 0;
    Py_XSETREF(self->cache, cache);
    return 0;
}

/* Put the closure's cells, borrowed, into the last slots. */
static inline void
fill_free_variables(Dispatcher *self, PyCodeObject *code, PyObject **slots)
{
    PyObject *closure = ((PyFunctionObject *)self->function)->func_closure;
    if (closure != NULL && PyTuple_GET_SIZE(closure) == code->co_nfreevars) {
        for (Py_ssize_t i = 0; i < code->co_nfreevars; i++) {
            slots[code->co_nlocalsplus - code->co_nfreevars + i] = PyTuple_GET_ITEM(closure, i);
        }
    }
}

/*
 * Have CPython interpret the function; the eval hook takes the frames of what it calls, but not its
 * own. Returns the call's result or NULL with an exception set.
 */
static PyObject *
call_interpreted(Dispatcher *self, CodeCache *cache, PyObject *const *args, size_t nargsf,
                 PyObject *names)
{
    PyThreadState *thread = PyThreadState_Get();
    self->eager_calls++;
    Region outer = cache_region_enter(cache);
    PyObject *passing = ufuse_thread.passing;
    ufuse_thread.passing = PyFunction_GET_CODE(self->function);
    int lent = lend_call(thread);
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    reclaim_recursion(thread, lent);
    ufuse_thread.passing = passing;
    cache_region_leave(cache, outer);
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
        session_of_frames() == NULL ? passing : PyFunction_GET_CODE(self->function);
    int lent = lend_call(thread);
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    reclaim_recursion(thread, lent);
    ufuse_thread.passing = passing;
    return result;
}

/*
 * Call the function as if there were no dispatcher, where no region is open on this thread. Returns
 * as the call does.
 */
static inline PyObject *
call_given_back(Dispatcher *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyFunctionObject *function = (PyFunctionObject *)self->function;
    self->eager_calls++;
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    PyThreadState *thread = PyThreadState_Get();
    int lent = lend_call(thread);
    PyObject *result = function->vectorcall((PyObject *)function, args, nargsf, names);
    reclaim_recursion(thread, lent);
    return result;
#else
    return function->vectorcall((PyObject *)function, args, nargsf, names);
#endif
}

/*
 * `call_function`, where nothing that the function calls is given to its session either. A frame
 * around it may have the hook installed.
 */
static PyObject *
call_plain(Dispatcher *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (session_of_frames() == NULL) {
        return call_given_back(self, args, nargsf, names);
    }
    if (ufuse_thread.session != self->session) {
        return call_function(self, args, nargsf, names);
    }
    PyThreadState *thread = PyThreadState_Get();
    self->eager_calls++;
    PlainRun run = plain_begin();
    int lent = lend_call(thread);
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    reclaim_recursion(thread, lent);
    plain_end(run);
    return result;
}

/*
 * Fill the registers' state from a call's arguments. Returns 1; 0 when the call is a TypeError; -1
 * with an exception set. Where no binding is needed, the values are borrowed from the caller.
 */
static int
bind_state(Dispatcher *self, PyCodeObject *code, PyObject *const *args, Py_ssize_t n_args,
           PyObject *names, Registers *registers)
{
    PyObject **slots = registers->values;
    if (names == NULL && n_args == self->n_simple) {
        for (Py_ssize_t i = 0; i < n_args; i++) {
            slots[i] = args[i];
        }
        fill_free_variables(self, code, slots);
        return 1;
    }
    registers->owns_state = true;
    int bound = bind_arguments((PyFunctionObject *)self->function, args, n_args, names, slots);
    if (bound > 0 && code->co_nfreevars > 0) {
        fill_free_variables(self, code, slots);
        for (int i = code->co_nlocalsplus - code->co_nfreevars; i < code->co_nlocalsplus; i++) {
            Py_XINCREF(slots[i]);
        }
    }
    return bound;
}

/*
 * Run a call on the trampoline. The caller owns the code and the cache: the program may set the
 * function's `__code__` meanwhile. Returns the call's result or NULL with an exception set.
 */
static PyObject *
call_through_cache(Dispatcher *self, CodeCache *cache, PyCodeObject *code, PyObject *const *args,
                   size_t nargsf, PyObject *names)
{
    PyObject *result = NULL;
    FrameState *next = NULL;
    RunOutcome outcome = RUN_RAISED;
    int bound = -1;
    Registers registers;
    if (registers_begin(&registers, code->co_nlocalsplus) == 0) {
        bound = bind_state(self, code, args, PyVectorcall_NARGS(nargsf), names, &registers);
        if (bound > 0) {
            outcome = take_start(cache, self->function, &registers, &result, &next);
        }
    }
    registers_end(&registers);
    if (bound == 0) {
        return call_function(self, args, nargsf, names);
    }
    switch (outcome) {
    case RUN_RETURNED:
        self->hits++;
        cache->whole++;
        return result;
    case RUN_RESUMES:
        self->hits++;
        return continue_frame(cache, self->function, next);
    case RUN_DECLINED:
        return call_interpreted(self, cache, args, nargsf, names);
    default:
        return NULL;
    }
}

/* Run a call in one way. The caller owns the code and the cache. */
static PyObject *
call_in_way(Dispatcher *self, CodeCache *cache, PyCodeObject *code, Way way, PyObject *const *args,
            size_t nargsf, PyObject *names)
{
    switch (way) {
    case WAY_PLAIN:
        return call_plain(self, args, nargsf, names);
    case WAY_CALLEES:
        return call_interpreted(self, cache, args, nargsf, names);
    default:
        return call_through_cache(self, cache, code, args, nargsf, names);
    }
}

/* How many values a call brings. */
static inline Py_ssize_t
count_of(size_t nargsf, PyObject *names)
{
    return PyVectorcall_NARGS(nargsf) + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
}

/* Run a call in the fastest way, or time it. The caller owns the code and the cache. */
static PyObject *
call_measured(Dispatcher *self, CodeCache *cache, PyCodeObject *code, PyObject *const *args,
              size_t nargsf, PyObject *names)
{
    Measured run;
    choose_way(cache, args, count_of(nargsf, names), &run);
    if (run.trial == NULL) {
        return call_in_way(self, cache, code, run.way, args, nargsf, names);
    }
    begin_measured(cache, &run);
    PyObject *result = call_in_way(self, cache, code, run.way, args, nargsf, names);
    end_measured(cache, &run, result != NULL);
    return result;
}

/* Call the function in the way that is right for this call. Returns as the call does. */
static Py_NO_INLINE PyObject *
dispatched(Dispatcher *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (self->function == NULL) {
        PyErr_SetString(PyExc_TypeError,
                        "this dispatcher has no function: its __init__ was not called");
        return NULL;
    }
    if (stack_is_spent()) {
        return NULL;
    }
    self->calls++;
    PyObject *code;
    while ((code = PyFunction_GET_CODE(self->function)) != cache_code(self->cache)) {
        if (adopt_code(self) < 0) {
            return NULL;
        }
    }
    if (!self->enabled || self->generator_like || must_interpret(PyThreadState_Get(), code)) {
        return call_function(self, args, nargsf, names);
    }
    CodeCache *cache = (CodeCache *)Py_NewRef(self->cache);
    Py_INCREF(code);
    PyObject *result =
        cache->measures
            ? call_measured(self, cache, (PyCodeObject *)code, args, nargsf, names)
            : call_through_cache(self, cache, (PyCodeObject *)code, args, nargsf, names);
    Py_DECREF(code);
    Py_DECREF(cache);
    return result;
}

/*
 * What calling a dispatcher does. Arguments are borrowed; returns the call's result or NULL with an
 * exception set. What was given back has a short way: the function may take a tenth of a
 * microsecond.
 */
static PyObject *
Dispatcher_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Dispatcher *self = (Dispatcher *)callable;
    CodeCache *cache = self->cache; /* NULL as long as there is no function */
    if (cache != NULL && cache->gives_back && stack_has_room() &&
        PyFunction_GET_CODE(self->function) == cache_code(cache) &&
        is_given_back(cache, args, count_of(nargsf, names))) {
        self->calls++;
        return call_plain(self, args, nargsf, names);
    }
    return dispatched(self, args, nargsf, names);
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
    self->session = Py_NewRef(session);
    self->function = Py_NewRef(function);
    self->wrapped = Py_NewRef(function);
    if (adopt_code(self) < 0) {
        Py_CLEAR(self->session);
        Py_CLEAR(self->function);
        Py_CLEAR(self->wrapped);
        return -1;
    }
    return 0;
}

static int
Dispatcher_traverse(Dispatcher *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->cache);
    Py_VISIT(self->session);
    Py_VISIT(self->wrapped);
    return 0;
}

static int
Dispatcher_clear(Dispatcher *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->cache);
    Py_CLEAR(self->session);
    Py_CLEAR(self->wrapped);
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

static PyObject *wrapped_name;

/* Whether it is `__wrapped__`: no descriptor of the class, as those who unwrap would unwrap that.
 */
static bool
is_wrapped(PyObject *name)
{
    return name == wrapped_name || PyUnicode_Compare(name, wrapped_name) == 0;
}

/* `dispatcher.name`: the function's, but for what it lacks. As PyObject_GetAttr. */
static PyObject *
Dispatcher_getattro(PyObject *object, PyObject *name)
{
    Dispatcher *self = (Dispatcher *)object;
    if (self->function == NULL) {
        return PyObject_GenericGetAttr(object, name);
    }
    if (self->wrapped != NULL && is_wrapped(name)) {
        return Py_NewRef(self->wrapped);
    }
    return attribute_beside(object, self->function, name);
}

/* `dispatcher.name = value`: the function gets it. As PyObject_SetAttr. */
static int
Dispatcher_setattro(PyObject *object, PyObject *name, PyObject *value)
{
    Dispatcher *self = (Dispatcher *)object;
    if (self->function == NULL) {
        return PyObject_GenericSetAttr(object, name, value);
    }
    if (is_wrapped(name) && (value != NULL || self->wrapped != NULL)) {
        Py_XSETREF(self->wrapped, Py_XNewRef(value));
        return 0;
    }
    return set_attribute_beside(object, self->function, name, value);
}

/* `__class__`: who asks what kind of object this is gets the function's answer. */
static PyObject *
Dispatcher_class(PyObject *Py_UNUSED(self), void *Py_UNUSED(unused))
{
    return Py_NewRef(&PyFunction_Type);
}

/* Names that no program gives its functions: every other may be taken. */
static PyMemberDef Dispatcher_members[] = {
    {"__ufuse_function__", T_OBJECT_EX, offsetof(Dispatcher, function), READONLY,
     "The Python function."},
    {"__ufuse_cache__", T_OBJECT, offsetof(Dispatcher, cache), READONLY,
     "The entries of its code."},
    {"__ufuse_session__", T_OBJECT_EX, offsetof(Dispatcher, session), READONLY,
     "Who is asked for entries."},
    {"__ufuse_enabled__", T_BOOL, offsetof(Dispatcher, enabled), 0,
     "False: calls go to the function."},
    {"__ufuse_calls__", T_LONGLONG, offsetof(Dispatcher, calls), READONLY,
     "How often it was called."},
    {"__ufuse_hits__", T_LONGLONG, offsetof(Dispatcher, hits), READONLY,
     "Calls whose first entry was found and ran."},
    {"__ufuse_eager_calls__", T_LONGLONG, offsetof(Dispatcher, eager_calls), READONLY,
     "Calls that ran the function from its start."},
    {0},
};

static PyGetSetDef Dispatcher_getset[] = {
    {"__class__", Dispatcher_class, NULL, NULL},
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
    .tp_weaklistoffset = offsetof(Dispatcher, weakrefs),
    .tp_call = PyVectorcall_Call,
    .tp_getattro = Dispatcher_getattro,
    .tp_setattro = Dispatcher_setattro,
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
 * must override neither __call__ nor __get__, and cannot be changed from now on: CPython
 * specialises no access to a method whose own class may change, which makes a call dearer by 50 ns.
 * Returns the class, so that it can be a decorator; NULL with TypeError set.
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
    subclass->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    return Py_NewRef(type);
}

/* Prepare the type. Returns 0, or -1 with an exception set. */
int
Dispatcher_Ready(void)
{
    wrapped_name = PyUnicode_InternFromString("__wrapped__");
    return wrapped_name == NULL ? -1 : PyType_Ready(&Dispatcher_Type);
}
