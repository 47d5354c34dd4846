/* C functions of CuPy's, compared by signature, and those of the driver's that launch a kernel. */
#include "device/device.h"

enum { DEVICES = 64 }; /* whose contexts are remembered */

/* The types of CuPy's functions; PyObject stands for its classes. */
typedef PyObject *(*Alloc)(PyObject *size, int skip_dispatch);
typedef PyObject *(*NewArray)(PyObject *type, const Vector *shape, PyObject *dtype, PyObject *like);
typedef int (*GetDevice)(int skip_dispatch);
typedef intptr_t (*GetStream)(void);
typedef intptr_t (*GetStreamOf)(int device);
typedef PyObject *(*EnsureContext)(void);
typedef int (*Launch)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned shared, void *stream, void **arguments, void **extra);

/* CUlaunchAttribute, of the kind whose value is a number. */
typedef struct {
    int kind;
    _Alignas(8) int value;
    char rest[60];
} LaunchAttribute;

/* CUlaunchConfig. */
typedef struct {
    unsigned blocks[3], threads[3], shared;
    void *stream;
    const LaunchAttribute *attributes;
    unsigned count;
} LaunchConfig;

_Static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56, "as the driver's are");

enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6, NOT_SUPPORTED = 801 };

typedef int (*LaunchConfigured)(const LaunchConfig *config, void *function, void **arguments,
                                void **extra);

static struct {
    Alloc alloc;
    NewArray new_array;
    GetDevice get_device;
    GetStream get_stream;
    GetStreamOf get_stream_of; /* or NULL: CuPy 13 has none */
    EnsureContext ensure_context;
    Launch launch;
    LaunchConfigured launch_configured; /* NULL: the driver has none */
    PyObject *early;   /* whether kernels of a device's wait by themselves for those before them */
    PyObject *failed;  /* called with the driver's status, raises */
    PyObject *refusal; /* the exception of what is left to plain Python */
} functions;

#define MEMORY_POINTER "struct __pyx_obj_4cupy_4cuda_6memory_MemoryPointer *"
#define NDARRAY "struct __pyx_obj_4cupy_5_core_4core__ndarray_base *"
#define SHAPE "__pyx_t_4cupy_5_core_7_carray_shape_t const &"

/* CuPy names the capsule of a function by its signature: another name is another function. */
static const struct {
    const char *name, *signature;
    void **place;
    bool is_optional;
} table[] = {
    {"alloc", MEMORY_POINTER "(PyObject *, int __pyx_skip_dispatch)", (void **)&functions.alloc},
    {"_ndarray_init", NDARRAY "(PyObject *, " SHAPE ", PyObject *, PyObject *)",
     (void **)&functions.new_array},
    {"getDevice", "int (int __pyx_skip_dispatch)", (void **)&functions.get_device},
    {"get_current_stream_ptr", "intptr_t (void)", (void **)&functions.get_stream},
    {"get_stream_ptr", "intptr_t (int)", (void **)&functions.get_stream_of, .is_optional = true},
    {"_ensure_context", "PyObject *(void)", (void **)&functions.ensure_context},
};

/* The devices whose context CuPy has made current on this thread. */
static _Thread_local uint64_t ensured;

/* The devices that have been asked about, and those whose kernels may be launched early. */
static uint64_t asked, early;

static void *
function_in(PyObject *capsules, const char *name, const char *signature)
{
    PyObject *capsule = PyDict_GetItemString(capsules, name); /* borrowed */
    const char *found =
        capsule != NULL && PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL;
    if (found == NULL || strcmp(found, signature) != 0) {
        PyErr_Format(PyExc_LookupError, "%s is not `%s` in this version of CuPy: it is `%s`", name,
                     signature, found == NULL ? "not there" : found);
        return NULL;
    }
    return PyCapsule_GetPointer(capsule, found);
}

/* An address in a dictionary; NULL where it has none, or with an exception. */
void *
address_in(PyObject *functions, const char *name)
{
    PyObject *number = PyDict_GetItemString(functions, name); /* borrowed */
    return number == NULL ? NULL : PyLong_AsVoidPtr(number);
}

