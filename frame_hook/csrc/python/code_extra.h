/*
 * What each session has answered when asked for the cache of a code object, kept in the code
 * object's `co_extra`.
 */
#ifndef UFUSE_CODE_EXTRA_H
#define UFUSE_CODE_EXTRA_H

#include <Python.h>
#include <stdbool.h>

int code_extra_ready(void);
bool find_answer(PyObject *code, PyObject *session, PyObject **cache, bool *for_loops);
bool living_answer(PyObject *code, Py_ssize_t *next, PyObject **session, PyObject **cache);
int set_answer(PyObject *code, PyObject *session, PyObject *cache, bool for_loops);
void forget_answers(PyObject *code, PyObject *cache);

#endif
