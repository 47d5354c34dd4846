/* The module `ufuse.frame_hook._hook`: see docs/design/0001-frames-and-continuations.md. */
#include <Python.h>

#include "values/arrays.h"
#include "values/builtin_types.h"
#include "values/builtins.h"
#include "python/code_extra.h"
#include "python/collector.h"
#include "values/device_arrays.h"
#include "values/dict_watchers.h"
#include "python/exceptions.h"
#include "values/finalizers.h"
#include "python/frames.h"
#include "values/iterators.h"
#include "values/ranges.h"
#include "values/remembered.h"
#include "values/storage.h"
#include "run/cache.h"
#include "run/dispatcher.h"
#include "run/entry.h"
#include "run/hook.h"
#include "run/measure.h"
#include "run/region.h"
#include "run/session.h"
#include "run/transfers.h"

/* set_eager(flag) */
static PyObject *
set_eager(PyObject *Py_UNUSED(module), PyObject *flag)
{
    int truth = PyObject_IsTrue(flag);
    if (truth < 0) {
        return NULL;
    }
    ufuse_always_eager = truth;
    Py_RETURN_NONE;
}

/* enter_eager() */
static PyObject *
enter_eager(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    ufuse_thread.eager++;
    Py_RETURN_NONE;
}

/* leave_eager() */
static PyObject *
leave_eager(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (ufuse_thread.eager == 0) {
        PyErr_SetString(PyExc_RuntimeError, "leave_eager() without enter_eager() on this thread");
        return NULL;
    }
    ufuse_thread.eager--;
    Py_RETURN_NONE;
}

/* runs_eagerly() */
static PyObject *
ask_runs_eagerly(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(runs_eagerly());
}

/* set_ambient(session) */
static PyObject *
give_ambient(PyObject *Py_UNUSED(module), PyObject *session)
{
    set_ambient(Py_IsNone(session) ? NULL : session);
    Py_RETURN_NONE;
}

/* lines_are_traced(code) */
static PyObject *
ask_lines_are_traced(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "lines_are_traced() takes a code object, not %.100s",
                            Py_TYPE(code)->tp_name);
    }
    return PyBool_FromLong(lines_are_traced(PyThreadState_Get(), code));
}

/* hook_installed() */
static PyObject *
hook_installed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(hook_is_installed());
}

/* nothing_is_handled() */
static PyObject *
ask_nothing_is_handled(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(nothing_is_handled());
}

/* has_no_finalizer(object) */
static PyObject *
ask_has_no_finalizer(PyObject *Py_UNUSED(module), PyObject *object)
{
    return PyBool_FromLong(has_no_finalizer(object));
}

/* die_unnoticed(type) */
static PyObject *
let_die_unnoticed(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type)) {
        return PyErr_Format(PyExc_TypeError, "die_unnoticed() takes a class, not %.100s",
                            Py_TYPE(type)->tp_name);
    }
    die_unnoticed((PyTypeObject *)type);
    Py_RETURN_NONE;
}

/* is_dict_of(dict, object) */
static PyObject *
is_dict_of(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *dict, *object;
    if (!PyArg_ParseTuple(args, "OO:is_dict_of", &dict, &object)) {
        return NULL;
    }
    return PyBool_FromLong(dict_of_instance(object) == dict);
}

/* share_dict(object, object) */
static PyObject *
ask_share_dict(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *one, *other;
    if (!PyArg_ParseTuple(args, "OO:share_dict", &one, &other)) {
        return NULL;
    }
    return PyBool_FromLong(share_dict(one, other));
}

/* own_value(object, name) */
static PyObject *
ask_own_value(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *name, *value;
    if (!PyArg_ParseTuple(args, "OU:own_value", &object, &name)) {
        return NULL;
    }
    AttributePlace known = {0};
    switch (find_own(object, name, &known, &value)) {
    case FIND_FOUND:
        return Py_NewRef(value);
    case FIND_ABSENT:
        return Py_NewRef(NULL_OBJECT);
    default:
        PyErr_SetString(PyExc_LookupError, "only code of the program's could tell");
        return NULL;
    }
}

