#include "guards/skipped_checks.h"

enum { PASSES_BEFORE_WATCHING = 8 };

/* ---- which rows sleep ---- */

/* What is worked out for a program before it is watched. */
typedef struct {
    bool *asleep; /* by row */
    bool *steady; /* by appended register: loaded by a row that sleeps */
    bool *needed; /* by appended register: read by more than rows that sleep */
} Plan;

/* Whether what a source register has cannot change unless a watched name does. */
static bool
is_steady(const Plan *plan, Py_ssize_t source, const GuardProgram *guards)
{
    Py_ssize_t appended = source - guards->n_state;
    return appended >= 0 && plan->steady[appended];
}

/* Whether a row holds for good once it has held, but for a change of a watched name. */
static bool
may_sleep(const Guard *guard, const GuardProgram *guards, const Plan *plan)
{
    switch (guard->kind) {
    case GUARD_LOAD_KEY:
    case GUARD_ABSENT:
        return true;
    case GUARD_TYPE: {
        /* the class of an object of a class made in Python, or of a module, may be set */
        PyObject *type = held_object(&guard->object[0]);
        return is_steady(plan, guard->source[0], guards) && type != NULL &&
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
        return is_steady(plan, guard->source[0], guards);
    default:
        return false;
    }
}

/* Say which rows sleep and which registers are needed. */
static void
fill_plan(const GuardProgram *guards, Plan *plan)
{
    Py_ssize_t appended = 0;
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        plan->asleep[i] = may_sleep(guard, guards, plan);
        for (int k = 0; k < guard->n_sources && !plan->asleep[i]; k++) {
            if (guard->source[k] >= guards->n_state) {
                plan->needed[guard->source[k] - guards->n_state] = true;
            }
        }
        if (guard->loads) {
            plan->steady[appended] = plan->asleep[i];
            plan->needed[appended] |= register_is_read(&guards->use, guards->n_state + appended);
            appended++;
        }
    }
}

/* List the rows that stay awake. Returns whether any other sleeps. */
static bool
list_awake(GuardProgram *guards, const Plan *plan)
{
    Py_ssize_t appended = 0;
    guards->n_awake = 0;
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        Guard *guard = &guards->rows[i];
        if (!plan->asleep[i] || (guard->loads && plan->needed[appended])) {
            AwakeGuard *awake = &guards->awake[guards->n_awake++];
            awake->guard = guard;
            awake->appended = guard->loads ? appended : 0;
        }
        appended += guard->loads;
    }
    return guards->n_awake < guards->count;
}

/* Work out which rows stay awake. Returns whether that is worth it; memory may lack. */
static bool
plan_awake(GuardProgram *guards)
{
    size_t count = (size_t)guards->count, loads = (size_t)guards->loads;
    bool *flags = PyMem_Calloc(count + 2 * loads + 1, sizeof(bool));
    guards->awake = PyMem_Calloc(count + 1, sizeof(AwakeGuard));
    bool worth = false;
    if (flags != NULL && guards->awake != NULL) {
        Plan plan = {flags, flags + count, flags + count + loads};
        fill_plan(guards, &plan);
        worth = list_awake(guards, &plan);
    }
    PyMem_Free(flags);
    return worth;
}

/* ---- watching ---- */

/* Watch every name that rows are about. Returns whether all can be. */
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
            guards->watches[guards->n_watches++] = watch;
        }
    }
    return guards->watches != NULL;
}

/* Check every row at every call from now on. */
void
stop_watching(GuardProgram *guards)
{
    while (guards->n_watches > 0) {
        release_watch(guards->watches[--guards->n_watches]);
    }
    PyMem_Free(guards->watches);
    PyMem_Free(guards->awake);
    guards->watches = NULL;
    guards->awake = NULL;
    guards->quiet_at = 0;
    guards->passes = -1;
}

/* Whether all that is watched still is. */
static bool
all_watches_are_on(GuardProgram *guards)
{
    for (Py_ssize_t i = 0; i < guards->n_watches; i++) {
        if (watch_is_off(guards->watches[i])) {
            return false;
        }
    }
    return true;
}

/*
 * Note that every row has held, in checks that began at `epoch`. An entry that is taken often is
 * watched from then on, and its rows sleep from the check after that. Runs no Python code, sets no
 * exception.
 */
void
note_guards_held(GuardProgram *guards, Py_ssize_t n_state, uint64_t epoch)
{
    if (guards->awake == NULL) {
        if (++guards->passes > PASSES_BEFORE_WATCHING) {
            guards->n_state = n_state;
            if (!plan_awake(guards) || !watch_names(guards)) {
                stop_watching(guards);
            }
        }
    }
    else if (guards->n_state != n_state || !all_watches_are_on(guards)) {
        stop_watching(guards);
    }
    else {
        guards->quiet_at = epoch;
    }
}
