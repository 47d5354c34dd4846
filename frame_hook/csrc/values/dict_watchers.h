/*
 * Whether some names in dicts have changed: told by CPython's dict watchers, or (3.11) by the
 * number that a dict gets with every change (PEP 509): from the functions of dicts, and from
 * STORE_ATTR_WITH_HINT, the one instruction that writes to a dict itself.
 */
#ifndef UFUSE_DICT_WATCHERS_H
#define UFUSE_DICT_WATCHERS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* A watched dict; on 3.11 the dict itself. */
typedef struct Watch Watch;

#if PY_VERSION_HEX >= 0x030C0000
extern uint64_t ufuse_watch_epoch __attribute__((visibility("hidden")));
#endif

/*
 * A number, never 0, that grows with every change of a name that is watched: while it stays, so
 * does what all names watched by `watches` have.
 */
static inline uint64_t
watch_epoch(Watch *const *watches, Py_ssize_t count)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)watches;
    (void)count;
    return ufuse_watch_epoch;
#else
    uint64_t sum = 1; /* none of the numbers ever shrinks */
    for (Py_ssize_t i = 0; i < count; i++) {
        sum += ((PyDictObject *)watches[i])->ma_version_tag;
    }
    return sum;
#endif
}

Watch *watch_name(PyObject *dict, PyObject *name);
void release_watch(Watch *watch);
bool watch_has_ended(Watch *watch);
void watch_ready(void);

#endif
