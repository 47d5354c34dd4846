/* Marks on code objects: what each session has answered about them. */
#ifndef UFUSE_MARKS_H
#define UFUSE_MARKS_H

#include <Python.h>
#include <stdbool.h>

#include "cache.h"

int marks_ready(void);
bool find_mark(PyObject *code, PyObject *session, CodeCache **cache);
int set_mark(PyObject *code, PyObject *session, CodeCache *cache);
void wipe_marks(PyObject *code, CodeCache *cache);

#endif
