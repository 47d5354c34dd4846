#include "values/attributes.h"

#include <stdbool.h>

/*
 * Laws: 1. what a function has by its type (`__name__`, `__defaults__`, `__code__`, `__dict__`) is
 * the function's; 2. what the program gave the function comes before what the object's class has,
 * but for names in double underscores; 3. what is set is set on the function, but for data
 * descriptors in double underscores.
 */

static bool
is_special(PyObject *name)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(name);
    return length > 4 && PyUnicode_READ_CHAR(name, 0) == '_' &&
           PyUnicode_READ_CHAR(name, 1) == '_' && PyUnicode_READ_CHAR(name, length - 1) == '_' &&
           PyUnicode_READ_CHAR(name, length - 2) == '_';
}

/* What a class has under a name, borrowed, where that is a data descriptor; else NULL. */
static PyObject *
data_descriptor(PyTypeObject *type, PyObject *name)
{
    PyObject *found = _PyType_Lookup(type, name);
    return found != NULL && Py_TYPE(found)->tp_descr_set != NULL ? found : NULL;
}

/* Whether functions have such an attribute by their own type. */
static bool
is_of_functions(PyObject *name)
{
    PyObject *found = data_descriptor(&PyFunction_Type, name);
    return found != NULL && found != _PyType_Lookup(&PyBaseObject_Type, name);
}

/*
 * `object.name`, where the object stands for a function. `name` is a str. Returns a new reference,
 * or NULL with an exception set: the one that the function would raise.
 */
PyObject *
attribute_beside(PyObject *object, PyObject *function, PyObject *name)
{
    if (is_of_functions(name)) {
        return PyObject_GetAttr(function, name);
    }
    PyObject *given = ((PyFunctionObject *)function)->func_dict;
    if (given != NULL && !is_special(name)) {
        PyObject *value = PyDict_GetItemWithError(given, name);
        if (value != NULL || PyErr_Occurred()) {
            return Py_XNewRef(value);
        }
    }
    bool is_ours = _PyType_Lookup(Py_TYPE(object), name) != NULL;
    return is_ours ? PyObject_GenericGetAttr(object, name) : PyObject_GetAttr(function, name);
}

/*
 * `object.name = value`, where the object stands for a function; NULL deletes it. `name` is a str.
 * Returns 0, or -1 with an exception set.
 */
int
set_attribute_beside(PyObject *object, PyObject *function, PyObject *name, PyObject *value)
{
    bool is_ours = is_special(name) && !is_of_functions(name) &&
                   data_descriptor(Py_TYPE(object), name) != NULL;
    return is_ours ? PyObject_GenericSetAttr(object, name, value)
                   : PyObject_SetAttr(function, name, value);
}
