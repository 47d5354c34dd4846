/* The Scalars type: straight-line code over numbers, checked once, and run as a whole or not at
 * all. */
#include "scalars/scalars.h"
#include "loops/loops.h"

PyTypeObject *scalars_type;

enum { MOST_REGISTERS = 30000, FEW_BYTES = 2048 };

typedef struct {
    PyObject_HEAD
    int inputs, registers, takes, places, instructions, stores, gives;
    Number *number;   /* of each register */
    Register *preset; /* what registers begin with */
    struct Take {
        short to;
        int input;
    } *take; /* registers that are given */
    Place *place;
    Instruction *code;
    short *give;
} Scalars;

static void
refuse_form(PyObject *given)
{
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "no part of straight-line code: %R", given);
    }
}

/* A number from 0 to `past`, or -1 with an exception. */
static int
read_number(PyObject *given, Py_ssize_t past)
{
    long number = PyLong_Check(given) ? PyLong_AsLong(given) : -1;
    if (number < 0 || number >= past) {
        refuse_form(given);
        return -1;
    }
    return (int)number;
}

/* An array of `count` zeroed items, never NULL without an exception. */
static void *
room(Py_ssize_t count, size_t size)
{
    void *made = PyMem_Calloc((size_t)count + 1, size);
    if (made == NULL) {
        PyErr_NoMemory();
    }
    return made;
}

/* Registers are types, or (type, number) where they begin with a number. */
static int
read_registers(Scalars *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > MOST_REGISTERS) {
        PyErr_SetString(PyExc_ValueError, "too many registers");
        return -1;
    }
    self->number = room(count, sizeof(Number));
    self->preset = room(count, sizeof(Register));
    if (self->number == NULL || self->preset == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = PyTuple_GET_ITEM(given, i);
        bool pair = PyTuple_Check(one) && PyTuple_GET_SIZE(one) == 2;
        if (number_type(pair ? PyTuple_GET_ITEM(one, 0) : one, &self->number[i]) < 0) {
            return -1;
        }
        if (pair && !number_read(&self->number[i], PyTuple_GET_ITEM(one, 1), &self->preset[i])) {
            refuse_form(one);
            return -1;
        }
        self->registers++;
    }
    return 0;
}

/* (register, input) for each number that is given. */
static int
read_takes(Scalars *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    self->take = room(count, sizeof(*self->take));
    if (self->take == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = PyTuple_GET_ITEM(given, i);
        if (!PyTuple_Check(one) || PyTuple_GET_SIZE(one) != 2) {
            refuse_form(one);
            return -1;
        }
        int to = read_number(PyTuple_GET_ITEM(one, 0), self->registers);
        int input = read_number(PyTuple_GET_ITEM(one, 1), self->inputs);
        if (to < 0 || input < 0) {
            return -1;
        }
        self->take[self->takes++] = (struct Take){(short)to, input};
    }
    return 0;
}

/* (input, dtype, axes, index): the index is a tuple of whole numbers, or the number of the input
 * that is it. */
static int
read_place(Scalars *self, Place *place, PyObject *given)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 4 ||
        number_type(PyTuple_GET_ITEM(given, 1), &place->number) < 0 ||
        place->number.type > NPY_DOUBLE) {
        refuse_form(given);
        return -1;
    }
    place->descr = (PyArray_Descr *)Py_NewRef(PyTuple_GET_ITEM(given, 1));
    place->key = -1;
    place->input = read_number(PyTuple_GET_ITEM(given, 0), self->inputs);
    place->axes = read_number(PyTuple_GET_ITEM(given, 2), MAX_AXES + 1);
    PyObject *index = PyTuple_GET_ITEM(given, 3);
    if (place->input < 0 || place->axes < 0) {
        return -1;
    }
    if (PyLong_Check(index)) {
        place->key = read_number(index, self->inputs);
        return place->key < 0 ? -1 : 0;
    }
    if (!PyTuple_Check(index) || PyTuple_GET_SIZE(index) != place->axes) {
        refuse_form(given);
        return -1;
    }
    place->index = room(place->axes, sizeof(npy_intp));
    for (int i = 0; place->index != NULL && i < place->axes; i++) {
        place->index[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(index, i));
    }
    return place->index == NULL || PyErr_Occurred() ? -1 : 0;
}

