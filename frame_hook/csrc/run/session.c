#include "run/session.h"

#include <errno.h>
#include <fenv.h>

#include "python/collector.h"
#include "python/exceptions.h"
#include "python/recursion.h"
#include "run/region.h"
#include "run/entry_type.h"
#include "run/empty_slot.h"

/* The names of the session's methods and attributes, interned. */
#define SESSION_NAMES(X)                                                                           \
    X(capture)                                                                                     \
    X(resume_code)                                                                                 \
    X(decided)                                                                                     \
    X(whole_call)                                                                                  \
    X(grow)                                                                                        \
    X(other_sides)                                                                                 \
    X(larger)                                                                                      \
    X(device_mark)                                                                                 \
    X(device_took)                                                                                 \
    X(cache_for_loops)                                                                             \
    X(cache_for)                                                                                   \
    X(eager_run)                                                                                   \
    X(notify_eager)                                                                                \
    X(internal_error)                                                                              \
    X(is_user_error)

#define X(name) static PyObject *name_##name;
SESSION_NAMES(X)
#undef X

/* What the thread had before a call into the session, and `leave_session` puts back. */
typedef struct {
    PyObject *session;
    PyObject *exception;
    _PyErr_StackItem *handled; /* what the program is handling */
    _PyErr_StackItem nothing;
    _PyErr_StackItem *handled_outside;
    fexcept_t float_status;
    int error; /* `errno` */
    int64_t began;
    bool paused;
    int lent;
} Saved;

/*
 * Before Python code of ours runs: the hook takes no frames, dispatchers call their functions,
 * trace and profile functions see nothing, the recursion limit is farther away, no exception is set
 * or handled, which ours would get as context, and the floating-point status will be as it is now.
 */
static void
enter_session(Saved *saved)
{
    PyThreadState *thread = PyThreadState_Get();
    fegetexceptflag(&saved->float_status, FE_ALL_EXCEPT);
    saved->error = errno;
    saved->began = now_ns();
    ufuse_thread.session_began = processor_ns();
    saved->session = ufuse_thread.session;
    saved->exception = take_exception();
    saved->handled = thread->exc_info;
    saved->nothing = (_PyErr_StackItem){0};
    saved->handled_outside = ufuse_thread.handled_outside;
    ufuse_thread.handled_outside = saved->handled;
    thread->exc_info = &saved->nothing;
    saved->paused = pause_hook();
    saved->lent = lend_frames(thread);
    ufuse_thread.session = NULL;
    ufuse_thread.eager++;
    hold_off_collections();
    PyThreadState_EnterTracing(thread);
}

/* End it. An exception that is set now stays set, in place of the one from before. */
static void
leave_session(Saved *saved)
{
    PyThreadState *thread = PyThreadState_Get();
    PyThreadState_LeaveTracing(thread);
    ufuse_disturbances.session_ns += now_ns() - saved->began;
    ufuse_thread.session_ns += processor_ns() - ufuse_thread.session_began;
    fesetexceptflag(&saved->float_status, FE_ALL_EXCEPT);
    allow_collections();
    ufuse_thread.eager--;
    ufuse_thread.session = saved->session;
    reclaim_frames(thread, saved->lent);
    if (saved->paused) {
        resume_hook();
    }
    thread->exc_info = saved->handled;
    ufuse_thread.handled_outside = saved->handled_outside;
    Py_XDECREF(saved->nothing.exc_value);
    if (PyErr_Occurred()) {
        PyObject *handled = PyErr_GetHandledException();
        if (handled != NULL) {
            add_context(handled);
            Py_DECREF(handled);
        }
        Py_XDECREF(saved->exception);
    }
    else if (saved->exception != NULL) {
        raise_exception(saved->exception);
    }
    errno = saved->error;
}

/*
 * The session has raised: give the exception to `session.internal_error`, unless the program must
 * see it (KeyboardInterrupt, MemoryError, SystemExit, or `session.is_user_error` says so). Returns
 * -1 with the exception still set for those, else 0 with none set. Call it between enter_session()
 * and leave_session().
 */
static int
report_exception(PyObject *session)
{
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
        PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_SystemExit)) {
        return -1;
    }
    PyObject *exception = take_exception();
    PyObject *answer = PyObject_CallMethodOneArg(session, name_is_user_error, exception);
    int is_users = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is_users > 0) {
        raise_exception(exception);
        return -1;
    }
    if (is_users < 0) {
        PyErr_WriteUnraisable(session);
    }
    PyObject *reported = PyObject_CallMethodOneArg(session, name_internal_error, exception);
    if (reported == NULL) {
        PyErr_WriteUnraisable(session);
    }
    Py_XDECREF(reported);
    Py_DECREF(exception);
    return 0;
}

