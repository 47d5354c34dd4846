#include "python/exceptions.h"

#include "python/state.h"

/* Take the exception that is set, with its traceback: a new reference, or NULL for none. */
PyObject *
take_exception(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL) {
        return NULL;
    }
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Set an exception that `take_exception` gave; steals it. NULL: clear what is set. */
void
raise_exception(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    if (exception == NULL) {
        PyErr_Clear();
        return;
    }
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exception)), exception,
                  PyException_GetTraceback(exception));
#endif
}

/*
 * Append `handled` to the __context__ chain of the exception that is set, as if that had been
 * raised while `handled` was being handled. Runs no Python code.
 */
void
add_context(PyObject *handled)
{
    PyObject *exception = take_exception();
    PyObject *last = exception;
    bool known = last == handled;
    for (PyObject *next; !known && (next = PyException_GetContext(last)) != NULL;) {
        Py_DECREF(next); /* `last` holds it */
        known = next == handled || next == exception;
        last = next;
    }
    if (!known) {
        PyException_SetContext(last, Py_NewRef(handled));
    }
    raise_exception(exception);
}

/*
 * Whether no frame of the program on this thread is handling an exception; frames of our own code
 * do not count. Runs no Python code.
 */
bool
nothing_is_handled(void)
{
    _PyErr_StackItem *item = ufuse_thread.handled_outside != NULL ? ufuse_thread.handled_outside
                                                                  : PyThreadState_Get()->exc_info;
    while (item != NULL && (item->exc_value == NULL || item->exc_value == Py_None)) {
        item = item->previous_item;
    }
    return item == NULL;
}
