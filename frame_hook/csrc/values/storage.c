/*
 * How CPython stores the keys of dicts and the attributes of instances; the rest that is known of
 * the latter is in instance_values.h.
 * Laws: no function is called that libpython does not export, and nothing is changed.
 */
#include "internals.h"

#include <stdbool.h>

#include "instance_values.h"
#include "values/arrays.h"
#include "values/builtin_types.h"
#include "values/storage.h"

/* Static functions of typeobject.c, taken from the slots of a class made in Python. */
static getattrofunc slot_tp_getattr_hook;
static destructor subtype_dealloc;

/* Owned, and never released. */
static PyTypeObject *tuplegetter_type; /* `_collections._tuplegetter`: fields of named tuples */
static PyObject *getattribute_name;
static PyObject *object_getattribute;
static PyObject *get_cache_token; /* `_abc.get_cache_token`, without arguments, in C */

/* ---- keys ---- */

enum { PERTURB_BITS = 5 }; /* what dictobject.c shifts a hash by for the next slot to try */

/* The entry's index in a slot of a hash table: DKIX_EMPTY (-1), DKIX_DUMMY (-2), or from 0 on. */
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

/* Whether two objects that are not the same literal may be equal all the same. */
static bool
may_be_equal(PyObject *a, PyObject *b)
{
    if (Py_TYPE(a) != Py_TYPE(b)) {
        return true;
    }
    if (!PyTuple_CheckExact(a)) {
        return !(PyUnicode_CheckExact(a) || PyBytes_CheckExact(a) || PyLong_CheckExact(a));
    }
    bool may_be = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);
    for (Py_ssize_t i = 0; may_be && i < PyTuple_GET_SIZE(a); i++) {
        PyObject *one = PyTuple_GET_ITEM(a, i), *other = PyTuple_GET_ITEM(b, i);
        may_be = one == other || same_literal(one, other) || may_be_equal(one, other);
    }
    return may_be;
}

/* Find a literal, or a key by identity, among the keys of a table: `*index` is its entry's. */
static Finding
find_key_of_hash(PyDictKeysObject *keys, PyObject *key, Py_hash_t hash, Py_ssize_t *index)
{
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
            if (other == key || (its_hash == hash && same_literal(other, key))) {
                return FIND_FOUND;
            }
            if (its_hash == hash && may_be_equal(other, key)) {
                return FIND_UNKNOWN;
            }
        }
        perturb >>= PERTURB_BITS;
    }
}

/* Find a literal among the keys of a table: `*index` is its entry's. */
static Finding
find_key(PyDictKeysObject *keys, PyObject *key, Py_ssize_t *index)
{
    return find_key_of_hash(keys, key, PyObject_Hash(key), index);
}

/* Find this very key, whose hash is known. `*value` is borrowed, NULL unless it is found. */
Finding
find_key_object(PyObject *dict, PyObject *key, Py_hash_t hash, PyObject **value)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    Py_ssize_t index;
    *value = NULL;
    Finding finding = find_key_of_hash(keys, key, hash, &index);
    if (finding == FIND_FOUND) {
        *value = keys->dk_kind == DICT_KEYS_GENERAL ? DK_ENTRIES(keys)[index].me_value
                                                    : DK_UNICODE_ENTRIES(keys)[index].me_value;
    }
    return finding;
}

/* Find a key by identity. */
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
 * Whether a dict has only exact strings as keys and a table of its own (DICT_KEYS_UNICODE), as
 * those of modules: then only the functions of dicts write to it.
 */
bool
has_unicode_keys(PyObject *dict)
{
    return ((PyDictObject *)dict)->ma_keys->dk_kind == DICT_KEYS_UNICODE;
}

/*
 * Find a key, by value if it is a literal, else by identity, in a dict or an instance of a
 * subclass.
 * `*value` is borrowed, NULL unless it is found.
 */
