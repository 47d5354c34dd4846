#include "run/bind.h"

#include <stdbool.h>

/* The parameters of a code object, in the order of their slots. */
typedef struct {
    Py_ssize_t positional; /* the positional-only ones included */
    Py_ssize_t positional_only;
    Py_ssize_t keyword_only;
    Py_ssize_t extra_positional; /* the slot of *args, or -1 */
    Py_ssize_t extra_keyword;    /* the slot of **kwargs, or -1 */
    PyObject *names;             /* borrowed tuple: the name of every slot */
} Parameters;

/* Read the parameters of a code object. */
static Parameters
parameters_of(PyCodeObject *code)
{
    Parameters found = {
        code->co_argcount,       code->co_posonlyargcount, code->co_kwonlyargcount, -1, -1,
        code->co_localsplusnames};
    Py_ssize_t next = found.positional + found.keyword_only;
    if (code->co_flags & CO_VARARGS) {
        found.extra_positional = next++;
    }
    if (code->co_flags & CO_VARKEYWORDS) {
        found.extra_keyword = next;
    }
    return found;
}

/*
 * The slot of the parameter called `name`, or -1 when none that can be given by keyword is. Runs no
 * Python code except where the name is an instance of a subclass of str.
 */
static Py_ssize_t
slot_of_keyword(const Parameters *parameters, PyObject *name)
{
    Py_ssize_t end = parameters->positional + parameters->keyword_only;
    for (Py_ssize_t i = parameters->positional_only; i < end; i++) {
        if (PyTuple_GET_ITEM(parameters->names, i) == name) {
            return i;
        }
    }
    for (Py_ssize_t i = parameters->positional_only; i < end; i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(parameters->names, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Bind keyword arguments. Returns 1, 0 when the call is an error, or -1 with an exception set. */
static int
bind_keywords(const Parameters *parameters, PyObject *const *values, PyObject *names,
              PyObject **slots)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (!PyUnicode_CheckExact(name)) {
            return 0; /* CPython decides what it means */
        }
        Py_ssize_t slot = slot_of_keyword(parameters, name);
        if (slot >= 0) {
            if (slots[slot] != NULL) {
                return 0;
            }
            slots[slot] = Py_NewRef(values[i]);
        }
        else if (parameters->extra_keyword < 0) {
            return 0;
        }
        else if (PyDict_SetItem(slots[parameters->extra_keyword], name, values[i]) < 0) {
            return -1;
        }
    }
    return 1;
}

/*
 * Fill what was not given from the defaults. Returns 1, 0 when something is missing, or -1 with an
 * exception set.
 */
static int
bind_defaults(PyFunctionObject *function, const Parameters *parameters, PyObject **slots)
{
    PyObject *defaults = function->func_defaults;
    Py_ssize_t n_defaults = defaults == NULL ? 0 : PyTuple_GET_SIZE(defaults);
    for (Py_ssize_t i = 0; i < parameters->positional; i++) {
        Py_ssize_t k = i - (parameters->positional - n_defaults);
        if (slots[i] == NULL) {
            if (k < 0) {
                return 0;
            }
            slots[i] = Py_NewRef(PyTuple_GET_ITEM(defaults, k));
        }
    }
    for (Py_ssize_t i = parameters->positional;
         i < parameters->positional + parameters->keyword_only; i++) {
        if (slots[i] == NULL) {
            if (function->func_kwdefaults == NULL) {
                return 0;
            }
            PyObject *value = PyDict_GetItemWithError(function->func_kwdefaults,
                                                      PyTuple_GET_ITEM(parameters->names, i));
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : 0;
            }
            slots[i] = Py_NewRef(value);
        }
    }
    return 1;
}

/*
 * Bind a call as CPython would. `slots` has room for every parameter and is all NULL; what is put
 * there is an owned reference, also when binding fails. Returns 1; 0 where CPython would raise
 * TypeError, and for names of subclasses of str: call the function then; or -1 with MemoryError.
 */
int
bind_arguments(PyFunctionObject *function, PyObject *const *args, Py_ssize_t n_args,
               PyObject *names, PyObject **slots)
{
    Parameters parameters = parameters_of((PyCodeObject *)function->func_code);
    Py_ssize_t taken = n_args < parameters.positional ? n_args : parameters.positional;
    for (Py_ssize_t i = 0; i < taken; i++) {
        slots[i] = Py_NewRef(args[i]);
    }
    if (parameters.extra_positional >= 0) {
        PyObject *rest = PyTuple_New(n_args - taken);
        if (rest == NULL) {
            return -1;
        }
        for (Py_ssize_t i = taken; i < n_args; i++) {
            PyTuple_SET_ITEM(rest, i - taken, Py_NewRef(args[i]));
        }
        slots[parameters.extra_positional] = rest;
    }
    else if (n_args > taken) {
        return 0;
    }
    if (parameters.extra_keyword >= 0 && (slots[parameters.extra_keyword] = PyDict_New()) == NULL) {
        return -1;
    }
    if (names != NULL) {
        int bound = bind_keywords(&parameters, args + n_args, names, slots);
        if (bound <= 0) {
            return bound;
        }
    }
    return bind_defaults(function, &parameters, slots);
}
