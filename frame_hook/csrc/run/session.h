/* Calls into the session: the Python object that makes entries and resume code. */
#ifndef UFUSE_SESSION_H
#define UFUSE_SESSION_H

#include <Python.h>
#include <stdbool.h>

#include "run/cache.h"

int64_t left_alone_until(const CodeCache *cache, Py_ssize_t position);
int ask_capture(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
                Entry **entry);
int ask_whole(CodeCache *cache, PyObject *function, Registers *registers);
int ask_grow(CodeCache *cache, Py_ssize_t position, PyObject *function, Registers *registers,
             Entry *entry, Entry **longer);
int tell_other_sides(CodeCache *cache, Py_ssize_t position, Entry *entry);
PyObject *ask_resume_code(CodeCache *cache, Py_ssize_t position);
CodeCache *ask_cache(PyObject *session, PyObject *code, bool for_loops);
void tell_larger(CodeCache *cache);
bool tell_decision(CodeCache *cache, PyObject *positions, const Trial *trial);
PyObject *mark_device(CodeCache *cache);
bool device_took(CodeCache *cache, PyObject *began, PyObject *ended, int64_t *ns);
int tell_eager_run(CodeCache *cache, Py_ssize_t position, Entry *entry);
int session_ready(void);

#endif
