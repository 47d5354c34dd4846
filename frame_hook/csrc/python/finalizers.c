#include "python/finalizers.h"

#include "python/arrays.h"
#include "python/storage.h"

enum { MOST_VISITS = 1000, MOST_HOLDERS = 64 };

/* What is known while looking through all that an object keeps alive. */
typedef struct {
    int visits;
    int n_holders;
    PyObject *holders[MOST_HOLDERS]; /* borrowed: gone through already */
} Search;

static int visit(PyObject *object, void *search);

/* Whether objects of a type have nothing in them, or outlive every call. */
static inline bool
is_leaf(PyTypeObject *type)
{
    return type == &PyFloat_Type || type == &PyLong_Type || type == &PyUnicode_Type ||
           type == Py_TYPE(Py_None) || type == &PyBool_Type || type == &PyBytes_Type ||
           type == &PyComplex_Type || type == &PyModule_Type || type == &PyCode_Type ||
           PyType_FastSubclass(type, Py_TPFLAGS_TYPE_SUBCLASS);
}

/* Whether some weak reference to an object has a callback. */
static bool
is_watched(PyObject *object)
{
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) {
        return false;
    }
    PyWeakReference *reference = (PyWeakReference *)*PyObject_GET_WEAKREFS_LISTPTR(object);
    while (reference != NULL && reference->wr_callback == NULL) {
        reference = reference->wr_next;
    }
    return reference != NULL;
}

/* Go through what only a function itself keeps alive: its module is not among it. */
static int
visit_function(PyFunctionObject *function, Search *search)
{
    PyObject *parts[] = {function->func_closure, function->func_defaults, function->func_kwdefaults,
                         function->func_dict};
    int found = 0;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(parts) && !found; i++) {
        found = parts[i] == NULL ? 0 : visit(parts[i], search);
    }
    return found;
}

/* Go through what a collected object holds, once. */
static int
visit_holder(PyObject *object, Search *search)
{
    for (int i = 0; i < search->n_holders; i++) {
        if (search->holders[i] == object) {
            return 0;
        }
    }
    if (search->n_holders == MOST_HOLDERS) {
        return 1;
    }
    search->holders[search->n_holders++] = object;
    if (PyFunction_Check(object)) {
        return visit_function((PyFunctionObject *)object, search);
    }
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse == NULL ? 0 : traverse(object, visit, search);
}

/* 1 where the death of `object`, or of something it holds, may run code; too many things may. */
static int
visit(PyObject *object, void *data)
{
    Search *search = data;
    PyTypeObject *type = Py_TYPE(object);
    if (search->visits++ == MOST_VISITS) {
        return 1;
    }
    if (is_leaf(type)) {
        return 0;
    }
    if (type->tp_finalize != NULL || type->tp_del != NULL || is_watched(object)) {
        return 1;
    }
    if (PyArray_Check(object)) {
        PyObject *base = PyArray_BASE((PyArrayObject *)object);
        if (PyArray_HASFIELDS((PyArrayObject *)object) ||
            PyArray_TYPE((PyArrayObject *)object) == NPY_OBJECT ||
            (base != NULL && visit(base, search))) {
            return 1;
        }
    }
    return PyObject_IS_GC(object) ? visit_holder(object, search) : 0;
}

/*
 * Whether nobody can notice when `object` dies. Says no where it would take long to tell, and where
 * only other references keep what it holds alive. Runs no Python code.
 */
bool
has_no_finalizer(PyObject *object)
{
    Search search;
    search.visits = search.n_holders = 0;
    return visit(object, &search) == 0;
}

/*
 * The same for what an object has of its own under a name, in its dict or a slot; nothing is quiet.
 */
bool
attribute_has_no_finalizer(PyObject *object, PyObject *name)
{
    PyObject *value;
    Finding finding = find_own(object, name, &value);
    return finding == FIND_ABSENT || (finding == FIND_FOUND && has_no_finalizer(value));
}
