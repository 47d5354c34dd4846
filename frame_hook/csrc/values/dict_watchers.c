#include "values/dict_watchers.h"

#include "values/storage.h"

/*
 * Laws: 1. Who watches a dict owns it, so it never dies while it is watched. 2. A change is counted
 * before it is made, and no code of ours runs between the two. 3. Watching a dict that changes
 * often ends, so that writing to it is not slowed down.
 */

#if PY_VERSION_HEX >= 0x030C0000

uint64_t ufuse_watch_epoch = 1;

enum { N_CHAINS = 256, MOST_EVENTS = 1024, MOST_CHANGES = 32 };

struct Watch {
    PyObject *dict;  /* borrowed */
    PyObject *names; /* owned set of exact strings */
    Py_ssize_t users;
    int events;      /* changes of anything in the dict */
    int changes;     /* changes of the names */
    bool ended;      /* its changes are counted no more */
    bool registered; /* CPython calls `on_dict_event` for the dict */
    Watch *next;
};

static Watch *chains[N_CHAINS];
static int watcher = -1;

/* The head of the hash chain that a dict belongs to. */
static Watch **
chain_of(PyObject *dict)
{
    return &chains[((uintptr_t)dict >> 4) % N_CHAINS];
}

/* The watch of a dict, borrowed, or NULL. */
static Watch *
find_watch(PyObject *dict)
{
    Watch *watch = *chain_of(dict);
    while (watch != NULL && watch->dict != dict) {
        watch = watch->next;
    }
    return watch;
}

/*
 * CPython calls this before it changes a watched dict. Runs no Python code, sets no exception.
 * PyDict_Unwatch from here would be undone by the caller, so it is left to `watch_has_ended`.
 */
static int
on_dict_event(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *Py_UNUSED(value))
{
    Watch *watch = find_watch(dict);
    if (watch == NULL || watch->ended) {
        return 0;
    }
    bool one_key = event == PyDict_EVENT_ADDED || event == PyDict_EVENT_MODIFIED ||
                   event == PyDict_EVENT_DELETED;
    bool concerns_us = !one_key || key == NULL || !PyUnicode_CheckExact(key) ||
                       PySet_Contains(watch->names, key) != 0;
    watch->events++;
    watch->changes += concerns_us;
    watch->ended = watch->events > MOST_EVENTS || watch->changes > MOST_CHANGES ||
                   event == PyDict_EVENT_DEALLOCATED;
    ufuse_watch_epoch += concerns_us || watch->ended;
    return 0;
}

/* Have CPython call for a dict no more. Runs no Python code, sets no exception. */
static void
unregister(Watch *watch)
{
    if (watch->registered && PyDict_Unwatch(watcher, watch->dict) < 0) {
        PyErr_Clear();
    }
    watch->registered = false;
}

/* Begin to watch a dict. Returns a watch with no users, or NULL without an exception. */
static Watch *
begin_watch(PyObject *dict)
{
    Watch *watch = PyMem_Calloc(1, sizeof(Watch));
    if (watch == NULL) {
        return NULL;
    }
    watch->names = PySet_New(NULL);
    if (watch->names == NULL || PyDict_Watch(watcher, dict) < 0) {
        PyErr_Clear();
        Py_XDECREF(watch->names);
        PyMem_Free(watch);
        return NULL;
    }
    watch->dict = dict;
    watch->registered = true;
    watch->next = *chain_of(dict);
    *chain_of(dict) = watch;
    return watch;
}

/*
 * Let changes of a name in a dict, which the caller owns meanwhile, count in the epoch. Returns
 * a reference (`release_watch` it), or NULL, without an exception, where it cannot be watched. Runs
 * no Python code.
 */
Watch *
watch_name(PyObject *dict, PyObject *name)
{
    if (watcher < 0 || !has_unicode_keys(dict)) {
        return NULL;
    }
    Watch *watch = find_watch(dict);
    if (watch == NULL && (watch = begin_watch(dict)) == NULL) {
        return NULL;
    }
    watch->users++;
    if (watch->ended || PySet_Add(watch->names, name) < 0) {
        PyErr_Clear();
        release_watch(watch);
        return NULL;
    }
    return watch;
}

/* Drop a reference; with the last one, watching ends. */
void
release_watch(Watch *watch)
{
    if (--watch->users > 0) {
        return;
    }
    unregister(watch);
    Watch **place = chain_of(watch->dict);
    while (*place != watch) {
        place = &(*place)->next;
    }
    *place = watch->next;
    Py_DECREF(watch->names);
    PyMem_Free(watch);
}

/* Whether changes are counted no more. */
bool
watch_has_ended(Watch *watch)
{
    if (watch->ended) {
        unregister(watch);
    }
    return watch->ended;
}

/* Get one of the eight watchers of the interpreter; without one, nothing is watched. */
void
watch_ready(void)
{
    watcher = PyDict_AddWatcher(on_dict_event);
    if (watcher < 0) {
        PyErr_Clear();
    }
}

#else

/* As above, for any change of the dict. */
Watch *
watch_name(PyObject *dict, PyObject *Py_UNUSED(name))
{
    return has_unicode_keys(dict) ? (Watch *)dict : NULL;
}

/* Nothing to drop. */
void
release_watch(Watch *Py_UNUSED(watch))
{
}

/* Never: numbering a dict's changes costs nothing more. */
bool
watch_has_ended(Watch *Py_UNUSED(watch))
{
    return false;
}

/* Nothing to get. */
void
watch_ready(void)
{
}

#endif