/*
 * Take CuPy's functions from a dictionary of capsules, the driver's from one of addresses, what
 * says of a device whether its kernels may be launched early, what is called with the driver's
 * errors, and the exception of refusals. LookupError where a function has another signature; then
 * nothing is changed.
 */
int
functions_use(PyObject *capsules, PyObject *driver, PyObject *is_early, PyObject *failed,
              PyObject *refusal)
{
    void *found[Py_ARRAY_LENGTH(table)];
    for (size_t i = 0; i < Py_ARRAY_LENGTH(table); i++) {
        found[i] = function_in(capsules, table[i].name, table[i].signature);
        if (found[i] == NULL) {
            if (!table[i].is_optional) {
                return -1;
            }
            PyErr_Clear();
        }
    }
    void *address = address_in(driver, "cuLaunchKernel");
    void *configured = PyErr_Occurred() ? NULL : address_in(driver, "cuLaunchKernelEx");
    if (address == NULL || PyErr_Occurred()) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_LookupError, "the driver has no cuLaunchKernel");
        }
        return -1;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(table); i++) {
        *table[i].place = found[i];
    }
    functions.launch = (Launch)(uintptr_t)address;
    functions.launch_configured = (LaunchConfigured)(uintptr_t)configured;
    Py_XSETREF(functions.early, Py_NewRef(is_early));
    asked = 0;
    Py_XSETREF(functions.failed, Py_NewRef(failed));
    Py_XSETREF(functions.refusal, Py_NewRef(refusal));
    ensured = 0;
    return 0;
}

/* The names of the functions that are needed, with their signatures. */
PyObject *
functions_signatures(void)
{
    PyObject *names = PyDict_New();
    for (size_t i = 0; names != NULL && i < Py_ARRAY_LENGTH(table); i++) {
        PyObject *signature = PyUnicode_FromString(table[i].signature);
        if (signature == NULL || PyDict_SetItemString(names, table[i].name, signature) < 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(signature);
    }
    return names;
}

/* Raise the exception of what is left to plain Python, if no other is set. */
void
refuse(const char *reason)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(functions.refusal == NULL ? PyExc_RuntimeError : functions.refusal, reason);
    }
}

/* Whether the exception that is set is that of a refusal. */
bool
is_refusal(void)
{
    return functions.refusal != NULL && PyErr_ExceptionMatches(functions.refusal);
}

/* The number of this thread's current device; -1 with an exception. */
int
current_device(void)
{
    if (functions.get_device == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "no device is in use");
        return -1;
    }
    int device = functions.get_device(0);
    return device == -1 && PyErr_Occurred() ? -1 : device;
}

/* The stream that CuPy's own kernels would be launched on by this thread, whose device this is. */
int
current_stream(int device, intptr_t *stream)
{
    *stream =
        functions.get_stream_of != NULL ? functions.get_stream_of(device) : functions.get_stream();
    return *stream == -1 && PyErr_Occurred() ? -1 : 0;
}

/*
 * What CuPy is asked for an array of a dtype by, borrowed: of NumPy's own the class of its scalars,
 * by which it finds them in a table.
 */
static PyObject *
key_of_dtype(PyObject *dtype)
{
    PyArray_Descr *descr = (PyArray_Descr *)dtype;
    if (!PyTypeNum_ISNUMBER(descr->type_num) && !PyTypeNum_ISBOOL(descr->type_num)) {
        return dtype;
    }
    PyArray_Descr *own = PyArray_DescrFromType(descr->type_num); /* there for good */
    Py_XDECREF(own);
    return own == descr ? (PyObject *)descr->typeobj : dtype;
}

/*
 * A new array in C order, in memory that CuPy's allocator gives; `*data` is set to its address.
 * May run Python code: an allocator of the user's, a hook of the pool's.
 */
