/* Records of launches, read from what Python gives: what is not as it has to be is an exception. */
#include "kernel/records.h"

enum { ALIGNMENT = 256 }; /* of each temporary: what CUDA gives an allocation at least */

void
record_release(Record *record)
{
    if (record == NULL || --record->references > 0) {
        return;
    }
    for (int i = 0; i < record->results; i++) {
        Py_XDECREF(record->result[i].dtype);
        PyMem_Free(record->result[i].shape);
    }
    for (int i = 0; i < record->launches; i++) {
        Py_XDECREF(record->launch[i].owner);
        PyMem_Free(record->launch[i].argument);
    }
    PyMem_Free(record->result);
    PyMem_Free(record->temporary);
    PyMem_Free(record->launch);
    PyMem_Free(record->key);
    PyMem_Free(record);
}

/* Zeroed memory for some of the items of a tuple, at least one; NULL with an exception. */
static void *
room_for(PyObject *items, size_t size)
{
    void *room = PyMem_Calloc((size_t)PyTuple_GET_SIZE(items) + 1, size);
    if (room == NULL) {
        PyErr_NoMemory();
    }
    return room;
}

/* How many bytes the results and temporaries of a record have. */
static double
bytes_of(const Record *record)
{
    double bytes = (double)record->size;
    for (int i = 0; i < record->results; i++) {
        double size = (double)PyDataType_ELSIZE((PyArray_Descr *)record->result[i].dtype);
        for (int axis = 0; axis < record->result[i].ndim; axis++) {
            size *= (double)record->result[i].shape[axis];
        }
        bytes += size;
    }
    return bytes;
}

/* ((shape, dtype), ...) */
static int
read_results(Record *record, PyObject *given)
{
    record->result = room_for(given, sizeof(RecordedResult));
    for (Py_ssize_t i = 0; record->result != NULL && i < PyTuple_GET_SIZE(given); i++) {
        PyObject *shape, *dtype;
        RecordedResult *result = &record->result[i];
        if (!is_tuple(PyTuple_GET_ITEM(given, i)) ||
            !PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "O!O!", &PyTuple_Type, &shape,
                              &PyArrayDescr_Type, &dtype)) {
            return -1;
        }
        result->shape = room_for(shape, sizeof(Py_ssize_t));
        if (result->shape == NULL) {
            return -1;
        }
        record->results++;
        result->dtype = Py_NewRef(dtype);
        result->ndim = (int)PyTuple_GET_SIZE(shape);
        for (int axis = 0; axis < result->ndim; axis++) {
            result->shape[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            if (result->shape[axis] == -1 && PyErr_Occurred()) {
                return -1;
            }
        }
    }
    return record->result == NULL ? -1 : 0;
}

/* (size, ...) */
static int
read_temporaries(Record *record, PyObject *given)
{
    record->temporary = room_for(given, sizeof(Py_ssize_t));
    for (Py_ssize_t i = 0; record->temporary != NULL && i < PyTuple_GET_SIZE(given); i++) {
        Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, i));
        if (size < 0 || size > PY_SSIZE_T_MAX - ALIGNMENT) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "no size: %zd", size);
            }
            return -1;
        }
        record->temporary[i] = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (__builtin_add_overflow(record->size, record->temporary[i], &record->size)) {
            PyErr_NoMemory();
            return -1;
        }
        record->temporaries++;
    }
    return record->temporary == NULL ? -1 : 0;
}

/* A place among `places`, or the bytes of a value. */
static int
read_argument(PyObject *given, int places, Argument *argument)
{
    if (PyBytes_CheckExact(given) && PyBytes_GET_SIZE(given) <= (Py_ssize_t)sizeof(Cell)) {
        argument->place = -1;
        memcpy(&argument->value, PyBytes_AS_STRING(given), (size_t)PyBytes_GET_SIZE(given));
        return 0;
    }
    long place = PyLong_CheckExact(given) ? PyLong_AsLong(given) : -1;
    if (place < 0 || place >= places) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "no argument of a launch: %R", given);
        return -1;
    }
    argument->place = (int)place;
    return 0;
}

/* ((owner, address, blocks, threads, (argument, ...)), ...) */
static int
read_launches(Record *record, PyObject *given, int places)
{
    record->launch = room_for(given, sizeof(RecordedLaunch));
    for (Py_ssize_t i = 0; record->launch != NULL && i < PyTuple_GET_SIZE(given); i++) {
        PyObject *owner, *address, *arguments;
        RecordedLaunch *launch = &record->launch[i];
        if (!is_tuple(PyTuple_GET_ITEM(given, i)) ||
            !PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "OO!IIO!", &owner, &PyLong_Type, &address,
                              &launch->grid.blocks, &launch->grid.threads, &PyTuple_Type,
                              &arguments)) {
            return -1;
        }
        launch->grid.function = PyLong_AsVoidPtr(address);
        launch->argument = room_for(arguments, sizeof(Argument));
        if (launch->argument == NULL || PyErr_Occurred()) {
            return -1;
        }
        record->launches++;
        launch->owner = Py_NewRef(owner);
        launch->arguments = (int)PyTuple_GET_SIZE(arguments);
        record->arguments += launch->arguments;
        for (int j = 0; j < launch->arguments; j++) {
            PyObject *argument = PyTuple_GET_ITEM(arguments, j);
            if (read_argument(argument, places, &launch->argument[j]) < 0) {
                return -1;
            }
        }
    }
    return record->launch == NULL ? -1 : 0;
}

/*
 * The record of (results, temporaries, launches, is_aligned=False) for a key; the caller owns its
 * one reference. NULL with an exception.
 */
Record *
record_of(PyObject *given, const Py_ssize_t *key, size_t words, int operands)
{
    PyObject *results, *temporaries, *launches;
    int is_aligned = 0;
    if (!is_tuple(given) ||
        !PyArg_ParseTuple(given, "O!O!O!|p;a record of three tuples", &PyTuple_Type, &results,
                          &PyTuple_Type, &temporaries, &PyTuple_Type, &launches, &is_aligned)) {
        return NULL;
    }
    Record *record = PyMem_Calloc(1, sizeof(Record));
    if (record == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    record->references = 1;
    record->is_aligned = is_aligned;
    record->key = PyMem_Calloc(words + 1, sizeof(*key));
    int places = operands + (int)PyTuple_GET_SIZE(results) + (int)PyTuple_GET_SIZE(temporaries);
    if (record->key == NULL) {
        PyErr_NoMemory();
    }
    if (record->key == NULL || read_results(record, results) < 0 ||
        read_temporaries(record, temporaries) < 0 || read_launches(record, launches, places) < 0) {
        record_release(record);
        return NULL;
    }
    memcpy(record->key, key, words * sizeof(*key));
    record->bytes = bytes_of(record);
    record->words = words;
    return record;
}
