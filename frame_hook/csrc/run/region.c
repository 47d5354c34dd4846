#include "run/region.h"

#include "python/recursion.h"

bool ufuse_always_eager;
_PyFrameEvalFunction ufuse_next_evaluate;

/* All guarded by the GIL; the module refuses to be imported in any interpreter but the main one. */
static _PyFrameEvalFunction evaluate; /* the hook */
static Py_ssize_t n_regions;          /* regions open in any thread */
static _PyFrameEvalFunction
    covered_by; /* the hook that was installed over ours when the last region ended, or NULL */

/*
 * Put the hook in front of whoever evaluates frames now. A hook that was installed over ours still
 * calls ours: then nothing is to be done.
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
    ufuse_next_evaluate = current;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
}

/*
 * Take the hook away, unless another was installed over it meanwhile: then it stays, and hands
 * every frame on.
 */
static void
uninstall(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (current == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, ufuse_next_evaluate);
    }
    else if (current != ufuse_next_evaluate) { /* equal where a thread has paused the hook */
        covered_by = current;
    }
}

/*
 * From here to `region_leave` the hook gives the frames of this thread to `session`, which the
 * caller keeps alive; `every_frame`: those that bring no array as well; `takes_loops`: of these
 * the ones whose loops may become native code; `may_end_early`: the hook may be taken away when it
 * has met nothing but frames that run plainly. NULL for a session: no frame is given to any.
 * Returns what `region_leave` needs. Runs no Python code.
 */
Region
region_enter(PyObject *session, bool every_frame, bool takes_loops, bool may_end_early)
{
    Region outer = {
        .session = ufuse_thread.session,
        .within = ufuse_thread.within,
        .every_frame = ufuse_thread.every_frame,
        .takes_loops = ufuse_thread.takes_loops,
        .may_end_early = ufuse_thread.may_end_early,
        .counted = session != NULL,
        .passed = ufuse_thread.passed,
        .taken = ufuse_thread.taken,
    };
    ufuse_thread.session = session;
    ufuse_thread.within = true;
    ufuse_thread.every_frame = every_frame;
    ufuse_thread.takes_loops = takes_loops;
    ufuse_thread.may_end_early = may_end_early;
    if (session != NULL && (n_regions++ == 0 || outer.session == NULL)) {
        install();
    }
    return outer;
}

/* End a region. An exception that is set stays set. */
void
region_leave(Region outer)
{
    ufuse_thread.session = outer.session;
    ufuse_thread.within = outer.within;
    ufuse_thread.every_frame = outer.every_frame;
    ufuse_thread.takes_loops = outer.takes_loops;
    ufuse_thread.may_end_early = outer.may_end_early;
    if (outer.counted && --n_regions == 0) {
        uninstall();
    }
    else if (!outer.within && ufuse_thread.ambient != NULL) {
        install(); /* the region may have taken it away early */
    }
}

/*
 * Give a session the frames of what this thread calls from here on, where no region is open, in
 * place of the one that was given them; NULL: none.
 */
void
set_ambient(PyObject *session)
{
    PyObject *before = ufuse_thread.ambient;
    ufuse_thread.ambient = Py_XNewRef(session);
    if (session != NULL) {
        n_regions += before == NULL;
        install();
    }
    else if (before != NULL && --n_regions == 0) {
        uninstall();
    }
    Py_XDECREF(before);
}

/*
 * Let frames of our own code run as fast as if there were no hook. Returns whether `resume_hook` is
 * to be called.
 */
bool
pause_hook(void)
{
    bool installed = hook_is_installed();
    if (installed) {
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), ufuse_next_evaluate);
    }
    return installed;
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
 * Until `plain_end` no session is given frames of this thread, and the hook is taken away, so that
 * calls of Python functions cost what they cost without us. Other threads do without it meanwhile.
 */
PlainRun
plain_begin(void)
{
    PlainRun run = {
        .session = ufuse_thread.session,
        .within = ufuse_thread.within,
        .paused = pause_hook(),
    };
    ufuse_thread.session = NULL;
    ufuse_thread.within = true;
    return run;
}

/* End it. An exception that is set stays set. */
void
plain_end(PlainRun run)
{
    ufuse_thread.session = run.session;
    ufuse_thread.within = run.within;
    if (run.paused) {
        resume_hook();
    }
}

/*
 * `lend_recursion` for a Python function that is about to be called from C. Where the hook is
 * installed, it does that for the function's frame.
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

/* Say which function the hook is. */
void
region_ready(_PyFrameEvalFunction hook)
{
    evaluate = hook;
}