PyObject *
new_array(int ndim, const Py_ssize_t *shape, PyObject *dtype, uintptr_t *data)
{
    Vector vector = {shape, shape + ndim, shape + ndim};
    PyObject *array = functions.new_array(layout_type(), &vector, key_of_dtype(dtype), Py_None);
    DeviceView view;
    if (array == NULL) {
        return NULL;
    }
    if (!view_of(array, &view) || view.ndim != ndim || view.dtype != dtype ||
        (ndim > 0 && memcmp(view.shape, shape, (size_t)ndim * sizeof(*shape)) != 0)) {
        refuse("a new array is not read as it was made");
        Py_DECREF(array);
        return NULL;
    }
    *data = view.data;
    return array;
}

/* Memory that CuPy's allocator gives; `*data` is set to its address. May run Python code. */
PyObject *
new_memory(Py_ssize_t size, uintptr_t *data)
{
    PyObject *number = PyLong_FromSsize_t(size);
    PyObject *memory = number == NULL ? NULL : functions.alloc(number, 0);
    Py_XDECREF(number);
    if (memory == Py_None) { /* an allocator of the user's may give it */
        Py_DECREF(memory);
        refuse("the allocator gave None");
        return NULL;
    }
    if (memory != NULL) {
        *data = address_in_memory(memory);
    }
    return memory;
}

/* Have CuPy make a device's context current on this thread. */
int
ensure_context(int device)
{
    uint64_t bit = device >= 0 && device < DEVICES ? (uint64_t)1 << device : 0;
    if (bit != 0 && (ensured & bit) != 0) {
        return 0;
    }
    PyObject *done = functions.ensure_context();
    if (done == NULL) {
        return -1;
    }
    Py_DECREF(done);
    ensured |= bit;
    return 0;
}

/* Whether a device's kernels may be launched early: 1 or 0; -1 with an exception. */
static int
are_early(int device)
{
    uint64_t bit = device >= 0 && device < DEVICES ? (uint64_t)1 << device : 0;
    if (functions.launch_configured == NULL || bit == 0) {
        return 0;
    }
    if ((asked & bit) == 0) {
        PyObject *answer = PyObject_CallFunction(functions.early, "i", device);
        int is_so = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
        if (is_so < 0) {
            return -1;
        }
        early = is_so ? early | bit : early & ~bit;
        asked |= bit;
    }
    return (early & bit) != 0;
}

/* Launch a kernel that may begin before those in front of it are done. */
static int
launch_early(const Grid *grid, void **arguments, intptr_t stream)
{
    LaunchAttribute attribute = {.kind = PROGRAMMATIC_STREAM_SERIALIZATION, .value = 1};
    LaunchConfig config = {.blocks = {grid->blocks, 1, 1},
                           .threads = {grid->threads, 1, 1},
                           .stream = (void *)stream,
                           .attributes = &attribute,
                           .count = 1};
    return functions.launch_configured(&config, grid->function, arguments, NULL);
}

/*
 * Launch a kernel. The GIL is released: the driver waits where its queue is full, perhaps for a
 * callback of Python's. Returns -1 with the exception that CuPy raises for the driver's status.
 * A driver that launches none early is not asked again.
 */
int
launch(const Grid *grid, void **arguments, int device, intptr_t stream)
{
    int is_early = ensure_context(device) < 0 ? -1 : are_early(device);
    if (is_early < 0) {
        return -1;
    }
    int status = NOT_SUPPORTED;
    Py_BEGIN_ALLOW_THREADS
        if (is_early) {
            status = launch_early(grid, arguments, stream);
        }
        if (status == NOT_SUPPORTED) {
            status = functions.launch(grid->function, grid->blocks, 1, 1, grid->threads, 1, 1, 0,
                                      (void *)stream, arguments, NULL);
            is_early = -is_early;
        }
    Py_END_ALLOW_THREADS
    if (is_early < 0) {
        early &= ~((uint64_t)1 << device);
    }
    if (status == 0) {
        return 0;
    }
    PyObject *answer = PyObject_CallFunction(functions.failed, "i", status);
    if (answer != NULL) {
        Py_DECREF(answer);
        PyErr_Format(PyExc_RuntimeError, "the driver's status of a launch is %d", status);
    }
    return -1;
}
