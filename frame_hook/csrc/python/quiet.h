/* Whether nobody else has run for a while. */
#ifndef UFUSE_QUIET_H
#define UFUSE_QUIET_H

#include <Python.h>
#include <stdbool.h>

/* How often threads have taken the GIL from each other, and how often garbage was collected. */
typedef struct {
    unsigned long switches;
    Py_ssize_t collections;
} Quiet;

Quiet quiet_now(void);
bool quiet_since(Quiet then);

#endif
