/*
 * The one file that knows CPython's frames. Laws: nothing that is not exported is called, and no
 * frame is ever built.
 */
#include "python/slots.h"

#include "python/collector.h"
#include "python/frames.h"
#include "python/recursion.h"

typedef struct _PyInterpreterFrame Frame;

/* ---- accessors ---- */

/* The code of a frame, borrowed. */
static inline PyCodeObject *
code_of(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyFrame_GetCode(frame);
#else
    return frame->f_code;
#endif
}

/* Whether the frame has not executed anything. */
static inline bool
at_start(Frame *frame, PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr == _PyCode_CODE(code);
#else
    return frame->prev_instr == _PyCode_CODE(code) - 1;
#endif
}

/* The frame that calls the C function we are in, borrowed, or NULL. */
static inline Frame *
current_frame(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030D0000
    return thread->current_frame;
#else
    return thread->cframe->current_frame;
#endif
}

/*
 * The code, borrowed, of a frame that a plain call has just made and that has not run; NULL for any
 * other (a generator that goes on, an exception thrown in, a class or module body). Runs no Python
 * code.
 */
PyCodeObject *
fresh_frame_code(Frame *frame, int throwflag)
{
    if (throwflag || frame->owner != FRAME_OWNED_BY_THREAD || frame->f_locals != NULL) {
        return NULL;
    }
    PyCodeObject *code = code_of(frame);
    return at_start(frame, code) ? code : NULL;
}

/* Whether a frame that has not run is the body of a module or a class. Runs no Python code. */
bool
frame_is_body(Frame *frame, int throwflag)
{
    return !throwflag && frame->owner == FRAME_OWNED_BY_THREAD && frame->f_locals != NULL &&
           at_start(frame, code_of(frame));
}

/* The function a frame runs, borrowed. */
PyObject *
frame_function(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

/* Copy the first `count` slots of a fresh frame to `values`, borrowed. Runs no Python code. */
void
read_frame_arguments(Frame *frame, PyObject **values, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = SLOT_BORROW(frame->localsplus[i]);
    }
}

/*
 * Drop the values a fresh frame holds, so that they die when the frame that replaces it lets go.
 * Finalizers may run.
 */
void
drop_frame_values(Frame *frame)
{
    Py_ssize_t count = code_of(frame)->co_nlocalsplus;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = take_local_slot(&frame->localsplus[i]);
        Py_XDECREF(value);
    }
}

/* ---- discarding a fresh frame ---- */

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
static PyCodeObject *identity_code; /* of `lambda value: value` */

/*
 * 3.12, and the frame begins a chunk of the data stack, which only the interpreter can free: let it
 * run something harmless in that frame instead. `result` is stolen; NULL: the exception that is set
 * goes through the frame, which adds no traceback entry as it has not started. Returns the result
 * again, or NULL with the exception set.
 */
static PyObject *
evaluate_result(PyThreadState *thread, Frame *frame, PyObject *result)
{
    PyThreadState_EnterTracing(thread);
    if (result != NULL) {
        drop_frame_values(frame);
        Py_ssize_t held = (PyObject **)thread->datastack_top - (PyObject **)frame;
        if (identity_code->co_framesize > held) {
            thread->datastack_top = (PyObject **)frame + identity_code->co_framesize;
        }
        PyCodeObject *before = frame->f_code;
        frame->f_code = (PyCodeObject *)Py_NewRef((PyObject *)identity_code);
        Py_DECREF(before);
        frame->localsplus[0] = result;
        frame->stacktop = identity_code->co_nlocalsplus;
        frame->prev_instr = _PyCode_CODE(identity_code) - 1;
    }
    PyObject *returned = _PyEval_EvalFrameDefault(thread, frame, result == NULL);
    PyThreadState_LeaveTracing(thread);
    return returned;
}
#endif

/*
 * End a fresh frame that the eval hook was given, without running it. `result` is stolen and
 * returned; NULL: an exception is set and stays set. The frame must not be touched afterwards.
 * Finalizers of its values may run.
 */
