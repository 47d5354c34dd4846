/* Generators of random numbers: NumPy's, whose bit generators' states have layouts that are known,
 * and Python's.
 */
#include "nest/given/generators.h"

#include <math.h>

#include "nest/given/generator_states.h"

enum { COMPARED = 1500 };

static_assert(sizeof(bitgen_t) <= sizeof((Generator){0}.own.bits), "room for one of our own");

static PyTypeObject *python_type;
static Py_ssize_t legacy_offset = -1; /* of the LegacyState in a RandomState; -1: not known */
static PyObject *next_name;
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

/* The next 32 bits of an MT19937 of Python's. */
static uint32_t
python_next(void *state)
{
    PythonRandom *random = state;
    uint32_t *words = random->state;
    if (random->index >= WORDS) {
        for (int i = 0; i < WORDS; i++) {
            uint32_t next = words[i < WORDS - 1 ? i + 1 : 0];
            uint32_t both = (words[i] & 0x80000000u) | (next & 0x7fffffffu);
            uint32_t far = words[i < WORDS - MIDDLE ? i + MIDDLE : i + MIDDLE - WORDS];
            words[i] = far ^ both >> 1 ^ (-(both & 1) & 0x9908b0dfu);
        }
        random->index = 0;
    }
    uint32_t word = words[random->index++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

/* What `random()` gives. */
static double
python_double(void *state)
{
    uint32_t high = python_next(state) >> 5, low = python_next(state) >> 6;
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

/*
 * An int that is less than another one, and not negative: as many bits as that has, drawn until
 * they are less. What `random.Random._randbelow` gives.
 */
int64_t
nest_below(void *bits, int64_t count)
{
    bitgen_t *own = bits;
    int size = 64 - __builtin_clzll((unsigned long long)count);
    uint64_t found;
    do {
        uint64_t low = own->next_uint32(own->state);
        found = size <= 32 ? low >> (32 - size)
                           : low | (uint64_t)(own->next_uint32(own->state) >> (64 - size)) << 32;
    } while (found >= (uint64_t)count);
    return (int64_t)found;
}

/* Where a compiler sees both of one angle it may call a function of its own. */
static double (*volatile cosine)(double) = cos;
static double (*volatile sine)(double) = sin;

/* What `gauss` gives of a mean of 0 and a deviation of 1: of two such numbers one is kept. */
double
nest_gauss(void *bits)
{
    Generator *one = generator_of(bits);
    double found = one->own.next;
    if (!one->own.has_next) {
        double angle = python_double(one->object) * 0x1.921fb54442d18p+2; /* 2 pi */
        double size = sqrt(-2.0 * log(1.0 - python_double(one->object)));
        found = cosine(angle) * size;
        one->own.next = sine(angle) * size;
    }
    one->own.has_next = !one->own.has_next;
    return found;
}

/* What `standard_normal` of a RandomState gives: of two such numbers one is kept. */
double
nest_legacy_gauss(void *bits)
{
    bitgen_t *own = bits;
    LegacyState *legacy = generator_of(bits)->own.legacy;
    if (legacy->has_gauss) {
        double kept = legacy->gauss;
        legacy->has_gauss = 0;
        legacy->gauss = 0.0;
        return kept;
    }
    double x, y, square;
    do {
        x = 2.0 * own->next_double(own->state) - 1.0;
        y = 2.0 * own->next_double(own->state) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    double factor = sqrt(-2.0 * log(square) / square);
    legacy->gauss = factor * x;
    legacy->has_gauss = 1;
    return factor * y;
}

double
nest_legacy_normal(void *bits, double mean, double deviation)
{
    return mean + deviation * nest_legacy_gauss(bits);
}

double
nest_legacy_exponential(void *bits, double scale)
{
    bitgen_t *own = bits;
    return scale * -log(1.0 - own->next_double(own->state));
}

/* What `gauss` gives next, which lies in an attribute. 0; 1: it is nothing of the kind. */
static int
read_next(PyObject *object, Generator *one)
{
    PyObject *next = PyObject_GetAttr(object, next_name);
    bool is_known = next == Py_None || (next != NULL && PyFloat_CheckExact(next));
    one->own.has_next = is_known && next != Py_None;
    one->own.next = one->own.has_next ? PyFloat_AS_DOUBLE(next) : 0.0;
    Py_XDECREF(next);
    PyErr_Clear();
    return is_known ? 0 : 1;
}

/* Put it back where it has changed. */
static void
write_next(const Generator *one)
{
    Generator before = {0};
    if (read_next(one->object, &before) == 0 && before.own.has_next == one->own.has_next &&
        (!before.own.has_next || memcmp(&before.own.next, &one->own.next, sizeof(double)) == 0)) {
        return;
    }
    PyObject *next = one->own.has_next ? PyFloat_FromDouble(one->own.next) : Py_NewRef(Py_None);
    if (next == NULL || PyObject_SetAttr(one->object, next_name, next) < 0) {
        PyErr_WriteUnraisable(one->object);
    }
    Py_XDECREF(next);
}

/* Note where the state of Python's lies, and how it is drawn from. 0; 1: a nest cannot. */
static int
note_python(PyObject *object, Generator *one)
{
    PythonRandom *random = (PythonRandom *)object;
    bitgen_t own = {.state = random, .next_uint32 = python_next, .next_double = python_double};
    if (read_next(object, one) != 0) {
        return 1;
    }
    memcpy(one->own.bits, &own, sizeof own);
    one->object = object;
    one->bits = &one->own;
    one->parts = 2;
    one->part[0].data = (char *)&random->index;
    one->part[0].bytes = sizeof random->index + sizeof random->state;
    one->part[1].data = (char *)&one->own.next;
    one->part[1].bytes = sizeof one->own.next + sizeof one->own.has_next;
    return 0;
}

/* Whether two that began alike give the same: one by its method, one by what is here. */
static int
draws_alike(PyObject *one, PyObject *other)
{
    Generator own = {0};
    bool is_alike = note_python(other, &own) == 0;
    for (int i = 0; is_alike && i < COMPARED; i++) {
        PyObject *drawn = i % 3 == 2   ? PyObject_CallMethod(one, "getrandbits", "i", 32)
                          : i % 3 == 1 ? PyObject_CallMethod(one, "gauss", "dd", 0.0, 1.0)
                                       : PyObject_CallMethod(one, "random", NULL);
        if (drawn == NULL) {
            return -1;
        }
        double found = PyLong_Check(drawn) ? PyLong_AsDouble(drawn) : PyFloat_AsDouble(drawn);
        Py_DECREF(drawn);
        is_alike = found == (i % 3 == 2   ? python_next(other)
                             : i % 3 == 1 ? nest_gauss(own.bits)
                                          : python_double(other));
    }
    return is_alike;
}

/* Find Python's type, once. Returns 0, or -1 with an exception. */
static int
python_begin(void)
{
    if (python_type != NULL) {
        return 0;
    }
    next_name = PyUnicode_InternFromString("gauss_next");
    PyObject *module = next_name == NULL ? NULL : PyImport_ImportModule("random");
    PyObject *type = module == NULL ? NULL : PyObject_GetAttrString(module, "Random");
    Py_XDECREF(module);
    PyObject *one = type == NULL ? NULL : PyObject_CallFunction(type, "i", 1);
    PyObject *other = one == NULL ? NULL : PyObject_CallFunction(type, "i", 1);
    bool is_large = other != NULL && PyType_Check(type) &&
                    ((PyTypeObject *)type)->tp_basicsize >= (Py_ssize_t)sizeof(PythonRandom) &&
                    ((PythonRandom *)other)->index == WORDS;
    int alike = other == NULL ? -1 : is_large ? draws_alike(one, other) : 0;
    Py_XDECREF(one);
    Py_XDECREF(other);
    if (alike == 1) {
        python_type = (PyTypeObject *)type;
        return 0;
    }
    Py_XDECREF(type);
    if (alike == 0) {
        PyErr_SetString(PyExc_NotImplementedError, "another layout of random.Random");
    }
    return -1;
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

/* Note where a RandomState, of whose bit generator this is, keeps a number. */
static void
note_legacy(PyObject *object, Generator *one)
{
    LegacyState *legacy = (LegacyState *)((char *)object + legacy_offset);
    memcpy(one->own.bits, one->bits, sizeof(bitgen_t));
    one->bits = &one->own;
    one->own.legacy = legacy;
    one->part[one->parts].data = (char *)&legacy->has_gauss;
    one->part[one->parts].bytes = sizeof *legacy - offsetof(LegacyState, has_gauss);
    one->parts++;
}

/* Where a RandomState keeps a number: behind the address of a copy of its bit generator's bitgen_t.
 * -1: it is not found. */
static Py_ssize_t
offset_of_legacy(PyObject *object, const bitgen_t *bits)
{
    Py_ssize_t last = Py_TYPE(object)->tp_basicsize - (Py_ssize_t)sizeof(LegacyState);
    for (Py_ssize_t offset = sizeof(PyObject); offset <= last; offset += sizeof(void *)) {
        char *address;
        memcpy(&address, (char *)object + offset, sizeof address);
        if (is_within(object, address, sizeof *bits) && memcmp(address, bits, sizeof *bits) == 0) {
            return offset;
        }
    }
    return -1;
}

/* Draw from a RandomState by its methods, or by what is here. 0, or -1 with an exception. */
static int
draw_legacy(PyObject *object, void *bits, double *numbers)
{
    for (int i = 0; i < COMPARED; i++) {
        if (bits != NULL) {
            numbers[i] = i % 3 == 2   ? nest_legacy_exponential(bits, 2.5)
                         : i % 3 == 1 ? nest_legacy_normal(bits, 0.5, 3.0)
                                      : nest_legacy_gauss(bits);
            continue;
        }
        PyObject *drawn = i % 3 == 2   ? PyObject_CallMethod(object, "exponential", "d", 2.5)
                          : i % 3 == 1 ? PyObject_CallMethod(object, "normal", "dd", 0.5, 3.0)
                                       : PyObject_CallMethod(object, "standard_normal", NULL);
        numbers[i] = drawn == NULL ? 0.0 : PyFloat_AsDouble(drawn);
        Py_XDECREF(drawn);
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/*
 * Find where RandomStates keep a number, if what is here gives the same as their methods do, which
 * also go on from there. 0, or -1 with an exception.
 */
static int
find_legacy(void)
{
    static double numbers[4][COMPARED];
    Generator own = {0};
    PyObject *one = PyObject_CallFunction((PyObject *)legacy_type, "i", 1);
    PyObject *other = one == NULL ? NULL : PyObject_CallFunction((PyObject *)legacy_type, "i", 1);
    PyObject *bit_generator = other == NULL ? NULL : PyObject_GetAttr(other, legacy_name);
    bitgen_t *bits = bit_generator == NULL ? NULL : bits_of(bit_generator);
    bool is_alike = false;
    if (bits != NULL && note_state(bit_generator, bits, &own)) {
        legacy_offset = offset_of_legacy(other, bits);
        if (legacy_offset >= 0) {
            note_legacy(other, &own);
            is_alike = draw_legacy(one, NULL, numbers[0]) == 0 &&
                       draw_legacy(other, own.bits, numbers[1]) == 0 &&
                       draw_legacy(one, NULL, numbers[2]) == 0 &&
                       draw_legacy(other, NULL, numbers[3]) == 0 &&
                       memcmp(numbers[0], numbers[1], sizeof numbers[0]) == 0 &&
                       memcmp(numbers[2], numbers[3], sizeof numbers[0]) == 0;
        }
    }
    legacy_offset = is_alike ? legacy_offset : -1;
    Py_XDECREF(bit_generator);
    Py_XDECREF(other);
    Py_XDECREF(one);
    return PyErr_Occurred() ? -1 : 0;
}

/* Find NumPy's types, once. Returns 0, or -1 with an exception. */
static int
numpy_begin(void)
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
               release_name != NULL && check_type(pcg64_type) == 0 &&
               check_type(mt19937_type) == 0 && find_legacy() == 0;
    return is_ready ? 0 : -1;
}

/* Find the types of generators, once. Returns 0, or -1 with an exception. */
int
generators_begin(bool is_python)
{
    return is_python ? python_begin() : numpy_begin();
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

/*
 * Take one: its lock, where it has one, and where its state lies. 0; 1: this cannot be; -1 with an
 * exception. Those of NumPy's types are known from `generators_begin` on.
 */
int
generator_take(PyObject *object, Generator *one)
{
    memset(one, 0, sizeof *one);
    if (python_type != NULL && Py_IS_TYPE(object, python_type)) {
        return note_python(object, one);
    }
    bool is_legacy = legacy_offset >= 0 && Py_IS_TYPE(object, legacy_type);
    if (!is_legacy && !(generator_type != NULL && Py_IS_TYPE(object, generator_type))) {
        return 1;
    }
    PyObject *bit_generator =
        PyObject_GetAttr(object, is_legacy ? legacy_name : bit_generator_name);
    bitgen_t *bits = bit_generator == NULL ? NULL : bits_of(bit_generator);
    int failed = bits == NULL ? -1 : !note_state(bit_generator, bits, one);
    if (!failed && is_legacy) {
        note_legacy(object, one);
    }
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

/* Have one of Python's that is there already, by another name, give what that gives. */
static void
share(Generator *generators, int count)
{
    Generator *one = &generators[count];
    for (int i = 0; one->object != NULL && i < count; i++) {
        if (generators[i].object == one->object) {
            one->bits = generators[i].bits;
            one->object = NULL;
            one->parts = 0;
        }
    }
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
            failed = generator_take(objects[i], &generators[count]);
            share(generators, count++);
        }
    }
    if (failed) {
        generators_give(nest, generators);
    }
    return failed;
}

/* Release its lock. An exception stays set. */
void
generator_give(Generator *one)
{
    if (one->lock == NULL) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = PyObject_CallMethodNoArgs(one->lock, release_name);
    if (done == NULL) {
        PyErr_WriteUnraisable(one->lock);
    }
    Py_XDECREF(done);
    Py_CLEAR(one->lock);
    PyErr_Restore(type, value, traceback);
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
        if (generators[i].object != NULL) {
            write_next(&generators[i]);
        }
        generator_give(&generators[i]);
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