/* remembered(wrapper, key) */
static PyObject *
ask_remembered(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *wrapper, *key;
    if (!PyArg_ParseTuple(args, "OO:remembered", &wrapper, &key)) {
        return NULL;
    }
    PyObject *entry = remembered_entry(wrapper, key);
    return entry == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : entry;
}

/* iterated(iterator) */
static PyObject *
ask_iterated(PyObject *Py_UNUSED(module), PyObject *iterator)
{
    PyObject *over = iterated(iterator);
    return Py_NewRef(over == NULL ? NULL_OBJECT : over);
}

/* grid_turns(iterator) */
static PyObject *
ask_grid_turns(PyObject *Py_UNUSED(module), PyObject *iterator)
{
    int64_t left, all;
    if (!grid_turns(iterator, &left, &all)) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("LL", (long long)left, (long long)all);
}

/* attribute_value(object, name) */
static PyObject *
ask_attribute_value(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *name;
    if (!PyArg_ParseTuple(args, "OU:attribute_value", &object, &name)) {
        return NULL;
    }
    AttributePlace known = {0};
    PyObject *value = attribute_value(object, name, &known);
    return value == NULL ? Py_NewRef(NULL_OBJECT) : value;
}

/* has_only_str_keys(type) */
static PyObject *
ask_brings_array(PyObject *Py_UNUSED(module), PyObject *value)
{
    return PyBool_FromLong(brings_array(value));
}

static PyObject *
ask_has_only_str_keys(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "has_only_str_keys() takes a class");
        return NULL;
    }
    return PyBool_FromLong(class_has_only_str_keys(type));
}

static PyObject *
program_nanoseconds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLongLong(ufuse_thread.session_began - ufuse_thread.session_ns);
}

