/*
 * Integers computed from sizes of arrays and from ints, and relations between such integers: small
 * programs in reverse Polish notation over registers.
 */
#ifndef UFUSE_INTEGERS_H
#define UFUSE_INTEGERS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* The value of an int of one digit; false for others. */
static inline bool
small_int(PyObject *object, int64_t *value)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)object)) {
        return false;
    }
    *value = PyUnstable_Long_CompactValue((PyLongObject *)object);
#else
    Py_ssize_t size = Py_SIZE(object); /* negative for negative numbers */
    if (size < -1 || size > 1) {
        return false;
    }
    *value = size == 0 ? 0 : size * (int64_t)((PyLongObject *)object)->ob_digit[0];
#endif
    return true;
}

/*
 * Which registers the rows compiled so far read. A row may read what is appended before it; as the
 * number of state slots is known only at run time, the least number that makes every read legal is
 * kept, to be checked then.
 */
typedef struct {
    Py_ssize_t appended;    /* registers that exist behind the state's when the row runs */
    Py_ssize_t least_state; /* slots the state must have */
    uint64_t read[4];       /* a bit for each of the first 256 registers: it is read */
} RegisterUse;

/* Whether a register may be read. */
static inline bool
register_is_read(const RegisterUse *use, Py_ssize_t number)
{
    return number >= 256 || (use->read[number / 64] >> (number % 64) & 1) != 0;
}

int read_register(PyObject *number, RegisterUse *use, bool optional, int32_t *found);
int read_registers(PyObject *numbers, RegisterUse *use, bool optional, int32_t **found,
                   Py_ssize_t *count);

typedef struct IntegerProgram IntegerProgram;

IntegerProgram *compile_integer(PyObject *rows, RegisterUse *use, bool is_relation);
PyObject *run_integer_exactly(const IntegerProgram *program, PyObject *const *registers);
bool relation_holds(const IntegerProgram *program, PyObject *const *registers);
bool run_integer(const IntegerProgram *program, PyObject *const *registers, int64_t *result);
bool exact_int64(PyObject *object, int64_t *value);

#endif