Finding
find_in_dict(PyObject *dict, PyObject *key, PyObject **value)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    Py_ssize_t index;
    Finding finding;
    *value = NULL;
    if (!PyUnicode_CheckExact(key) && !is_literal(key)) {
        return find_same_key(dict, key, value);
    }
    if (has_plain_keys(dict)) {
        *value = PyDict_GetItemWithError(dict, key); /* comparing strings runs no Python code */
        return *value == NULL ? FIND_ABSENT : FIND_FOUND;
    }
    finding = find_key(keys, key, &index);
    if (finding == FIND_FOUND) {
        *value = DK_ENTRIES(keys)[index].me_value;
    }
    return finding;
}

/*
 * As `find_in_dict` for a name in the dict of a module. `*place` caches the index of the entry in
 * which it was last found; any number at first.
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
    if (there == NULL || (there != name && !same_literal(there, name))) {
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

/* The `__dict__` of an object, borrowed; NULL where there is none yet. */
PyObject *
dict_of_instance(PyObject *object)
{
    PyObject *dict;
    (void)attributes_of(object, &dict);
    return dict;
}

/* Whether two objects have their attributes in the same dict, as `one.__dict__ = other.__dict__`
 * does. */
bool
share_dict(PyObject *one, PyObject *other)
{
    PyObject *dict = dict_of_instance(one);
    return dict != NULL && dict == dict_of_instance(other);
}

/*
 * Find an attribute of the object itself, in its inline values or dict, not one of its class:
 * `*value` is borrowed, NULL unless it is found. UNKNOWN for a class. `*place` caches the index of
 * the entry.
 */
static Finding
find_in_instance(PyObject *object, PyObject *name, Py_ssize_t *place, PyObject **value)
{
    PyObject *dict;
    *value = NULL;
    if (PyType_Check(object)) {
        return FIND_UNKNOWN;
    }
    PyDictValues *values = attributes_of(object, &dict);
    if (values == NULL) {
        return dict == NULL ? FIND_ABSENT : find_name(dict, name, place, value);
    }
    PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys;
    bool there = *place >= 0 && *place < keys->dk_nentries &&
                 DK_UNICODE_ENTRIES(keys)[*place].me_key == name;
    Finding finding = there ? FIND_FOUND : find_key(keys, name, place);
    if (finding == FIND_FOUND) {
        *value = values->values[*place]; /* NULL: only other instances have it */
        finding = *value == NULL ? FIND_ABSENT : FIND_FOUND;
    }
    return finding;
}

/* What is in the slot at an offset, borrowed, or NULL. */
static inline PyObject *
slot_value(PyObject *object, Py_ssize_t offset)
{
    return *(PyObject **)((char *)object + offset);
}

/*
 * Find an attribute of the object itself, in its slot, inline values or dict: `*value` is borrowed,
 * NULL unless it is found. `known` is for one name and this function.
 */
Finding
find_own(PyObject *object, PyObject *name, AttributePlace *known, PyObject **value)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!class_has_version(type, known->version)) {
        known->offset = slot_offset(type, _PyType_Lookup(type, name));
        known->version = type->tp_version_tag;
    }
    if (known->offset == 0) {
        return find_in_instance(object, name, &known->index, value);
    }
    *value = slot_value(object, known->offset);
    return *value == NULL ? FIND_ABSENT : FIND_FOUND;
}

/* ---- classes ---- */

/* Whether a class itself certainly lacks an attribute, whatever its bases have. */
bool
class_own_lacks(PyObject *type, PyObject *name)
{
    PyObject *dict = ((PyTypeObject *)type)->tp_dict;
    PyObject *value;
    return dict != NULL && find_in_dict(dict, name, &value) == FIND_ABSENT;
}

/* Whether all keys of a class's own dict are strings; those of static types are. */
bool
class_has_only_str_keys(PyObject *type)
{
    PyObject *dict = ((PyTypeObject *)type)->tp_dict;
    return dict == NULL || has_plain_keys(dict);
}

