/* The eval-frame hook (PEP 523): it runs the frames of callees through a session's caches. */
#ifndef UFUSE_HOOK_H
#define UFUSE_HOOK_H

#include <Python.h>

PyObject *passed_frames(PyObject *module, PyObject *ignored);
void hook_ready(void);

#endif
