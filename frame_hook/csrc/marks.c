#include "marks.h"

static Py_ssize_t extra_index = -1;

/*
 * One session's answer. The session is known by a weak reference, so that no other that comes to
 * lie there is taken for it.
 */
typedef struct {
    PyObject *session; /* owned weak reference */
    CodeCache *cache; /* borrowed: a cache wipes its marks before it dies; NULL: frames of this code
                         are left alone */
} Mark;

typedef struct {
    Py_ssize_t count;
    Mark marks[1];
} Marks;

/* Whether a mark is of `session` (NULL: of a session that is gone). */
static inline bool
mark_is_of(const Mark *mark, PyObject *session)
{
    return ((PyWeakReference *)mark->session)->wr_object == (session == NULL ? Py_None : session);
}

/* CPython calls this with what is on a code object that dies, also when that is NULL. */
static void
release_marks(void *extra)
{
    Marks *marks = extra;
    for (Py_ssize_t i = 0; marks != NULL && i < marks->count; i++) {
        Py_DECREF(marks->marks[i].session);
    }
    PyMem_Free(marks);
}

/*
 * Ask, once per process, for the slot of code objects that is ours. `release` must accept NULL. 0,
 * or -1 with an error.
 */
static int
request_code_extra(freefunc release)
{
    if (extra_index >= 0) {
        return 0;
    }
#if PY_VERSION_HEX >= 0x030C0000
    extra_index = PyUnstable_Eval_RequestCodeExtraIndex(release);
#else
    extra_index = _PyEval_RequestCodeExtraIndex(release);
#endif
    if (extra_index < 0) {
        PyErr_SetString(PyExc_ImportError,
                        "ufuse: CPython has no slot left for data on code objects");
        return -1;
    }
    return 0;
}

/* What `set_code_extra` put on a code object, or NULL. Runs no Python code. */
static void *
code_extra(PyObject *code)
{
    void *extra = NULL;
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Code_GetExtra(code, extra_index, &extra) < 0) {
#else
    if (_PyCode_GetExtra(code, extra_index, &extra) < 0) {
#endif
        PyErr_Clear();
        return NULL;
    }
    return extra;
}

/* Put `extra` on a code object. What was there is released. 0, or -1 with MemoryError set. */
static int
set_code_extra(PyObject *code, void *extra)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Code_SetExtra(code, extra_index, extra);
#else
    return _PyCode_SetExtra(code, extra_index, extra);
#endif
}

/*
 * Whether the session has answered about this code; then `*cache` is its cache, borrowed, or NULL
 * for "never".
 */
bool
find_mark(PyObject *code, PyObject *session, CodeCache **cache)
{
    Marks *marks = code_extra(code);
    for (Py_ssize_t i = 0; marks != NULL && i < marks->count; i++) {
        if (mark_is_of(&marks->marks[i], session)) {
            *cache = marks->marks[i].cache;
            return true;
        }
    }
    return false;
}

/* Forget mark `i`. */
static void
drop_mark(Marks *marks, Py_ssize_t i)
{
    PyObject *session = marks->marks[i].session;
    marks->marks[i] = marks->marks[--marks->count];
    Py_DECREF(session);
}

/*
 * Note a session's answer: its cache (borrowed), or NULL for "never". Marks of sessions that are
 * gone are dropped. Returns 0, or -1 with an exception set (a session without weak references has
 * none, and is asked each time).
 */
int
set_mark(PyObject *code, PyObject *session, CodeCache *cache)
{
    PyObject *reference = PyWeakref_NewRef(session, NULL);
    if (reference == NULL) {
        return -1;
    }
    Marks *marks = code_extra(code);
    Py_ssize_t count = marks == NULL ? 0 : marks->count;
    for (Py_ssize_t i = count; i-- > 0;) {
        if (mark_is_of(&marks->marks[i], session) || mark_is_of(&marks->marks[i], NULL)) {
            drop_mark(marks, i);
        }
    }
    count = marks == NULL ? 0 : marks->count;
    Marks *grown = PyMem_Malloc(sizeof(Marks) + (size_t)count * sizeof(Mark));
    if (grown == NULL) {
        Py_DECREF(reference);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        grown->marks[i] = (Mark){Py_NewRef(marks->marks[i].session), marks->marks[i].cache};
    }
    grown->marks[count] = (Mark){reference, cache};
    grown->count = count + 1;
    if (set_code_extra(code, grown) < 0) {
        release_marks(grown);
        return -1;
    }
    return 0;
}

/* Forget that `cache` is the cache of anything for this code. Raises nothing. */
void
wipe_marks(PyObject *code, CodeCache *cache)
{
    Marks *marks = code_extra(code);
    for (Py_ssize_t i = marks == NULL ? 0 : marks->count; i-- > 0;) {
        if (marks->marks[i].cache == cache) {
            drop_mark(marks, i);
        }
    }
}

/* Get our slot on code objects. Returns 0, or -1 with an exception set. */
int
marks_ready(void)
{
    return request_code_extra(release_marks);
}
