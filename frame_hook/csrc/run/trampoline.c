#include "run/trampoline.h"

#include "python/exceptions.h"
#include "python/frames.h"
#include "values/ranges.h"
#include "python/recursion.h"
#include "run/region.h"
#include "run/resume_function.h"
#include "run/step.h"
#include "run/turns.h"

enum { MOST_ATTEMPTS = 16 }; /* to raise an exception inside a frame */

/*
 * `take_step` from a state, which is only read. What runs sees the exception that the frame is
 * handling.
 */
static RunOutcome
step_from_state(CodeCache *cache, PyObject *function, FrameState *state, PyObject **result,
                FrameState **next)
{
    PyThreadState *thread = PyThreadState_Get();
    if (must_interpret(thread, cache_code(cache)) || nothing_begins_at(cache, state->position)) {
        return RUN_DECLINED;
    }
    Registers registers;
    RunOutcome outcome = RUN_RAISED;
    if (registers_begin(&registers, state->size) == 0) {
        registers.n_locals = state->n_locals;
        memcpy(registers.values, state->slots, (size_t)state->size * sizeof(PyObject *));
        registers.contents = state->contents;
        registers.known_at = state->known_at;
        PyObject *outer = enter_handler(thread, state);
        outcome = take_step(cache, state->position, function, &registers, result, next);
        leave_handler(thread, state, outer);
        if (outcome == RUN_RESUMES && (*next)->handled == AS_BEFORE) {
            (*next)->handled = state->handled < (*next)->size ? state->handled : -1;
        }
    }
    registers_end(&registers);
    return outcome;
}

/* Whether the exception that is set, raised outside the frame, may be raised again inside it. */
static bool
may_raise_again(int attempts)
{
    return attempts < MOST_ATTEMPTS && !PyErr_ExceptionMatches(PyExc_RecursionError) &&
           !PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(PyExc_SystemError);
}

/*
 * The state with which a resume function ended, a new reference. `value` is its result, stolen.
 * `*again`: it is to be resumed at once, to raise the exception that is put into the resumption.
 * NULL: the frame has ended, and `*result` is its result, or NULL with an exception set. Nothing
 * but that exception is left in the resumption.
 */
static FrameState *
state_after_call(Resumption *resumption, PyObject *value, int attempts, PyObject **result,
                 bool *again)
{
    FrameState *left = resumption->suspended != NULL ? resumption->suspended : resumption->pending;
    bool suspended = resumption->suspended != NULL;
    if (suspended) {
        Py_XDECREF(resumption->pending);
    }
    resumption->suspended = resumption->pending = NULL;
    *result = NULL;
    *again = false;
    if (suspended && value == (PyObject *)left) {
        Py_DECREF(value);
        return left;
    }
    if (left == NULL) {
        *result = value;
        return NULL;
    }
    if (value == NULL && may_raise_again(attempts)) {
        /* raised by a signal handler before restore[] or after suspend[]: it belongs in the frame
         */
        Py_XSETREF(resumption->exception, take_exception());
        *again = true;
        return left;
    }
    Py_DECREF(left);
    if (value != NULL) {
        Py_DECREF(value);
        PyErr_SetString(PyExc_SystemError, suspended
                                               ? "ufuse: resume code did not return its suspension"
                                               : "ufuse: resume code did not restore its state");
    }
    return NULL;
}

/*
 * Drop the frame objects of a frame that was suspended as `state`, or (NULL) has ended; an
 * exception that is set stays set. Finalizers may run.
 */
static void
end_resumption(Resumption *resumption, FrameState *state)
{
    if (state != NULL && state->escaped == NULL) {
        state->escaped = resumption->escaped;
        resumption->escaped = NULL;
    }
    if (state != NULL) {
        Py_CLEAR(resumption->escaped);
        Py_CLEAR(resumption->frame_object);
    }
    else if (resumption->escaped != NULL) {
        PyObject *raised = PyErr_Occurred() ? take_exception() : NULL;
        hand_locals_to_escaped(resumption);
        if (raised != NULL) {
            raise_exception(raised);
        }
    }
}

/*
 * Have CPython interpret the frame from `state` (stolen) to its next stop; `exception` (stolen, or
 * NULL) is raised inside it at once. `checks_signals`: signal handlers and threads that wait for
 * the GIL run first. Returns the state at the stop, a new reference; or NULL when the frame has
 * ended: with `*result`, a new reference, or with an exception set.
 */
