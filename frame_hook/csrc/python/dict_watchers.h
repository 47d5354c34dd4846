/* Names in dicts that someone wants to hear of: CPython's dict watchers, which 3.11 has not. */
#ifndef UFUSE_DICT_WATCHERS_H
#define UFUSE_DICT_WATCHERS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts the changes of watched names: what was seen at one epoch is still so at the same epoch. */
extern uint64_t names_epoch __attribute__((visibility("hidden")));

/* One watched dict. */
typedef struct Watch Watch;

Watch *watch_name(PyObject *dict, PyObject *name);
void release_watch(Watch *watch);
bool watch_is_off(Watch *watch);
void watch_ready(void);

#endif
