#include "run/transfers.h"

#include "python/exceptions.h"
#include "python/frames.h"
#include "run/step.h"

/* The resumption whose frame uses restore[] or suspend[], or NULL with SystemError set. */
static Resumption *
calling_resumption(PyThreadState *thread, const char *name)
{
    Resumption *resumption = ufuse_thread.resumption;
    if (resumption == NULL || !current_frame_runs(thread, resumption->code)) {
        PyErr_Format(PyExc_SystemError,
                     "ufuse: only resume code that is being resumed may use %s[]", name);
        return NULL;
    }
    return resumption;
}

/* Read the three fields of `StackMarks` from item `first` on. Returns 0, or -1 with SystemError. */
static int
read_marks(PyObject *key, Py_ssize_t first, StackMarks *marks)
{
    marks->previous = PyLong_AsSsize_t(PyTuple_GET_ITEM(key, first));
    marks->reraise_slots = PyTuple_GET_ITEM(key, first + 1);
    marks->offsets = PyTuple_GET_ITEM(key, first + 2);
    if (PyErr_Occurred() || !PyTuple_CheckExact(marks->reraise_slots) ||
        !PyTuple_CheckExact(marks->offsets)) {
        PyErr_Format(PyExc_SystemError, "ufuse: %R says nothing about a stack", key);
        return -1;
    }
    return 0;
}

/*
 * The end of restore[]: raise the resumption's exception, if any. After a first restore[] that left
 * it, handlers have begun or ended, and the exception gets what is handled now as its context.
 * Returns True where the frame is to poll for signals, else None; or NULL with that exception.
 */
static PyObject *
raise_inside(Resumption *resumption)
{
    PyObject *exception = resumption->exception;
    bool context_changed = resumption->raises_later;
    resumption->exception = NULL;
    resumption->raises_later = false;
    if (exception == NULL) {
        return Py_NewRef(resumption->checks_signals ? Py_True : Py_None);
    }
    if (context_changed) {
        PyException_SetContext(exception, NULL);
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    else {
        raise_exception(exception);
    }
    return NULL;
}

/*
 * restore[None] or restore[previous, errors, offsets, raises]: move the pending state into the
 * frame that subscripts, and raise the pending exception if there is one; where `raises` is false,
 * restore[None] has to follow, and raises it. Runs no Python code. The last of them returns True
 * where the frame is to poll for signals, else None; or NULL with that exception, or with
 * SystemError and the state still pending.
 */
static PyObject *
restore_frame(PyObject *key)
{
    PyThreadState *thread = PyThreadState_Get();
    Resumption *resumption = calling_resumption(thread, "restore");
    if (resumption == NULL) {
        return NULL;
    }
    if (resumption->raises_later) {
        return raise_inside(resumption);
    }
    if (resumption->pending == NULL) {
        PyErr_SetString(PyExc_SystemError, "ufuse: restore[] was used twice");
        return NULL;
    }
    StackMarks marks = {-1, NULL, NULL};
    bool plain = key == Py_None;
    if (!plain && (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != 4)) {
        return PyErr_Format(PyExc_SystemError, "ufuse: restore[%R] says nothing about a stack",
                            key);
    }
    if ((!plain && read_marks(key, 0, &marks) < 0) ||
        fill_current_frame(thread, resumption->pending, &marks) < 0) {
        return NULL;
    }
    Py_CLEAR(resumption->pending);
    keep_frame_object(thread, resumption);
    if (!plain && PyTuple_GET_ITEM(key, 3) != Py_True) {
        resumption->raises_later = true;
        Py_RETURN_NONE;
    }
    return raise_inside(resumption);
}

/*
 * suspend[position, depth] or suspend[position, depth, previous, errors, offsets]: move the slots
 * and the lowest `depth` stack values out of the frame that subscripts. Runs no Python code.
 * Returns a FrameState, which the frame has to return at once; None where the frame is to continue,
 * because it has to be interpreted, or nothing else may run there now; or NULL with SystemError or
 * MemoryError.
 */
static PyObject *
suspend_frame(PyObject *key)
{
    PyThreadState *thread = PyThreadState_Get();
    Resumption *resumption = calling_resumption(thread, "suspend");
    if (resumption == NULL) {
        return NULL;
    }
    Py_ssize_t size = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 0;
    if (resumption->pending != NULL || resumption->suspended != NULL || (size != 2 && size != 5)) {
        PyErr_Format(PyExc_SystemError, "ufuse: suspend[%R] does not fit what the frame is doing",
                     key);
        return NULL;
    }
    if (must_interpret(thread, resumption->code)) {
        Py_RETURN_NONE;
    }
    Py_ssize_t position = PyLong_AsSsize_t(PyTuple_GET_ITEM(key, 0));
    if (position >= 0 && nothing_begins_now((CodeCache *)resumption->cache, position)) {
        Py_RETURN_NONE;
    }
    Py_ssize_t depth = PyLong_AsSsize_t(PyTuple_GET_ITEM(key, 1));
    StackMarks marks = {-1, NULL, NULL};
    if (((position == -1 || depth == -1) && PyErr_Occurred()) ||
        (size == 5 && read_marks(key, 2, &marks) < 0)) {
        return NULL;
    }
    FrameState *state = take_current_frame(thread, position, depth, &marks);
    if (state != NULL) {
        state->escaped = escaped_frame_object(thread, resumption);
        resumption->suspended = (FrameState *)Py_NewRef((PyObject *)state);
    }
    return (PyObject *)state;
}

/* ---- the objects ---- */

typedef struct {
    PyObject_HEAD
    PyObject *(*move)(PyObject *key);
    const char *name;
} Transfer;

static PyObject *
Transfer_subscript(PyObject *self, PyObject *key)
{
    return ((Transfer *)self)->move(key);
}

static PyObject *
Transfer_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<ufuse %s>", ((Transfer *)self)->name);
}

/* Survive a reference count error elsewhere, as None does: these are static objects. */
static void
Transfer_dealloc(PyObject *self)
{
    Py_SET_REFCNT(self, 1 << 20);
}

static PyMappingMethods Transfer_mapping = {.mp_subscript = Transfer_subscript};

static PyTypeObject Transfer_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.Transfer",
    .tp_doc = "What resume code subscripts to move a frame's state; for resume code only.",
    .tp_basicsize = sizeof(Transfer),
    .tp_dealloc = Transfer_dealloc,
    .tp_repr = Transfer_repr,
    .tp_as_mapping = &Transfer_mapping,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

static Transfer restore = {PyObject_HEAD_INIT(&Transfer_Type).move = restore_frame,
                           .name = "restore"};
static Transfer suspend = {PyObject_HEAD_INIT(&Transfer_Type).move = suspend_frame,
                           .name = "suspend"};

/* Add `restore` and `suspend` to the module. Returns 0, or -1 with an exception set. */
int
export_transfers(PyObject *module)
{
    if (PyModule_AddType(module, &Transfer_Type) < 0 ||
        PyModule_AddObjectRef(module, restore.name, (PyObject *)&restore) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, suspend.name, (PyObject *)&suspend);
}
