/* Where CPython keeps the attributes of instances of classes that are written in Python. */
#ifndef UFUSE_INSTANCE_VALUES_H
#define UFUSE_INSTANCE_VALUES_H

#include "internals.h"

#include <stdbool.h>

#ifndef Py_T_OBJECT_EX /* before 3.12 */
#    include <structmember.h>
#    define Py_T_OBJECT_EX T_OBJECT_EX
#endif

/*
 * The inline values of an object whose class has Py_TPFLAGS_MANAGED_DICT, under its class's shared
 * keys, borrowed; NULL when its attributes are in `*dict` (borrowed), or when it has none and
 * `*dict` is NULL. From 3.13 on `*dict` may be a dict that has the inline values as its own.
 */
static inline PyDictValues *
values_of_instance(PyObject *object, PyObject **dict)
{
#if PY_VERSION_HEX >= 0x030D0000
    *dict = (PyObject *)_PyObject_GetManagedDict(object);
    if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) {
        PyDictValues *values = _PyObject_InlineValues(object);
        return values->valid ? values : NULL;
    }
    return NULL;
#elif PY_VERSION_HEX >= 0x030C0000
    *dict = NULL;
    PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
    if (_PyDictOrValues_IsValues(either)) {
        return _PyDictOrValues_GetValues(either);
    }
    *dict = _PyDictOrValues_GetDict(either);
    return NULL;
#else
    *dict = *_PyObject_ManagedDictPointer(object);
    return *_PyObject_ValuesPointer(object);
#endif
}

/*
 * The same of any object: its inline values, or NULL; its dict, where there is one. Of a class
 * there is neither.
 */
static inline PyDictValues *
attributes_of(PyObject *object, PyObject **dict)
{
    PyTypeObject *type = Py_TYPE(object);
    *dict = NULL;
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        return values_of_instance(object, dict);
    }
    if (type->tp_dictoffset != 0 && !PyType_Check(object)) {
        PyObject **place = _PyObject_GetDictPtr(object);
        *dict = place == NULL ? NULL : *place;
    }
    return NULL;
}

/* Whether all keys of a dict are exact strings: looking up a name runs no Python code then. */
static inline bool
has_plain_keys(PyObject *dict)
{
    return ((PyDictObject *)dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL;
}

/*
 * The offset in instances of `type` of a slot that some class declares in `__slots__`, where
 * `on_class` (or NULL), an attribute of `type`, describes one; else 0.
 */
static inline Py_ssize_t
slot_offset(PyTypeObject *type, PyObject *on_class)
{
    if (on_class == NULL || !Py_IS_TYPE(on_class, &PyMemberDescr_Type)) {
        return 0;
    }
    struct PyMemberDef *member = ((PyMemberDescrObject *)on_class)->d_member;
    bool fits = member->type == Py_T_OBJECT_EX && PyType_IsSubtype(type, PyDescr_TYPE(on_class));
    return fits ? member->offset : 0;
}

#endif