PyObject *
discard_frame(PyThreadState *thread, Frame *frame, PyObject *result)
{
#if PY_VERSION_HEX >= 0x030D0000
    _PyEval_FrameClearAndPop(thread, frame);
#elif PY_VERSION_HEX >= 0x030C0000
    if ((PyObject **)frame == &thread->datastack_chunk->data[0] || frame->frame_obj != NULL) {
        return evaluate_result(thread, frame, result);
    }
    drop_frame_values(frame);
    Py_DECREF(frame->f_funcobj);
    Py_DECREF(frame->f_code);
    thread->datastack_top = (PyObject **)frame;
#else
    (void)thread;
    (void)frame; /* 3.11: whoever called the hook clears the frame */
#endif
    return result;
}

/*
 * Whether a frame would let others do something now at a call or a backward jump: a signal handler,
 * a thread that waits for the GIL, the collector.
 */
bool
others_wait(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (_Py_atomic_load_uintptr_relaxed(&thread->eval_breaker) & _PY_EVAL_EVENTS_MASK) != 0;
#else
    return _Py_atomic_load_relaxed(&thread->interp->ceval.eval_breaker) != 0;
#endif
}

/* ---- restore and suspend ---- */

/* Whether the frame that called the C function we are in runs exactly this code object. */
bool
current_frame_runs(PyThreadState *thread, PyObject *code)
{
    Frame *frame = current_frame(thread);
    return frame != NULL && frame->owner == FRAME_OWNED_BY_THREAD &&
           (PyObject *)code_of(frame) == code;
}

/* Make `exception` (stolen; NULL or None: none) current. Returns what was, owned, or NULL. */
static PyObject *
exchange_current_exception(PyThreadState *thread, PyObject *exception)
{
    if (exception == Py_None) {
        Py_DECREF(exception);
        exception = NULL;
    }
    PyObject *before = thread->exc_info->exc_value;
    thread->exc_info->exc_value = exception;
    return before;
}

/* The same with a slot that a handler keeps an exception in, where None stands for none. */
static void
exchange_with_slot(PyThreadState *thread, PyObject **slot)
{
    PyObject *before = exchange_current_exception(thread, *slot);
    *slot = before == NULL ? Py_NewRef(Py_None) : before;
}

/*
 * Make the exception that a state handles the thread's current one, for what runs in the frame's
 * stead; where there is none, none is. Returns what was current, owned, or NULL: `leave_handler`
 * makes it so again.
 */
PyObject *
enter_handler(PyThreadState *thread, FrameState *state)
{
    if (state->handled < 0) {
        return NULL;
    }
    PyObject *handled = state->slots[state->handled];
    bool is_one = handled != NULL && PyExceptionInstance_Check(handled);
    return exchange_current_exception(thread, is_one ? Py_NewRef(handled) : NULL);
}

/* End what `enter_handler` began; steals `outer`. An error that is set stays set. */
void
leave_handler(PyThreadState *thread, FrameState *state, PyObject *outer)
{
    if (state->handled >= 0) {
        PyObject *inner = exchange_current_exception(thread, outer);
        Py_XDECREF(inner); /* the state has it as well */
    }
}

/* The number of positions of errors that are marked. */
static Py_ssize_t
count_errors(const StackMarks *marks)
{
    return marks->errors == NULL ? 0 : PyTuple_GET_SIZE(marks->errors);
}

/* The place on the stack of a position of an error that is marked. */
static Py_ssize_t
error_place(const StackMarks *marks, Py_ssize_t i)
{
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(marks->errors, i));
}

/* Set SystemError, as a slot does not hold what its mark says. Returns -1. */
static int
refuse_marks(PyCodeObject *code)
{
    PyErr_Format(PyExc_SystemError, "ufuse: the stack of %S is not what its marks say",
                 code->co_qualname);
    return -1;
}

