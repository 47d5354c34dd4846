#include "hook.h"

#include "arrays.h"
#include "builtins.h"
#include "loop.h"
#include "marks.h"
#include "session.h"

bool ufuse_always_eager;

/* All guarded by the GIL; the module refuses to be imported in any interpreter but the main one. */
static Py_ssize_t n_regions;               /* regions open in any thread */
static _PyFrameEvalFunction next_evaluate; /* who runs the frames we let pass */
static _PyFrameEvalFunction
    covered_by; /* who was installed over us when we wanted to leave, or NULL */

enum { MOST_STOPPED = 50000 }; /* frames of one code that are stopped later: it takes its time */
enum { PASSED_GENERATOR, PASSED_BODY, PASSED_REFUSED, N_PASSED };
static long long n_passed[N_PASSED]; /* counted only for sessions that want every frame */

static PyObject *evaluate(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwflag);

/* ---- regions ---- */

/*
 * Put the hook in front of whoever evaluates frames now. Somebody who covers us still calls us:
 * then nothing is to do.
 */
static void
install(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (current == evaluate || (covered_by != NULL && current == covered_by)) {
        return;
    }
    covered_by = NULL;
    next_evaluate = current;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
}

/*
 * Take the hook away, unless somebody was installed over it meanwhile: then it stays and lets
 * everything pass.
 */
static void
uninstall(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (current == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluate);
    }
    else if (current != next_evaluate) { /* a thread may have paused us */
        covered_by = current;
    }
}

/*
 * From here to `region_leave` the hook gives the frames of this thread to the session of `cache`,
 * which the caller keeps alive. Returns what `region_leave` needs.
 */
Region
region_enter(CodeCache *cache)
{
    Region outer = {ufuse_thread.session, ufuse_thread.every_frame};
    ufuse_thread.session = cache->session;
    ufuse_thread.every_frame = cache->every_frame;
    if (n_regions++ == 0) {
        install();
    }
    return outer;
}

/* End a region. An exception that is set stays set. */
void
region_leave(Region outer)
{
    ufuse_thread.session = outer.session;
    ufuse_thread.every_frame = outer.every_frame;
    if (--n_regions == 0) {
        uninstall();
    }
}

/*
 * Let frames of our own code pass for a while, as fast as if there were no hook. Returns whether
 * `resume_hook` is to be called.
 */
bool
pause_hook(void)
{
    bool ours = hook_is_installed();
    if (ours) {
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), next_evaluate);
    }
    return ours;
}

/* End a pause, unless all regions were left meanwhile (by other threads). */
void
resume_hook(void)
{
    if (n_regions > 0) {
        install();
    }
}

/*
 * `lend_recursion` for a Python function that is about to be called from C: the hook does it for
 * its frame, where it is installed.
 */
int
lend_call(PyThreadState *thread)
{
    return hook_is_installed() ? 0 : lend_recursion(thread);
}

/* Whether the hook evaluates frames now. */
bool
hook_is_installed(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == evaluate;
}

/* ---- frames ---- */

