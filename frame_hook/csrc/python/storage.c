/*
 * The one file that knows how CPython stores the keys of dicts and the attributes of instances.
 * Laws: nothing that is not exported is called, and nothing is changed.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#ifdef _PyGC_FINALIZED
#    undef _PyGC_FINALIZED /* as in frames.c */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#pragma GCC diagnostic pop
#include <stdbool.h>
#include <structmember.h>

#include "python/arrays.h"
#include "python/builtin_types.h"
#include "python/storage.h"

/* What classes made in Python have in these slots; taken from such a class, as they are static. */
static getattrofunc getattr_of_hooked_class;
static destructor dealloc_of_python_class;

static PyTypeObject *tuple_field_type;   /* of a named tuple's fields; owned for good */
static PyObject *getattribute_name;      /* owned for good */
static PyObject *getattribute_of_object; /* owned for good */
static PyObject *get_cache_token;        /* of `_abc`, owned for good */

#ifndef Py_T_OBJECT_EX
#    define Py_T_OBJECT_EX T_OBJECT_EX /* its name until 3.12 */
#endif

/* ---- keys ---- */

enum { PERTURB_BITS = 5 }; /* what dictobject.c shifts a hash by for the next slot to try */

/* Entry number, -1 (never used) or -2 (used once) of a slot of a hash table. */
static Py_ssize_t
index_in_slot(const PyDictKeysObject *keys, size_t slot)
{
    if (keys->dk_log2_size < 8) {
        return ((const int8_t *)keys->dk_indices)[slot];
    }
    if (keys->dk_log2_size < 16) {
        return ((const int16_t *)keys->dk_indices)[slot];
    }
    if (keys->dk_log2_size < 32) {
        return ((const int32_t *)keys->dk_indices)[slot];
    }
    return (Py_ssize_t)((const int64_t *)keys->dk_indices)[slot];
}

/* Whether two objects that have one hash and are not the same value may be equal all the same. */
static bool
may_be_equal(PyObject *a, PyObject *b)
{
    return Py_TYPE(a) != Py_TYPE(b) ||
           !(PyUnicode_CheckExact(a) || PyBytes_CheckExact(a) || PyLong_CheckExact(a));
}

/* Find a plain value among the keys of a table: `*index` is its entry's. */
static Finding
find_key(PyDictKeysObject *keys, PyObject *key, Py_ssize_t *index)
{
    Py_hash_t hash = PyObject_Hash(key);
    size_t mask = ((size_t)1 << keys->dk_log2_size) - 1;
    size_t perturb = (size_t)hash;
    bool only_strings = keys->dk_kind != DICT_KEYS_GENERAL;
    for (size_t slot = (size_t)hash & mask;; slot = (slot * 5 + perturb + 1) & mask) {
        *index = index_in_slot(keys, slot);
        if (*index == -1) {
            return FIND_ABSENT;
        }
        if (*index >= 0) {
            PyObject *other = only_strings ? DK_UNICODE_ENTRIES(keys)[*index].me_key
                                           : DK_ENTRIES(keys)[*index].me_key;
            Py_hash_t its_hash =
                only_strings ? PyObject_Hash(other) : DK_ENTRIES(keys)[*index].me_hash;
            if (other == key || (its_hash == hash && same_value(other, key))) {
                return FIND_FOUND;
            }
            if (its_hash == hash && may_be_equal(other, key)) {
                return FIND_UNKNOWN;
            }
        }
        perturb >>= PERTURB_BITS;
    }
}

/* Find the very object `key` among a dict's keys; an equal one is not looked for. */
static Finding
find_same_key(PyObject *dict, PyObject *key, PyObject **value)
{
    Py_ssize_t position = 0;
    PyObject *other;
    while (PyDict_Next(dict, &position, &other, value)) {
        if (other == key) {
            return FIND_FOUND;
        }
    }
    *value = NULL;
    return FIND_UNKNOWN;
}

/*
 * Whether a dict has only strings as keys and a table of its own, as those of modules do: then
 * nothing but the functions of dicts writes to it.
 */
bool
has_unicode_keys(PyObject *dict)
{
    return ((PyDictObject *)dict)->ma_keys->dk_kind == DICT_KEYS_UNICODE;
}

/*
 * Find a key in a dict or a subclass of it, a plain value or else by identity: `*value` is
 * borrowed, NULL unless it is found.
 */
