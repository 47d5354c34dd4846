/* Counting changes of some names in dicts, with CPython's dict watchers (3.12 on). */
#ifndef UFUSE_DICT_WATCHERS_H
#define UFUSE_DICT_WATCHERS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Grows with every change of a watched name: while it stays, so does what watched names have. */
extern uint64_t watch_epoch __attribute__((visibility("hidden")));

/* A watched dict. */
typedef struct Watch Watch;

Watch *watch_name(PyObject *dict, PyObject *name);
void release_watch(Watch *watch);
bool watch_has_ended(Watch *watch);
void watch_ready(void);

#endif