/* Whether a state holds what marks say about a frame's stack of `depth` values. */
static bool
state_fits_marks(const FrameState *state, const StackMarks *marks, Py_ssize_t depth)
{
    PyObject *const *stack = state->slots + (state->size - depth);
    if (marks->previous >= depth) {
        return false;
    }
    if (marks->previous >= 0) {
        PyObject *current = stack[marks->previous];
        if (current == NULL || (current != Py_None && !PyExceptionInstance_Check(current))) {
            return false;
        }
    }
    for (Py_ssize_t i = 0; i < count_errors(marks); i++) {
        Py_ssize_t place = error_place(marks, i);
        PyObject *at = place < 0 || place >= depth ? NULL : stack[place];
        if (at == NULL || !PyLong_CheckExact(at)) {
            return false;
        }
        int overflow;
        long position = PyLong_AsLongAndOverflow(at, &overflow);
        if (overflow || position < 0 || position >= PyTuple_GET_SIZE(marks->offsets)) {
            return false;
        }
    }
    return true;
}

/*
 * Move the state into the running frame: its slots, and the bottom of its stack, where the frame
 * has pushed one placeholder per value. The exception that the frame was handling is current again.
 * The state is left empty. Runs no Python code except finalizers of what the slots held (nothing,
 * for resume code). Returns 0, or -1 with SystemError set and nothing moved when the sizes
 * disagree.
 */
int
fill_current_frame(PyThreadState *thread, FrameState *state, const StackMarks *marks)
{
    Frame *frame = current_frame(thread);
    PyCodeObject *code = code_of(frame);
    Py_ssize_t n_locals = code->co_nlocalsplus;
    Py_ssize_t depth = state->size - n_locals;
    if (depth < 0 || depth > code->co_stacksize) {
        PyErr_Format(
            PyExc_SystemError,
            "ufuse: a state of %zd values does not fit a frame of %S (%d slots, stack of %d)",
            state->size, code->co_qualname, code->co_nlocalsplus, code->co_stacksize);
        return -1;
    }
    if (!state_fits_marks(state, marks, depth)) {
        return refuse_marks(code);
    }
    if (marks->previous >= 0) {
        exchange_with_slot(thread, &state->slots[n_locals + marks->previous]);
    }
    for (Py_ssize_t i = 0; i < state->size; i++) {
        PyObject *value = state->slots[i];
        state->slots[i] = NULL;
        bool is_free = i >= n_locals - code->co_nfreevars && i < n_locals;
        if (value != NULL || !is_free) { /* the frame has its free variables by itself */
            PyObject *before = fill_slot(&frame->localsplus[i], value);
            Py_XDECREF(before);
        }
    }
    for (Py_ssize_t i = 0; i < count_errors(marks); i++) {
        Slot *slot = &frame->localsplus[n_locals + error_place(marks, i)];
        Py_ssize_t position = PyLong_AsSsize_t(SLOT_BORROW(*slot));
        fill_error_position(slot, Py_NewRef(PyTuple_GET_ITEM(marks->offsets, position)));
    }
    return 0;
}

/*
 * Whether a frame's stack of `depth` values keeps an exception, or None, where its marks say that
 * a handler does.
 */
static bool
frame_fits_marks(Slot *stack, Py_ssize_t depth, const StackMarks *marks)
{
    if (marks->previous < 0) {
        return true;
    }
    if (marks->previous >= depth || error_position(&stack[marks->previous]) >= 0) {
        PyErr_Clear(); /* of an int too large for any position */
        return false;
    }
    PyObject *kept = SLOT_BORROW(stack[marks->previous]);
    return kept != NULL && (kept == Py_None || PyExceptionInstance_Check(kept));
}

/*
 * Let the positions of errors on a frame's stack count in the original code, as ordinary ints.
 * Returns 0, or -1 with SystemError set and nothing changed.
 */
