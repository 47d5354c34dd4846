/* The values of one step of the trampoline. */
#ifndef UFUSE_REGISTERS_H
#define UFUSE_REGISTERS_H

#include <Python.h>
#include <stdbool.h>

#include "python/quiet.h"
#include "python/state.h"

/*
 * The registers of one step of the trampoline: the state's slots, borrowed unless `owns_state`,
 * then what guards load, the artefact's outputs and the recipe's rows, owned.
 */
enum { USUAL_REGISTERS = 32 };
typedef struct {
    PyObject **values;
    Py_ssize_t n_state;
    Py_ssize_t n_locals; /* of the state's registers, those before the stack's */
    Py_ssize_t n_used;   /* from here on, `values` is not initialised */
    Py_ssize_t capacity;
    bool owns_state;
    PyObject *contents; /* borrowed; the state's, or NULL */
    Quiet known_at;     /* the state's */
    Quiet began;        /* when the entry began that makes copies */
    PyObject *usual[USUAL_REGISTERS];
} Registers;

int registers_begin(Registers *registers, Py_ssize_t n_state);
void registers_drop_appended(Registers *registers);
void registers_end(Registers *registers);
int registers_grow(Registers *registers, Py_ssize_t capacity);

/* `registers_grow` where it is needed. */
static inline int
registers_reserve(Registers *registers, Py_ssize_t capacity)
{
    return capacity <= registers->capacity ? 0 : registers_grow(registers, capacity);
}

#endif