static int
read_places(Scalars *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    self->place = room(count, sizeof(Place));
    for (Py_ssize_t i = 0; self->place != NULL && i < count; i++) {
        self->places++;
        if (read_place(self, &self->place[i], PyTuple_GET_ITEM(given, i)) < 0) {
            return -1;
        }
    }
    return self->place == NULL ? -1 : 0;
}

static int
operation_named(PyObject *name)
{
    static const char *const names[] = {
#define TEXT(NAME, TEXT) [OPERATION_##NAME] = TEXT,
        OPERATIONS(TEXT)
#undef TEXT
    };
    for (int i = 0; PyUnicode_Check(name) && i < OPERATION_COUNT; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Whether two types are held alike. */
static bool
alike(const Number *one, const Number *other)
{
    return one->held == other->held && one->bits == other->bits;
}

static bool
loop_takes(const Loop *loop, const Number *out, const Number *a, const Number *b)
{
    const Number *given[3] = {a, b == NULL ? out : b, out};
    int inputs = b == NULL ? 1 : 2;
    bool fits = loop->inputs == inputs && loop->outputs == 1;
    for (int i = 0; fits && i <= inputs; i++) {
        Number wanted;
        PyArray_Descr *descr = PyArray_DescrFromType(loop->types[i]);
        fits = descr != NULL && number_type((PyObject *)descr, &wanted) == 0 &&
               alike(&wanted, given[i]);
        Py_XDECREF(descr);
    }
    return fits;
}

/* Whether the registers of an operation are of types that it takes. */
static bool
types_fit(const Scalars *self, const Instruction *one)
{
    const Number *out = &self->number[one->out], *a = &self->number[one->a];
    bool placed = one->operation == OPERATION_LOAD || one->operation == OPERATION_STORE;
    const Number *b = one->b < 0 || placed ? NULL : &self->number[one->b];
    switch ((Operation)one->operation) {
    case OPERATION_LOAD:
        return alike(out, &self->place[one->b].number);
    case OPERATION_STORE:
        return alike(a, &self->place[one->b].number);
    case OPERATION_LOOP:
        return loop_takes(one->loop, out, a, b);
    case OPERATION_CONVERT:
    case OPERATION_HOLDS:
    case OPERATION_FAILS:
        return true;
    case OPERATION_FIT:
        return a->type == PYTHON_INT;
    case OPERATION_TRUTH:
        return out->bits == 1;
    case OPERATION_LT:
    case OPERATION_LE:
    case OPERATION_EQ:
    case OPERATION_NE:
    case OPERATION_GT:
    case OPERATION_GE:
        return alike(a, b) && out->bits == 1;
    default:
        return alike(out, a) && (b == NULL || alike(a, b));
    }
}

/* (name, out, a, b), and the loop of a "loop"; b is -1 where there is none. */
static int
read_instruction(Scalars *self, Instruction *one, PyObject *given)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) < 4) {
        refuse_form(given);
        return -1;
    }
    int operation = operation_named(PyTuple_GET_ITEM(given, 0)), field[3];
    bool placed = operation == OPERATION_LOAD || operation == OPERATION_STORE;
    bool unary = (operation >= OPERATION_NEG && operation <= OPERATION_FAILS) ||
                 (operation == OPERATION_LOOP && PyTuple_GET_SIZE(given) == 5);
    for (int i = 0; i < 3; i++) {
        PyObject *number = PyTuple_GET_ITEM(given, i + 1);
        int overflow = 0;
        bool none = unary && i == 2 && PyLong_Check(number) &&
                    PyLong_AsLongAndOverflow(number, &overflow) == -1 && overflow == 0;
        int past = i == 2 && placed ? self->places : self->registers;
        field[i] = none ? -1 : read_number(number, past);
        if (operation < 0 || (field[i] < 0 && !none)) {
            refuse_form(given);
            return -1;
        }
    }
    *one = (Instruction){.operation = (unsigned char)operation,
                         .out = (short)field[0],
                         .a = (short)field[1],
                         .b = (short)field[2]};
    if (operation == OPERATION_LOOP) {
        PyObject *loop = PyTuple_GET_SIZE(given) == 5 ? PyTuple_GET_ITEM(given, 4) : Py_None;
        if (!Py_IS_TYPE(loop, loop_type) || ((Loop *)loop)->strided == NULL) {
            refuse_form(given);
            return -1;
        }
        one->loop = (Loop *)Py_NewRef(loop);
    }
    if (!types_fit(self, one)) {
        refuse_form(given);
        return -1;
    }
    bool by_target = operation == OPERATION_CONVERT || operation == OPERATION_FIT;
    const Number *number = &self->number[by_target ? one->out : one->a];
    one->held = number->held;
    one->bits = number->bits;
    one->from = self->number[one->a].held;
    one->python = self->number[one->out].type >= PYTHON_BOOL;
    if (operation == OPERATION_STORE) {
        self->stores++;
        self->place[one->b].written = true;
    }
    return 0;
}

