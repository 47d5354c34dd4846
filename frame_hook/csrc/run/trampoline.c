#include "run/trampoline.h"

#include "python/exceptions.h"
#include "python/frames.h"
#include "python/ranges.h"
#include "python/recursion.h"
#include "run/arrivals.h"
#include "run/plain_time.h"
#include "run/region.h"
#include "run/session.h"
#include "run/turns.h"

enum { MOST_ATTEMPTS = 16 }; /* to raise an exception inside a frame */

enum { LOOP_DECLINES = 64 };

/* So often in a row an entry for whole calls may decline: each of these calls runs twice. And one
 * that has run none yet. */
enum { MOST_WHOLE_DECLINED = 256, FEW_WHOLE_DECLINED = 6 };

/* Whether the entry for whole calls runs those of the last one's order of magnitude. */
static bool
whole_is_for(const CodeCache *cache)
{
    return (cache->whole_call_for >> cache->magnitude & 1) != 0;
}

/*
 * Whether the session is told that an entry declined. One that runs a loop does so at each loop's
 * end: of those every so many, and only while it does hardly anything else.
 */
static bool
entry_tells_declined(Entry *entry)
{
    if (!entry->is_loop) {
        return true;
    }
    long long declined = entry->declined + 1;
    if (declined % LOOP_DECLINES != 0 || declined * 20 <= entry->hits * 19) {
        entry->declined = declined;
        return false;
    }
    return true;
}

/*
 * Run a whole call by the entry that is made for that. RUN_DECLINED: there is none, or not for
 * these arguments; then the registers are as they were. `*fits`: as `entry_matches` says.
 */
static RunOutcome
run_whole(CodeCache *cache, Registers *registers, PyObject **result, int *fits)
{
    RunOutcome outcome = RUN_DECLINED;
    FrameState *next = NULL;
    Entry *entry = (Entry *)Py_XNewRef(cache->whole_call);
    bool runs = entry != NULL && whole_is_for(cache) && entry->valid && !loops_run_plainly();
    *fits = runs ? entry_matches(entry, registers) : 0;
    if (*fits > 0) {
        entry->hits++;
        outcome = entry_run(entry, registers, result, &next);
        cache->whole_declined = outcome == RUN_DECLINED ? cache->whole_declined + 1 : 0;
        if (outcome == RUN_DECLINED) {
            entry->declined++;
            registers_drop_appended(registers);
        }
        int most = entry->declined == entry->hits ? FEW_WHOLE_DECLINED : MOST_WHOLE_DECLINED;
        if (cache->whole_declined >= most && cache->whole_call == entry) {
            Py_CLEAR(cache->whole_call);
            cache->whole_declined = 0;
        }
    }
    Py_XDECREF(entry);
    return *fits < 0 ? RUN_RAISED : outcome;
}

/* The same, after asking for such an entry, where that is due. */
static RunOutcome
take_whole(CodeCache *cache, PyObject *function, Registers *registers, PyObject **result)
{
    int fits;
    bool is_for = cache->whole_call == NULL || whole_is_for(cache);
    RunOutcome outcome = run_whole(cache, registers, result, &fits);
    if (fits != 0 || !is_for || cache->is_within || cache->whole_call_after <= 0 ||
        --cache->whole_call_after > 0) {
        return outcome;
    }
    registers->contents = NULL; /* Python code runs: it may see the arrays */
    int runs = ask_whole(cache, function, registers);
    if (runs <= 0) {
        return runs < 0 ? RUN_RAISED : RUN_DECLINED;
    }
    return run_whole(cache, registers, result, &fits);
}

/* Of what takes sides of branches for granted: runs that show nothing, and what is too many. */
enum { FEW_DECLINES = 8, SHARE_OF_DECLINES = 16 };

/*
 * An entry that takes sides of branches for granted has declined: run another one that does not,
 * which takes its place in `*entry`. One that declines too often is given up. RUN_DECLINED: there
 * is none.
 */
static RunOutcome
take_other_side(CodeCache *cache, Py_ssize_t position, Registers *registers, Entry **entry,
                PyObject **result, FrameState **next)
{
    Entry *sure = NULL;
    registers_drop_appended(registers);
    long long declined = (*entry)->declined + 1;
    if (declined >= FEW_DECLINES && declined * SHARE_OF_DECLINES > (*entry)->hits &&
        (*entry)->valid && tell_other_sides(cache, position, *entry) < 0) {
        return RUN_RAISED;
    }
    int found = cache_find_sure(cache, position, registers, &sure);
    if (found <= 0) {
        return found < 0 ? RUN_RAISED : RUN_DECLINED;
    }
    (*entry)->declined = declined;
    Py_SETREF(*entry, sure);
    return entry_run(sure, registers, result, next);
}

