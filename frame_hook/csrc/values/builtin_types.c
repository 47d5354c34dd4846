#include "values/builtin_types.h"

/* `collections.deque`, never released. */
static PyTypeObject *deque_type;

/* ---- literals ---- */

/* Whether an object is a literal: comparing and hashing it runs no Python code. */
bool
is_literal(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
            if (!is_literal(PyTuple_GET_ITEM(object, i))) {
                return false;
            }
        }
        return true;
    }
    return object == Py_None || object == Py_Ellipsis || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyBool_Check(object);
}

/* Whether two exact tuples have the same literals in the same order. */
static bool
same_tuple(PyObject *a, PyObject *b)
{
    Py_ssize_t size = PyTuple_GET_SIZE(a);
    bool same = size == PyTuple_GET_SIZE(b);
    for (Py_ssize_t i = 0; same && i < size; i++) {
        same = same_literal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
    }
    return same;
}

/* Whether two objects are one, or literals of the same class and value, floats by their bits. */
bool
same_literal(PyObject *a, PyObject *b)
{
    if (a == b) {
        return true;
    }
    if (Py_TYPE(a) != Py_TYPE(b)) {
        return false;
    }
    if (PyTuple_CheckExact(a)) {
        return same_tuple(a, b);
    }
    if (PyFloat_CheckExact(a)) {
        return memcmp(&((PyFloatObject *)a)->ob_fval, &((PyFloatObject *)b)->ob_fval,
                      sizeof(double)) == 0;
    }
    if (PyComplex_CheckExact(a)) {
        return memcmp(&((PyComplexObject *)a)->cval, &((PyComplexObject *)b)->cval,
                      sizeof(Py_complex)) == 0;
    }
    if (!PyUnicode_CheckExact(a) && !PyBytes_CheckExact(a) && !PyLong_CheckExact(a)) {
        return false;
    }
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) {
        PyErr_Clear();
    }
    return equal == 1;
}

/* ---- containers ---- */

/* The length of a tuple, list, dict, set, frozenset or exact deque; -1 for anything else. */
Py_ssize_t
container_length(PyObject *object)
{
    if (PyTuple_Check(object) || PyList_Check(object)) {
        return PySequence_Fast_GET_SIZE(object);
    }
    if (PyDict_Check(object)) {
        return PyDict_GET_SIZE(object);
    }
    if (PyAnySet_Check(object)) {
        return PySet_GET_SIZE(object);
    }
    return Py_IS_TYPE(object, deque_type) ? deque_type->tp_as_sequence->sq_length(object) : -1;
}

/* Whether a type is `collections.deque` itself. */
bool
is_deque_type(PyTypeObject *type)
{
    return type == deque_type;
}

/* Item `index` of a tuple, a list or an exact deque, as a new reference, or NULL. */
PyObject *
sequence_item(PyObject *sequence, int64_t index)
{
    if (sequence == NULL || index < 0) {
        return NULL;
    }
    if (PyTuple_Check(sequence) || PyList_Check(sequence)) {
        return index < PySequence_Fast_GET_SIZE(sequence)
                   ? Py_NewRef(PySequence_Fast_GET_ITEM(sequence, index))
                   : NULL;
    }
    if (!Py_IS_TYPE(sequence, deque_type) || index >= container_length(sequence)) {
        return NULL;
    }
    PyObject *item = deque_type->tp_as_sequence->sq_item(sequence, index);
    if (item == NULL) {
        PyErr_Clear();
    }
    return item;
}

/*
 * Whether an OrderedDict, whose keys are all literals, has them in this order: the order of its
 * linked list, not that of the dict's entries.
 */
static bool
ordered_keys_are(PyObject *dict, PyObject *keys)
{
    PyObject *iterator = PyODict_Type.tp_iter(dict);
    bool same = iterator != NULL;
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *key = Py_TYPE(iterator)->tp_iternext(iterator);
        same = key != NULL && same_literal(key, PyTuple_GET_ITEM(keys, i));
        Py_XDECREF(key);
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return same;
}

/*
 * Whether a dict has exactly these keys (the same objects, or the same literals) in this order. For
 * an OrderedDict both must be literals, as iterating it hashes them.
 */
bool
dict_keys_are(PyObject *dict, PyObject *keys)
{
    if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) {
        return false;
    }
    bool ordered = PyODict_Check(dict);
    Py_ssize_t position = 0, i = 0;
    PyObject *key;
    while (PyDict_Next(dict, &position, &key, NULL)) {
        if (ordered ? !is_literal(key) : !same_literal(key, PyTuple_GET_ITEM(keys, i++))) {
            return false;
        }
    }
    return !ordered || ordered_keys_are(dict, keys);
}

/* ---- sets ---- */

/*
 * The next member of a set, borrowed, or NULL after the last; `*slot` begins at 0. The slot of a
 * removed member has a hash of -1, which no object has.
 */
static PyObject *
next_member(PyObject *set, Py_ssize_t *slot)
{
    PySetObject *table = (PySetObject *)set;
    while (*slot <= table->mask) {
        setentry *entry = &table->table[(*slot)++];
        if (entry->key != NULL && entry->hash != -1) {
            return entry->key;
        }
    }
    return NULL;
}

/* Whether an object is an exact frozenset of literals. */
bool
is_literal_set(PyObject *object)
{
    Py_ssize_t slot = 0;
    PyObject *member;
    if (!PyFrozenSet_CheckExact(object)) {
        return false;
    }
    while ((member = next_member(object, &slot)) != NULL) {
        if (!is_literal(member)) {
            return false;
        }
    }
    return true;
}

/*
 * A new dict from each member of a frozenset of literals to that member: `set_members_are` has to
 * tell 1, 1.0 and True apart, which are equal. NULL with MemoryError set.
 */
PyObject *
members_by_value(PyObject *set)
{
    PyObject *members = PyDict_New();
    Py_ssize_t slot = 0;
    PyObject *member;
    while (members != NULL && (member = next_member(set, &slot)) != NULL) {
        if (PyDict_SetItem(members, member, member) < 0) {
            Py_CLEAR(members);
        }
    }
    return members;
}

/* Whether an exact set or frozenset has the members of a `members_by_value`. */
bool
set_members_are(PyObject *set, PyObject *members)
{
    if (!(PySet_CheckExact(set) || PyFrozenSet_CheckExact(set)) ||
        PySet_GET_SIZE(set) != PyDict_GET_SIZE(members)) {
        return false;
    }
    Py_ssize_t slot = 0;
    PyObject *member;
    while ((member = next_member(set, &slot)) != NULL) {
        PyObject *known = is_literal(member) ? PyDict_GetItemWithError(members, member) : NULL;
        if (known == NULL || !same_literal(known, member)) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

/* Get `deque`, which the C API does not export. Returns 0, or -1 with an exception set. */
int
builtin_types_ready(void)
{
    PyObject *module = PyImport_ImportModule("collections");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "deque");
    Py_XDECREF(module);
    if (found == NULL) {
        return -1;
    }
    deque_type = (PyTypeObject *)found;
    return 0;
}