/* `abc.get_cache_token()`, which ABCMeta.register changes; -1 where that cannot be told. */
int64_t
abc_token(void)
{
    PyCFunction function = PyCFunction_GET_FUNCTION(get_cache_token);
    PyObject *number = function(PyCFunction_GET_SELF(get_cache_token), NULL);
    int64_t token = number == NULL ? -1 : PyLong_AsLongLong(number);
    Py_XDECREF(number);
    PyErr_Clear();
    return token;
}

/* An attribute of a class or its bases, borrowed and not bound, or NULL. */
PyObject *
class_value(PyObject *type, PyObject *name)
{
    return _PyType_Lookup((PyTypeObject *)type, name);
}

/* Whether instances look attributes up with `object.__getattribute__`, before any `__getattr__`. */
static bool
uses_generic_getattr(PyTypeObject *type)
{
    return type->tp_getattro == PyBaseObject_Type.tp_getattro ||
           (type->tp_getattro == slot_tp_getattr_hook &&
            _PyType_Lookup(type, getattribute_name) == object_getattribute);
}

/* Whether `names`, which NULL ends, has a name. */
static bool
is_one_of(PyObject *name, const char *const *names)
{
    while (*names != NULL && PyUnicode_CompareWithASCIIString(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Whether the getter of a getset descriptor is known to run no Python code. */
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
    return type->tp_dealloc != subtype_dealloc && !is_one_of(name, in_python) &&
           (owner == &PyFunction_Type || is_numpy_base(owner) || is_deque_type(owner));
}

/* Whether a data descriptor of `type` runs no Python code for an instance. */
static bool
data_descr_stays_in_c(PyObject *descriptor, PyTypeObject *type, PyObject *name)
{
    if (Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) {
        return getter_stays_in_c(PyDescr_TYPE(descriptor), type, name);
    }
    return Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || Py_IS_TYPE(descriptor, tuplegetter_type);
}

/* Whether a classmethod wraps a plain function, not another descriptor. */
static bool
is_of_function(PyObject *class_method)
{
    PyObject *inner = PyObject_GetAttrString(class_method, "__func__");
    bool plain = inner != NULL && Py_IS_TYPE(inner, &PyFunction_Type);
    Py_XDECREF(inner);
    PyErr_Clear();
    return plain;
}

/* Whether a non-data descriptor runs no Python code. */
static bool
binding_stays_in_c(PyObject *descriptor)
{
    PyTypeObject *type = Py_TYPE(descriptor);
    return type == &PyFunction_Type || type == &PyMethodDescr_Type ||
           type == &PyClassMethodDescr_Type || type == &PyWrapperDescr_Type ||
           type == &PyMethod_Type || type == &PyStaticMethod_Type ||
           (type == &PyClassMethod_Type && is_of_function(descriptor));
}

/* The result of a descriptor's `__get__`, a new reference, or NULL without an exception. */
static PyObject *
call_descr_get(PyObject *descriptor, PyObject *object, PyTypeObject *type)
{
    Py_INCREF(descriptor);
    PyObject *value = Py_TYPE(descriptor)->tp_descr_get(descriptor, object, (PyObject *)type);
    Py_DECREF(descriptor);
    if (value == NULL) {
        PyErr_Clear();
    }
    return value;
}

/*
 * Bind an attribute of a class to an instance or (NULL) to the class. A new reference, or NULL,
 * without an exception, where that fails or would run Python code.
 */
static PyObject *
bind_attribute(PyObject *on_class, PyObject *object, PyTypeObject *type)
{
    if (Py_TYPE(on_class)->tp_descr_get == NULL) {
        return Py_NewRef(on_class);
    }
    bool itself = object == NULL && (Py_IS_TYPE(on_class, &PyMemberDescr_Type) ||
                                     Py_IS_TYPE(on_class, &PyGetSetDescr_Type));
    return itself || binding_stays_in_c(on_class) ? call_descr_get(on_class, object, type) : NULL;
}

/* `attribute_value` for a class. */
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
        return stays_in_c ? call_descr_get(on_meta, (PyObject *)type, meta) : NULL;
    }
    PyObject *own = _PyType_Lookup(type, name);
    return own == NULL ? NULL : bind_attribute(own, NULL, type);
}