/*
 * Ask for an entry that is longer than one that is about to run. Python code runs, so its guards
 * are looked at once more. Returns 1 where they hold, 0 where they do not, or -1 with an exception.
 */
static int
grow_entry(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
           Entry *entry)
{
    Entry *longer = NULL;
    int status = ask_grow(cache, position, function, registers, entry, &longer);
    if (status > 0) {
        status = cache_has(cache, position, longer) ? 0 : cache_add(cache, position, longer);
        Py_DECREF(longer);
    }
    registers_drop_appended(registers);
    return status < 0 ? -1 : entry->valid ? entry_matches(entry, registers) : 0;
}

/*
 * Find or capture an entry for the state in the registers, and run it. Python code may run. Returns
 * what `entry_run` does; RUN_DECLINED also where there is no entry, and no effect either.
 */
RunOutcome
take_step(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
          PyObject **result, FrameState **next)
{
    Entry *entry = NULL;
    if (!cache_serves(cache, function)) {
        return RUN_DECLINED;
    }
    if (position == 0 && (cache->whole_call != NULL || cache->whole_call_after > 0)) {
        RunOutcome outcome = take_whole(cache, function, registers, result);
        if (outcome != RUN_DECLINED) {
            return outcome;
        }
    }
    int found = cache_find(cache, position, registers, &entry);
    if (found == 0 && !cache_given_up(cache, position)) {
        bool has_whole = cache->whole_call != NULL;
        registers->contents = NULL; /* Python code runs: it may see the arrays */
        found = ask_capture(cache, position, function, registers, &entry);
        if (found == 0 && position == 0 && !has_whole && cache->whole_call != NULL) {
            return run_whole(cache, registers, result, &found); /* a first call, which is long */
        }
        if (found > 0) {
            if (!cache_has(cache, position, entry) && cache_add(cache, position, entry) < 0) {
                found = -1;
            }
            else {
                found = entry->valid ? entry_matches(entry, registers) : 0;
                entry->hits += found > 0;
            }
            if (found <= 0) {
                Py_DECREF(entry);
            }
        }
    }
    if (found > 0 && entry->asks_after > 0 && --entry->asks_after == 0) {
        registers->contents = NULL;
        found = grow_entry(cache, position, function, registers, entry);
        if (found <= 0) {
            Py_DECREF(entry);
        }
    }
    if (found <= 0) {
        return found == 0 ? RUN_DECLINED : RUN_RAISED;
    }
    if (entry->is_loop && loops_run_plainly()) {
        Py_DECREF(entry);
        return RUN_DECLINED;
    }
    bool counts = plain_time_counts(entry, cache);
    long long turns = counts ? entry_turns(entry) : 0;
    RunOutcome outcome = entry_run(entry, registers, result, next);
    if (counts && outcome != RUN_RAISED) {
        plain_time_add(entry, entry_turns(entry) - turns);
    }
    if (outcome == RUN_DECLINED && entry->expects > 0) {
        outcome = take_other_side(cache, position, registers, &entry, result, next);
    }
    if (outcome == RUN_DECLINED && entry_tells_declined(entry) &&
        tell_eager_run(cache, position, entry) < 0) {
        outcome = RUN_RAISED;
    }
    Py_DECREF(entry);
    return outcome;
}

/* So many frames of one code that no entry takes at their start are suspended later, where every
 * frame is: it is slow. */
enum { MOST_STOPPED = 50000 };

/*
 * Have a frame that no entry has taken at its start run in resume code, which suspends it at later
 * stops. Runs no Python code. RUN_DECLINED: not so often; RUN_RAISED: with MemoryError set.
 */
RunOutcome
begin_with_stops(const CodeCache *cache, Registers *registers, FrameState **next)
{
    if (cache->every_frame && cache->frames >= MOST_STOPPED) {
        return RUN_DECLINED;
    }
    FrameState *state = FrameState_New(0, registers->n_state, registers->n_state);
    for (Py_ssize_t i = 0; state != NULL && i < registers->n_state; i++) {
        state->slots[i] = Py_XNewRef(registers->values[i]);
    }
    if (state != NULL) {
        state->declined = true;
    }
    *next = state;
    return state == NULL ? RUN_RAISED : RUN_RESUMES;
}

