/* What launches need of CuPy and of the CUDA driver: no header of either is used. */
#ifndef UFUSE_DEVICE_H
#define UFUSE_DEVICE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ufuse_launch_numpy
#ifndef UFUSE_LAUNCH_IMPORTS_ARRAY
#    define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "device_layout.h"

/* One argument of a kernel by value, whatever its type. */
typedef union {
    _Alignas(16) unsigned char bytes[16];
    uint64_t word;
    int64_t wide;
    int32_t narrow;
} Cell;

/* A cell of whose bytes nothing is left to chance: cells are compared. */
static inline Cell
cell_of_word(uint64_t word)
{
    Cell cell = {.bytes = {0}};
    cell.word = word;
    return cell;
}

/* A kernel's compiled form, and the shape of its launch. */
typedef struct {
    void *function;
    unsigned blocks, threads;
} Grid;

/* Whether what Python gives is a tuple, as PyArg_ParseTuple expects; TypeError where not. */
static inline bool
is_tuple(PyObject *given)
{
    if (!PyTuple_Check(given)) {
        PyErr_Format(PyExc_TypeError, "no tuple: %R", given);
    }
    return PyTuple_Check(given);
}

enum { MOST_AXES_OF_VIEW = 8 };

typedef enum { VIEW_INDEXED, VIEW_TRANSPOSED, VIEW_RESHAPED, VIEW_OF_MEMORY } ViewKind;

/* What stands for an array where kernels alone read it: see views.c. */
typedef struct {
    PyObject_HEAD
    PyObject *base; /* an array, or a view, which keeps the memory and the dtype; or memory */
    PyObject *key;  /* what it is indexed with; the order of its axes; its shape; or the dtype */
    ViewKind kind;
    uintptr_t data;
    PyObject *dtype; /* borrowed */
    int ndim, device;
    Py_ssize_t shape[MOST_AXES_OF_VIEW], strides[MOST_AXES_OF_VIEW];
} View;

extern PyTypeObject *view_type;

enum { MOST_SPARE = 8 };

/* Memory that a call is done with: see spare.c. */
typedef struct {
    int count;
    double bytes, taken; /* that are there; that were taken again */
    PyObject *memory[MOST_SPARE];
    Py_ssize_t size[MOST_SPARE];
    uintptr_t data[MOST_SPARE];
} Spare;

/* layout.c: where the structs of arrays have what. */
bool is_device_array(PyObject *object);
bool view_of(PyObject *object, DeviceView *view);
int layout_use(PyObject *type, PyObject *offsets);
PyObject *layout_type(void);
uintptr_t address_in_memory(PyObject *memory);
PyObject *layout_view(PyObject *module, PyObject *object);

/* views.c: views without arrays of CuPy's. */
PyObject *new_view(PyObject *base, PyObject *key, ViewKind kind);
PyObject *new_result(bool for_kernels, int ndim, const Py_ssize_t *shape, PyObject *dtype,
                     int device, Spare *spare, uintptr_t *data);
bool spare_view(Spare *spare, PyObject *object);
int read_shape(PyObject *shape, Py_ssize_t *lengths);
bool lies_in_order(PyObject *object);
PyObject *as_array(PyObject *object);
int views_begin(void);

/* spare.c */
bool spare_put(Spare *spare, PyObject *memory, Py_ssize_t size, uintptr_t data);
PyObject *spare_take(Spare *spare, Py_ssize_t size, uintptr_t *data);
void spare_drop(Spare *spare);

/* functions.c: C functions of CuPy's and of the driver's. */
void *address_in(PyObject *functions, const char *name);
int functions_use(PyObject *capsules, PyObject *driver, PyObject *is_early, PyObject *failed,
                  PyObject *refusal);
int current_device(void);
int current_stream(int device, intptr_t *stream);
PyObject *new_array(int ndim, const Py_ssize_t *shape, PyObject *dtype, uintptr_t *data);
PyObject *new_memory(Py_ssize_t size, uintptr_t *data);
int ensure_context(int device);
int launch(const Grid *grid, void **arguments, int device, intptr_t stream);
void refuse(const char *reason);
bool is_refusal(void);
PyObject *functions_signatures(void);

#endif
