/*
 * The eval-frame hook: it takes the frames of callees while a session runs a frame in plain Python.
 */
#ifndef UFUSE_HOOK_H
#define UFUSE_HOOK_H

#include <Python.h>

PyObject *passed_frames(PyObject *module, PyObject *ignored);
void hook_ready(void);

#endif
