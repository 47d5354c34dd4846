#include "run/hook.h"

#include "values/arrays.h"
#include "values/builtins.h"
#include "python/code_extra.h"
#include "values/device_arrays.h"
#include "python/frames.h"
#include "python/recursion.h"
#include "run/measure.h"
#include "run/region.h"
#include "run/session.h"
#include "run/step.h"
#include "run/trampoline.h"

enum { PASSED_GENERATOR, PASSED_BODY, PASSED_REFUSED, N_PASSED };
static long long n_passed[N_PASSED]; /* counted only for sessions that want every frame */

/* The number of slots that arguments fill. */
static inline int
argument_slots(PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
           ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/*
 * Whether code is a list comprehension's, whose loop may become native code whatever it goes over.
 * From 3.12 on comprehensions are a part of the function around them.
 */
static bool
is_comprehension(PyCodeObject *code)
{
#if PY_VERSION_HEX < 0x030C0000
    return PyUnicode_CompareWithASCIIString(code->co_name, "<listcomp>") == 0;
#else
    (void)code;
    return false;
#endif
}

/* Whether any of the first arguments of a fresh frame brings an array. Runs no Python code. */
static bool
frame_brings_array(struct _PyInterpreterFrame *frame, PyCodeObject *code)
{
    enum { AT_ONCE = 16 };
    PyObject *values[AT_ONCE];
    int count = argument_slots(code);
    count = count < AT_ONCE ? count : AT_ONCE;
    read_frame_arguments(frame, values, count);
    for (int i = 0; i < count; i++) {
        if (values[i] != NULL && brings_array(values[i])) {
            return true;
        }
    }
    return false;
}

/*
 * Find the cache for a fresh frame's code, asking the session once. Returns 1 with `*found` a new
 * reference, 0 to hand the frame on, or -1 with an exception the program must see.
 */
static int
cache_for_frame(struct _PyInterpreterFrame *frame, PyCodeObject *code, PyObject *session,
                CodeCache **found)
{
    PyObject *answer;
    bool for_loops = false;
    bool is_known = find_answer((PyObject *)code, session, &answer, &for_loops);
    if (is_known && !for_loops) {
        *found = (CodeCache *)Py_XNewRef(answer);
        return answer != NULL;
    }
    bool brings =
        ufuse_thread.every_frame || is_comprehension(code) || frame_brings_array(frame, code);
    bool takes_loops = ufuse_thread.takes_loops || !ufuse_thread.within;
    if (!brings && (is_known || !takes_loops)) {
        return 0;
    }
    if (replaced_builtin() != NULL) { /* nothing is remembered: the program may undo that */
        return 0;
    }
    Py_INCREF(session); /* what is ambient may be left meanwhile, by a signal handler */
    *found = ask_cache(session, (PyObject *)code, !brings);
    bool failed = *found == NULL && PyErr_Occurred();
    if (!failed &&
        set_answer((PyObject *)code, session, (PyObject *)*found, !brings && *found == NULL) < 0) {
        PyErr_Clear();
    }
    Py_DECREF(session);
    if (failed) {
        return -1;
    }
    return *found != NULL;
}

/*
 * Run a fresh frame on the trampoline. Takes over the frame; `cache` is borrowed, and kept alive by
 * the caller. Returns the frame's result, or NULL with an exception set.
 */
static PyObject *
run_compiled(PyThreadState *thread, struct _PyInterpreterFrame *frame, PyCodeObject *code,
             CodeCache *cache)
{
    PyObject *function = frame_function(frame);
    PyObject *result = NULL;
    FrameState *next = NULL;
    RunOutcome outcome = RUN_RAISED;
    Registers registers;
    if (registers_begin(&registers, code->co_nlocalsplus) == 0) {
        read_frame_arguments(frame, registers.values, argument_slots(code));
        PyObject *closure = ((PyFunctionObject *)function)->func_closure;
        for (int i = 0; closure != NULL && i < code->co_nfreevars; i++) {
            registers.values[code->co_nlocalsplus - code->co_nfreevars + i] =
                PyTuple_GET_ITEM(closure, i);
        }
        outcome = take_start(cache, function, &registers, &result, &next);
    }
    registers_end(&registers);
    if (outcome == RUN_DECLINED) {
        return evaluate_frame(thread, frame, 0, ufuse_next_evaluate);
    }
    ufuse_thread.taken++;
    ufuse_thread.passed_in_row = 0;
    if (outcome == RUN_RESUMES) {
        Py_INCREF(function);
        drop_frame_values(frame);
        result = continue_frame(cache, function, next);
        Py_DECREF(function);
    }
    cache->whole += outcome == RUN_RETURNED;
    return discard_frame(thread, frame, result);
}

/* Run a fresh frame in one way, as `run_compiled`. */
static PyObject *
run_in_way(PyThreadState *thread, struct _PyInterpreterFrame *frame, PyCodeObject *code,
           CodeCache *cache, Way way)
{
    if (way == WAY_COMPILED) {
        return run_compiled(thread, frame, code, cache);
    }
    if (way == WAY_CALLEES) {
        return evaluate_frame(thread, frame, 0, ufuse_next_evaluate);
    }
    PlainRun run = plain_begin();
    PyObject *result = evaluate_frame(thread, frame, 0, ufuse_next_evaluate);
    plain_end(run);
    return result;
}

/*
 * Count a fresh frame that no session takes, or that runs plainly. After many in a row the hook is
 * taken away, where it may be: to go through it makes each call dearer.
 */
static void
note_not_taken(void)
{
    enum { MOST_IN_ROW = 20000 };
    ufuse_thread.passed++;
    if (++ufuse_thread.passed_in_row >= MOST_IN_ROW && ufuse_thread.may_end_early) {
        ufuse_thread.passed_in_row = 0;
        (void)pause_hook();
    }
}

/* Run a fresh frame in the fastest way, or time it; as `run_compiled`. */
static PyObject *
run_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame, PyCodeObject *code,
          CodeCache *cache)
{
    if (!cache->measures) {
        return run_compiled(thread, frame, code, cache);
    }
    PyObject *values[8];
    int count = argument_slots(code) < 8 ? argument_slots(code) : 8;
    Measured run;
    read_frame_arguments(frame, values, count);
    choose_way(cache, values, count, &run);
    if (run.trial == NULL) {
        if (run.way == WAY_PLAIN) {
            note_not_taken();
        }
        return run_in_way(thread, frame, code, cache, run.way);
    }
    begin_measured(cache, &run);
    PyObject *result = run_in_way(thread, frame, code, cache, run.way);
    end_measured(cache, &run, result != NULL);
    return result;
}

/* Count a frame that is never traced; `code` is a generator's, or NULL for no fresh frame. */
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
 * Run a frame, and all that it calls, without the hook: then calls of Python functions take no C
 * stack, and recursion goes as deep as it would without us.
 */
static PyObject *
evaluate_deep(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwflag)
{
    bool hooked = pause_hook();
    PyObject *result = ufuse_next_evaluate(thread, frame, throwflag);
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
    PyObject *session = session_of_frames();
    if (session != NULL && !runs_eagerly()) {
        PyCodeObject *code = fresh_frame_code(frame, throwflag);
        if (code != NULL && ufuse_thread.passing == (PyObject *)code) {
            ufuse_thread.passing = NULL;
        }
        else if (code != NULL && (code->co_flags & GENERATOR_LIKE) == 0) {
            CodeCache *cache = NULL;
            int found = lines_are_traced(thread, (PyObject *)code)
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
            note_not_taken();
        }
        else if (ufuse_thread.every_frame) {
            note_passed(frame, code, throwflag);
        }
    }
    return evaluate_frame(thread, frame, throwflag, ufuse_next_evaluate);
}

/* Tell regions that this is the hook. */
void
hook_ready(void)
{
    region_ready(evaluate);
}