static FrameState *
interpret_to_stop(CodeCache *cache, PyObject *function, FrameState *state, PyObject *exception,
                  bool checks_signals, PyObject **result)
{
    PyThreadState *thread = PyThreadState_Get();
    bool again = true;
    *result = NULL;
    for (int attempts = 0; again; attempts++) {
        Py_ssize_t position = state->position;
        PyObject *outer = enter_handler(thread, state);
        PyObject *resume = function_that_resumes(cache, position, function, &exception);
        leave_handler(thread, state, outer);
        if (resume == NULL) {
            Py_XDECREF(exception);
            Py_DECREF(state);
            return NULL;
        }
        PyObject *code = PyFunction_GET_CODE(resume);
        Resumption resumption = {.code = code,
                                 .cache = (PyObject *)cache,
                                 .pending = state,
                                 .exception = exception,
                                 .checks_signals = checks_signals && attempts == 0,
                                 .outer = ufuse_thread.resumption,
                                 .escaped = state->escaped};
        state->escaped = NULL;
        PyObject *passing = ufuse_thread.passing;
        ufuse_thread.resumption = &resumption;
        ufuse_thread.passing = resumption.code;
        int lent = lend_call(thread);
        PyObject *placeholder = Py_None;
        PyObject *value = PyObject_Vectorcall(resume, &placeholder,
                                              (size_t)((PyCodeObject *)code)->co_argcount, NULL);
        reclaim_recursion(thread, lent);
        ufuse_thread.passing = passing;
        ufuse_thread.resumption = resumption.outer;
        state = state_after_call(&resumption, value, attempts, result, &again);
        exception = resumption.exception;
        end_resumption(&resumption, state);
        drop_resuming(cache, position, resume);
    }
    cache->suspensions += state != NULL;
    Py_XDECREF(exception);
    return state;
}

/*
 * Where a frame stands at the header of a loop that has ended, take it behind the loop, as FOR_ITER
 * would. Runs no Python code.
 */
static void
leave_ended_loop(CodeCache *cache, PyThreadState *thread, FrameState *state)
{
    Py_ssize_t behind = cache_leave_at(cache, state->position);
    PyObject *iterator = state->size > state->n_locals ? state->slots[state->size - 1] : NULL;
    if (behind > 0 && iterator != NULL && range_has_ended(iterator) &&
        !must_interpret(thread, cache_code(cache))) {
        state->position = behind;
        state->slots[--state->size] = NULL;
        Py_DECREF(iterator);
    }
}

/*
 * Run a frame from `state` (stolen) until it returns or raises. The eval hook takes the frames of
 * what it calls. An entry's exception is raised inside the frame if the frame may catch it. After a
 * backward jump between entries, with a signal or another thread waiting, CPython interprets the
 * frame: signal handlers are to be given a frame of the program. The caller keeps the code alive.
 * Returns the frame's result, a new reference, or NULL with its exception set.
 */
PyObject *
continue_frame(CodeCache *cache, PyObject *function, FrameState *state)
{
    PyObject *result = NULL;
    Py_INCREF(cache);
    Py_INCREF(function);
    bool may_catch = PyBytes_GET_SIZE(((PyCodeObject *)cache_code(cache))->co_exceptiontable) > 0;
    Region outer = cache_region_enter(cache);
    PyThreadState *thread = PyThreadState_Get();
    long long activation = ++cache->activations;
    bool ran = state->position != 0, checks_signals = false;
    while (state != NULL) {
        FrameState *next = NULL;
        PyObject *exception = NULL;
        if (!checks_signals) {
            leave_ended_loop(cache, thread, state);
        }
        bool plain = checks_signals || state->declined ||
                     (cache->measures && turn_is_plain(cache, state->position, activation));
        RunOutcome outcome =
            plain ? RUN_DECLINED : step_from_state(cache, function, state, &result, &next);
        ran = ran || outcome != RUN_DECLINED;
        if (outcome == RUN_RAISED && may_catch) {
            exception = take_exception();
            outcome = RUN_DECLINED;
        }
        if (outcome == RUN_DECLINED) {
            next = interpret_to_stop(cache, function, state, exception, checks_signals, &result);
            checks_signals = false;
        }
        else {
            if (next != NULL) {
                Py_XSETREF(next->escaped, Py_XNewRef(state->escaped));
                checks_signals = next->position <= state->position && eval_breaker_is_set(thread);
            }
            Py_DECREF(state);
        }
        state = next;
    }
    cache->mixed += ran;
    cache_region_leave(cache, outer);
    Py_DECREF(function);
    Py_DECREF(cache);
    return result;
}
