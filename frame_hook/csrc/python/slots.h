/* The slots of a frame, which hold objects up to 3.13 and tagged references from 3.14 on. */
#ifndef UFUSE_SLOTS_H
#define UFUSE_SLOTS_H

#include "internals.h"

#include <stdbool.h>

#if PY_VERSION_HEX >= 0x030E0000
/*
 * Move a stack slot, which may only borrow its object, to an owned reference in `*value` (NULL for
 * an empty slot). Leaves None in the slot. Runs no Python code. Returns 0, or -1 with SystemError
 * set and the slot untouched when it holds a tagged int.
 */
static inline int
take_stack_slot(_PyStackRef *slot, PyObject **value)
{
    if (PyStackRef_IsTaggedInt(*slot)) {
        PyErr_SetString(PyExc_SystemError, "ufuse: there is a bare integer on a frame's stack");
        return -1;
    }
    *value = PyStackRef_IsNull(*slot) ? NULL : PyStackRef_AsPyObjectSteal(*slot);
    *slot = PyStackRef_None;
    return 0;
}

/* Move the object of a local, owned, or NULL, out of its slot. Runs no Python code. */
static inline PyObject *
take_local_slot(_PyStackRef *slot)
{
    PyObject *value = PyStackRef_IsNull(*slot) ? NULL : PyStackRef_AsPyObjectSteal(*slot);
    *slot = PyStackRef_NULL;
    return value;
}

/*
 * Put `value` (stolen, may be NULL) into a slot. Returns what was there, owned, or NULL. Runs no
 * Python code.
 */
static inline PyObject *
fill_slot(_PyStackRef *slot, PyObject *value)
{
    bool bare = PyStackRef_IsNull(*slot) || PyStackRef_IsTaggedInt(*slot);
    PyObject *before = bare ? NULL : PyStackRef_AsPyObjectSteal(*slot);
    *slot = value == NULL ? PyStackRef_NULL : PyStackRef_FromPyObjectSteal(value);
    return before;
}

/* The instruction offset that a stack slot keeps for RERAISE, or -1 for anything else. */
static inline Py_ssize_t
reraise_offset(_PyStackRef *slot)
{
    return PyStackRef_IsTaggedInt(*slot) ? (Py_ssize_t)PyStackRef_UntagInt(*slot) : -1;
}

/* Put an instruction offset for RERAISE (a stolen int, in range) into a stack slot. */
static inline void
fill_reraise_offset(_PyStackRef *slot, PyObject *offset)
{
    Py_XDECREF(fill_slot(slot, NULL));
    *slot = PyStackRef_TagInt(PyLong_AsLong(offset));
    Py_DECREF(offset);
}

#    define SLOT_BORROW(slot) (PyStackRef_IsNull(slot) ? NULL : PyStackRef_AsPyObjectBorrow(slot))
typedef _PyStackRef Slot;
#else
/* As above: move a stack value out, leave None. Never fails before 3.14. */
static inline int
take_stack_slot(PyObject **slot, PyObject **value)
{
    *value = *slot;
    *slot = Py_NewRef(Py_None);
    return 0;
}

/* As above: move a local out, leave NULL. */
static inline PyObject *
take_local_slot(PyObject **slot)
{
    PyObject *value = *slot;
    *slot = NULL;
    return value;
}

/* As above: move a value in, give back what was there. */
static inline PyObject *
fill_slot(PyObject **slot, PyObject *value)
{
    PyObject *before = *slot;
    *slot = value;
    return before;
}

/* As above; before 3.14 it is an ordinary int. */
static inline Py_ssize_t
reraise_offset(PyObject **slot)
{
    return *slot != NULL && PyLong_CheckExact(*slot) ? PyLong_AsSsize_t(*slot) : -1;
}

/* As above. */
static inline void
fill_reraise_offset(PyObject **slot, PyObject *offset)
{
    Py_XDECREF(fill_slot(slot, offset));
}

#    define SLOT_BORROW(slot) (slot)
typedef PyObject *Slot;
#endif

#endif
