#include "python/code_extra.h"

#if PY_VERSION_HEX < 0x030C0000
#    define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#    define PyUnstable_Code_GetExtra _PyCode_GetExtra
#    define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

static Py_ssize_t extra_index = -1;

/*
 * One session's answer. The session is known by a weak reference, so that another one allocated at
 * its address is not taken for it.
 */
typedef struct {
    PyObject *session; /* owned weak reference */
    PyObject *cache;   /* borrowed: a cache calls `forget_answers` before it dies; NULL: the session
                          never takes frames of this code */
    bool for_loops;    /* never for the sake of its loops: it may take frames that bring arrays */
} Answer;

typedef struct {
    Py_ssize_t count;
    Answer items[1];
} Answers;

/* Whether an answer is `session`'s; Py_None: whether its session is dead. */
static inline bool
is_answer_of(const Answer *answer, PyObject *session)
{
    return ((PyWeakReference *)answer->session)->wr_object == session;
}

/* CPython calls this with the co_extra of a code object that dies, also when that is NULL. */
static void
free_answers(void *extra)
{
    Answers *answers = extra;
    for (Py_ssize_t i = 0; answers != NULL && i < answers->count; i++) {
        Py_DECREF(answers->items[i].session);
    }
    PyMem_Free(answers);
}

/* The answers about a code object, borrowed, or NULL. Runs no Python code. */
static Answers *
answers_about(PyObject *code)
{
    void *extra = NULL;
    if (PyUnstable_Code_GetExtra(code, extra_index, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return extra;
}

/*
 * Whether the session has answered about this code; then `*cache` is its cache, borrowed, or NULL
 * for "never", and `*for_loops` whether that is said of its loops alone. Runs no Python code.
 */
bool
find_answer(PyObject *code, PyObject *session, PyObject **cache, bool *for_loops)
{
    Answers *answers = answers_about(code);
    for (Py_ssize_t i = 0; answers != NULL && i < answers->count; i++) {
        if (is_answer_of(&answers->items[i], session)) {
            *cache = answers->items[i].cache;
            *for_loops = answers->items[i].for_loops;
            return true;
        }
    }
    return false;
}

/*
 * The next answer of a session that lives, and its cache, both borrowed; `*next` is 0 at first.
 * Returns false behind the last one. Runs no Python code.
 */
bool
living_answer(PyObject *code, Py_ssize_t *next, PyObject **session, PyObject **cache)
{
    Answers *answers = answers_about(code);
    while (answers != NULL && *next < answers->count) {
        const Answer *answer = &answers->items[(*next)++];
        if (answer->cache != NULL && !is_answer_of(answer, Py_None)) {
            *session = ((PyWeakReference *)answer->session)->wr_object;
            *cache = answer->cache;
            return true;
        }
    }
    return false;
}

/* Drop answer `i`; the last one takes its place. */
static void
drop_answer(Answers *answers, Py_ssize_t i)
{
    PyObject *session = answers->items[i].session;
    answers->items[i] = answers->items[--answers->count];
    Py_DECREF(session);
}

/*
 * Keep a session's answer: its cache (borrowed), or NULL for "never", `for_loops` of its loops
 * alone. Answers of dead sessions are dropped. Returns 0, or -1 with an exception set (TypeError
 * where the session allows no weak references: then it is asked each time).
 */
int
set_answer(PyObject *code, PyObject *session, PyObject *cache, bool for_loops)
{
    PyObject *reference = PyWeakref_NewRef(session, NULL);
    if (reference == NULL) {
        return -1;
    }
    Answers *answers = answers_about(code);
    for (Py_ssize_t i = answers == NULL ? 0 : answers->count; i-- > 0;) {
        if (is_answer_of(&answers->items[i], session) ||
            is_answer_of(&answers->items[i], Py_None)) {
            drop_answer(answers, i);
        }
    }
    Py_ssize_t count = answers == NULL ? 0 : answers->count;
    Answers *grown = PyMem_Malloc(sizeof(Answers) + (size_t)count * sizeof(Answer));
    if (grown == NULL) {
        Py_DECREF(reference);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        grown->items[i] = answers->items[i];
        Py_INCREF(grown->items[i].session);
    }
    grown->items[count] = (Answer){reference, cache, for_loops};
    grown->count = count + 1;
    if (PyUnstable_Code_SetExtra(code, extra_index, grown) < 0) { /* frees what was there */
        free_answers(grown);
        return -1;
    }
    return 0;
}

/* Drop the answers that name `cache`. Sets no exception. */
void
forget_answers(PyObject *code, PyObject *cache)
{
    Answers *answers = answers_about(code);
    for (Py_ssize_t i = answers == NULL ? 0 : answers->count; i-- > 0;) {
        if (answers->items[i].cache == cache) {
            drop_answer(answers, i);
        }
    }
}

/* Ask CPython, once per process, for a slot of co_extra. Returns 0, or -1 with ImportError set. */
int
code_extra_ready(void)
{
    if (extra_index < 0) {
        extra_index = PyUnstable_Eval_RequestCodeExtraIndex(free_answers);
    }
    if (extra_index < 0) {
        PyErr_SetString(PyExc_ImportError,
                        "ufuse: CPython has no slot left for data on code objects");
        return -1;
    }
    return 0;
}
