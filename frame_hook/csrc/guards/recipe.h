/*
 * Recipes: which Python objects to build around the outputs of an artefact, and which of the
 * program's writes to carry out, in order.
 */
#ifndef UFUSE_RECIPE_H
#define UFUSE_RECIPE_H

#include <Python.h>

#include "guards/guards.h"
#include "guards/integers.h"

typedef struct Recipe Recipe;

Recipe *compile_recipe(PyObject *rows, const GuardProgram *guards, RegisterUse *use);
void free_recipe(Recipe *recipe);
int traverse_recipe(Recipe *recipe, visitproc visit, void *arg);
Py_ssize_t recipe_rows(const Recipe *recipe);
int run_recipe(const Recipe *recipe, PyObject **registers, Py_ssize_t n_registers);

#endif
