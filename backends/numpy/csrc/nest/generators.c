/* Generators of random numbers: NumPy's, whose bit generators' states have layouts that are known.
 */
#include "nest/nest.h"

#include <numpy/random/bitgen.h>

/* NumPy's own structs for these, which its headers do not have; `is_as_known` compares. */
typedef struct {
    uint64_t state[2], increment[2];
} Pcg64Numbers;

typedef struct {
    Pcg64Numbers *numbers;
    int has_uint32;
    uint32_t uinteger;
} Pcg64State;

typedef struct {
    uint32_t key[624];
    int position;
} Mt19937State;

static PyTypeObject *generator_type, *legacy_type, *pcg64_type, *mt19937_type;
static PyObject *bit_generator_name, *legacy_name, *capsule_name, *lock_name, *acquire_name,
    *release_name;

/* The bitgen_t of a bit generator, which lives as long as that. NULL with an exception. */
static bitgen_t *
bits_of(PyObject *bit_generator)
{
    PyObject *capsule = PyObject_GetAttr(bit_generator, capsule_name);
    if (capsule == NULL) {
        return NULL;
    }
    bitgen_t *bits = PyCapsule_GetPointer(capsule, "BitGenerator");
    Py_DECREF(capsule);
    return bits;
}

/* Whether memory is part of an object. */
static bool
is_within(PyObject *object, const char *data, size_t bytes)
{
    const char *begin = (const char *)object;
    size_t size = (size_t)Py_TYPE(object)->tp_basicsize;
    return data >= begin && data <= begin + size && bytes <= size - (size_t)(data - begin);
}

/* Note where the state of a bit generator lies. False: it is of a type that is not known. */
static bool
note_state(PyObject *bit_generator, bitgen_t *bits, Generator *one)
{
    bool is_pcg64 = Py_IS_TYPE(bit_generator, pcg64_type);
    if (!is_pcg64 && !Py_IS_TYPE(bit_generator, mt19937_type)) {
        return false;
    }
    one->bits = bits;
    one->parts = 1;
    one->part[0].data = bits->state;
    one->part[0].bytes = is_pcg64 ? sizeof(Pcg64State) : sizeof(Mt19937State);
    if (!is_within(bit_generator, one->part[0].data, one->part[0].bytes)) {
        return false;
    }
    if (is_pcg64) {
        one->parts = 2;
        one->part[1].data = (char *)((Pcg64State *)bits->state)->numbers;
        one->part[1].bytes = sizeof(Pcg64Numbers);
    }
    const char *last = one->part[one->parts - 1].data;
    return is_within(bit_generator, last, one->part[one->parts - 1].bytes);
}

/* Draw numbers of each size, one of which keeps half of what it draws. */
static void
draw_some(bitgen_t *bits, double *numbers)
{
    numbers[0] = bits->next_uint32(bits->state);
    for (int i = 1; i < 700; i++) { /* MT19937 makes 624 at once */
        numbers[i] = bits->next_double(bits->state);
    }
    numbers[700] = bits->next_uint32(bits->state);
    numbers[701] = bits->next_uint32(bits->state);
}

/* Whether the bytes that are noted are all that drawing changes. 0, or -1 with an exception. */
static int
check_type(PyTypeObject *type)
{
    PyObject *bit_generator = PyObject_CallFunction((PyObject *)type, "i", 1);
    bitgen_t *bits = bit_generator == NULL ? NULL : bits_of(bit_generator);
    Generator one;
    if (bits == NULL || !note_state(bit_generator, bits, &one)) {
        Py_XDECREF(bit_generator);
        return PyErr_Occurred() ? -1
                                : (PyErr_Format(PyExc_NotImplementedError, "another layout of %s",
                                                type->tp_name),
                                   -1);
    }
    double first[702], again[702];
    char kept[sizeof(Mt19937State)], *to = kept;
    for (int i = 0; i < one.parts; to += one.part[i++].bytes) {
        memcpy(to, one.part[i].data, one.part[i].bytes);
    }
    draw_some(bits, first);
    to = kept;
    for (int i = 0; i < one.parts; to += one.part[i++].bytes) {
        memcpy(one.part[i].data, to, one.part[i].bytes);
    }
    draw_some(bits, again);
    Py_DECREF(bit_generator);
    if (memcmp(first, again, sizeof first) != 0) {
        PyErr_Format(PyExc_NotImplementedError, "another layout of %s", type->tp_name);
        return -1;
    }
    return 0;
}

