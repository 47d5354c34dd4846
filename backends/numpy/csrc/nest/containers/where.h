/* Where CPython keeps an attribute of the items of lists of objects. Its internals come first. */
#ifndef UFUSE_WHERE_H
#define UFUSE_WHERE_H

#include "instance_values.h"

#include "nest/form/nest.h"

/* Where objects of a class have an attribute. */
typedef struct {
    PyObject *name;    /* its key where it is in a dict */
    Py_ssize_t offset; /* of its slot in the object; 0: it has none */
    Py_ssize_t index;  /* among inline values; -1: it is in none */
    Py_ssize_t field;  /* its place among the items of named tuples; -1: it is no field */
} Where;

static inline bool
same_name(PyObject *one, PyObject *other)
{
    return one == other ||
           (PyUnicode_CheckExact(one) && PyObject_Hash(one) == PyObject_Hash(other) &&
            PyUnicode_Compare(one, other) == 0);
}

/* The place of an attribute among the inline values of a class's objects, or -1. */
static inline Py_ssize_t
index_of(const PyTypeObject *type, PyObject *name)
{
    PyDictKeysObject *keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
    if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0 || keys == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
        if (same_name(DK_UNICODE_ENTRIES(keys)[i].me_key, name)) {
            return i;
        }
    }
    return -1;
}

/* Where objects of a class have an attribute that is no field. */
static inline Where
where_is(PyTypeObject *type, PyObject *name)
{
    Py_ssize_t offset = slot_offset(type, _PyType_Lookup(type, name));
    Py_ssize_t index = offset > 0 ? -1 : index_of(type, name);
    return (Where){.name = name, .offset = offset, .index = index, .field = -1};
}

/* What an object has as an attribute, borrowed; NULL: nothing, or nobody can tell. `*place` is the
 * slot or inline value that has it, NULL where it is in a dict or a tuple. `*dict` is the object's
 * dict; NULL for slots and fields, and where the object has none. From 3.13 on, a dict may have the
 * inline values as its own. */
static inline PyObject *
value_in(const Where *where, PyObject *object, PyObject ***place, PyObject **dict)
{
    *dict = NULL;
    *place = NULL;
    if (where->field >= 0) {
        bool there = PyTuple_Check(object) && where->field < PyTuple_GET_SIZE(object);
        return there ? PyTuple_GET_ITEM(object, where->field) : NULL;
    }
    if (where->offset > 0) {
        *place = (PyObject **)((char *)object + where->offset);
        return **place;
    }
    PyDictValues *values = attributes_of(object, dict);
    if (values != NULL) {
        *place = where->index < 0 ? NULL : &values->values[where->index];
        return *place == NULL ? NULL : **place;
    }
    return *dict == NULL || !has_plain_keys(*dict) ? NULL
                                                   : PyDict_GetItemWithError(*dict, where->name);
}

/* Have an object have another value as an attribute, which it has: takes over the reference. What
 * it had dies without running code. */
static inline void
set_value(const Where *where, PyObject *object, PyObject *value)
{
    PyObject **place, *dict;
    (void)value_in(where, object, &place, &dict);
    if (place != NULL && dict == NULL) {
        Py_SETREF(*place, value);
        return;
    }
    if (PyDict_SetItem(dict, where->name, value) < 0) {
        PyErr_Clear(); /* cannot be: the key is there, so the dict does not grow */
    }
    Py_DECREF(value);
}

/* Where the items of a list, of which there is one, have the attribute of a slot. */
static inline Where
where_of(const NestSlot *slot, PyObject *item)
{
    return slot->field < 0 ? where_is(Py_TYPE(item), slot->attribute)
                           : (Where){.field = slot->field};
}

#endif
