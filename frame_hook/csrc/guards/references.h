/*
 * What a guard compares with and must not keep alive: classes and functions that a call makes anew
 * die when plain Python's would, and what comes to lie at their address is not taken for them.
 */
#ifndef UFUSE_REFERENCES_H
#define UFUSE_REFERENCES_H

#include <Python.h>
#include <stdbool.h>

/* An object (owned), or where `weak` a weak reference to it (owned). */
typedef struct {
    PyObject *object;
    bool weak;
} Held;

/* What is held, borrowed; NULL once it is dead. */
static inline PyObject *
held_object(const Held *held)
{
    if (!held->weak) {
        return held->object;
    }
    PyObject *object = ((PyWeakReference *)held->object)->wr_object;
    return object == Py_None || Py_REFCNT(object) == 0 ? NULL : object;
}

int hold(PyObject *object, Held *held);
bool is_mortal(PyObject *object);

/* The code and the defaults that a function had. */
typedef struct FunctionParts FunctionParts;

FunctionParts *function_parts(PyObject *code, PyObject *defaults, PyObject *keyword_defaults);
void free_function_parts(FunctionParts *parts);
int traverse_function_parts(FunctionParts *parts, visitproc visit, void *arg);
bool function_has_parts(PyObject *object, const FunctionParts *parts);
bool function_parts_are_dead(const FunctionParts *parts);

#endif
