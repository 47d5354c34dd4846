/* What the current thread's `np.errstate` does with each flag, and whether warnings are plain. */
#include "internals.h"

#include "runtime/tiles.h"

#include <internal/pycore_context.h>

enum { N_FLAGS = 4 };
enum { MOST_TRIES = 8 }; /* where there is no memory to leave a state */
static const char *const flag_names[N_FLAGS] = {"divide", "over", "under", "invalid"};

static PyObject *state_variable, *state_default, *geterr, *make_state; /* NumPy's */
static PyObject *warnings;

/* Names of the module `warnings`, and of what is in it. */
enum { FILTERS, SHOW, ORIGINAL, IMPLEMENTATION, MESSAGE, GET_FILTERS, NAME, MODULE, N_NAMES };
static PyObject *names[N_NAMES];
static const char *const name_texts[N_NAMES] = {
    "filters",      "showwarning",  "_showwarning_orig", "_showwarnmsg_impl",
    "_showwarnmsg", "_get_filters", "__name__",          "__module__",
};

#if PY_VERSION_HEX >= 0x030e0000
static bool contexts_have_filters; /* sys.flags.context_aware_warnings */
#endif

/*
 * Whether the capsules of NumPy's error state have the layout assumed here: a struct that begins
 * with an int, three bits of it for each flag. Tested once, on capsules that NumPy made.
 */
static bool capsules_are_known;

/* The state last examined, by identity of NumPy's immutable capsule, which is kept alive. */
static PyObject *cached_state;
static unsigned cached_mask;
static bool cached_only_warns;
/* `cached_state` with "raise" for the flags of a mask and "ignore" for the others, by mask, or
 * NULL. */
static PyObject *cached_strict[1 << N_FLAGS];

/* A new state with one mode for each flag, or NULL with an exception set. */
static PyObject *
state_of_modes(const char *const modes[N_FLAGS])
{
    PyObject *given = PyDict_New(), *none = PyTuple_New(0);
    bool good = given != NULL && none != NULL;
    for (int i = 0; good && i < N_FLAGS; i++) {
        PyObject *mode = modes[i] == NULL ? NULL : PyUnicode_FromString(modes[i]);
        good = modes[i] == NULL ||
               (mode != NULL && PyDict_SetItemString(given, flag_names[i], mode) == 0);
        Py_XDECREF(mode);
    }
    PyObject *state = good ? PyObject_Call(make_state, none, given) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(none);
    return state;
}

/* The modes of a state's flags, three bits each, or -1 where it is no capsule. Runs no code. */
static int
modes_in_capsule(PyObject *state)
{
    if (!PyCapsule_CheckExact(state)) {
        return -1;
    }
    const int *bits = PyCapsule_GetPointer(state, PyCapsule_GetName(state));
    if (bits == NULL) {
        PyErr_Clear();
        return -1;
    }
    return *bits & 07777;
}

/* Find out whether capsules have the assumed layout. Returns 0, or -1 with an exception set. */
static int
try_capsules(void)
{
    static const char *const modes[] = {"ignore", "warn", "raise", NULL, "print"};
    capsules_are_known = true;
    for (int i = 0; i < N_FLAGS; i++) {
        for (int mode = 0; mode < 5; mode++) {
            const char *chosen[N_FLAGS] = {"ignore", "warn", "ignore", "warn"};
            int expected = 0010 | 01000;
            if (modes[mode] == NULL) {
                continue; /* "call" needs something to call */
            }
            chosen[i] = modes[mode];
            expected = (expected & ~(07 << 3 * i)) | mode << 3 * i;
            PyObject *state = state_of_modes(chosen);
            if (state == NULL) {
                return -1;
            }
            capsules_are_known = capsules_are_known && modes_in_capsule(state) == expected;
            Py_DECREF(state);
        }
    }
    return 0;
}

