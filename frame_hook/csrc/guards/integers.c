#include "guards/integers.h"

#include "values/arrays.h"

enum { DEEPEST = 32 };

/*        name      takes  comparison */
#define OPERATIONS(X)                                                                              \
    X(size, 0, false)                                                                              \
    X(int, 0, false)                                                                               \
    X(const, 0, false)                                                                             \
    X(add, 2, false)                                                                               \
    X(sub, 2, false)                                                                               \
    X(mul, 2, false)                                                                               \
    X(floordiv, 2, false)                                                                          \
    X(mod, 2, false)                                                                               \
    X(neg, 1, false)                                                                               \
    X(min, 2, false)                                                                               \
    X(max, 2, false)                                                                               \
    X(eq, 2, true)                                                                                 \
    X(ne, 2, true)                                                                                 \
    X(lt, 2, true)                                                                                 \
    X(le, 2, true)                                                                                 \
    X(gt, 2, true)                                                                                 \
    X(ge, 2, true)

#define X(name, takes, compares) OP_##name,
typedef enum { OPERATIONS(X) N_OPERATIONS } Operation;
#undef X

typedef struct {
    const char *name;
    int takes;
    bool compares;
} OperationFacts;

#define X(name, takes, compares) {#name, takes, compares},
static const OperationFacts operations[] = {OPERATIONS(X)};
#undef X

typedef struct {
    Operation operation;
    int32_t source;
    int64_t number; /* the axis, or the constant */
} Step;

struct IntegerProgram {
    Py_ssize_t count;
    Step steps[1];
};

/*
 * Read a register number and note that it is used. `optional`: -1 is allowed and means "none".
 * `number` is borrowed. Returns 0, or -1 with an exception set.
 */
int
read_register(PyObject *number, RegisterUse *use, bool optional, int32_t *found)
{
    if (!PyLong_Check(number)) {
        PyErr_Format(PyExc_TypeError, "a register is an int, not %.100s", Py_TYPE(number)->tp_name);
        return -1;
    }
    long value = PyLong_AsLong(number);
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (value < (optional ? -1 : 0) || value > INT32_MAX / 2) {
        PyErr_Format(PyExc_ValueError, "%ld is no register", value);
        return -1;
    }
    if (value - use->appended + 1 > use->least_state) {
        use->least_state = value - use->appended + 1;
    }
    if (value >= 0 && value < 256) {
        use->read[value / 64] |= (uint64_t)1 << (value % 64);
    }
    *found = (int32_t)value;
    return 0;
}

/*
 * Read a sequence of register numbers into a new array (`PyMem_Free` it; NULL when empty).
 * `numbers` is borrowed. Returns 0, or -1 with an exception set.
 */
int
read_registers(PyObject *numbers, RegisterUse *use, bool optional, int32_t **found,
               Py_ssize_t *count)
{
    PyObject *sequence = PySequence_Fast(numbers, "registers are a sequence of ints");
    if (sequence == NULL) {
        return -1;
    }
    Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
    int32_t *array = NULL;
    if (size > 0 && (array = PyMem_New(int32_t, size)) == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        if (read_register(PySequence_Fast_GET_ITEM(sequence, i), use, optional, &array[i]) < 0) {
            goto failed;
        }
    }
    Py_DECREF(sequence);
    *found = array;
    *count = size;
    return 0;
failed:
    PyMem_Free(array);
    Py_DECREF(sequence);
    return -1;
}

/* Compile one `(name, …)` tuple. Returns 0, or -1 with an exception set. */
static int
compile_step(PyObject *row, RegisterUse *use, Step *step)
{
    if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) < 1 ||
        !PyUnicode_Check(PyTuple_GET_ITEM(row, 0))) {
        PyErr_Format(PyExc_TypeError,
                     "a step of an integer program is a tuple that begins with a name, not %R",
                     row);
        return -1;
    }
    int found = 0;
    while (found < N_OPERATIONS && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(row, 0),
                                                                    operations[found].name) != 0) {
        found++;
    }
    step->operation = (Operation)found;
    step->source = 0;
    step->number = 0;
    Py_ssize_t operands = found == OP_size ? 2 : found == OP_int || found == OP_const ? 1 : 0;
    if (found == N_OPERATIONS || PyTuple_GET_SIZE(row) != operands + 1) {
        PyErr_Format(PyExc_ValueError, "%R is no step of an integer program", row);
        return -1;
    }
    if ((found == OP_size || found == OP_int) &&
        read_register(PyTuple_GET_ITEM(row, 1), use, false, &step->source) < 0) {
        return -1;
    }
    if (found == OP_size || found == OP_const) {
        step->number = PyLong_AsLongLong(PyTuple_GET_ITEM(row, operands));
        if (step->number == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (found == OP_size && (step->number < 0 || step->number >= NPY_MAXDIMS)) {
            PyErr_Format(PyExc_ValueError, "%R names no axis", row);
            return -1;
        }
    }
    return 0;
}