/* Whether a position has no entries, and the session is not asked for one. */
static inline bool
nothing_begins_at(const CodeCache *cache, Py_ssize_t position)
{
    const Position *at = position < cache->n_positions ? cache->positions[position] : NULL;
    return at != NULL && at->given_up && at->count == 0;
}

/*
 * To look at the clock takes longer than all else of a stop. So where turns are short, and there is
 * time until the session is to be asked, only some of them do; at most half of that time passes.
 */
static void
look_seldom(Position *at, int64_t now, int64_t until)
{
    enum { MOST_UNLOOKED = 15 };
    int64_t turns = at->passed - at->looked_passed;
    if (turns > 0 && at->looked_at != 0) {
        int64_t turn = (now - at->looked_at) / turns + 1, most = (until - now) / (2 * turn);
        at->unlooked = most < MOST_UNLOOKED ? (int)most : MOST_UNLOOKED;
    }
    at->looked_passed = at->passed;
    at->looked_at = now;
}

/*
 * Whether no entry begins at a position now, and the session is not asked for one: a frame that
 * stops there need not leave CPython. The header of a loop is met in each turn.
 */
static bool
nothing_begins_now(CodeCache *cache, Py_ssize_t position)
{
    if (!cache_is_empty(cache, position)) {
        return cache_has_loop(cache, position) &&
               (loops_run_plainly() || arrival_passes(cache, position));
    }
    Position *at = position < cache->n_positions ? cache->positions[position] : NULL;
    if (at != NULL && at->unlooked > 0) {
        at->unlooked--;
        at->passed++;
        return true;
    }
    int64_t until = left_alone_until(cache, position), now = until == 0 ? 0 : now_ns();
    if (now >= until) {
        return false;
    }
    if (at != NULL) {
        look_seldom(at, now, until);
        at->passed++;
    }
    return true;
}

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

/* ---- resume functions ---- */

/* Check the session's resume code. Returns 0, or -1 with SystemError set. */
static int
check_resume_code(CodeCache *cache, PyObject *answer)
{
    PyCodeObject *original = (PyCodeObject *)cache_code(cache);
    PyCodeObject *code = (PyCodeObject *)answer;
    if (PyCode_Check(answer) && code->co_nlocalsplus == original->co_nlocalsplus &&
        code->co_nfreevars == original->co_nfreevars &&
        code->co_argcount <= (original->co_argcount > 0) && code->co_kwonlyargcount == 0 &&
        (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS | GENERATOR_LIKE)) == 0 &&
        (code->co_flags & CO_OPTIMIZED)) {
        return 0;
    }
    PyErr_Format(PyExc_SystemError, "ufuse: %R is no resume code for %R", answer, original);
    return -1;
}

/*
 * The code that resumes at a position, a new reference, made once; or NULL with an exception set.
 * What a signal handler of the program raises meanwhile is put into `*exception`.
 */
static PyObject *
resume_code(CodeCache *cache, Py_ssize_t position, PyObject **exception)
{
    Position *at = cache_position(cache, position);
    if (at == NULL) {
        return NULL;
    }
    if (at->resume_code != NULL) {
        return Py_NewRef(at->resume_code);
    }
    PyObject *code = ask_resume_code(cache, position);
    if (code == NULL) {
        Py_XSETREF(*exception, take_exception());
        code = ask_resume_code(cache, position);
    }
    if (code == NULL || check_resume_code(cache, code) < 0) {
        Py_XDECREF(code);
        return NULL;
    }
    at = cache_position(cache, position); /* the session may have cleared the cache */
    if (at == NULL) {
        Py_DECREF(code);
        return NULL;
    }
    Py_XSETREF(at->resume_code, Py_NewRef(code));
    return code;
}

/* Whether a resume function (or NULL) has the globals and builtins of another function. */
static bool
runs_in_scope_of(PyFunctionObject *kept, PyFunctionObject *of)
{
    return kept != NULL && kept->func_globals == of->func_globals &&
           kept->func_builtins == of->func_builtins;
}