/* Whether an attribute of a class (or NULL) can never come before one of the instance itself. */
static bool
yields_to_own(PyObject *on_class)
{
    return on_class == NULL || (Py_TYPE(on_class)->tp_descr_set == NULL &&
                                PyType_HasFeature(Py_TYPE(on_class), Py_TPFLAGS_IMMUTABLETYPE));
}

/*
 * What `getattr` gives, a new reference; NULL where there is no such attribute, and where looking
 * would run Python code. `known` is for one name and this function: in that version of the class,
 * `getattr` reads a slot, or first looks in the instance.
 */
PyObject *
attribute_value(PyObject *object, PyObject *name, AttributePlace *known)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *own = NULL;
    if (class_has_version(type, known->version)) {
        if (known->offset > 0) {
            return Py_XNewRef(slot_value(object, known->offset));
        }
        if (find_in_instance(object, name, &known->index, &own) == FIND_FOUND) {
            return Py_NewRef(own);
        }
    }
    if (PyType_Check(object)) {
        return attribute_of_class((PyTypeObject *)object, name);
    }
    bool of_method = type == &PyMethod_Type; /* falls back on its function's attributes */
    if (!of_method && !PyModule_CheckExact(object) && !uses_generic_getattr(type)) {
        return NULL;
    }
    PyObject *on_class = _PyType_Lookup(type, name);
    known->offset = slot_offset(type, on_class);
    bool may_know = known->offset > 0 || (!of_method && yields_to_own(on_class));
    known->version = may_know ? type->tp_version_tag : 0;
    if (on_class != NULL && Py_TYPE(on_class)->tp_descr_set != NULL) {
        return data_descr_stays_in_c(on_class, type, name) ? call_descr_get(on_class, object, type)
                                                           : NULL;
    }
    Finding finding =
        of_method ? FIND_UNKNOWN : find_in_instance(object, name, &known->index, &own);
    if (finding != FIND_ABSENT) {
        return Py_XNewRef(own);
    }
    return on_class == NULL ? NULL : bind_attribute(on_class, object, type);
}

/* ---- preparing ---- */

/* Make a class with `__getattr__` and read its slots. Returns 0, or -1 with an exception set. */
static int
read_slots_of_python_class(void)
{
    PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){sO}", "Hooked",
                                           "__getattr__", Py_None);
    if (made == NULL) {
        return -1;
    }
    slot_tp_getattr_hook = ((PyTypeObject *)made)->tp_getattro;
    subtype_dealloc = ((PyTypeObject *)made)->tp_dealloc;
    Py_DECREF(made);
    return 0;
}

/* Get what the C API does not export. Returns 0, or -1 with an exception set. */
int
storage_ready(void)
{
    getattribute_name = PyUnicode_InternFromString("__getattribute__");
    if (getattribute_name == NULL || read_slots_of_python_class() < 0) {
        return -1;
    }
    object_getattribute = Py_XNewRef(_PyType_Lookup(&PyBaseObject_Type, getattribute_name));
    PyObject *module = PyImport_ImportModule("_collections");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "_tuplegetter");
    Py_XDECREF(module);
    tuplegetter_type = (PyTypeObject *)found;
    if (found == NULL) {
        return -1;
    }
    module = PyImport_ImportModule("_abc");
    get_cache_token = module == NULL ? NULL : PyObject_GetAttrString(module, "get_cache_token");
    Py_XDECREF(module);
    if (get_cache_token != NULL && (!PyCFunction_CheckExact(get_cache_token) ||
                                    PyCFunction_GET_FLAGS(get_cache_token) != METH_NOARGS)) {
        PyErr_SetString(PyExc_ImportError, "_hook: abc.get_cache_token() is not CPython's own");
        Py_CLEAR(get_cache_token);
    }
    return get_cache_token == NULL ? -1 : 0;
}
