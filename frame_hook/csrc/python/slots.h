/*
 * The slots of a frame, which hold objects up to 3.13 and tagged references from 3.14 on; and
 * CPython's internal headers, for the files that need them.
 */
#ifndef UFUSE_SLOTS_H
#define UFUSE_SLOTS_H

#define Py_BUILD_CORE 1
#include <Python.h>
#ifdef _PyGC_FINALIZED
#    undef _PyGC_FINALIZED /* defined again, differently, by 3.12's internal headers (gh-105268)   \
                            */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030D0000
#    include <internal/pycore_ceval.h>
#else
#    include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#    include <internal/pycore_interpframe.h>
#endif
#pragma GCC diagnostic pop
#include <stdbool.h>

#if PY_VERSION_HEX >= 0x030E0000
/*
 * Turn a stack slot, which may only borrow its object, into an owned reference in `*value` (NULL
 * for an empty slot). Leaves None in the slot. Runs no Python code. Returns 0, or -1 with
 * SystemError set and the slot untouched when it holds an integer of the interpreter's own.
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

/*
 * The object in a local's slot as an owned reference, or NULL. Leaves NULL in the slot. Runs no
 * Python code.
 */
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

/* The position of an error in a stack slot, or -1 where there is something else. */
static inline Py_ssize_t
error_position(_PyStackRef *slot)
{
    return PyStackRef_IsTaggedInt(*slot) ? (Py_ssize_t)PyStackRef_UntagInt(*slot) : -1;
}

/* Put the position of an error (stolen, an int in the range of one) into a stack slot. */
static inline void
fill_error_position(_PyStackRef *slot, PyObject *position)
{
    Py_XDECREF(fill_slot(slot, NULL));
    *slot = PyStackRef_TagInt(PyLong_AsLong(position));
    Py_DECREF(position);
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

/* As above: before 3.14 it is an ordinary int. */
static inline Py_ssize_t
error_position(PyObject **slot)
{
    return *slot != NULL && PyLong_CheckExact(*slot) ? PyLong_AsSsize_t(*slot) : -1;
}

/* As above. */
static inline void
fill_error_position(PyObject **slot, PyObject *position)
{
    Py_XDECREF(fill_slot(slot, position));
}

#    define SLOT_BORROW(slot) (slot)
typedef PyObject *Slot;
#endif

#endif