static PyMethodDef module_methods[] = {
    {"set_eager", set_eager, METH_O,
     "Have every dispatcher of the process call its function as it is, or no longer."},
    {"enter_eager", enter_eager, METH_NOARGS,
     "Have this thread's dispatchers call their functions as they are until leave_eager(); nests."},
    {"leave_eager", leave_eager, METH_NOARGS,
     "End what the last enter_eager() of this thread began."},
    {"runs_eagerly", ask_runs_eagerly, METH_NOARGS,
     "Whether dispatchers of this thread, or of every one, call their functions as they are."},
    {"set_ambient", give_ambient, METH_O,
     "Give a session the frames of what this thread calls outside of dispatchers, as a "
     "dispatcher's is given those of its callees; None: no longer."},
    {"lines_are_traced", ask_lines_are_traced, METH_O,
     "Whether a trace function or monitoring tool is to see the lines of a code object's frames."},
    {"keep_builtins", keep_builtins, METH_VARARGS,
     "Have replaced_builtin() notice when one of these names of a dict is no longer what it is."},
    {"replaced_builtin", ask_replaced_builtin, METH_NOARGS,
     "The name of a builtin that the program has replaced, or None."},
    {"hook_installed", hook_installed, METH_NOARGS,
     "Whether the eval-frame hook evaluates frames now."},
    {"nothing_is_handled", ask_nothing_is_handled, METH_NOARGS,
     "Whether the program handles no exception where it has called, or been traced."},
    {"die_unnoticed", let_die_unnoticed, METH_O,
     "Have the finalizers of instances of a class, not of its subclasses, count for nothing."},
    {"has_no_finalizer", ask_has_no_finalizer, METH_O,
     "Whether no finalizer or weakref callback runs when an object, and what it owns, dies."},
    {"is_dict_of", is_dict_of, METH_VARARGS,
     "Whether a dict is where an object has its attributes."},
    {"share_dict", ask_share_dict, METH_VARARGS,
     "share_dict(one, other): whether both have their attributes in one dict."},
    {"own_value", ask_own_value, METH_VARARGS,
     "What an object has itself under a name, in its slot or dict; NULL if nothing. Makes no "
     "dict."},
    {"remembered", ask_remembered, METH_VARARGS,
     "The key, its hash and the result that an lru_cache has for a key of literals and classes, or "
     "None."},
    {"attribute_value", ask_attribute_value, METH_VARARGS,
     "What LOAD_ATTR gives; NULL where there is nothing, or Python code would run."},
    {"iterated", ask_iterated, METH_O,
     "What a sequence's iterator, an enumerate, a zip, a product or a flatiter goes over; NULL: it "
     "has ended, or is none."},
    {"grid_turns", ask_grid_turns, METH_O,
     "How many turns a product or a flatiter has left, and in all; None: it has ended, or is "
     "neither."},
    {"set_device_layout", set_device_layout, METH_VARARGS,
     "Have arrays of a class be read on a device: where its struct has the vectors of shape and "
     "strides, dtype and memory, and the struct of that its address and the device's number."},
    {"device_array", device_array, METH_O,
     "The axes (length and stride), dtype, address and device of an array on a device; or None."},
    {"brings_array", ask_brings_array, METH_O,
     "Whether an object is an array, or a tuple or list with one among its first items."},
    {"has_only_str_keys", ask_has_only_str_keys, METH_O,
     "Whether all keys of a class's own dict are strings, so that looking one up runs no code."},
    {"shared_session", (PyCFunction)(void (*)(void))shared_session, METH_FASTCALL,
     "The session of functions with this one's code, globals and builtins, and equal options."},
    {"saved_nanoseconds", saved_nanoseconds, METH_NOARGS,
     "saved_nanoseconds(): how much longer calls would have taken plain Python so far, as trials "
     "found; calls inside of calls count, too."},
    {"program_nanoseconds", program_nanoseconds, METH_NOARGS,
     "program_nanoseconds(): the processor time of this thread until a session was asked what it\n"
     "now answers, without that of all questions before."},
    {"passed_frames", passed_frames, METH_NOARGS,
     "How many generators, bodies and refused functions passed a session that wants every frame."},
    {"enable_vectorcall", enable_vectorcall, METH_O,
     "Give a subclass of Dispatcher its base's fast call; returns it."},
    {0},
};

/* Fill the module. Returns 0, or -1 with an exception set. */
static int
execute_module(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "ufuse can only be used in the main interpreter");
        return -1;
    }
    if (import_numpy() < 0 || builtin_types_ready() < 0 || iterators_ready() < 0 ||
        storage_ready() < 0 || remembered_ready() < 0 || frames_ready() < 0 ||
        code_extra_ready() < 0 || collector_ready() < 0 || ranges_ready() < 0 ||
        session_ready() < 0 || FrameState_Ready() < 0 || Entry_Ready() < 0 ||
        CodeCache_Ready() < 0 || Dispatcher_Ready() < 0) {
        return -1;
    }
    watch_ready();
    hook_ready();
    if (PyModule_AddType(module, &Entry_Type) < 0 ||
        PyModule_AddType(module, &CodeCache_Type) < 0 ||
        PyModule_AddType(module, &Dispatcher_Type) < 0 ||
        PyModule_AddType(module, &FrameState_Type) < 0 ||
        PyModule_AddType(module, &Null_Type) < 0 ||
        PyModule_AddObjectRef(module, "NULL", NULL_OBJECT) < 0 || export_transfers(module) < 0) {
        return -1;
    }
    return export_guard_kinds(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute_module},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ufuse.frame_hook._hook",
    .m_doc = "How frames are run: entries, caches, dispatchers, the eval-frame hook.",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

/* What Python calls to import the module. */
PyMODINIT_FUNC
PyInit__hook(void)
{
    return PyModuleDef_Init(&module_definition);
}