Finding
find_in_dict(PyObject *dict, PyObject *key, PyObject **value)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    Py_ssize_t index;
    Finding finding;
    *value = NULL;
    if (!PyUnicode_CheckExact(key) && !is_plain_value(key)) {
        return find_same_key(dict, key, value);
    }
    if (keys->dk_kind != DICT_KEYS_GENERAL) {
        *value = PyDict_GetItemWithError(dict, key); /* only strings: nothing but C compares them */
        return *value == NULL ? FIND_ABSENT : FIND_FOUND;
    }
    finding = find_key(keys, key, &index);
    if (finding == FIND_FOUND) {
        *value = DK_ENTRIES(keys)[index].me_value;
    }
    return finding;
}

/*
 * As `find_in_dict` for a name in the dict of a module: `*place` is where it was last found, and
 * any number at first.
 */
Finding
find_name(PyObject *dict, PyObject *name, Py_ssize_t *place, PyObject **value)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    if (!has_unicode_keys(dict)) {
        return find_in_dict(dict, name, value);
    }
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    PyObject *there = *place >= 0 && *place < keys->dk_nentries ? entries[*place].me_key : NULL;
    if (there == NULL || (there != name && !same_value(there, name))) {
        Finding finding = find_key(keys, name, place);
        if (finding != FIND_FOUND) {
            *value = NULL;
            return finding;
        }
    }
    *value = entries[*place].me_value;
    return FIND_FOUND;
}

/* ---- instances ---- */

/*
 * The attributes an object keeps in itself, under its class's shared keys, borrowed; NULL when they
 * are in `*dict` (borrowed), or when it has none and `*dict` is NULL.
 */
static PyDictValues *
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

/* The dict that an object has its attributes in, borrowed; NULL where there is none yet. */
PyObject *
dict_of_instance(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *dict = NULL;
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        (void)values_of_instance(object, &dict);
    }
    else if (type->tp_dictoffset != 0 && !PyType_Check(object)) {
        PyObject **place = _PyObject_GetDictPtr(object);
        dict = place == NULL ? NULL : *place;
    }
    return dict;
}

/*
 * Find a name among an object's own attributes: `*value` is borrowed, NULL unless it is found.
 * What a class has is not looked for here.
 */
static Finding
find_in_instance(PyObject *object, PyObject *name, PyObject **value)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *dict = NULL;
    *value = NULL;
    if (PyType_Check(object)) {
        return FIND_UNKNOWN;
    }
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        PyDictValues *values = values_of_instance(object, &dict);
        if (values != NULL) {
            Py_ssize_t index;
            Finding finding = find_key(((PyHeapTypeObject *)type)->ht_cached_keys, name, &index);
            if (finding == FIND_FOUND) {
                *value = values->values[index]; /* NULL where only other instances have it */
                finding = *value == NULL ? FIND_ABSENT : FIND_FOUND;
            }
            return finding;
        }
    }
    else if (type->tp_dictoffset != 0 && !PyType_Check(object)) {
        PyObject **place = _PyObject_GetDictPtr(object);
        dict = place == NULL ? NULL : *place;
    }
    return dict == NULL ? FIND_ABSENT : find_in_dict(dict, name, value);
}

/*
 * Find what an object has in the slot of that name: `*value` is borrowed, NULL unless it is found.
 * UNKNOWN: its class has no such slot.
 */
static Finding
find_in_slot(PyObject *object, PyObject *name, PyObject **value)
{
    PyObject *on_class = _PyType_Lookup(Py_TYPE(object), name);
    *value = NULL;
    if (on_class == NULL || !Py_IS_TYPE(on_class, &PyMemberDescr_Type)) {
        return FIND_UNKNOWN;
    }
    struct PyMemberDef *member = ((PyMemberDescrObject *)on_class)->d_member;
    if (member->type != Py_T_OBJECT_EX || !PyObject_TypeCheck(object, PyDescr_TYPE(on_class))) {
        return FIND_UNKNOWN;
    }
    *value = *(PyObject **)((char *)object + member->offset);
    return *value == NULL ? FIND_ABSENT : FIND_FOUND;
}

/*
 * Find what an object has itself under a name, in its slot or its dict: `*value` is borrowed, NULL
 * unless it is found.
 */
Finding
find_own(PyObject *object, PyObject *name, PyObject **value)
{
    Finding finding = find_in_slot(object, name, value);
    return finding == FIND_UNKNOWN ? find_in_instance(object, name, value) : finding;
}