int
error_state_begin(void)
{
    if (state_variable != NULL) {
        return 0;
    }
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *variable = umath ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
    make_state = umath ? PyObject_GetAttrString(umath, "_make_extobj") : NULL;
    geterr = numpy ? PyObject_GetAttrString(numpy, "geterr") : NULL;
    warnings = PyImport_ImportModule("warnings");
    Py_XDECREF(umath);
    Py_XDECREF(numpy);
    if (variable == NULL || make_state == NULL || geterr == NULL || warnings == NULL) {
        Py_XDECREF(variable);
        return -1;
    }
    if (!PyContextVar_CheckExact(variable)) {
        Py_DECREF(variable);
        PyErr_SetString(PyExc_ImportError, "_tiles: NumPy's error state is no context variable");
        return -1;
    }
    if (try_capsules() < 0) {
        Py_DECREF(variable);
        return -1;
    }
    for (int i = 0; i < N_NAMES; i++) {
        names[i] = PyUnicode_InternFromString(name_texts[i]);
        if (names[i] == NULL) {
            Py_DECREF(variable);
            return -1;
        }
    }
#if PY_VERSION_HEX >= 0x030e0000
    PyObject *flags = PySys_GetObject("flags"); /* borrowed */
    PyObject *flag = flags ? PyObject_GetAttrString(flags, "context_aware_warnings") : NULL;
    contexts_have_filters = flag == NULL || PyObject_IsTrue(flag) != 0;
    PyErr_Clear();
    Py_XDECREF(flag);
#endif
    state_default = Py_NewRef(Py_None);
    state_variable = variable;
    return 0;
}

/* Read a state out of its capsule. Returns whether that can be done; runs no code. */
static bool
state_decode(PyObject *state, unsigned *mask, bool *only_warns)
{
    int modes = capsules_are_known ? modes_in_capsule(state) : -1;
    if (modes < 0) {
        return false;
    }
    *mask = 0;
    *only_warns = true;
    for (int i = 0; i < N_FLAGS; i++) {
        int mode = modes >> 3 * i & 07;
        *mask |= (mode != 0) << i;
        *only_warns &= mode <= 1;
    }
    return true;
}

/* Ask NumPy about the current state, and keep what it says. Returns 0, or -1 with an exception. */
static int
state_examine(PyObject *state)
{
    PyObject *modes = PyObject_CallNoArgs(geterr);
    if (modes == NULL) {
        return -1;
    }
    unsigned mask = 0;
    bool only_warns = true;
    for (int i = 0; i < N_FLAGS; i++) {
        PyObject *mode = PyMapping_GetItemString(modes, flag_names[i]);
        if (mode == NULL || !PyUnicode_Check(mode)) {
            Py_DECREF(modes);
            if (mode != NULL) {
                Py_DECREF(mode);
                PyErr_SetString(PyExc_RuntimeError, "np.geterr() has another form");
            }
            return -1;
        }
        if (PyUnicode_CompareWithASCIIString(mode, "ignore") != 0) {
            mask |= 1u << i;
            only_warns &= PyUnicode_CompareWithASCIIString(mode, "warn") == 0;
        }
        Py_DECREF(mode);
    }
    Py_DECREF(modes);
    Py_XSETREF(cached_state, Py_NewRef(state));
    for (int i = 0; i < 1 << N_FLAGS; i++) {
        Py_CLEAR(cached_strict[i]);
    }
    cached_mask = mask;
    cached_only_warns = only_warns;
    return 0;
}

/*
 * Set the mask of the flags that the current error state does not ignore, and whether it does no
 * more than warn of them. May run Python code the first time it meets a state. -1: exception.
 */
int
error_state_read(unsigned *mask, bool *only_warns)
{
    PyObject *state;
    if (PyContextVar_Get(state_variable, state_default, &state) < 0) {
        return -1;
    }
    int status = 0;
    if (state == cached_state || !state_decode(state, mask, only_warns)) {
        status = state == cached_state ? 0 : state_examine(state);
        *mask = cached_mask;
        *only_warns = cached_only_warns;
    }
    Py_DECREF(state);
    return status;
}

/* Have the current state in the cache. Returns 0, or -1 with an exception set. */
static int
state_keep(void)
{
    PyObject *state;
    if (PyContextVar_Get(state_variable, state_default, &state) < 0) {
        return -1;
    }
    int status = state == cached_state ? 0 : state_examine(state);
    Py_DECREF(state);
    return status;
}

/*
 * Set the kept state again where `other` could not be set for want of memory: before 3.14 it may be
 * set nevertheless, without a token. Keeps the exception.
 */
static void
state_set_back(const PyObject *other)
{
    PyObject *type, *value, *traceback, *now = NULL, *token = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    bool is_set = PyContextVar_Get(state_variable, state_default, &now) == 0 && now == other;
    PyObject *state = cached_state != state_default ? cached_state
                                                    : ((PyContextVar *)state_variable)->var_default;
    for (int tries = 0; is_set && token == NULL && tries < MOST_TRIES; tries++) {
        PyErr_Clear();
        token = PyContextVar_Set(state_variable, state);
    }
    Py_XDECREF(now);
    Py_XDECREF(token);
    PyErr_Restore(type, value, traceback);
}

