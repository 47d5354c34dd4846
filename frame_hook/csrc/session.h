/* Calls from C into the session, the Python object that makes entries. */
#ifndef UFUSE_SESSION_H
#define UFUSE_SESSION_H

#include <Python.h>
#include <stdbool.h>

#include "cache.h"

PyObject *take_exception(void);
void raise_exception(PyObject *exception);
bool nothing_is_handled(void);

int ask_capture(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
                Entry **entry);
PyObject *ask_resume_code(CodeCache *cache, Py_ssize_t position);
CodeCache *ask_cache(PyObject *session, PyObject *code);
int tell_eager_run(CodeCache *cache, Py_ssize_t position, Entry *entry);
int wants_every_frame(PyObject *session);
int session_ready(void);

#endif
