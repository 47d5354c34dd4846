/* What waits for machine code to end. */
#ifndef UFUSE_PENDING_H
#define UFUSE_PENDING_H

#include <Python.h>

/* Others: a thread that waits for the GIL, the collector. */
typedef enum { PENDING_NOTHING, PENDING_SIGNALS, PENDING_OTHERS } Pending;

Pending pending_for(PyThreadState *thread);

#endif
