#include "run/cache.h"
#include "run/entry_type.h"

#include <stddef.h>
#include <structmember.h>

#include "python/code_extra.h"

/* The type that Python sees: the session asks it for entries, adds some, gives positions up. */

/* An attribute of the session as a bool, false where it is missing; -1 with an exception set. */
static int
session_flag(PyObject *session, const char *name)
{
    PyObject *wanted = PyObject_GetAttrString(session, name);
    if (wanted == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return 0;
    }
    int truth = wanted == NULL ? -1 : PyObject_IsTrue(wanted);
    Py_XDECREF(wanted);
    return truth;
}

/* A new, empty cache of `code` for `session` (both borrowed), or NULL with an exception set. */
CodeCache *
CodeCache_New(PyObject *code, PyObject *session)
{
    CodeCache *self = (CodeCache *)CodeCache_Type.tp_alloc(&CodeCache_Type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->session = Py_NewRef(session);
    self->reference = PyWeakref_NewRef(code, NULL);
    self->leader = -1;
    self->whole_call_for = -1;
    self->largest = -1;
    int wants = self->reference == NULL ? -1 : session_flag(session, "every_frame");
    int loops = wants < 0 ? -1 : session_flag(session, "takes_loops");
    int measures = loops < 0 ? -1 : session_flag(session, "measures");
    if (measures < 0) {
        Py_CLEAR(self);
        return NULL;
    }
    self->every_frame = wants > 0;
    self->takes_loops = loops > 0;
    self->measures = measures > 0;
    return self;
}

static PyObject *
CodeCache_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"code", "session", NULL};
    PyObject *code, *session;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:CodeCache", names, &PyCode_Type, &code,
                                     &session)) {
        return NULL;
    }
    return (PyObject *)CodeCache_New(code, session);
}

/*
 * The weak reference is not visited: were it cleared as garbage before its cache, there would be no
 * way to the co_extra that names the cache.
 */
static int
CodeCache_traverse(CodeCache *self, visitproc visit, void *arg)
{
    Py_VISIT(self->session);
    Py_VISIT(self->globals);
    Py_VISIT(self->shared);
    Py_VISIT(self->whole_call);
    for (Py_ssize_t i = 0; i < self->n_positions; i++) {
        Position *at = self->positions[i];
        for (Py_ssize_t k = 0; at != NULL && k < at->count; k++) {
            Py_VISIT(at->entries[k]);
        }
        if (at != NULL) {
            Py_VISIT(at->resume_code);
            Py_VISIT(at->resume_function);
        }
    }
    return 0;
}

/* Break cycles: the code's co_extra no longer names the cache, and the cache is empty. */
static int
CodeCache_tp_clear(CodeCache *self)
{
    PyObject *code = cache_code(self);
    if (code != NULL) {
        forget_answers(code, (PyObject *)self);
    }
    cache_free_positions(self);
    Py_CLEAR(self->whole_call);
    Py_CLEAR(self->globals);
    Py_CLEAR(self->shared);
    Py_CLEAR(self->session);
    Py_CLEAR(self->reference);
    return 0;
}