/*
 * Compile a sequence of steps. `is_relation`: it must end with its only comparison; otherwise it
 * must have none. `rows` is borrowed. Returns a new program (`PyMem_Free` it), or NULL with an
 * exception set.
 */
IntegerProgram *
compile_integer(PyObject *rows, RegisterUse *use, bool is_relation)
{
    PyObject *sequence = PySequence_Fast(rows, "an integer program is a sequence of tuples");
    if (sequence == NULL) {
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    IntegerProgram *program = PyMem_Malloc(sizeof(IntegerProgram) + (size_t)count * sizeof(Step));
    if (program == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    program->count = count;
    int depth = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (compile_step(PySequence_Fast_GET_ITEM(sequence, i), use, &program->steps[i]) < 0) {
            goto failed;
        }
        OperationFacts facts = operations[program->steps[i].operation];
        depth -= facts.takes;
        if (depth < 0 || depth + 1 > DEEPEST || facts.compares != (is_relation && i == count - 1)) {
            depth = -1;
            break;
        }
        depth++;
    }
    if (depth != 1) {
        PyErr_Format(PyExc_ValueError, "%R is not one well-formed %s", rows,
                     is_relation ? "relation" : "integer");
        goto failed;
    }
    Py_DECREF(sequence);
    return program;
failed:
    PyMem_Free(program);
    Py_DECREF(sequence);
    return NULL;
}

/*
 * The value of an exact int that fits 64 bits; false for anything else. Sets no exception, runs no
 * Python code.
 */
bool
exact_int64(PyObject *object, int64_t *value)
{
    if (object == NULL || !PyLong_CheckExact(object)) {
        return false;
    }
    if (small_int(object, value)) {
        return true;
    }
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* The value of a step without stack operands. False when its register has something else. */
static inline bool
load(const Step *step, PyObject *const *registers, int64_t *result)
{
    if (step->operation == OP_const) {
        *result = step->number;
        return true;
    }
    PyObject *source = registers[step->source];
    if (step->operation == OP_int) {
        return exact_int64(source, result);
    }
    if (source != NULL && is_array(source) && step->number < array_ndim(source)) {
        *result = array_shape(source)[step->number];
        return true;
    }
    ArrayView view;
    if (source == NULL || !view_of(source, &view) || step->number >= view.ndim) {
        return false;
    }
    *result = view.shape[step->number];
    return true;
}

/* Python's `a // b` and `a % b`. False where Python would raise or the quotient does not fit. */
static bool
divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return false;
    }
    *quotient = a / b;
    *remainder = a % b;
    if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
        *quotient -= 1;
        *remainder += b;
    }
    return true;
}

/* Combine two operands (`a` only for `neg`). False on overflow or division by zero. */
static bool
combine(Operation operation, int64_t a, int64_t b, int64_t *result)
{
    int64_t other;
    switch (operation) {
    case OP_add:
        return !__builtin_add_overflow(a, b, result);
    case OP_sub:
        return !__builtin_sub_overflow(a, b, result);
    case OP_mul:
        return !__builtin_mul_overflow(a, b, result);
    case OP_neg:
        return !__builtin_sub_overflow((int64_t)0, a, result);
    case OP_floordiv:
        return divide(a, b, result, &other);
    case OP_mod:
        return divide(a, b, &other, result);
    case OP_min:
        *result = a < b ? a : b;
        return true;
    case OP_max:
        *result = a > b ? a : b;
        return true;
    case OP_eq:
        *result = a == b;
        return true;
    case OP_ne:
        *result = a != b;
        return true;
    case OP_lt:
        *result = a < b;
        return true;
    case OP_le:
        *result = a <= b;
        return true;
    case OP_gt:
        *result = a > b;
        return true;
    case OP_ge:
        *result = a >= b;
        return true;
    default:
        return false;
    }
}

