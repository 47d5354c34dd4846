#include "guards/references.h"

#include "values/storage.h"

/*
 * Refer to an object, weakly where it allows that. Returns 0, or -1 with MemoryError set and no
 * reference.
 */
int
refer_to(PyObject *object, Reference *reference)
{
    reference->object = PyWeakref_NewRef(object, NULL);
    reference->weak = reference->object != NULL;
    if (reference->weak) {
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Clear();
    reference->object = Py_NewRef(object);
    return 0;
}

/* Whether an object is a function or class such as the program defines, and drops, in a call. */
bool
is_definition(PyObject *object)
{
    return PyFunction_Check(object) ||
           (PyType_Check(object) && PyType_HasFeature((PyTypeObject *)object, Py_TPFLAGS_HEAPTYPE));
}

/* ---- functions ---- */

struct FunctionParts {
    Reference code;
    PyObject *names; /* owned tuple of the keyword defaults' names */
    Py_ssize_t n_defaults;
    Py_ssize_t n_values; /* of positional parameters first, then of keywords */
    Reference values[1];
};

/* Free the parts and drop their references. Accepts NULL. */
void
free_function_parts(FunctionParts *parts)
{
    if (parts == NULL) {
        return;
    }
    for (Py_ssize_t i = 0; i < parts->n_values; i++) {
        Py_CLEAR(parts->values[i].object);
    }
    Py_CLEAR(parts->code.object);
    Py_CLEAR(parts->names);
    PyMem_Free(parts);
}

/*
 * Refer to the defaults. Returns 0, or -1 with an exception set; references made so far are freed
 * with the parts.
 */
static int
refer_to_defaults(FunctionParts *parts, PyObject *defaults, PyObject *keyword_defaults)
{
    for (Py_ssize_t i = 0; i < parts->n_values; i++) {
        Py_ssize_t keyword = i - parts->n_defaults;
        PyObject *value;
        if (keyword < 0) {
            value = PyTuple_GET_ITEM(defaults, i);
        }
        else if (find_in_dict(keyword_defaults, PyTuple_GET_ITEM(parts->names, keyword), &value) !=
                 FIND_FOUND) {
            PyErr_SetString(PyExc_TypeError, "the names of keyword defaults are plain strings");
            return -1;
        }
        if (refer_to(value, &parts->values[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The names of keyword defaults as a new tuple, or NULL with an exception set. */
static PyObject *
names_of(PyObject *keyword_defaults)
{
    PyObject *names =
        keyword_defaults == Py_None ? PyTuple_New(0) : PySequence_Tuple(keyword_defaults);
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i))) {
            PyErr_SetString(PyExc_TypeError, "the names of keyword defaults are plain strings");
            Py_CLEAR(names);
        }
    }
    return names;
}

/* `_PyFunction_Vectorcall`: what functions have whose vectorcall nobody replaced; NULL: not known.
 */
static vectorcallfunc default_vectorcall;

/* Take it from a new function of this code. Returns 0, or -1 with an exception set. */
static int
find_default_vectorcall(PyObject *code)
{
    PyObject *globals = PyDict_New();
    PyObject *function = globals == NULL ? NULL : PyFunction_New(code, globals);
    if (function != NULL) {
        default_vectorcall = ((PyFunctionObject *)function)->vectorcall;
    }
    Py_XDECREF(globals);
    Py_XDECREF(function);
    return function == NULL ? -1 : 0;
}

/*
 * The parts that a function now has: code, a tuple or None, an exact dict or None, all borrowed.
 * Returns new parts (`free_function_parts` them), or NULL with an exception set.
 */
FunctionParts *
function_parts(PyObject *code, PyObject *defaults, PyObject *keyword_defaults)
{
    if (default_vectorcall == NULL && find_default_vectorcall(code) < 0) {
        return NULL;
    }
    if (!(defaults == Py_None || PyTuple_CheckExact(defaults)) ||
        !(keyword_defaults == Py_None || PyDict_CheckExact(keyword_defaults))) {
        PyErr_Format(PyExc_TypeError, "%R and %R are no defaults", defaults, keyword_defaults);
        return NULL;
    }
    PyObject *names = names_of(keyword_defaults);
    if (names == NULL) {
        return NULL;
    }
    Py_ssize_t n_defaults = defaults == Py_None ? 0 : PyTuple_GET_SIZE(defaults);
    Py_ssize_t n_values = n_defaults + PyTuple_GET_SIZE(names);
    FunctionParts *parts =
        PyMem_Calloc(1, sizeof(FunctionParts) + (size_t)n_values * sizeof(Reference));
    if (parts == NULL) {
        Py_DECREF(names);
        PyErr_NoMemory();
        return NULL;
    }
    parts->names = names;
    parts->n_defaults = n_defaults;
    parts->n_values = n_values;
    if (refer_to(code, &parts->code) < 0 ||
        refer_to_defaults(parts, defaults, keyword_defaults) < 0) {
        free_function_parts(parts);
        return NULL;
    }
    return parts;
}

/* Visit the objects the parts own, for the garbage collector. */
int
traverse_function_parts(FunctionParts *parts, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; parts != NULL && i < parts->n_values; i++) {
        Py_VISIT(parts->values[i].object);
    }
    return 0;
}

/*
 * Whether an object is an exact function with this code, called as usual, and with the same objects
 * as defaults; they may be in another tuple or dict.
 */
bool
function_has_parts(PyObject *object, const FunctionParts *parts)
{
    PyFunctionObject *function = (PyFunctionObject *)object;
    if (!Py_IS_TYPE(object, &PyFunction_Type) || function->func_code != referent(&parts->code) ||
        function->vectorcall != default_vectorcall) {
        return false;
    }
    PyObject *defaults = function->func_defaults;
    PyObject *keyword_defaults = function->func_kwdefaults;
    Py_ssize_t n_keywords = parts->n_values - parts->n_defaults;
    if ((defaults == NULL ? 0 : PyTuple_GET_SIZE(defaults)) != parts->n_defaults ||
        (keyword_defaults == NULL ? 0 : PyDict_GET_SIZE(keyword_defaults)) != n_keywords) {
        return false;
    }
    for (Py_ssize_t i = 0; i < parts->n_values; i++) {
        PyObject *value;
        if (i < parts->n_defaults) {
            value = PyTuple_GET_ITEM(defaults, i);
        }
        else {
            PyObject *name = PyTuple_GET_ITEM(parts->names, i - parts->n_defaults);
            (void)find_in_dict(keyword_defaults, name, &value);
        }
        if (value == NULL || value != referent(&parts->values[i])) {
            return false;
        }
    }
    return true;
}

/* Whether no function can ever have these parts again. */
bool
function_parts_are_dead(const FunctionParts *parts)
{
    bool dead = referent(&parts->code) == NULL;
    for (Py_ssize_t i = 0; !dead && i < parts->n_values; i++) {
        dead = referent(&parts->values[i]) == NULL;
    }
    return dead;
}
