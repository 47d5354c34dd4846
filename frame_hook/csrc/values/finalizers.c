#include "values/finalizers.h"

#include "values/arrays.h"

enum { MOST_VISITS = 1000, MOST_CONTAINERS = 64, MOST_UNNOTICED = 8 };

/* Types whose finalizers only give back what nobody sees; owned, and never forgotten. */
static PyTypeObject *unnoticed[MOST_UNNOTICED];
static int n_unnoticed;

/* A walk through all that an object keeps alive. */
typedef struct {
    int visits;
    int n_seen;
    PyObject *seen[MOST_CONTAINERS]; /* borrowed: containers that were walked already */
} Search;

static int visit(PyObject *object, void *search);

/* Whether objects of a type contain nothing, or (modules, code, classes) outlive every call. */
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
has_weakref_callback(PyObject *object)
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

/* Whether the finalizer of objects of a type counts. */
static bool
is_noticed(PyTypeObject *type)
{
    for (int i = 0; i < n_unnoticed; i++) {
        if (unnoticed[i] == type) {
            return false;
        }
    }
    return type->tp_finalize != NULL || type->tp_del != NULL;
}

/*
 * Have finalizers of a type, not of its subclasses, count for nothing: they run no code of the
 * program's. Beyond a few types nothing changes.
 */
void
die_unnoticed(PyTypeObject *type)
{
    if (n_unnoticed < MOST_UNNOTICED && is_noticed(type)) {
        unnoticed[n_unnoticed++] = (PyTypeObject *)Py_NewRef(type);
    }
}

/* Walk what a function keeps alive, except its globals. Returns as `visit`. */
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

/* Walk what a container holds, once. Returns as `visit`. */
static int
visit_container(PyObject *object, Search *search)
{
    for (int i = 0; i < search->n_seen; i++) {
        if (search->seen[i] == object) {
            return 0;
        }
    }
    if (search->n_seen == MOST_CONTAINERS) {
        return 1;
    }
    search->seen[search->n_seen++] = object;
    if (PyFunction_Check(object)) {
        return visit_function((PyFunctionObject *)object, search);
    }
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse == NULL ? 0 : traverse(object, visit, search);
}

/*
 * A `visitproc`: 1 where `object`, or something it holds, may have a finalizer, or where the walk
 * takes too long; else 0. Runs no Python code.
 */
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
    if (is_noticed(type) || has_weakref_callback(object)) {
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
    return PyObject_IS_GC(object) ? visit_container(object, search) : 0;
}

/* Whether an object is an array of numbers that owns its memory, without weak references to it. */
static inline bool
is_simple_array(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return is_array(object) && PyArray_BASE(array) == NULL &&
           PyTypeNum_ISNUMBER(PyArray_TYPE(array)) &&
           ((PyArrayObject_fields *)object)->weakreflist == NULL;
}

/*
 * Whether no Python code runs when `object` dies. False also where that takes long to tell, and
 * where what has a finalizer would be kept alive by others. Runs no Python code.
 */
bool
has_no_finalizer(PyObject *object)
{
    if (is_simple_array(object) || is_leaf(Py_TYPE(object))) {
        return true;
    }
    Search search;
    search.visits = search.n_seen = 0;
    return visit(object, &search) == 0;
}

/*
 * The same for an attribute in the object's dict or slot; true where there is none. `known`: as in
 * `find_own`.
 */
bool
attribute_has_no_finalizer(PyObject *object, PyObject *name, AttributePlace *known)
{
    PyObject *value;
    Finding finding = find_own(object, name, known, &value);
    return finding == FIND_ABSENT || (finding == FIND_FOUND && has_no_finalizer(value));
}