/* ---- classes ---- */

/* Whether a class, its bases aside, certainly has nothing under a name. */
bool
class_own_lacks(PyObject *type, PyObject *name)
{
    PyObject *dict = ((PyTypeObject *)type)->tp_dict;
    PyObject *value;
    return dict != NULL && find_in_dict(dict, name, &value) == FIND_ABSENT;
}

/* Whether all keys of a class's own dict are strings; those of classes that are static are. */
bool
class_has_only_str_keys(PyObject *type)
{
    PyObject *dict = ((PyTypeObject *)type)->tp_dict;
    return dict == NULL || ((PyDictObject *)dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL;
}

/* How often classes were registered with abstract ones, or -1 where that cannot be told. */
int64_t
abc_token(void)
{
    PyObject *number = PyObject_CallNoArgs(get_cache_token);
    int64_t token = number == NULL ? -1 : PyLong_AsLongLong(number);
    Py_XDECREF(number);
    PyErr_Clear();
    return token;
}

/* What a class or its bases have under a name, borrowed and not bound, or NULL. */
PyObject *
class_value(PyObject *type, PyObject *name)
{
    return _PyType_Lookup((PyTypeObject *)type, name);
}

/* Whether instances look attributes up as `object` does, before a `__getattr__` is asked. */
static bool
looks_up_as_object(PyTypeObject *type)
{
    return type->tp_getattro == PyBaseObject_Type.tp_getattro ||
           (type->tp_getattro == getattr_of_hooked_class &&
            _PyType_Lookup(type, getattribute_name) == getattribute_of_object);
}

/* Whether a name is one of those that end with NULL. */
static bool
is_one_of(PyObject *name, const char *const *names)
{
    while (*names != NULL && PyUnicode_CompareWithASCIIString(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Whether reading what C computes for `name` of an instance of `type` is known to stay in C. */
static bool
getter_stays_in_c(PyTypeObject *owner, PyTypeObject *type, PyObject *name)
{
    static const char *const in_python[] = {
        "__annotations__", "__array_interface__", "ctypes", "descr", "name", NULL};
    static const char *const of_builtin[] = {"__self__", "__name__", NULL};
    static const char *const of_exception[] = {"args", NULL};
    if (owner == &PyBaseObject_Type || owner == &PyLong_Type || owner == &PyFloat_Type ||
        owner == &PyComplex_Type || owner == &PyCell_Type) {
        return true;
    }
    if (owner == &PyCFunction_Type) {
        return is_one_of(name, of_builtin);
    }
    if (owner == (PyTypeObject *)PyExc_BaseException) {
        return is_one_of(name, of_exception);
    }
    return type->tp_dealloc != dealloc_of_python_class && !is_one_of(name, in_python) &&
           (owner == &PyFunction_Type || is_numpy_base(owner) || is_deque_type(owner));
}

/* Whether a class's data descriptor, asked by an instance of `type`, runs C code only. */
static bool
data_stays_in_c(PyObject *descriptor, PyTypeObject *type, PyObject *name)
{
    if (Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) {
        return getter_stays_in_c(PyDescr_TYPE(descriptor), type, name);
    }
    return Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || Py_IS_TYPE(descriptor, tuple_field_type);
}

/* Whether a class method is one of a function, and so no descriptor inside a descriptor. */
static bool
is_of_function(PyObject *class_method)
{
    PyObject *inner = PyObject_GetAttrString(class_method, "__func__");
    bool plain = inner != NULL && Py_IS_TYPE(inner, &PyFunction_Type);
    Py_XDECREF(inner);
    PyErr_Clear();
    return plain;
}

/* Whether something with `__get__` but without `__set__` is bound by C code only. */
static bool
binding_stays_in_c(PyObject *descriptor)
{
    PyTypeObject *type = Py_TYPE(descriptor);
    return type == &PyFunction_Type || type == &PyMethodDescr_Type ||
           type == &PyClassMethodDescr_Type || type == &PyWrapperDescr_Type ||
           type == &PyMethod_Type || type == &PyStaticMethod_Type ||
           (type == &PyClassMethod_Type && is_of_function(descriptor));
}

/* Ask a descriptor; a new reference, or NULL without an exception. */
static PyObject *
asked(PyObject *descriptor, PyObject *object, PyTypeObject *type)
{
    Py_INCREF(descriptor);
    PyObject *value = Py_TYPE(descriptor)->tp_descr_get(descriptor, object, (PyObject *)type);
    Py_DECREF(descriptor);
    if (value == NULL) {
        PyErr_Clear();
    }
    return value;
}

/* An attribute that a class has, for its instance or (NULL) itself, as `asked` gives it. */
static PyObject *
bound(PyObject *on_class, PyObject *object, PyTypeObject *type)
{
    if (Py_TYPE(on_class)->tp_descr_get == NULL) {
        return Py_NewRef(on_class);
    }
    bool itself = object == NULL && (Py_IS_TYPE(on_class, &PyMemberDescr_Type) ||
                                     Py_IS_TYPE(on_class, &PyGetSetDescr_Type));
    return itself || binding_stays_in_c(on_class) ? asked(on_class, object, type) : NULL;
}

/* An attribute of a class whose metaclass has none of its own, as `attribute_value`. */
static PyObject *
attribute_of_class(PyTypeObject *type, PyObject *name)
{
    static const char *const in_c[] = {"__name__", "__qualname__", "__module__", "__bases__", NULL};
    PyTypeObject *meta = Py_TYPE(type);
    if (meta->tp_getattro != PyType_Type.tp_getattro) {
        return NULL;
    }
    PyObject *on_meta = _PyType_Lookup(meta, name);
    if (on_meta != NULL && Py_TYPE(on_meta)->tp_descr_set != NULL) {
        bool stays_in_c = Py_IS_TYPE(on_meta, &PyMemberDescr_Type) ||
                          (Py_IS_TYPE(on_meta, &PyGetSetDescr_Type) &&
                           PyDescr_TYPE(on_meta) == &PyType_Type && is_one_of(name, in_c));
        return stays_in_c ? asked(on_meta, (PyObject *)type, meta) : NULL;
    }
    PyObject *own = _PyType_Lookup(type, name);
    return own == NULL ? NULL : bound(own, NULL, type);
}

/*
 * What `getattr` gives, as a new reference; NULL where there is no such attribute, and where it
 * takes Python code to tell.
 */
PyObject *
attribute_value(PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *own = NULL;
    if (PyType_Check(object)) {
        return attribute_of_class((PyTypeObject *)object, name);
    }
    bool of_method = type == &PyMethod_Type; /* has its function's attributes behind its own */
    if (!of_method && !PyModule_CheckExact(object) && !looks_up_as_object(type)) {
        return NULL;
    }
    PyObject *on_class = _PyType_Lookup(type, name);
    if (on_class != NULL && Py_TYPE(on_class)->tp_descr_set != NULL) {
        return data_stays_in_c(on_class, type, name) ? asked(on_class, object, type) : NULL;
    }
    Finding finding = of_method ? FIND_UNKNOWN : find_in_instance(object, name, &own);
    if (finding != FIND_ABSENT) {
        return Py_XNewRef(own);
    }
    return on_class == NULL ? NULL : bound(on_class, object, type);
}

/* ---- preparing ---- */

/* Read the slots of a class with `__getattr__`. Returns 0, or -1 with an exception set. */
static int
read_hooked_class(void)
{
    PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){sO}", "Hooked",
                                           "__getattr__", Py_None);
    if (made == NULL) {
        return -1;
    }
    getattr_of_hooked_class = ((PyTypeObject *)made)->tp_getattro;
    dealloc_of_python_class = ((PyTypeObject *)made)->tp_dealloc;
    Py_DECREF(made);
    return 0;
}

/* Find what C has no name for. Returns 0, or -1 with an exception set. */
int
storage_ready(void)
{
    getattribute_name = PyUnicode_InternFromString("__getattribute__");
    if (getattribute_name == NULL || read_hooked_class() < 0) {
        return -1;
    }
    getattribute_of_object = Py_XNewRef(_PyType_Lookup(&PyBaseObject_Type, getattribute_name));
    PyObject *module = PyImport_ImportModule("_collections");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "_tuplegetter");
    Py_XDECREF(module);
    tuple_field_type = (PyTypeObject *)found;
    if (found == NULL) {
        return -1;
    }
    module = PyImport_ImportModule("_abc");
    get_cache_token = module == NULL ? NULL : PyObject_GetAttrString(module, "get_cache_token");
    Py_XDECREF(module);
    return get_cache_token == NULL ? -1 : 0;
}
