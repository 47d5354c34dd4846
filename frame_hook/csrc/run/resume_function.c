#include "run/resume_function.h"

#include "python/exceptions.h"
#include "python/frames.h"
#include "run/session.h"

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
void
drop_resuming(CodeCache *cache, Py_ssize_t position, PyObject *resume)
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
 * reference, for `drop_resuming`; or NULL with an exception set. `*exception`: as in `resume_code`.
 */
PyObject *
function_that_resumes(CodeCache *cache, Py_ssize_t position, PyObject *function,
                      PyObject **exception)
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
