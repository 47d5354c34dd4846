#include "guards/skipped_checks.h"

enum { CHECKS_BEFORE_WATCHING = 8 };

/* ---- which rows are skipped ---- */

/* What is found out about a program before its names are watched. */
typedef struct {
    bool *skipped; /* by row */
    bool *stable;  /* by appended register: loaded by a row that is skipped */
    bool *needed;  /* by appended register: read by more than rows that are skipped */
} Plan;

/* Whether a register's object cannot change unless a watched name or a class does. */
static bool
is_stable(const Plan *plan, Py_ssize_t source, const GuardProgram *guards)
{
    Py_ssize_t appended = source - guards->n_state;
    return appended >= 0 && plan->stable[appended];
}

/* Whether a row that has held holds until a watched name, or a class that rows name, changes. */
static bool
may_be_skipped(const Guard *guard, const GuardProgram *guards, const Plan *plan)
{
    switch (guard->kind) {
    case GUARD_LOAD_KEY:
    case GUARD_ABSENT:
    case GUARD_LOAD_CLASS:
    case GUARD_CLASS_LACKS:
    case GUARD_CLASS_OWN_LACKS:
    case GUARD_BASE:
        return true;
    case GUARD_TYPE: {
        /* `__class__` of instances of heap types, and of modules, may be set */
        PyObject *type = referent(&guard->object[0]);
        return is_stable(plan, guard->source[0], guards) && type != NULL &&
               !PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE) &&
               type != (PyObject *)&PyModule_Type;
    }
    case GUARD_IDENTITY:
    case GUARD_BOUND:
    case GUARD_INT:
    case GUARD_BIG_INT:
    case GUARD_FLOAT:
    case GUARD_STR:
    case GUARD_EQUAL:
        return is_stable(plan, guard->source[0], guards);
    default:
        return false;
    }
}

/* Decide which rows are skipped and which registers are needed. */
static void
fill_plan(const GuardProgram *guards, Plan *plan)
{
    Py_ssize_t appended = 0;
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        plan->skipped[i] = may_be_skipped(guard, guards, plan);
        for (int k = 0; k < guard->n_sources && !plan->skipped[i]; k++) {
            if (guard->source[k] >= guards->n_state) {
                plan->needed[guard->source[k] - guards->n_state] = true;
            }
        }
        if (guard->loads) {
            plan->stable[appended] = plan->skipped[i];
            plan->needed[appended] |= register_is_read(&guards->use, guards->n_state + appended);
            appended++;
        }
    }
}

/* List the rows that are not skipped. Returns whether any is. */
static bool
list_remaining(GuardProgram *guards, const Plan *plan)
{
    Py_ssize_t appended = 0;
    guards->n_remaining = 0;
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        Guard *guard = &guards->rows[i];
        if (!plan->skipped[i] || (guard->loads && plan->needed[appended])) {
            RemainingGuard *row = &guards->remaining[guards->n_remaining++];
            row->guard = guard;
            row->appended = guard->loads ? appended : 0;
        }
        appended += guard->loads;
    }
    return guards->n_remaining < guards->count;
}

/* Work out the remaining rows. Returns false where none is skipped, or memory is short. */
static bool
plan_remaining(GuardProgram *guards)
{
    size_t count = (size_t)guards->count, loads = (size_t)guards->loads;
    bool *flags = PyMem_Calloc(count + 2 * loads + 1, sizeof(bool));
    guards->remaining = PyMem_Calloc(count + 1, sizeof(RemainingGuard));
    bool worth = false;
    if (flags != NULL && guards->remaining != NULL) {
        Plan plan = {flags, flags + count, flags + count + loads};
        fill_plan(guards, &plan);
        worth = list_remaining(guards, &plan);
    }
    PyMem_Free(flags);
    return worth;
}

/* ---- watching ---- */