/* A comparison whose result the next instruction checks is checked by itself. */
static void
join_check(Instruction *one, const Instruction *next)
{
    bool compares = one->operation >= OPERATION_LT && one->operation <= OPERATION_GE;
    bool checks = next->operation == OPERATION_HOLDS || next->operation == OPERATION_FAILS;
    one->then = compares && checks && next->a == one->out ? next->operation : 0;
}

static int
read_code(Scalars *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    self->code = room(count, sizeof(Instruction));
    for (Py_ssize_t i = 0; self->code != NULL && i < count; i++) {
        self->instructions++;
        if (read_instruction(self, &self->code[i], PyTuple_GET_ITEM(given, i)) < 0) {
            return -1;
        }
        if (i > 0) {
            join_check(&self->code[i - 1], &self->code[i]);
        }
    }
    return self->code == NULL ? -1 : 0;
}

static int
read_gives(Scalars *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    self->give = room(count, sizeof(short));
    for (Py_ssize_t i = 0; self->give != NULL && i < count; i++) {
        int number = read_number(PyTuple_GET_ITEM(given, i), self->registers);
        if (number < 0) {
            return -1;
        }
        self->give[self->gives++] = (short)number;
    }
    return self->give == NULL ? -1 : 0;
}

static PyObject *
scalars_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"inputs", "registers", "takes", "places", "code", "gives", NULL};
    PyObject *registers, *takes, *places, *code, *gives;
    int inputs;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "iO!O!O!O!O!:Scalars", names, &inputs,
                                     &PyTuple_Type, &registers, &PyTuple_Type, &takes,
                                     &PyTuple_Type, &places, &PyTuple_Type, &code, &PyTuple_Type,
                                     &gives)) {
        return NULL;
    }
    Scalars *self = (Scalars *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->inputs = inputs;
    if (read_registers(self, registers) < 0 || read_takes(self, takes) < 0 ||
        read_places(self, places) < 0 || read_code(self, code) < 0 || read_gives(self, gives) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void
scalars_dealloc(Scalars *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < self->places; i++) {
        Py_XDECREF(self->place[i].descr);
        PyMem_Free(self->place[i].index);
    }
    for (int i = 0; i < self->instructions; i++) {
        Py_XDECREF(self->code[i].loop);
    }
    PyMem_Free(self->number);
    PyMem_Free(self->preset);
    PyMem_Free(self->take);
    PyMem_Free(self->place);
    PyMem_Free(self->code);
    PyMem_Free(self->give);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The index of one axis: constant, or taken from the input that is the key. False: it is none. */
static bool
index_of(const Place *place, PyObject *const *inputs, int axis, npy_intp *index)
{
    if (place->key < 0) {
        *index = place->index[axis];
        return true;
    }
    PyObject *key = inputs[place->key];
    if (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == place->axes) {
        key = PyTuple_GET_ITEM(key, axis);
    }
    else if (place->axes != 1) {
        return false;
    }
    if (!PyLong_CheckExact(key)) {
        return false;
    }
    *index = PyLong_AsSsize_t(key);
    if (*index == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

/* The address of an element, or NULL where the input has no such element, or must not be written.
 */
static char *
address_of(const Place *place, PyObject *const *inputs)
{
    PyObject *given = inputs[place->input];
    if (!PyArray_CheckExact(given)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)given;
    PyArray_Descr *descr = PyArray_DESCR(array);
    if ((descr != place->descr && !PyArray_EquivTypes(descr, place->descr)) ||
        PyArray_NDIM(array) != place->axes || (place->written && !PyArray_ISWRITEABLE(array))) {
        return NULL;
    }
    char *at = PyArray_BYTES(array);
    for (int axis = 0; axis < place->axes; axis++) {
        npy_intp index, length = PyArray_DIM(array, axis);
        if (!index_of(place, inputs, axis, &index)) {
            return NULL;
        }
        index += index < 0 ? length : 0;
        if (index < 0 || index >= length) {
            return NULL;
        }
        at += index * PyArray_STRIDE(array, axis);
    }
    return at;
}

static void
undo(const Overwritten *overwritten, int stores)
{
    while (stores-- > 0) {
        memcpy(overwritten[stores].at, overwritten[stores].before,
               (size_t)overwritten[stores].bytes);
    }
}

static int
run(const Scalars *self, PyObject *const *inputs, unsigned mask, PyObject **results, char *memory)
{
    Register *registers = (Register *)memory;
    Overwritten *overwritten = (Overwritten *)(registers + self->registers);
    char **at = (char **)(overwritten + self->stores);
    memcpy(registers, self->preset, sizeof(Register) * (size_t)self->registers);
    for (int i = 0; i < self->takes; i++) {
        const struct Take *take = &self->take[i];
        if (!number_read(&self->number[take->to], inputs[take->input], &registers[take->to])) {
            return RUN_REFUSED;
        }
    }
    for (int i = 0; i < self->places; i++) {
        at[i] = address_of(&self->place[i], inputs);
        if (at[i] == NULL) {
            return RUN_REFUSED;
        }
    }
    if (status_raw() != 0) {
        status_clear();
    }
    int stores = 0, given = 0, done = RUN_DONE;
    unsigned seen =
        compute(self->code, self->instructions, self->place, at, registers, overwritten, &stores);
    seen |= status_take();
    if (seen & (mask | SCALARS_REFUSE)) {
        undo(overwritten, stores);
        return RUN_REFUSED;
    }
    while (given < self->gives && done == RUN_DONE) {
        int number = self->give[given];
        results[given] = number_object(&self->number[number], registers[number]);
        done = results[given] == NULL ? RUN_FAILED : RUN_DONE;
        given += done == RUN_DONE;
    }
    if (done == RUN_FAILED) {
        undo(overwritten, stores);
        while (given-- > 0) {
            Py_DECREF(results[given]);
        }
    }
    return done;
}

/*
 * Run the code over borrowed inputs. `results` are new references. RUN_REFUSED, where a flag of
 * `mask` is raised or NumPy has to decide, and RUN_FAILED, with an exception, leave everything as
 * it was. Runs no Python code.
 */
int
scalars_run(PyObject *block, PyObject *const *inputs, unsigned mask, PyObject **results)
{
    const Scalars *self = (const Scalars *)block;
    size_t bytes = sizeof(Register) * (size_t)self->registers +
                   sizeof(Overwritten) * (size_t)self->stores +
                   sizeof(char *) * (size_t)self->places;
    _Alignas(16) char few[FEW_BYTES];
    if (bytes <= FEW_BYTES) {
        return run(self, inputs, mask, results, few);
    }
    char *memory = PyMem_Malloc(bytes);
    if (memory == NULL) {
        PyErr_NoMemory();
        return RUN_FAILED;
    }
    int done = run(self, inputs, mask, results, memory);
    PyMem_Free(memory);
    return done;
}

/* How many inputs and results the code has, and whether it stores. */
void
scalars_counts(PyObject *block, int *inputs, int *results, bool *stores)
{
    const Scalars *self = (const Scalars *)block;
    *inputs = self->inputs;
    *results = self->gives;
    *stores = self->stores > 0;
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "Scalars(inputs, registers, takes, places, code, gives)\n--\n\n"
                "Straight-line code over numbers, a step of a Program."},
    {Py_tp_new, scalars_new},
    {Py_tp_dealloc, scalars_dealloc},
    {0, NULL},
};

static PyType_Spec spec = {
    "ufuse.backends.numpy._tiles.Scalars",         sizeof(Scalars), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots,
};

int
scalars_begin(PyObject *module)
{
    if (scalars_type == NULL) {
        scalars_type = (PyTypeObject *)PyType_FromSpec(&spec);
    }
    return scalars_type == NULL
               ? -1
               : PyModule_AddObjectRef(module, "Scalars", (PyObject *)scalars_type);
}