/*
 * `session.capture(…)`, checked. Returns a new reference to an Entry, to None, or to an int: how
 * many nanoseconds not to ask again; or NULL with an exception set.
 */
static PyObject *
call_capture(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers)
{
    PyObject *at = PyLong_FromSsize_t(position);
    PyObject *state = state_tuple(registers->values, registers->n_state);
    PyObject *answer = NULL;
    if (at != NULL && state != NULL) {
        PyObject *arguments[] = {cache->session, (PyObject *)cache, at, function, state};
        answer = PyObject_VectorcallMethod(name_capture, arguments,
                                           5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(at);
    Py_XDECREF(state);
    if (answer != NULL && answer != Py_None && !PyLong_CheckExact(answer) &&
        !Py_IS_TYPE(answer, &Entry_Type)) {
        PyErr_Format(PyExc_TypeError, "capture() returned %.100s instead of an Entry or None",
                     Py_TYPE(answer)->tp_name);
        Py_CLEAR(answer);
    }
    return answer;
}

/* Until when the session wants to be left alone, by all of a code object or at one position; 0: it
 * does not. */
int64_t
left_alone_until(const CodeCache *cache, Py_ssize_t position)
{
    const Position *at = position < cache->n_positions ? cache->positions[position] : NULL;
    int64_t until = at == NULL ? 0 : at->ask_after;
    return until > cache->ask_after ? until : cache->ask_after;
}

/* Whether it wants that now. */
static bool
is_left_alone(const CodeCache *cache, Py_ssize_t position)
{
    int64_t until = left_alone_until(cache, position);
    return until != 0 && now_ns() < until;
}

/*
 * Leave the session alone for some nanoseconds: where a trace has to wait for its time, for all of
 * the code object, else for a position. Sets no exception.
 */
static void
leave_alone(CodeCache *cache, Py_ssize_t position, long long nanoseconds)
{
    int64_t until = now_ns() + nanoseconds;
    Position *at = cache->put_off ? NULL : cache_position(cache, position);
    if (at != NULL) {
        at->ask_after = until;
    }
    else {
        PyErr_Clear();
        cache->ask_after = until;
    }
}

/*
 * Ask the session for an entry for the state in the registers. Runs Python code. Returns 1 with
 * `*entry` a new reference; 0 when there is none (after an internal error the position is given up;
 * where the C stack is deep, or the session wants to be left alone for a while, nothing is asked);
 * or -1 with an exception the program must see.
 */
int
ask_capture(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
            Entry **entry)
{
    if (stack_is_deep() || is_left_alone(cache, position)) {
        return 0;
    }
    cache->ask_after = 0;
    cache->put_off = false;
    cache->captures++;
    ufuse_disturbances.captures++;
    Saved saved;
    enter_session(&saved);
    int status = 0;
    PyObject *answer = call_capture(cache, position, function, registers);
    if (answer == NULL) {
        status = report_exception(cache->session);
        if (status == 0 && cache_give_up(cache, position) < 0) {
            PyErr_Clear();
        }
    }
    else if (answer == Py_None) {
        Py_DECREF(answer);
    }
    else if (PyLong_CheckExact(answer)) {
        leave_alone(cache, position, PyLong_AsLongLong(answer));
        Py_DECREF(answer);
    }
    else {
        *entry = (Entry *)answer;
        status = 1;
    }
    leave_session(&saved);
    return status;
}

/*
 * What a method of the session answers to so many arguments, the session among them; one that is
 * NULL could not be made. Returns a new reference; or NULL with `*status` 0 after an internal
 * error, -1 with an exception the program must see.
 */
static PyObject *
ask_session(PyObject *name, PyObject **arguments, size_t count, int *status)
{
    PyObject *session = arguments[0], *answer = NULL;
    bool is_whole = true;
    for (size_t i = 0; i < count; i++) {
        is_whole = is_whole && arguments[i] != NULL;
    }
    if (is_whole) {
        answer = PyObject_VectorcallMethod(name, arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                           NULL);
    }
    *status = answer == NULL ? report_exception(session) : 0;
    return answer;
}

/*
 * Ask `session.grow(cache, position, function, state, entry)` for an entry that goes farther than
 * one that fits. Runs Python code. Returns 1 with `*longer` a new reference; 0 where there is none,
 * also after an internal error; or -1 with an exception the program must see.
 */
int
ask_grow(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
         Entry *entry, Entry **longer)
{
    if (stack_is_deep()) {
        return 0;
    }
    ufuse_disturbances.captures++;
    Saved saved;
    enter_session(&saved);
    int status;
    PyObject *at = PyLong_FromSsize_t(position);
    PyObject *state = state_tuple(registers->values, registers->n_state);
    PyObject *arguments[] = {cache->session, (PyObject *)cache, at, function,
                             state,          (PyObject *)entry};
    PyObject *answer = ask_session(name_grow, arguments, Py_ARRAY_LENGTH(arguments), &status);
    Py_XDECREF(at);
    Py_XDECREF(state);
    if (answer != NULL && Py_IS_TYPE(answer, &Entry_Type)) {
        *longer = (Entry *)answer;
        status = 1;
    }
    else {
        Py_XDECREF(answer);
    }
    leave_session(&saved);
    return status;
}

/*
 * Tell the session, `session.other_sides(cache, position, entry)`, that an entry takes sides of
 * branches for granted that are often not taken. Returns 0, or -1 with an exception the program
 * must see.
 */
int
tell_other_sides(CodeCache *cache, Py_ssize_t position, Entry *entry)
{
    Saved saved;
    enter_session(&saved);
    int status;
    PyObject *at = PyLong_FromSsize_t(position);
    PyObject *arguments[] = {cache->session, (PyObject *)cache, at, (PyObject *)entry};
    PyObject *answer =
        ask_session(name_other_sides, arguments, Py_ARRAY_LENGTH(arguments), &status);
    Py_XDECREF(at);
    Py_XDECREF(answer);
    leave_session(&saved);
    return status;
}

/*
 * Have the session make an entry for whole calls, `session.whole_call(cache, function, state)`,
 * which it gives the cache. Runs Python code. Returns 1 where this call, which is long, is to run
 * by that; 0, also after an internal error; or -1 with an exception the program must see.
 */
int
ask_whole(CodeCache *cache, PyObject *function, Registers *registers)
{
    if (stack_is_deep()) {
        return 0;
    }
    ufuse_disturbances.captures++;
    Saved saved;
    enter_session(&saved);
    int status;
    PyObject *state = state_tuple(registers->values, registers->n_state);
    PyObject *arguments[] = {cache->session, (PyObject *)cache, function, state};
    PyObject *answer = ask_session(name_whole_call, arguments, Py_ARRAY_LENGTH(arguments), &status);
    Py_XDECREF(state);
    status = answer == Py_True ? 1 : status;
    Py_XDECREF(answer);
    leave_session(&saved);
    return status;
}

/*
 * `session.resume_code(cache, position)`. Returns a new reference, or NULL with an exception set.
 */
PyObject *
ask_resume_code(CodeCache *cache, Py_ssize_t position)
{
    Saved saved;
    enter_session(&saved);
    PyObject *code = NULL;
    PyObject *at = PyLong_FromSsize_t(position);
    if (at != NULL) {
        PyObject *arguments[] = {cache->session, (PyObject *)cache, at};
        code = PyObject_VectorcallMethod(name_resume_code, arguments,
                                         3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        Py_DECREF(at);
    }
    leave_session(&saved);
    return code;
}

/*
 * `session.cache_for(code)`, or `session.cache_for_loops(code)`: a new reference, or NULL for
 * "never", also after an internal error; or NULL with an exception the program must see.
 */
CodeCache *
ask_cache(PyObject *session, PyObject *code, bool for_loops)
{
    Saved saved;
    enter_session(&saved);
    PyObject *name = for_loops ? name_cache_for_loops : name_cache_for;
    PyObject *answer = PyObject_CallMethodOneArg(session, name, code);
    if (answer != NULL && answer != Py_None &&
        !(Py_IS_TYPE(answer, &CodeCache_Type) && cache_code((CodeCache *)answer) == code)) {
        PyErr_Format(PyExc_TypeError,
                     "%U() returned %R instead of a CodeCache of this code or None", name, answer);
        Py_CLEAR(answer);
    }
    if (answer == NULL) {
        (void)report_exception(session);
    }
    if (answer == Py_None) {
        Py_CLEAR(answer);
    }
    leave_session(&saved);
    return (CodeCache *)answer;
}

/*
 * Count that an entry declined, and tell the session where it wants that. Returns 0, or -1 with an
 * exception the program must see.
 */
int
tell_eager_run(CodeCache *cache, Py_ssize_t position, Entry *entry)
{
    entry->declined++;
    Saved saved;
    enter_session(&saved);
    PyObject *wanted = PyObject_GetAttr(cache->session, name_notify_eager);
    int truth = wanted == NULL ? -1 : PyObject_IsTrue(wanted);
    Py_XDECREF(wanted);
    if (truth < 0) {
        PyErr_Clear();
    }
    int status = 0;
    if (truth > 0) {
        PyObject *at = PyLong_FromSsize_t(position);
        PyObject *arguments[] = {cache->session, (PyObject *)cache, at, (PyObject *)entry};
        PyObject *answer =
            at == NULL ? NULL
                       : PyObject_VectorcallMethod(name_eager_run, arguments,
                                                   4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (answer == NULL) {
            status = report_exception(cache->session);
        }
        Py_XDECREF(at);
        Py_XDECREF(answer);
    }
    leave_session(&saved);
    return status;
}

/*
 * An exception of the program's, where none can be raised now: an interrupt comes again, as soon as
 * the program runs; any other is written. Clears it.
 */
static void
raise_later(PyObject *session)
{
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt();
    }
    else {
        PyErr_WriteUnraisable(session);
    }
}

/*
 * Tell the session how a trial was decided: which way calls run (`positions` is NULL) or turns of
 * the loop through these positions (a list), with the nanoseconds of compiled and of plain runs,
 * and a number that stands for a trial of calls. Whether that is to be held again, because other
 * code runs from now on. Sets no exception; one that is set stays set.
 */
bool
tell_decision(CodeCache *cache, PyObject *positions, const Trial *trial)
{
    static const char *const ways[] = {"compiled", "callees", "plain"};
    Saved saved;
    enter_session(&saved);
    PyObject *method = PyObject_GetAttr(cache->session, name_decided);
    PyObject *answer =
        method == NULL
            ? NULL
            : PyObject_CallFunction(
                  method, "OOsLLOK", cache, positions == NULL ? Py_None : positions,
                  ways[trial->way], (long long)samples_typical(&trial->samples[WAY_COMPILED]),
                  (long long)samples_typical(&trial->samples[WAY_PLAIN]),
                  trial->is_cut ? Py_True : Py_False, (unsigned long long)(uintptr_t)trial);
    Py_XDECREF(method);
    if (answer == NULL && report_exception(cache->session) < 0) {
        raise_later(cache->session);
    }
    bool again = answer == Py_True;
    Py_XDECREF(answer);
    leave_session(&saved);
    return again;
}

/* Tell the session that loops which were given back may pay now. Sets no exception; one that is set
 * stays set. */
void
tell_larger(CodeCache *cache)
{
    Saved saved;
    enter_session(&saved);
    PyObject *answer = PyObject_CallMethodOneArg(cache->session, name_larger, (PyObject *)cache);
    if (answer == NULL && report_exception(cache->session) < 0) {
        raise_later(cache->session);
    }
    Py_XDECREF(answer);
    leave_session(&saved);
}

/*
 * Put a mark behind what a device has to do for this thread. Returns a new reference, or NULL where
 * there is none; sets no exception.
 */
PyObject *
mark_device(CodeCache *cache)
{
    Saved saved;
    enter_session(&saved);
    PyObject *mark = PyObject_CallMethodNoArgs(cache->session, name_device_mark);
    if (mark == NULL && report_exception(cache->session) < 0) {
        raise_later(cache->session);
    }
    if (mark == Py_None) {
        Py_CLEAR(mark);
    }
    leave_session(&saved);
    return mark;
}

/*
 * Find how many nanoseconds lie between two marks; -1: they tell nothing. Returns false while the
 * device is not done. Sets no exception.
 */
bool
device_took(CodeCache *cache, PyObject *began, PyObject *ended, int64_t *ns)
{
    Saved saved;
    enter_session(&saved);
    *ns = -1;
    PyObject *arguments[] = {cache->session, began, ended};
    PyObject *answer = PyObject_VectorcallMethod(name_device_took, arguments,
                                                 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    bool done = answer != Py_None;
    if (answer != NULL && done) {
        *ns = PyLong_AsLongLong(answer);
    }
    if (PyErr_Occurred()) {
        *ns = -1;
        if (report_exception(cache->session) < 0) {
            raise_later(cache->session);
        }
    }
    Py_XDECREF(answer);
    leave_session(&saved);
    return done;
}

/* Intern the names. Returns 0, or -1 with MemoryError set. */
int
session_ready(void)
{
#define X(name)                                                                                    \
    if (name_##name == NULL && (name_##name = PyUnicode_InternFromString(#name)) == NULL) {        \
        return -1;                                                                                 \
    }
    SESSION_NAMES(X)
#undef X
    return 0;
}
