/* Guards: one flat program over registers. */
#ifndef UFUSE_GUARDS_H
#define UFUSE_GUARDS_H

#include <Python.h>
#include <stdbool.h>

#include "guards/integers.h"
#include "guards/kinds.h"

GuardProgram *compile_guards(PyObject *rows, RegisterUse *use);
void free_guards(GuardProgram *guards);
int traverse_guards(GuardProgram *guards, visitproc visit, void *arg);
bool guards_ensure_alive(const GuardProgram *guards, PyObject *object);
bool guards_are_dead(const GuardProgram *guards);
void note_reads(GuardProgram *guards, const RegisterUse *use);
Py_ssize_t guards_loads(const GuardProgram *guards);
Py_ssize_t first_failing_guard(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state);
bool guards_hold(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state);
int export_guard_kinds(PyObject *module);

#endif
