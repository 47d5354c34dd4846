#include "run/empty_slot.h"

/* The repr of the object that stands for an empty slot. */
static PyObject *
Null_repr(PyObject *Py_UNUSED(self))
{
    return PyUnicode_FromString("NULL");
}

/* Survive a reference count error elsewhere, as None does: it is a static object. */
static void
Null_dealloc(PyObject *self)
{
    Py_SET_REFCNT(self, 1 << 20);
}

PyTypeObject Null_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ufuse.frame_hook._hook.NullType",
    .tp_doc = "The type of NULL, which stands for an empty slot of a state.",
    .tp_basicsize = sizeof(PyObject),
    .tp_dealloc = Null_dealloc,
    .tp_repr = Null_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

NullObject Null_Object = {PyObject_HEAD_INIT(&Null_Type)};

/* A new tuple of values with NULL_Object for the empty ones, or NULL with MemoryError set. */
PyObject *
state_tuple(PyObject *const *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i] == NULL ? NULL_OBJECT : values[i]));
    }
    return tuple;
}
