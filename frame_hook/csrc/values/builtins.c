#include "values/builtins.h"

static PyObject *namespace; /* owned: the dict of the module `builtins` */
static PyObject *kept;      /* owned dict: what the names that matter had at first */

/*
 * keep_builtins(namespace, names): keep what these names, exact strings, have now, for
 * `replaced_builtin` to compare. Returns None, or NULL with an exception set.
 */
PyObject *
keep_builtins(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *dict, *names;
    if (!PyArg_ParseTuple(args, "O!O!:keep_builtins", &PyDict_Type, &dict, &PyTuple_Type, &names)) {
        return NULL;
    }
    PyObject *values = PyDict_New();
    for (Py_ssize_t i = 0; values != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject *value = PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(dict, name) : NULL;
        if (value == NULL && !PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "%R is no builtin", name);
        }
        if (value == NULL || PyDict_SetItem(values, name, value) < 0) {
            Py_CLEAR(values);
        }
    }
    if (values == NULL) {
        return NULL;
    }
    Py_XSETREF(namespace, Py_NewRef(dict));
    Py_XSETREF(kept, values);
    Py_RETURN_NONE;
}

/*
 * The name of a builtin that the program has replaced or removed, borrowed; NULL, without an
 * exception, where there is none. Runs no Python code: objects are compared by identity.
 */
PyObject *
replaced_builtin(void)
{
    PyObject *name, *value;
    for (Py_ssize_t i = 0; kept != NULL && PyDict_Next(kept, &i, &name, &value);) {
        PyObject *now = PyDict_GetItemWithError(namespace, name);
        if (now != value) {
            PyErr_Clear();
            return name;
        }
    }
    return NULL;
}

/* replaced_builtin() */
PyObject *
ask_replaced_builtin(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *name = replaced_builtin();
    return Py_NewRef(name == NULL ? Py_None : name);
}
