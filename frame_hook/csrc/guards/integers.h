/*
 * Integer programs in reverse Polish: what relations between sizes, and integers built from sizes,
 * are checked with.
 */
#ifndef UFUSE_INTEGERS_H
#define UFUSE_INTEGERS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Which registers a row may read, while rows are compiled. A row may read what is appended before
 * it; as the number of state slots is known only at run time, the least number that makes every
 * read legal is kept and checked then.
 */
typedef struct {
    Py_ssize_t appended;    /* registers that exist behind the state's when the row runs */
    Py_ssize_t least_state; /* slots the state must have */
    uint64_t read[4];       /* a bit for each of the first registers that something reads */
} RegisterUse;

/* Whether something may read a register. */
static inline bool
register_is_read(const RegisterUse *use, Py_ssize_t number)
{
    return number >= 256 || (use->read[number / 64] >> (number % 64) & 1) != 0;
}

int read_register(PyObject *number, RegisterUse *use, bool optional, int32_t *found);
int read_registers(PyObject *numbers, RegisterUse *use, bool optional, int32_t **found,
                   Py_ssize_t *count);

typedef struct Program Program;

Program *compile_program(PyObject *rows, RegisterUse *use, bool is_relation);
PyObject *run_program_exactly(const Program *program, PyObject *const *registers);
bool run_program(const Program *program, PyObject *const *registers, int64_t *result);
bool exact_int64(PyObject *object, int64_t *value);

#endif