/*
 * A tuple of `size` empty cells, borrowed, which stands for the closure of a resume function that
 * does not run; NULL, without an exception, for many, and where memory is short.
 */
static PyObject *
empty_closure(Py_ssize_t size)
{
    enum { MOST_CELLS = 16 };
    static PyObject *closures[MOST_CELLS + 1]; /* owned, never released */
    if (size > MOST_CELLS || closures[size] != NULL) {
        return size > MOST_CELLS ? NULL : closures[size];
    }
    PyObject *raised = PyErr_Occurred() ? take_exception() : NULL; /* by the frame that has ended */
    PyObject *cell = PyCell_New(NULL);
    PyObject *made = cell == NULL ? NULL : PyTuple_New(size);
    for (Py_ssize_t i = 0; made != NULL && i < size; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(cell));
    }
    Py_XDECREF(cell);
    PyErr_Clear();
    if (raised != NULL) {
        raise_exception(raised);
    }
    closures[size] = made;
    return made;
}

/*
 * The resume function that is kept, with the closure of another function, if it has that one's
 * scope, and no other frame may look at its closure; a new reference, or NULL.
 */
static PyObject *
kept_function(Position *at, PyFunctionObject *of)
{
    PyFunctionObject *kept = (PyFunctionObject *)at->resume_function;
    if (!runs_in_scope_of(kept, of)) {
        return NULL;
    }
    if (kept->func_closure != NULL) {
        if (Py_REFCNT(kept) > 1) {
            return NULL;
        }
        Py_SETREF(kept->func_closure, Py_NewRef(of->func_closure));
    }
    return Py_NewRef((PyObject *)kept);
}

/*
 * Drop a resume function (stolen) that has run: it is kept for the next time, but not the closure,
 * which would then live too long. Where others hold the function, such as a frame object that has
 * escaped, they keep it as it is.
 */
static void
drop_function(CodeCache *cache, Py_ssize_t position, PyObject *resume)
{
    PyFunctionObject *function = (PyFunctionObject *)resume;
    if (function->func_closure != NULL) {
        Position *at = position < cache->n_positions ? cache->positions[position] : NULL;
        PyObject *empty = empty_closure(PyTuple_GET_SIZE(function->func_closure));
        if (at != NULL && at->resume_function == resume) {
            if (Py_REFCNT(resume) == 2 && empty != NULL) {
                Py_SETREF(function->func_closure, Py_NewRef(empty));
            }
            else {
                Py_CLEAR(at->resume_function);
            }
        }
    }
    Py_DECREF(resume);
}

/*
 * The function that resumes at a position with `function`'s globals, builtins and closure, a new
 * reference, for `drop_function`; or NULL with an exception set. `*exception`: as in `resume_code`.
 */
static PyObject *
resume_function(CodeCache *cache, Py_ssize_t position, PyObject *function, PyObject **exception)
{
    PyFunctionObject *of = (PyFunctionObject *)function;
    Position *at = cache_position(cache, position);
    PyObject *kept = at == NULL ? NULL : kept_function(at, of);
    if (kept != NULL) {
        return kept;
    }
    PyObject *code = resume_code(cache, position, exception);
    if (code == NULL) {
        return NULL;
    }
    PyObject *made = PyFunction_New(code, of->func_globals);
    Py_DECREF(code);
    if (made == NULL) {
        return NULL;
    }
    Py_XSETREF(((PyFunctionObject *)made)->func_builtins, Py_NewRef(of->func_builtins));
    Py_ssize_t n_free = ((PyCodeObject *)((PyFunctionObject *)made)->func_code)->co_nfreevars;
    if (n_free != (of->func_closure == NULL ? 0 : PyTuple_GET_SIZE(of->func_closure))) {
        PyErr_Format(PyExc_SystemError, "ufuse: %R has not the closure of its code", function);
        Py_DECREF(made);
        return NULL;
    }
    if (n_free > 0) {
        ((PyFunctionObject *)made)->func_closure = Py_NewRef(of->func_closure);
    }
    at = cache_position(cache, position);
    if (at == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    Py_XSETREF(at->resume_function, Py_NewRef(made));
    return made;
}

/* ---- interpreted by CPython ---- */

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
        PyObject *resume = resume_function(cache, position, function, &exception);
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
        drop_function(cache, position, resume);
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

/* ---- restore and suspend ---- */

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

/* ---- the objects that resume code subscripts ---- */

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