/*
 * Run a program over borrowed registers. Sets no exception and runs no Python code.
 * Returns whether `*result` was computed: false on overflow, division by zero, or a register of
 * another kind.
 */
bool
run_integer(const IntegerProgram *program, PyObject *const *registers, int64_t *result)
{
    int64_t stack[DEEPEST];
    int depth = 0;
    for (Py_ssize_t i = 0; i < program->count; i++) {
        const Step *step = &program->steps[i];
        int takes = operations[step->operation].takes;
        int64_t value;
        bool known;
        if (takes == 0) {
            known = load(step, registers, &value);
        }
        else {
            depth -= takes;
            known = combine(step->operation, stack[depth], stack[depth + takes - 1], &value);
        }
        if (!known) {
            return false;
        }
        stack[depth++] = value;
    }
    *result = stack[0];
    return true;
}

/*
 * Whether a relation holds for borrowed registers. Sets no exception and runs no Python code. Two
 * numbers that are compared as they are, most often sizes, take no stack.
 */
bool
relation_holds(const IntegerProgram *program, PyObject *const *registers)
{
    const Step *steps = program->steps;
    int64_t a, b, holds;
    if (program->count != 3 || operations[steps[1].operation].takes != 0) {
        return run_integer(program, registers, &holds) && holds;
    }
    if (!load(&steps[0], registers, &a) || !load(&steps[1], registers, &b)) {
        return false;
    }
    if (steps[2].operation == OP_eq) {
        return a == b;
    }
    return combine(steps[2].operation, a, b, &holds) && holds;
}

/* ---- ints of any size ---- */

/* The value of a step without stack operands, a new reference; NULL with an exception set. */
static PyObject *
load_exactly(const Step *step, PyObject *const *registers)
{
    if (step->operation == OP_int) {
        PyObject *source = registers[step->source];
        if (source != NULL && PyLong_CheckExact(source)) {
            return Py_NewRef(source);
        }
    }
    else {
        int64_t value;
        if (load(step, registers, &value)) {
            return PyLong_FromLongLong(value);
        }
    }
    PyErr_Format(PyExc_SystemError, "ufuse: register %d does not hold what a program reads",
                 (int)step->source);
    return NULL;
}

/* Combine two exact ints (`a` only for `neg`). A new reference, or NULL with an exception set. */
static PyObject *
combine_exactly(Operation operation, PyObject *a, PyObject *b)
{
    switch (operation) {
    case OP_add:
        return PyNumber_Add(a, b);
    case OP_sub:
        return PyNumber_Subtract(a, b);
    case OP_mul:
        return PyNumber_Multiply(a, b);
    case OP_neg:
        return PyNumber_Negative(a);
    case OP_floordiv:
        return PyNumber_FloorDivide(a, b);
    case OP_mod:
        return PyNumber_Remainder(a, b);
    default:
        break;
    }
    bool least = operation == OP_min;
    if (!least && operation != OP_max) {
        PyErr_Format(PyExc_SystemError, "ufuse: %s gives no int", operations[operation].name);
        return NULL;
    }
    int first = PyObject_RichCompareBool(a, b, least ? Py_LT : Py_GT);
    return first < 0 ? NULL : Py_NewRef(first ? a : b);
}

/*
 * Run a program with ints of any size. A new reference, or NULL with an exception set
 * (ZeroDivisionError, MemoryError; SystemError for a program that compares or does not fit its
 * registers). Runs no Python code.
 */
PyObject *
run_integer_exactly(const IntegerProgram *program, PyObject *const *registers)
{
    PyObject *stack[DEEPEST];
    int depth = 0;
    bool complete = true;
    for (Py_ssize_t i = 0; i < program->count && complete; i++) {
        const Step *step = &program->steps[i];
        int takes = operations[step->operation].takes;
        PyObject *value;
        if (takes == 0) {
            value = load_exactly(step, registers);
        }
        else {
            depth -= takes;
            value = combine_exactly(step->operation, stack[depth], stack[depth + takes - 1]);
            for (int k = 0; k < takes; k++) {
                Py_DECREF(stack[depth + k]);
            }
        }
        complete = value != NULL;
        if (complete) {
            stack[depth++] = value;
        }
    }
    if (complete) {
        return stack[0];
    }
    while (depth > 0) {
        Py_DECREF(stack[--depth]);
    }
    return NULL;
}