/*
 * Make NumPy raise, in this context, for the flags of `mask`, and ignore the others. The result is
 * for `error_state_restore`; NULL with an exception set where that failed.
 */
PyObject *
error_state_raise(unsigned mask)
{
    if (state_keep() < 0) {
        return NULL;
    }
    PyObject **strict = &cached_strict[mask & ((1u << N_FLAGS) - 1)];
    if (*strict == NULL) {
        const char *modes[N_FLAGS];
        for (int i = 0; i < N_FLAGS; i++) {
            modes[i] = mask & 1u << i ? "raise" : "ignore";
        }
        *strict = state_of_modes(modes);
        if (*strict == NULL) {
            return NULL;
        }
    }
    /* Before 3.12 a collection in there may run code that frees the context's variables. */
    int collects = PyGC_Disable();
    PyObject *token = PyContextVar_Set(state_variable, *strict);
    if (token == NULL) {
        state_set_back(*strict);
    }
    if (collects) {
        PyGC_Enable();
    }
    return token;
}

/*
 * Give the variable the value that a token has. That needs memory, and NumPy would raise for ever
 * where there is none just now: it is tried again, which CPython does not let a used token do.
 * Returns 0, or -1 with an exception set.
 */
static int
state_reset(PyObject *token)
{
    for (int tries = 1; PyContextVar_Reset(state_variable, token) < 0; tries++) {
        if (tries == MOST_TRIES || !PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return -1;
        }
        PyErr_Clear();
        ((PyContextToken *)token)->tok_used = 0;
    }
    return 0;
}

/* Undo `error_state_raise`. Takes its result over, keeps an exception that is set. */
void
error_state_restore(PyObject *token)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int collects = PyGC_Disable(); /* as in `error_state_raise` */
    if (state_reset(token) < 0) {
        PyErr_WriteUnraisable(state_variable);
    }
    if (collects) {
        PyGC_Enable();
    }
    Py_DECREF(token);
    PyErr_Restore(type, value, traceback);
}

/* Whether it has the form of a row of the filters. */
static inline bool
is_row(PyObject *filter)
{
    return PyTuple_Check(filter) && PyTuple_GET_SIZE(filter) == 5;
}

/* Whether some filter may turn a RuntimeWarning into an error; the first that matches decides. */
static bool
filters_raise(PyObject *filters)
{
    if (!PyList_Check(filters)) {
        return true;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++) {
        PyObject *filter = PyList_GET_ITEM(filters, i);
        if (!is_row(filter)) {
            return true;
        }
        PyObject *action = PyTuple_GET_ITEM(filter, 0), *category = PyTuple_GET_ITEM(filter, 2);
        if (!PyUnicode_Check(action) || !PyType_Check(category)) {
            return true;
        }
        if (!PyType_IsSubtype((PyTypeObject *)PyExc_RuntimeWarning, (PyTypeObject *)category)) {
            continue;
        }
        if (PyUnicode_CompareWithASCIIString(action, "error") == 0) {
            return true;
        }
        PyObject *line = PyTuple_GET_ITEM(filter, 4);
        if (PyTuple_GET_ITEM(filter, 1) == Py_None && PyTuple_GET_ITEM(filter, 3) == Py_None &&
            PyLong_Check(line) && PyObject_Not(line) == 1) {
            return false; /* it matches all of them */
        }
    }
    return false;
}

/* What was last seen to be plain: functions of the standard library that show warnings, and rows of
 * the filters. All are kept alive. */
enum { SHOWERS = 2, MOST_FILTERS = 32 };
static struct {
    PyObject *shower[SHOWERS];
    PyObject *row[MOST_FILTERS];
    Py_ssize_t rows;
} seen_plain;

/*
 * Whether `shower` is a function of the standard library (`*seen`, if it has been seen), or a
 * list's append (record=True). That is not kept, nor are the warnings in its list.
 */
static bool
shower_is_plain(PyObject *shower, PyObject **seen)
{
    if (PyCFunction_Check(shower) || shower == *seen) {
        return true;
    }
    if (!PyFunction_Check(shower)) {
        return false;
    }
    PyObject *globals = PyFunction_GET_GLOBALS(shower);
    PyObject *name = PyDict_GetItemWithError(globals, names[NAME]);
    bool plain = name != NULL && PyUnicode_Check(name) &&
                 (PyUnicode_CompareWithASCIIString(name, "warnings") == 0 ||
                  PyUnicode_CompareWithASCIIString(name, "_py_warnings") == 0);
    if (plain && *seen == NULL) {
        *seen = Py_NewRef(shower);
    }
    return plain;
}

