/*
 * The one file that knows CPython's frames. Laws: no function is called that libpython does not
 * export, and no frame is ever built.
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
 * The code, borrowed, of a frame that a call of a function has just made; NULL for any other (a
 * generator that is resumed, an exception thrown in, a class or module body). Runs no Python code.
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
 * Drop the values a fresh frame holds, so that they die when the frame that runs in its place drops
 * them. Finalizers may run.
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
 * On 3.12, where the frame begins a chunk of the data stack, which only the interpreter can free:
 * let it run `identity_code` in that frame. `result` is stolen; NULL: the exception that is set
 * goes through the frame, which adds no traceback entry as it has not started. Returns the result
 * again, or NULL with the exception set.
 */
static PyObject *
evaluate_result(PyThreadState *thread, Frame *frame, PyObject *result)
{
    PyThreadState_EnterTracing(thread);
    if (result != NULL) {
        drop_frame_values(frame);
        Py_ssize_t size = (PyObject **)thread->datastack_top - (PyObject **)frame;
        if (identity_code->co_framesize > size) {
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
 * Whether a frame would let others run now, at a call or a backward jump: a signal handler, a
 * thread that waits for the GIL, the collector.
 */
bool
eval_breaker_is_set(PyThreadState *thread)
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

/*
 * Make `exception` (stolen; NULL or None: none) the one that is handled. Returns the one that was,
 * owned, or NULL.
 */
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

/* The same with the slot of a previous exc_info, where None stands for none. */
static void
exchange_with_slot(PyThreadState *thread, PyObject **slot)
{
    PyObject *before = exchange_current_exception(thread, *slot);
    *slot = before == NULL ? Py_NewRef(Py_None) : before;
}

/*
 * Make the exception that the suspended frame handles (if any) the thread's handled one, for what
 * runs in the frame's place. Returns the previous one, owned, or NULL, for `leave_handler`.
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

/* End what `enter_handler` began; steals `outer`. An exception that is set stays set. */
void
leave_handler(PyThreadState *thread, FrameState *state, PyObject *outer)
{
    if (state->handled >= 0) {
        PyObject *inner = exchange_current_exception(thread, outer);
        Py_XDECREF(inner); /* the state has it as well */
    }
}

/* The number of stack slots that keep an offset for RERAISE. */
static Py_ssize_t
count_offsets(const StackMarks *marks)
{
    return marks->reraise_slots == NULL ? 0 : PyTuple_GET_SIZE(marks->reraise_slots);
}

/* The place on the stack of one of them. */
static Py_ssize_t
offset_place(const StackMarks *marks, Py_ssize_t i)
{
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(marks->reraise_slots, i));
}

/* Set SystemError: the stack does not hold what its marks say. Returns -1. */
static int
refuse_marks(PyCodeObject *code)
{
    PyErr_Format(PyExc_SystemError, "ufuse: the stack of %S is not what its marks say",
                 code->co_qualname);
    return -1;
}

/* Whether a state has what the marks say about a stack of `depth` values. */
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
    for (Py_ssize_t i = 0; i < count_offsets(marks); i++) {
        Py_ssize_t place = offset_place(marks, i);
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
 * has pushed a placeholder for each value. The exception that the frame was handling is handled
 * again. The state is left empty. Runs no Python code except finalizers of what the slots held
 * (nothing, for resume code). Returns 0, or -1 with SystemError set and nothing moved when the
 * state does not fit the frame.
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
        if (value != NULL || !is_free) { /* COPY_FREE_VARS has filled those */
            PyObject *before = fill_slot(&frame->localsplus[i], value);
            Py_XDECREF(before);
        }
    }
    for (Py_ssize_t i = 0; i < count_offsets(marks); i++) {
        Slot *slot = &frame->localsplus[n_locals + offset_place(marks, i)];
        Py_ssize_t position = PyLong_AsSsize_t(SLOT_BORROW(*slot));
        fill_reraise_offset(slot, Py_NewRef(PyTuple_GET_ITEM(marks->offsets, position)));
    }
    return 0;
}

/*
 * Whether a stack of `depth` values has an exception, or None, where its marks say that the
 * previous exc_info is.
 */
static bool
frame_fits_marks(Slot *stack, Py_ssize_t depth, const StackMarks *marks)
{
    if (marks->previous < 0) {
        return true;
    }
    if (marks->previous >= depth || reraise_offset(&stack[marks->previous]) >= 0) {
        PyErr_Clear(); /* an int too large for an offset */
        return false;
    }
    PyObject *kept = SLOT_BORROW(stack[marks->previous]);
    return kept != NULL && (kept == Py_None || PyExceptionInstance_Check(kept));
}

/*
 * Turn the offsets for RERAISE on a frame's stack into ordinary ints that count in the original
 * code. Returns 0, or -1 with SystemError set and nothing changed.
 */
static int
translate_offsets(PyCodeObject *code, Slot *stack, Py_ssize_t depth, const StackMarks *marks)
{
    for (Py_ssize_t i = 0; i < count_offsets(marks); i++) {
        Py_ssize_t place = offset_place(marks, i);
        Py_ssize_t position = place < 0 || place >= depth ? -1 : reraise_offset(&stack[place]);
        if (position < 0 || position >= PyTuple_GET_SIZE(marks->offsets)) {
            PyErr_Clear(); /* an int too large for an offset */
            return refuse_marks(code);
        }
    }
    for (Py_ssize_t i = 0; i < count_offsets(marks); i++) {
        Slot *slot = &stack[offset_place(marks, i)];
        Py_ssize_t position = reraise_offset(slot);
        if (position >= 0) { /* always, as checked above; tells the compiler */
            PyObject *original = PyTuple_GET_ITEM(marks->offsets, position);
            Py_XDECREF(fill_slot(slot, Py_NewRef(original)));
        }
    }
    return 0;
}

/*
 * Move the stack's values, the lowest first, to owned references. Returns 0, or -1 with an
 * exception set and the stack as it was.
 */
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
 * The frame is to be left with an error, past its handlers: make the exc_info from before the
 * outermost of them current.
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
 * may only borrow what a local owns. The exc_info from before the frame's handlers is current
 * again. Runs no Python code. Returns a new reference, or NULL with an exception set and all values
 * in the frame, which must then be left.
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
    if (state == NULL || translate_offsets(code, stack, depth, marks) < 0 ||
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

/* ---- escaped frame objects ---- */

/*
 * A suspended frame is resumed in another frame, but tracebacks and others may hold the frame
 * object of where it ran before. Where they do, make the running frame's frame object as well, so
 * that its locals outlive it. Runs no Python code, sets no exception.
 */
void
keep_frame_object(PyThreadState *thread, Resumption *resumption)
{
    if (resumption->escaped == NULL || Py_REFCNT(resumption->escaped) == 1) {
        return; /* only we hold it */
    }
    hold_off_collections(); /* before 3.12 an allocation may begin one */
    PyFrameObject *frame = PyThreadState_GetFrame(thread);
    allow_collections();
    if (frame == NULL) {
        PyErr_Clear(); /* MemoryError: the locals die with the frame */
    }
    else if (frame->f_frame != current_frame(thread)) {
        Py_DECREF(frame); /* the frame has not begun */
    }
    else {
        resumption->frame_object = (PyObject *)frame;
    }
}

/*
 * The running frame's frame object if others hold it, or else the one that had escaped before; a
 * new reference, or NULL.
 */
PyObject *
escaped_frame_object(PyThreadState *thread, Resumption *resumption)
{
    PyObject *object = (PyObject *)current_frame(thread)->frame_obj;
    Py_ssize_t not_escaped = 1 + (resumption->frame_object != NULL);
    if (object != NULL && Py_REFCNT(object) > not_escaped) {
        return Py_NewRef(object);
    }
    return Py_XNewRef(resumption->escaped);
}

/* The number of slots that an ended frame keeps in its frame object; 0: it was cleared. */
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
 * A frame has ended: where others hold the frame object that had escaped, and nobody that of where
 * it ended, move its locals to the former. Finalizers may run, as when a frame ends.
 */
void
hand_locals_to_escaped(Resumption *resumption)
{
    PyObject *from = resumption->frame_object, *to = resumption->escaped;
    resumption->frame_object = resumption->escaped = NULL;
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
 * Let `evaluate` run a frame from the eval hook, nested as deeply as it could be without a hook.
 * Takes over the frame; returns what the frame returns. 3.11 does not check the C stack: there
 * RecursionError is raised here.
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
