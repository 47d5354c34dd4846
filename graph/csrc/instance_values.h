/*
 * Where CPython keeps the attributes of instances of classes that are written in Python. To be
 * included before Python.h: these are its internal headers.
 */
#ifndef UFUSE_INSTANCE_VALUES_H
#define UFUSE_INSTANCE_VALUES_H

#ifndef Py_BUILD_CORE
#    define Py_BUILD_CORE 1
#endif
#include <Python.h>
#ifdef _PyGC_FINALIZED
#    undef _PyGC_FINALIZED /* 3.12's internal headers define it again, differently (gh-105268) */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#pragma GCC diagnostic pop

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

#endif
