/*
 * Reading the entries of dicts and the attributes of instances and classes where CPython keeps
 * them. Nothing here runs Python code, makes an instance's `__dict__` or leaves an exception.
 */
#ifndef UFUSE_STORAGE_H
#define UFUSE_STORAGE_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* The outcome of a look-up; UNKNOWN: it would take Python code, such as an `__eq__`, to tell. */
typedef enum { FIND_ABSENT, FIND_FOUND, FIND_UNKNOWN } Finding;

/*
 * Where an attribute was last found, so that it is looked for there first; zero at first. What a
 * class gives under a name can only change with its version (`tp_version_tag`), a number that no
 * two states of classes share, and 0 while the class has none.
 */
typedef struct {
    unsigned int version; /* of the class, for which `offset` holds; 0: for none */
    Py_ssize_t offset;    /* of its slot in the object; 0: it is in the dict, or inline values */
    Py_ssize_t index;     /* of its entry there; any number */
} AttributePlace;

/* Whether a class is as it was in a version. */
static inline bool
class_has_version(PyTypeObject *type, unsigned int version)
{
    return version != 0 && type->tp_version_tag == version;
}

bool has_unicode_keys(PyObject *dict);
Finding find_in_dict(PyObject *dict, PyObject *key, PyObject **value);
Finding find_key_object(PyObject *dict, PyObject *key, Py_hash_t hash, PyObject **value);
Finding find_name(PyObject *dict, PyObject *name, Py_ssize_t *place, PyObject **value);
Finding find_own(PyObject *object, PyObject *name, AttributePlace *known, PyObject **value);
PyObject *dict_of_instance(PyObject *object);
bool share_dict(PyObject *one, PyObject *other);
bool class_own_lacks(PyObject *type, PyObject *name);
bool class_has_only_str_keys(PyObject *type);
int64_t abc_token(void);
PyObject *class_value(PyObject *type, PyObject *name);
PyObject *attribute_value(PyObject *object, PyObject *name, AttributePlace *known);
int storage_ready(void);

#endif