static PyTypeObject *
type_of(PyObject *module, const char *name)
{
    PyObject *found = PyObject_GetAttrString(module, name);
    if (found != NULL && !PyType_Check(found)) {
        Py_DECREF(found);
        PyErr_Format(PyExc_NotImplementedError, "numpy.random.%s is no type", name);
        return NULL;
    }
    return (PyTypeObject *)found;
}

/* Find NumPy's types, once. Returns 0, or -1 with an exception. */
int
generators_begin(void)
{
    static bool is_ready;
    if (is_ready) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("numpy.random");
    if (module == NULL) {
        return -1;
    }
    generator_type = type_of(module, "Generator");
    legacy_type = generator_type == NULL ? NULL : type_of(module, "RandomState");
    pcg64_type = legacy_type == NULL ? NULL : type_of(module, "PCG64");
    mt19937_type = pcg64_type == NULL ? NULL : type_of(module, "MT19937");
    Py_DECREF(module);
    bit_generator_name = PyUnicode_InternFromString("bit_generator");
    legacy_name = PyUnicode_InternFromString("_bit_generator");
    capsule_name = PyUnicode_InternFromString("capsule");
    lock_name = PyUnicode_InternFromString("lock");
    acquire_name = PyUnicode_InternFromString("acquire");
    release_name = PyUnicode_InternFromString("release");
    is_ready = mt19937_type != NULL && bit_generator_name != NULL && legacy_name != NULL &&
               capsule_name != NULL && lock_name != NULL && acquire_name != NULL &&
               release_name != NULL && check_type(pcg64_type) == 0 && check_type(mt19937_type) == 0;
    return is_ready ? 0 : -1;
}

/* Take a lock that is free, or this thread's already. 1: it is taken; 0; -1 with an exception. */
static int
take_lock(PyObject *lock)
{
    PyObject *arguments[] = {lock, Py_False};
    PyObject *taken = PyObject_VectorcallMethod(acquire_name, arguments, 2, NULL);
    int is_taken = taken == NULL ? -1 : taken == Py_True;
    Py_XDECREF(taken);
    return is_taken;
}

/* Take one. 0: it is; 1: a nest cannot draw from it; -1 with an exception. */
static int
take(PyObject *object, Generator *one)
{
    bool is_legacy = Py_IS_TYPE(object, legacy_type);
    if (!is_legacy && !Py_IS_TYPE(object, generator_type)) {
        return 1;
    }
    PyObject *bit_generator =
        PyObject_GetAttr(object, is_legacy ? legacy_name : bit_generator_name);
    bitgen_t *bits = bit_generator == NULL ? NULL : bits_of(bit_generator);
    int failed = bits == NULL ? -1 : !note_state(bit_generator, bits, one);
    PyObject *lock = failed ? NULL : PyObject_GetAttr(bit_generator, lock_name);
    if (!failed) {
        int taken = lock == NULL ? -1 : take_lock(lock);
        failed = taken < 0 ? -1 : !taken;
        one->lock = failed ? NULL : Py_NewRef(lock);
    }
    Py_XDECREF(lock);
    Py_XDECREF(bit_generator); /* the generator has it, and the nest's caller that */
    return failed;
}

/*
 * Take the locks of all generators among the objects, so that nobody else draws. 0; 1: a nest
 * cannot draw from one; -1 with an exception. NumPy's code runs, and no Python code.
 */
int
generators_take(const Nest *nest, PyObject *const *objects, Generator *generators)
{
    int failed = 0, count = 0;
    memset(generators, 0, sizeof(Generator) * (size_t)nest->generators);
    for (int i = 0; failed == 0 && count < nest->generators; i++) {
        if (nest->slot[i].kind == SLOT_GENERATOR) {
            failed = take(objects[i], &generators[count++]);
        }
    }
    if (failed) {
        generators_give(nest, generators);
    }
    return failed;
}

/* Release the locks. */
void
generators_give(const Nest *nest, Generator *generators)
{
    if (nest->generators == 0) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int i = nest->generators - 1; i >= 0; i--) {
        if (generators[i].lock == NULL) {
            continue;
        }
        PyObject *done = PyObject_CallMethodNoArgs(generators[i].lock, release_name);
        if (done == NULL) {
            PyErr_WriteUnraisable(generators[i].lock);
        }
        Py_XDECREF(done);
        Py_CLEAR(generators[i].lock);
    }
    PyErr_Restore(type, value, traceback);
}

/* Fill memory with what a function of some inputs, two at most, draws. */
void
nest_draws(void *function, void *bits, int64_t inputs, double first, double second, double *to,
           int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = inputs == 0   ? ((double (*)(void *))function)(bits)
                : inputs == 1 ? ((double (*)(void *, double))function)(bits, first)
                              : ((double (*)(void *, double, double))function)(bits, first, second);
    }
}