static int
translate_errors(PyCodeObject *code, Slot *stack, Py_ssize_t depth, const StackMarks *marks)
{
    for (Py_ssize_t i = 0; i < count_errors(marks); i++) {
        Py_ssize_t place = error_place(marks, i);
        Py_ssize_t position = place < 0 || place >= depth ? -1 : error_position(&stack[place]);
        if (position < 0 || position >= PyTuple_GET_SIZE(marks->offsets)) {
            PyErr_Clear(); /* of an int too large for any position */
            return refuse_marks(code);
        }
    }
    for (Py_ssize_t i = 0; i < count_errors(marks); i++) {
        Slot *slot = &stack[error_place(marks, i)];
        Py_ssize_t position = error_position(slot);
        if (position >= 0) { /* as just checked: for the compiler */
            PyObject *original = PyTuple_GET_ITEM(marks->offsets, position);
            Py_XDECREF(fill_slot(slot, Py_NewRef(original)));
        }
    }
    return 0;
}

/* Take out what the stack holds, lowest value first. Returns 0, or -1 with the stack as it was. */
static int
take_stack(Slot *stack, Py_ssize_t depth, PyObject **values)
{
    for (Py_ssize_t i = 0; i < depth; i++) {
        if (take_stack_slot(&stack[i], &values[i]) < 0) {
            while (i-- > 0) {
                Py_XDECREF(fill_slot(&stack[i], values[i]));
                values[i] = NULL;
            }
            return -1;
        }
    }
    return 0;
}

/*
 * The frame has to be left with an error, past its handlers: make current what was before the
 * outermost of them.
 */
static void
abandon_handlers(PyThreadState *thread, Slot *stack, Py_ssize_t depth, const StackMarks *marks)
{
    PyObject *previous;
    if (marks->previous >= 0 && marks->previous < depth &&
        take_stack_slot(&stack[marks->previous], &previous) == 0) {
        exchange_with_slot(thread, &previous);
        Py_XDECREF(fill_slot(&stack[marks->previous], previous));
    }
}

/*
 * Move the slots and the lowest `depth` stack values of the running frame into a new state; NULL is
 * left in the slots and None on the stack. Free variables stay as well: before 3.13 whoever reads
 * the locals of a frame object relies on their cells. Stack values are taken first: from 3.14 they
 * may only borrow what a local owns. What was current before the frame's handlers is so again. Runs
 * no Python code. Returns a new reference, or NULL with an exception set and all values in the
 * frame, which must then be left.
 */
FrameState *
take_current_frame(PyThreadState *thread, Py_ssize_t position, Py_ssize_t depth,
                   const StackMarks *marks)
{
    Frame *frame = current_frame(thread);
    PyCodeObject *code = code_of(frame);
    Py_ssize_t n_locals = code->co_nlocalsplus;
    if (depth < 0 || depth > code->co_stacksize) {
        PyErr_Format(PyExc_SystemError, "ufuse: %zd values cannot be on the stack of %S", depth,
                     code->co_qualname);
        return NULL;
    }
    Slot *stack = frame->localsplus + n_locals;
    if (!frame_fits_marks(stack, depth, marks)) {
        (void)refuse_marks(code);
        return NULL;
    }
    FrameState *state = FrameState_New(position, n_locals + depth, n_locals);
    if (state == NULL || translate_errors(code, stack, depth, marks) < 0 ||
        take_stack(stack, depth, state->slots + n_locals) < 0) {
        Py_XDECREF(state);
        abandon_handlers(thread, stack, depth, marks);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n_locals; i++) {
        state->slots[i] = take_local_slot(&frame->localsplus[i]);
    }
    for (Py_ssize_t i = n_locals - code->co_nfreevars; i < n_locals; i++) {
        fill_slot(&frame->localsplus[i], Py_XNewRef(state->slots[i]));
    }
    if (marks->previous >= 0 && marks->previous < depth) {
        state->handled = n_locals + marks->previous;
        exchange_with_slot(thread, &state->slots[state->handled]);
    }
    return state;
}

/* ---- frame objects that others hold ---- */

