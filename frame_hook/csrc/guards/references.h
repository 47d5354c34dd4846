/*
 * What guards compare with and must not keep alive: a class or function that the program defines in
 * a call has to die when it would without us, and another object that is then allocated at its
 * address is not to be taken for it.
 */
#ifndef UFUSE_REFERENCES_H
#define UFUSE_REFERENCES_H

#include <Python.h>
#include <stdbool.h>

/* An object (owned), or where `weak` a weak reference to it (owned). */
typedef struct {
    PyObject *object;
    bool weak;
} Reference;

/* The object, borrowed; NULL once it is dead. */
static inline PyObject *
referent(const Reference *reference)
{
    if (!reference->weak) {
        return reference->object;
    }
    PyObject *object = ((PyWeakReference *)reference->object)->wr_object;
    return object == Py_None || Py_REFCNT(object) == 0 ? NULL : object;
}

int refer_to(PyObject *object, Reference *reference);
bool is_definition(PyObject *object);

/* The code and the defaults that a function had. */
typedef struct FunctionParts FunctionParts;

FunctionParts *function_parts(PyObject *code, PyObject *defaults, PyObject *keyword_defaults);
void free_function_parts(FunctionParts *parts);
int traverse_function_parts(FunctionParts *parts, visitproc visit, void *arg);
bool function_has_parts(PyObject *object, const FunctionParts *parts);
bool function_parts_are_dead(const FunctionParts *parts);

#endif
