#include "python/dict_watchers.h"

#include "python/storage.h"

/*
 * Laws: 1. A watched dict is owned by whoever watches it, so it never dies while it is watched.
 * 2. A change is noted before it is made, and nothing of ours runs between the two. 3. A dict that
 * changes often is not watched any more, so that whoever writes to it is not slowed down.
 */

uint64_t names_epoch = 1;

#if PY_VERSION_HEX >= 0x030C0000

enum { N_CHAINS = 256, MOST_EVENTS = 1024, MOST_CHANGES = 32 };

struct Watch {
    PyObject *dict;  /* borrowed */
    PyObject *names; /* owned set of exact strings */
    Py_ssize_t users;
    int events;  /* changes of anything in the dict */
    int changes; /* changes of the names */
    bool off;    /* not to be relied on any more */
    bool hears;  /* CPython still calls for it */
    Watch *next;
};

static Watch *chains[N_CHAINS];
static int watcher = -1;

/* Where the chain begins in which a dict is. */
static Watch **
chain_of(PyObject *dict)
{
    return &chains[((uintptr_t)dict >> 4) % N_CHAINS];
}

/* What watches a dict, borrowed, or NULL. */
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
 * CPython calls this before it changes a watched dict. Runs no Python code, sets no exception. To
 * end watching from here would be undone by the caller, so that is left to `watch_is_off`.
 */
static int
notice_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *Py_UNUSED(value))
{
    Watch *watch = find_watch(dict);
    if (watch == NULL || watch->off) {
        return 0;
    }
    bool one_key = event == PyDict_EVENT_ADDED || event == PyDict_EVENT_MODIFIED ||
                   event == PyDict_EVENT_DELETED;
    bool concerns_us = !one_key || key == NULL || !PyUnicode_CheckExact(key) ||
                       PySet_Contains(watch->names, key) != 0;
    watch->events++;
    watch->changes += concerns_us;
    watch->off = watch->events > MOST_EVENTS || watch->changes > MOST_CHANGES ||
                 event == PyDict_EVENT_DEALLOCATED;
    names_epoch += concerns_us || watch->off;
    return 0;
}

/* Have CPython no longer call for a dict. */
static void
stop_hearing(Watch *watch)
{
    if (watch->hears && PyDict_Unwatch(watcher, watch->dict) < 0) {
        PyErr_Clear();
    }
    watch->hears = false;
}

/* Begin to watch a dict. Returns a watch without users, borrowed, or NULL without an exception. */
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
    watch->hears = true;
    watch->next = *chain_of(dict);
    *chain_of(dict) = watch;
    return watch;
}

/*
 * Have `names_epoch` count changes of a name in a dict, which the caller owns for as long. Returns
 * a reference (`release_watch` it), or NULL, without an exception, where that cannot be.
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
    if (watch->off || PySet_Add(watch->names, name) < 0) {
        PyErr_Clear();
        release_watch(watch);
        return NULL;
    }
    return watch;
}

/* Drop a reference; with the last one the dict is watched no more. */
void
release_watch(Watch *watch)
{
    if (--watch->users > 0) {
        return;
    }
    stop_hearing(watch);
    Watch **place = chain_of(watch->dict);
    while (*place != watch) {
        place = &(*place)->next;
    }
    *place = watch->next;
    Py_DECREF(watch->names);
    PyMem_Free(watch);
}

/* Whether changes are no longer counted. */
bool
watch_is_off(Watch *watch)
{
    if (watch->off) {
        stop_hearing(watch);
    }
    return watch->off;
}

/* Get a watcher from CPython, which has eight; without one nothing is watched. */
void
watch_ready(void)
{
    watcher = PyDict_AddWatcher(notice_change);
    if (watcher < 0) {
        PyErr_Clear();
    }
}

#else

struct Watch {
    char nothing;
};

/* CPython 3.11 watches nothing. */
Watch *
watch_name(PyObject *Py_UNUSED(dict), PyObject *Py_UNUSED(name))
{
    return NULL;
}

/* There is no watch to release. */
void
release_watch(Watch *Py_UNUSED(watch))
{
}

/* There is no watch to ask. */
bool
watch_is_off(Watch *Py_UNUSED(watch))
{
    return true;
}

/* Nothing is needed. */
void
watch_ready(void)
{
}

#endif