/*
 * Whether a class lives as long as the process, as far as one can tell: it is built in, or what an
 * imported module has under its name.
 */
static bool
is_lasting(PyTypeObject *type)
{
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return true;
    }
    PyObject *modules = PyImport_GetModuleDict(), *module = NULL, *found = NULL; /* all borrowed */
    PyObject *name = PyDict_GetItemWithError(type->tp_dict, names[MODULE]);
    if (name != NULL && PyUnicode_CheckExact(name) && PyDict_CheckExact(modules)) {
        module = PyDict_GetItemWithError(modules, name);
    }
    if (module != NULL && PyModule_Check(module)) {
        found = PyDict_GetItemWithError(PyModule_GetDict(module),
                                        ((PyHeapTypeObject *)type)->ht_qualname);
    }
    PyErr_Clear();
    return found == (PyObject *)type;
}

/* Whether rows that are plain may be kept alive. */
static bool
may_be_kept(PyObject *filters)
{
    bool lasting = PyList_CheckExact(filters) && PyList_GET_SIZE(filters) <= MOST_FILTERS;
    for (Py_ssize_t i = 0; lasting && i < PyList_GET_SIZE(filters); i++) {
        PyObject *row = PyList_GET_ITEM(filters, i);
        PyObject *category = is_row(row) ? PyTuple_GET_ITEM(row, 2) : Py_None;
        lasting = PyType_Check(category) && is_lasting((PyTypeObject *)category);
    }
    return lasting;
}

static bool
are_seen_plain(PyObject *filters)
{
    return seen_plain.rows > 0 && PyList_CheckExact(filters) &&
           PyList_GET_SIZE(filters) == seen_plain.rows &&
           memcmp(((PyListObject *)filters)->ob_item, seen_plain.row,
                  sizeof(PyObject *) * (size_t)seen_plain.rows) == 0;
}

/*
 * Keep rows that are plain, or none where they may not be kept, in place of those before. May run
 * finalizers, of rows that nobody else holds: nothing is read behind it.
 */
static void
set_seen_plain(PyObject *filters)
{
    Py_ssize_t rows = may_be_kept(filters) ? PyList_GET_SIZE(filters) : 0;
    Py_ssize_t before = seen_plain.rows;
    PyObject *old[MOST_FILTERS];
    memcpy(old, seen_plain.row, sizeof(PyObject *) * (size_t)before);
    for (Py_ssize_t i = 0; i < rows; i++) {
        seen_plain.row[i] = Py_NewRef(PyList_GET_ITEM(filters, i));
    }
    seen_plain.rows = rows;
    for (Py_ssize_t i = 0; i < before; i++) {
        Py_DECREF(old[i]);
    }
}

#if PY_VERSION_HEX >= 0x030e0000
/* Whether the filters of the current context, which 3.14 may keep apart from `warnings.filters`,
 * are plain too. */
static int
context_is_plain(void)
{
    PyObject *current = PyObject_CallMethodNoArgs(warnings, names[GET_FILTERS]);
    if (current == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return -1;
        }
        PyErr_Clear();
        return 1;
    }
    bool raises = filters_raise(current);
    Py_DECREF(current);
    return !raises;
}
#endif

/*
 * 1 where a RuntimeWarning neither raises nor runs the user's code; 0 where it may; -1: exception.
 */
int
error_state_warnings_are_plain(void)
{
    PyObject *module = PyModule_GetDict(warnings), *found[N_NAMES];
    for (int i = FILTERS; i <= MESSAGE; i++) {
        found[i] = PyDict_GetItemWithError(module, names[i]);
        if (found[i] == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
    }
    if (found[SHOW] != found[ORIGINAL] ||
        !shower_is_plain(found[IMPLEMENTATION], &seen_plain.shower[0]) ||
        !shower_is_plain(found[MESSAGE], &seen_plain.shower[1])) {
        return 0;
    }
    if (!are_seen_plain(found[FILTERS])) {
        if (filters_raise(found[FILTERS])) {
            return 0;
        }
        set_seen_plain(found[FILTERS]);
    }
#if PY_VERSION_HEX >= 0x030e0000
    return contexts_have_filters ? context_is_plain() : 1;
#else
    return 1;
#endif
}