/* Keep a reference to a watch, once. */
static void
keep_watch(GuardProgram *guards, Watch *watch)
{
    for (Py_ssize_t i = 0; i < guards->n_watches; i++) {
        if (guards->watches[i] == watch) {
            release_watch(watch);
            return;
        }
    }
    guards->watches[guards->n_watches++] = watch;
}

/* Watch every name that rows are about. Returns whether all are watched. */
static bool
watch_names(GuardProgram *guards)
{
    guards->watches = PyMem_Calloc((size_t)guards->count + 1, sizeof(Watch *));
    for (Py_ssize_t i = 0; guards->watches != NULL && i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        if (guard->kind == GUARD_LOAD_KEY || guard->kind == GUARD_ABSENT) {
            Watch *watch = watch_name(guard->object[0].object, guard->object[1].object);
            if (watch == NULL) {
                return false;
            }
            keep_watch(guards, watch);
        }
    }
    return guards->watches != NULL;
}

/* Whether a row names the class that it is about. */
static bool
is_about_class(const Guard *guard)
{
    return guard->kind == GUARD_LOAD_CLASS || guard->kind == GUARD_CLASS_LACKS ||
           guard->kind == GUARD_CLASS_OWN_LACKS || guard->kind == GUARD_BASE;
}

/* List every class that rows name, once. Returns false where memory is short. */
static bool
list_classes(GuardProgram *guards)
{
    guards->classes = PyMem_Calloc((size_t)guards->count + 1, sizeof(StableClass));
    for (Py_ssize_t i = 0; guards->classes != NULL && i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        Py_ssize_t known = is_about_class(guard) ? 0 : guards->n_classes + 1;
        while (known < guards->n_classes &&
               referent(guards->classes[known].type) != referent(&guard->object[0])) {
            known++;
        }
        if (known == guards->n_classes) {
            guards->classes[guards->n_classes++].type = &guard->object[0];
        }
    }
    return guards->classes != NULL;
}

/* Note the versions of the classes that rows name. Returns whether all have one. */
static bool
note_versions(GuardProgram *guards)
{
    bool all = true;
    for (Py_ssize_t i = 0; i < guards->n_classes; i++) {
        PyTypeObject *type = (PyTypeObject *)referent(guards->classes[i].type);
        guards->classes[i].version = type == NULL ? 0 : type->tp_version_tag;
        all = all && guards->classes[i].version != 0;
    }
    return all;
}

/* End watching: every row is checked at every call from now on. */
void
stop_watching(GuardProgram *guards)
{
    while (guards->n_watches > 0) {
        release_watch(guards->watches[--guards->n_watches]);
    }
    PyMem_Free(guards->watches);
    PyMem_Free(guards->remaining);
    PyMem_Free(guards->classes);
    guards->watches = NULL;
    guards->remaining = NULL;
    guards->classes = NULL;
    guards->n_classes = 0;
    guards->held_at_epoch = 0;
    guards->n_checks = -1;
}

/* Whether all names are watched still. */
static bool
all_are_watched(GuardProgram *guards)
{
    for (Py_ssize_t i = 0; i < guards->n_watches; i++) {
        if (watch_has_ended(guards->watches[i])) {
            return false;
        }
    }
    return true;
}

/*
 * Note that every row has held, in a check that began at `epoch`. After some such checks watching
 * begins, and after one more, rows are skipped. Runs no Python code, sets no exception.
 */
void
note_guards_held(GuardProgram *guards, Py_ssize_t n_state, uint64_t epoch)
{
    if (guards->remaining == NULL) {
        if (++guards->n_checks > CHECKS_BEFORE_WATCHING) {
            guards->n_state = n_state;
            if (!plan_remaining(guards) || !watch_names(guards) || !list_classes(guards)) {
                stop_watching(guards);
            }
        }
    }
    else if (guards->n_state != n_state || !all_are_watched(guards)) {
        stop_watching(guards);
    }
    else {
        guards->held_at_epoch = note_versions(guards) ? epoch : 0;
    }
}