static void
CodeCache_dealloc(CodeCache *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    CodeCache_tp_clear(self);
    for (int i = 0; i < N_KINDS * N_MAGNITUDES; i++) {
        PyMem_Free(trial_at(self, i));
    }
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* A position from a method's argument, or -1 with an exception set. */
static Py_ssize_t
position_argument(PyObject *argument)
{
    Py_ssize_t position = PyLong_AsSsize_t(argument);
    if (position < 0 && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%zd is no position", position);
    }
    return position < 0 ? -1 : position;
}

/* cache.entries(position) */
static PyObject *
CodeCache_entries(CodeCache *self, PyObject *argument)
{
    Py_ssize_t position = position_argument(argument);
    if (position < 0) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    Position *at = existing_position(self, position);
    for (Py_ssize_t i = 0; list != NULL && at != NULL && i < at->count; i++) {
        if (PyList_Append(list, (PyObject *)at->entries[i]) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Parse `(position, entry)`. Returns 0, or -1 with an exception set. */
static int
entry_arguments(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t *position, Entry **entry)
{
    if (nargs != 2 || !Py_IS_TYPE(args[1], &Entry_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a position and an Entry");
        return -1;
    }
    *position = position_argument(args[0]);
    *entry = (Entry *)args[1];
    return *position < 0 ? -1 : 0;
}

/* cache.add(position, entry) */
static PyObject *
CodeCache_add(CodeCache *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t position;
    Entry *entry;
    if (entry_arguments(args, nargs, &position, &entry) < 0) {
        return NULL;
    }
    return cache_add(self, position, entry) < 0 ? NULL : Py_NewRef(Py_None);
}

/* cache.remove(position, entry) */
static PyObject *
CodeCache_remove(CodeCache *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t position;
    Entry *entry;
    if (entry_arguments(args, nargs, &position, &entry) < 0) {
        return NULL;
    }
    cache_remove(self, position, entry);
    Py_RETURN_NONE;
}

/* cache.give_up(position) */
static PyObject *
CodeCache_give_up(CodeCache *self, PyObject *argument)
{
    Py_ssize_t position = position_argument(argument);
    return position < 0 || cache_give_up(self, position) < 0 ? NULL : Py_NewRef(Py_None);
}

/* cache.give_back() */
static PyObject *
CodeCache_give_back(CodeCache *self, PyObject *Py_UNUSED(ignored))
{
    cache_give_back(self);
    Py_RETURN_NONE;
}

/* cache.reconsider(position) */
static PyObject *
CodeCache_reconsider(CodeCache *self, PyObject *argument)
{
    Py_ssize_t position = position_argument(argument);
    if (position < 0) {
        return NULL;
    }
    cache_reconsider(self, position);
    Py_RETURN_NONE;
}

/* cache.given_up(position) */
static PyObject *
CodeCache_given_up(CodeCache *self, PyObject *argument)
{
    Py_ssize_t position = position_argument(argument);
    return position < 0 ? NULL : PyBool_FromLong(cache_given_up(self, position));
}

/* cache.passed(position) */
static PyObject *
CodeCache_passed(CodeCache *self, PyObject *argument)
{
    Py_ssize_t position = position_argument(argument);
    Position *at = position < 0 ? NULL : existing_position(self, position);
    return position < 0 ? NULL : PyLong_FromLongLong(at == NULL ? 0 : at->passed);
}

/* cache.leave_at(position, behind) */
static PyObject *
CodeCache_leave_at(CodeCache *self, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t position = nargs == 2 ? position_argument(args[0]) : -1;
    Py_ssize_t behind = position < 0 ? -1 : position_argument(args[1]);
    if (behind < 0) {
        return nargs == 2 ? NULL : PyErr_Format(PyExc_TypeError, "leave_at() takes two positions");
    }
    Position *at = cache_position(self, position);
    if (at == NULL || cache_position(self, behind) == NULL) {
        return NULL;
    }
    at->leave_at = behind;
    Py_RETURN_NONE;
}

/* cache.set_whole_call(entry) */
static PyObject *
CodeCache_set_whole_call(CodeCache *self, PyObject *argument)
{
    if (argument != Py_None && !Py_IS_TYPE(argument, &Entry_Type)) {
        return PyErr_Format(PyExc_TypeError, "expected an Entry or None, not %R", argument);
    }
    Py_XSETREF(self->whole_call, argument == Py_None ? NULL : (Entry *)Py_NewRef(argument));
    if (argument != Py_None) {
        cache_forget_compiled(self);
    }
    Py_RETURN_NONE;
}

/* cache.clear() */
static PyObject *
CodeCache_clear(CodeCache *self, PyObject *Py_UNUSED(ignored))
{
    cache_forget(self);
    Py_RETURN_NONE;
}

/* cache.drop_resume(position=None) */
static PyObject *
CodeCache_drop_resume(CodeCache *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs > 1) {
        return PyErr_Format(PyExc_TypeError, "drop_resume() takes at most one argument");
    }
    Py_ssize_t only = nargs == 0 || args[0] == Py_None ? -1 : position_argument(args[0]);
    if (only < 0 && PyErr_Occurred()) {
        return NULL;
    }
    cache_drop_resume(self, only);
    Py_RETURN_NONE;
}

/* Whether functions of such globals and builtins, with such options, share the cache; or -1. */
static int
is_shared_with(CodeCache *cache, PyFunctionObject *function, PyObject *options)
{
    PyObject *shared = cache->shared;
    if (shared == NULL || !PyTuple_CheckExact(shared) || PyTuple_GET_SIZE(shared) != 3 ||
        PyTuple_GET_ITEM(shared, 1) != function->func_globals ||
        PyTuple_GET_ITEM(shared, 2) != function->func_builtins) {
        return 0;
    }
    Py_INCREF(shared);
    int equal = PyObject_RichCompareBool(PyTuple_GET_ITEM(shared, 0), options, Py_EQ);
    Py_DECREF(shared);
    return equal;
}

/* shared_session(function, options) */
PyObject *
shared_session(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !PyFunction_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "shared_session() takes a function and options");
        return NULL;
    }
    PyObject *session, *cache;
    PyObject *code = PyFunction_GET_CODE(args[0]);
    for (Py_ssize_t next = 0; living_answer(code, &next, &session, &cache);) {
        Py_INCREF(session);
        int found = is_shared_with((CodeCache *)cache, (PyFunctionObject *)args[0], args[1]);
        if (found > 0) {
            return session;
        }
        Py_DECREF(session);
        if (found < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef CodeCache_methods[] = {
    {"entries", (PyCFunction)CodeCache_entries, METH_O,
     "The entries of a position, most recently hit first."},
    {"add", (PyCFunction)(void (*)(void))CodeCache_add, METH_FASTCALL,
     "Put an entry in front of a position's others."},
    {"remove", (PyCFunction)(void (*)(void))CodeCache_remove, METH_FASTCALL,
     "Take an entry away from a position, if it is still there."},
    {"give_up", (PyCFunction)CodeCache_give_up, METH_O,
     "Never ask the session about this position again."},
    {"give_back", (PyCFunction)CodeCache_give_back, METH_NOARGS,
     "Loops are left to plain Python until calls get larger, or for some time."},
    {"reconsider", (PyCFunction)CodeCache_reconsider, METH_O,
     "Ask the session about this position again, and time the turns of its loop again."},
    {"leave_at", (PyCFunction)(void (*)(void))CodeCache_leave_at, METH_FASTCALL,
     "At this header, a frame whose range has ended goes on at that position, without the "
     "iterator."},
    {"set_whole_call", (PyCFunction)CodeCache_set_whole_call, METH_O,
     "Have an entry (or None) run whole calls, before any entry of position 0."},
    {"given_up", (PyCFunction)CodeCache_given_up, METH_O,
     "Whether the session is not asked about this position."},
    {"passed", (PyCFunction)CodeCache_passed, METH_O,
     "How many frames were not stopped at this position, because the session was not to be asked "
     "yet."},
    {"clear", (PyCFunction)CodeCache_clear, METH_NOARGS,
     "Forget every entry, resume function and position given up."},
    {"drop_resume", (PyCFunction)(void (*)(void))CodeCache_drop_resume, METH_FASTCALL,
     "Have the resume code of a position (None: of all) made again when it is needed."},
    {0},
};

static PyMemberDef CodeCache_members[] = {
    {"session", T_OBJECT, offsetof(CodeCache, session), READONLY, "Who is asked for entries."},
    {"shared", T_OBJECT, offsetof(CodeCache, shared), 0,
     "Options, globals and builtins of the functions that are to have its session, or None."},
    {"stops_later", T_BOOL, offsetof(CodeCache, stops_later), 0,
     "Whether a frame that no entry takes at its start is stopped later, where it may be taken."},
    {"whole_call", T_OBJECT, offsetof(CodeCache, whole_call), READONLY,
     "What runs whole calls, or None."},
    {"whole_call_for", T_INT, offsetof(CodeCache, whole_call_for), 0,
     "Calls of which orders of magnitude that runs: a bit for each, all at first."},
    {"whole_call_after", T_INT, offsetof(CodeCache, whole_call_after), 0,
     "After how many calls more, which no entry takes as a whole, the session is asked for one; 0: "
     "it is not."},
    {"loops_wait", T_INT, offsetof(CodeCache, loops_wait), 0,
     "How many calls more decide nothing, because a loop of theirs may become native code."},
    {"put_off", T_BOOL, offsetof(CodeCache, put_off), 0,
     "Whether a trace waits until there is time for it; set where `capture` asks to be left "
     "alone."},
    {"magnitude", T_INT, offsetof(CodeCache, magnitude), READONLY,
     "The order of magnitude of the arguments of the last call for which a way to run was chosen."},
    {"frames", T_LONGLONG, offsetof(CodeCache, frames), READONLY, "Frames begun."},
    {"whole", T_LONGLONG, offsetof(CodeCache, whole), READONLY,
     "Frames that one entry brought to their end."},
    {"mixed", T_LONGLONG, offsetof(CodeCache, mixed), READONLY,
     "Frames that ran both entries and plain Python."},
    {"captures", T_LONGLONG, offsetof(CodeCache, captures), READONLY,
     "Times the session was asked."},
    {"calls", T_LONGLONG, offsetof(CodeCache, calls), READONLY,
     "Calls for which a way to run was chosen."},
    {"run_ns", T_LONGLONG, offsetof(CodeCache, run_ns), READONLY,
     "Nanoseconds that calls took while they were timed."},
    {"suspensions", T_LONGLONG, offsetof(CodeCache, suspensions), READONLY,
     "Times plain Python came back."},
    {0},
};

/* cache.code */
static PyObject *
CodeCache_code(CodeCache *self, void *Py_UNUSED(closure))
{
    PyObject *code = cache_code(self);
    return Py_NewRef(code == NULL ? Py_None : code);
}

static PyGetSetDef CodeCache_getset[] = {
    {"code", (getter)CodeCache_code, NULL, "The code object; None when it is gone.", NULL},
    {0},
};

PyTypeObject CodeCache_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.CodeCache",
    .tp_doc =
        "CodeCache(code, session)\n--\n\nThe entries and resume functions of one code object.",
    .tp_basicsize = sizeof(CodeCache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_weaklistoffset = offsetof(CodeCache, weakrefs),
    .tp_new = CodeCache_new,
    .tp_dealloc = (destructor)CodeCache_dealloc,
    .tp_traverse = (traverseproc)CodeCache_traverse,
    .tp_clear = (inquiry)CodeCache_tp_clear,
    .tp_methods = CodeCache_methods,
    .tp_members = CodeCache_members,
    .tp_getset = CodeCache_getset,
};

/* Prepare the type. Returns 0, or -1 with an exception set. */
int
CodeCache_Ready(void)
{
    return PyType_Ready(&CodeCache_Type);
}