/* The number of slots that arguments fill. */
static inline int
argument_slots(PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
           ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/* Whether a value is an array, or a tuple or list with one among its first four items. */
static bool
brings_array(PyObject *value)
{
    if (value == NULL || is_array(value)) {
        return value != NULL;
    }
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && i < 4; i++) {
            PyObject *item = PySequence_Fast_GET_ITEM(value, i);
            if (item != NULL && is_array(item)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether any argument of a fresh frame makes it worth a question. Runs no Python code. */
static bool
frame_brings_array(struct _PyInterpreterFrame *frame, PyCodeObject *code)
{
    enum { AT_ONCE = 16 };
    PyObject *values[AT_ONCE];
    int count = argument_slots(code);
    count = count < AT_ONCE ? count : AT_ONCE;
    read_frame_arguments(frame, values, count);
    for (int i = 0; i < count; i++) {
        if (brings_array(values[i])) {
            return true;
        }
    }
    return false;
}

/*
 * Find the cache for a fresh frame's code, asking the session once. Returns 1 with `*found` a new
 * reference, 0 to let the frame pass, or -1 with an exception the user must see.
 */
static int
cache_for_frame(struct _PyInterpreterFrame *frame, PyCodeObject *code, PyObject *session,
                CodeCache **found)
{
    CodeCache *cache;
    if (find_mark((PyObject *)code, session, &cache)) {
        *found = (CodeCache *)Py_XNewRef((PyObject *)cache);
        return cache != NULL;
    }
    if (!ufuse_thread.every_frame && !frame_brings_array(frame, code)) {
        return 0;
    }
    if (replaced_builtin() != NULL) { /* for now */
        return 0;
    }
    cache = ask_cache(session, (PyObject *)code);
    if (cache == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (set_mark((PyObject *)code, session, cache) < 0) {
        PyErr_Clear();
    }
    *found = cache;
    return cache != NULL;
}

/* A new state of position 0 from the registers, or NULL with MemoryError set. */
static FrameState *
state_of(Registers *registers)
{
    FrameState *state = FrameState_New(0, registers->n_state, registers->n_state);
    for (Py_ssize_t i = 0; state != NULL && i < registers->n_state; i++) {
        state->slots[i] = Py_XNewRef(registers->values[i]);
    }
    return state;
}

/*
 * Run a fresh frame through the loop. Takes over the frame; `cache` is borrowed, and kept alive by
 * the caller. Returns the frame's result, or NULL with an exception set.
 */
static PyObject *
run_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame, PyCodeObject *code,
          CodeCache *cache)
{
    PyObject *function = frame_function(frame);
    PyObject *result = NULL;
    FrameState *next = NULL;
    RunOutcome outcome = RUN_RAISED;
    Registers registers;
    cache->frames++;
    if (registers_begin(&registers, code->co_nlocalsplus) == 0) {
        read_frame_arguments(frame, registers.values, argument_slots(code));
        PyObject *closure = ((PyFunctionObject *)function)->func_closure;
        for (int i = 0; closure != NULL && i < code->co_nfreevars; i++) {
            registers.values[code->co_nlocalsplus - code->co_nfreevars + i] =
                PyTuple_GET_ITEM(closure, i);
        }
        outcome = take_step(cache, 0, function, &registers, &result, &next);
        if (outcome == RUN_DECLINED && cache->stops_later && cache->frames < MOST_STOPPED) {
            next = state_of(&registers);
            outcome = next == NULL ? RUN_RAISED : RUN_RESUMES;
        }
    }
    registers_end(&registers);
    if (outcome == RUN_DECLINED) {
        return evaluate_frame(thread, frame, 0, next_evaluate);
    }
    if (outcome == RUN_RESUMES) {
        Py_INCREF(function);
        drop_frame_values(frame);
        result = continue_frame(cache, function, next);
        Py_DECREF(function);
    }
    cache->whole += outcome == RUN_RETURNED;
    return discard_frame(thread, frame, result);
}

/* Count a frame that is never traced: `code` is a generator's, or NULL for what is no fresh frame.
 */
static void
note_passed(struct _PyInterpreterFrame *frame, PyCodeObject *code, int throwflag)
{
    if (code != NULL) {
        n_passed[PASSED_GENERATOR]++;
    }
    else if (frame_is_body(frame, throwflag)) {
        n_passed[PASSED_BODY]++;
    }
}

/*
 * passed_frames(): how many frames sessions that want every frame did not get: generators and
 * coroutines begun, module and class bodies, functions they refused.
 */
PyObject *
passed_frames(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("LLL", n_passed[PASSED_GENERATOR], n_passed[PASSED_BODY],
                         n_passed[PASSED_REFUSED]);
}

/*
 * Run a frame, and all that it calls, without the hook: Python functions that call each other then
 * take no C stack, and recursion goes as deep as it would without us.
 */
static PyObject *
evaluate_deep(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwflag)
{
    bool hooked = pause_hook();
    PyObject *result = next_evaluate(thread, frame, throwflag);
    if (hooked) {
        resume_hook();
    }
    return result;
}

/* What CPython calls for every frame while a region is open in any thread. */
static PyObject *
evaluate(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwflag)
{
    if (stack_is_deep()) {
        return evaluate_deep(thread, frame, throwflag);
    }
    PyObject *session = ufuse_thread.session;
    if (session != NULL && !runs_eagerly()) {
        PyCodeObject *code = fresh_frame_code(frame, throwflag);
        if (code != NULL && ufuse_thread.passing == (PyObject *)code) {
            ufuse_thread.passing = NULL;
        }
        else if (code != NULL && (code->co_flags & GENERATOR_LIKE) == 0) {
            CodeCache *cache = NULL;
            int found = lines_are_watched(thread, (PyObject *)code)
                            ? 0
                            : cache_for_frame(frame, code, session, &cache);
            if (found < 0) {
                return discard_frame(thread, frame, NULL);
            }
            if (found > 0) {
                PyObject *result = run_frame(thread, frame, code, cache);
                Py_DECREF(cache);
                return result;
            }
            n_passed[PASSED_REFUSED] += ufuse_thread.every_frame;
        }
        else if (ufuse_thread.every_frame) {
            note_passed(frame, code, throwflag);
        }
    }
    return evaluate_frame(thread, frame, throwflag, next_evaluate);
}
