/*
 * What wrappers made by functools.lru_cache remember, read where _functoolsmodule.c keeps it: in a
 * dict of results, or, where there is a maximum size, of links that hold a result each.
 */
#include "values/remembered.h"

#include <stdbool.h>

#include "values/builtin_types.h"
#include "values/storage.h"

/* As `lru_list_elem`. */
typedef struct {
    PyObject_HEAD
    void *previous;
    void *next;
    Py_hash_t hash;
    PyObject *key;
    PyObject *result;
} Link;

/* As `lru_cache_object`, as far as it is read here. */
typedef struct {
    Link root;
    void *call;
    int typed;
    PyObject *results;
    Py_ssize_t hits;
    PyObject *function;
    Py_ssize_t most; /* -1: any number */
    Py_ssize_t misses;
    PyObject *keyword_mark;
    PyTypeObject *link_type;
} Wrapper;

/* `functools._lru_cache_wrapper`, never released; NULL where its layout is another. */
static PyTypeObject *wrapper_type;

/* The dict of a wrapper that remembers anything, borrowed, or NULL. */
static PyObject *
results_of(PyObject *object)
{
    if (wrapper_type == NULL || !Py_IS_TYPE(object, wrapper_type)) {
        return NULL;
    }
    Wrapper *wrapper = (Wrapper *)object;
    return wrapper->most == 0 || wrapper->typed ? NULL : wrapper->results;
}

/* The result in an entry of the dict, borrowed; `entry` may be NULL. */
static PyObject *
result_in(PyObject *object, PyObject *entry)
{
    Wrapper *wrapper = (Wrapper *)object;
    if (entry == NULL || wrapper->most < 0) {
        return entry;
    }
    return Py_IS_TYPE(entry, wrapper->link_type) ? ((Link *)entry)->result : NULL;
}

/*
 * What a wrapper remembers under this very key, whose hash this is: borrowed, NULL if nothing. Runs
 * no Python code, sets no exception.
 */
PyObject *
remembered_result(PyObject *wrapper, PyObject *key, Py_hash_t hash)
{
    PyObject *results = results_of(wrapper), *entry = NULL;
    if (results == NULL || find_key_object(results, key, hash, &entry) != FIND_FOUND) {
        return NULL;
    }
    return result_in(wrapper, entry);
}

/* Whether two keys are one, or tuples of the same literals and objects. */
static bool
same_key(PyObject *a, PyObject *b)
{
    if (!PyTuple_CheckExact(a) || !PyTuple_CheckExact(b)) {
        return same_literal(a, b);
    }
    bool same = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(a); i++) {
        same = same_key(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
    }
    return same;
}

/*
 * The key that a wrapper has for a key that is the same, its hash, and the result: a new tuple.
 * NULL without an exception where it has none. Hashes the key: that must not run Python code.
 */
PyObject *
remembered_entry(PyObject *wrapper, PyObject *key)
{
    PyObject *results = results_of(wrapper), *own, *entry;
    Py_ssize_t position = 0;
    while (results != NULL && PyDict_Next(results, &position, &own, &entry)) {
        if (same_key(own, key)) {
            Py_hash_t hash = PyObject_Hash(own);
            PyObject *result = remembered_result(wrapper, own, hash);
            return result == NULL ? NULL : Py_BuildValue("OnO", own, (Py_ssize_t)hash, result);
        }
    }
    return NULL;
}

/* Whether a wrapper that is made and called now is found to remember that call. */
static bool
layout_is_known(PyObject *lru_cache, PyObject *most)
{
    PyObject *given = PyTuple_Pack(1, most);
    PyObject *decorator = given == NULL ? NULL : PyObject_CallObject(lru_cache, given);
    PyObject *wrapper =
        decorator == NULL ? NULL : PyObject_CallOneArg(decorator, (PyObject *)&PyUnicode_Type);
    PyObject *result = wrapper == NULL ? NULL : PyObject_CallOneArg(wrapper, given);
    PyObject *key = result == NULL ? NULL : PyTuple_Pack(1, given);
    PyObject *entry = key == NULL ? NULL : remembered_entry(wrapper, key);
    bool known = entry != NULL && PyTuple_GET_ITEM(entry, 2) == result;
    Py_XDECREF(given);
    Py_XDECREF(decorator);
    Py_XDECREF(wrapper);
    Py_XDECREF(result);
    Py_XDECREF(key);
    Py_XDECREF(entry);
    return known;
}

/* Find out whether wrappers are laid out as they are here. Returns 0, or -1 with an exception set.
 */
int
remembered_ready(void)
{
    PyObject *functools = PyImport_ImportModule("functools");
    PyObject *type =
        functools == NULL ? NULL : PyObject_GetAttrString(functools, "_lru_cache_wrapper");
    PyObject *lru_cache = type == NULL ? NULL : PyObject_GetAttrString(functools, "lru_cache");
    Py_XDECREF(functools);
    if (lru_cache == NULL) {
        Py_XDECREF(type);
        return -1;
    }
    /* functools.py has one of its own, in Python, for where there is none in C */
    bool in_c =
        PyType_Check(type) && ((PyTypeObject *)type)->tp_basicsize >= (Py_ssize_t)sizeof(Wrapper);
    PyObject *most = PyLong_FromLong(2);
    if (in_c && most != NULL) {
        wrapper_type = (PyTypeObject *)Py_NewRef(type);
        if (!layout_is_known(lru_cache, most) || !layout_is_known(lru_cache, Py_None)) {
            Py_CLEAR(wrapper_type);
        }
    }
    Py_XDECREF(most);
    Py_DECREF(type);
    Py_DECREF(lru_cache);
    return PyErr_Occurred() ? -1 : 0;
}
