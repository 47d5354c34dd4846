#include "run/registers.h"

#include <string.h>

/* Make room for `capacity` registers; their values stay. Returns 0, or -1 with MemoryError set. */
int
registers_grow(Registers *registers, Py_ssize_t capacity)
{
    PyObject **values = PyMem_New(PyObject *, capacity);
    if (values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(values, registers->values, (size_t)registers->n_used * sizeof(PyObject *));
    if (registers->values != registers->usual) {
        PyMem_Free(registers->values);
    }
    registers->values = values;
    registers->capacity = capacity;
    return 0;
}

/*
 * Begin with `n_state` empty state slots, borrowed. Returns 0, or -1 with MemoryError set; call
 * `registers_end` in both cases.
 */
int
registers_begin(Registers *registers, Py_ssize_t n_state)
{
    registers->values = registers->usual;
    registers->capacity = USUAL_REGISTERS;
    registers->n_state = registers->n_used = 0;
    registers->owns_state = false;
    registers->contents = NULL;
    registers->known_at = registers->began = (Quiet){0};
    registers->n_locals = n_state;
    if (registers_reserve(registers, n_state) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_state; i++) {
        registers->values[i] = NULL;
    }
    registers->n_state = registers->n_used = n_state;
    return 0;
}

/* Drop the registers behind the state's. Finalizers may run. */
void
registers_drop_appended(Registers *registers)
{
    while (registers->n_used > registers->n_state) {
        registers->n_used--;
        Py_XDECREF(registers->values[registers->n_used]);
    }
}

/* Drop everything that is owned. Finalizers may run. */
void
registers_end(Registers *registers)
{
    registers_drop_appended(registers);
    if (registers->owns_state) {
        drop_locals(registers->values, registers->n_state);
    }
    if (registers->values != registers->usual) {
        PyMem_Free(registers->values);
    }
}