/*
 * A frame that goes on runs in another frame, but what tracebacks hold is the frame object of where
 * it ran before: where there are such, get the frame object of the running frame as well, so that
 * its locals outlive it. Runs no Python code and raises nothing.
 */
void
follow_frame(PyThreadState *thread, Resumption *resumption)
{
    if (resumption->shown == NULL || Py_REFCNT(resumption->shown) == 1) {
        return; /* only we hold it */
    }
    hold_off_collections(); /* before 3.12 one may begin where memory is taken */
    PyFrameObject *frame = PyThreadState_GetFrame(thread);
    allow_collections();
    if (frame == NULL) {
        PyErr_Clear(); /* of memory: the locals die with the frame */
    }
    else if (frame->f_frame != current_frame(thread)) {
        Py_DECREF(frame); /* the frame has not begun */
    }
    else {
        resumption->frame = (PyObject *)frame;
    }
}

/*
 * The frame object that others hold of the frame that runs, or else of where it ran before; a new
 * reference, or NULL.
 */
PyObject *
shown_frame(PyThreadState *thread, Resumption *resumption)
{
    PyObject *object = (PyObject *)current_frame(thread)->frame_obj;
    Py_ssize_t ours = 1 + (resumption->frame != NULL);
    if (object != NULL && Py_REFCNT(object) > ours) {
        return Py_NewRef(object);
    }
    return Py_XNewRef(resumption->shown);
}

/* The number of slots of a frame that has ended and belongs to its frame object; 0: cleared. */
static Py_ssize_t
count_kept_slots(Frame *frame)
{
    if (frame->owner != FRAME_OWNED_BY_FRAME_OBJECT) {
        return 0;
    }
#if PY_VERSION_HEX >= 0x030E0000
    return frame->stackpointer == NULL ? 0 : frame->stackpointer - frame->localsplus;
#else
    return frame->stacktop;
#endif
}

/*
 * A frame has ended: where others hold the frame object of where it ran before, and none that of
 * where it ended, its locals belong to that one. Finalizers may run, as when a frame ends.
 */
void
hand_on_locals(Resumption *resumption)
{
    PyObject *from = resumption->frame, *to = resumption->shown;
    resumption->frame = resumption->shown = NULL;
    if (from != NULL && Py_REFCNT(from) == 1 && Py_REFCNT(to) > 1) {
        Frame *source = ((PyFrameObject *)from)->f_frame;
        Frame *target = ((PyFrameObject *)to)->f_frame;
        Py_ssize_t count = count_kept_slots(source);
        count = count_kept_slots(target) < count ? 0 : count;
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *value = take_local_slot(&source->localsplus[i]);
            Py_XDECREF(fill_slot(&target->localsplus[i], value));
        }
    }
    Py_XDECREF(from);
    Py_XDECREF(to);
}

/*
 * Let `evaluate` run a frame from the eval hook, as deeply nested as it could be without a hook.
 * Takes over the frame; returns what the frame returns. On 3.11 nothing else looks at the C stack:
 * there RecursionError is raised here.
 */
PyObject *
evaluate_frame(PyThreadState *thread, Frame *frame, int throwflag, _PyFrameEvalFunction evaluate)
{
#if PY_VERSION_HEX < 0x030C0000
    if (!throwflag && stack_is_spent()) {
        return NULL;
    }
#endif
    int lent = lend_recursion(thread);
    PyObject *result = evaluate(thread, frame, throwflag);
    reclaim_recursion(thread, lent);
    return result;
}

/* Prepare what the functions above need. 0, or -1 with an exception set. */
int
frames_ready(void)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
    if (identity_code == NULL) {
        PyObject *names = PyDict_New();
        if (names == NULL) {
            return -1;
        }
        PyObject *code =
            PyRun_String("(lambda value: value).__code__", Py_eval_input, names, names);
        Py_DECREF(names);
        if (code == NULL) {
            return -1;
        }
        identity_code = (PyCodeObject *)code;
    }
    return 0;
#else
    return 0;
#endif
}
