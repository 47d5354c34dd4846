#include "guards.h"

#include "arrays.h"
#include "plain.h"
#include "storage.h"

#define X(name, operands, text) GUARD_##name,
typedef enum { GUARD_KINDS(X) N_GUARD_KINDS } GuardKind;
#undef X

typedef struct {
    const char *name;
    const char *operands;
    const char *text;
} GuardFacts;

#define X(name, operands, text) {#name, operands, text},
static const GuardFacts guard_facts[] = {GUARD_KINDS(X)};
#undef X

/* One compiled row: its operands by type, each type in the order of the row. */
typedef struct {
    GuardKind kind;
    bool loads;
    int32_t source[2];
    int64_t number[2];   /* n, b, and the bits of an f */
    PyObject *object[3]; /* owned */
    int32_t *axes;       /* owned; the permutation */
    Py_ssize_t n_axes;
    Program *relation; /* owned */
} Guard;

struct GuardProgram {
    Py_ssize_t count;
    Py_ssize_t loads; /* registers all rows together append */
    Guard rows[1];
};

/* ---- compiling ---- */

/* Whether `object` may stand for the operand letter; the letters of objects only. */
static bool
fits_operand(char letter, PyObject *object)
{
    switch (letter) {
    case 'D':
        return PyDict_Check(object);
    case 'K':
    case 'S':
        return PyUnicode_CheckExact(object);
    case 'I':
        return PyLong_CheckExact(object);
    case 'v':
        return is_plain_value(object);
    case 'T':
        return PyType_Check(object);
    case 'd':
        return is_descr(object);
    case 't':
        return PyTuple_CheckExact(object);
    case 'C':
        return PyCode_Check(object);
    case 'F':
        return is_plain_set(object);
    default:
        return letter == 'o' || letter == 'k';
    }
}

/* Read a permutation of 0 … n-1 into `guard->axes`. Returns 0, or -1 with an exception set. */
static int
compile_axes(PyObject *operand, Guard *guard)
{
    RegisterUse ignored = {0, 0};
    if (read_registers(operand, &ignored, false, &guard->axes, &guard->n_axes) < 0) {
        return -1;
    }
    uint64_t seen = 0;
    for (Py_ssize_t i = 0; i < guard->n_axes; i++) {
        if (guard->axes[i] >= guard->n_axes || guard->axes[i] >= 64 || seen >> guard->axes[i] & 1) {
            PyErr_Format(PyExc_ValueError, "%R is not a permutation of axes", operand);
            return -1;
        }
        seen |= (uint64_t)1 << guard->axes[i];
    }
    return 0;
}

/*
 * Read an operand that is a number: int, bool or float bits. Returns 0, or -1 with an exception
 * set.
 */
static int
compile_number(char letter, PyObject *operand, int64_t *number)
{
    if (letter == 'f') {
        if (!PyFloat_CheckExact(operand)) {
            PyErr_Format(PyExc_TypeError, "the operand is a float, not %R", operand);
            return -1;
        }
        double value = PyFloat_AS_DOUBLE(operand);
        memcpy(number, &value, sizeof(value));
        return 0;
    }
    if (letter == 'b') {
        int truth = PyObject_IsTrue(operand);
        *number = truth;
        return truth < 0 ? -1 : 0;
    }
    *number = PyLong_AsLongLong(operand);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

/*
 * Compile `(KIND, operand, …)`. Returns 0, or -1 with an exception set; what the guard then owns is
 * freed with it.
 */
static int
compile_guard(PyObject *row, RegisterUse *use, Guard *guard)
{
    long kind = -1;
    if (PyTuple_Check(row) && PyTuple_GET_SIZE(row) > 0) {
        kind = PyLong_AsLong(PyTuple_GET_ITEM(row, 0));
        if (kind == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    if (kind < 0 || kind >= N_GUARD_KINDS) {
        PyErr_Format(PyExc_ValueError,
                     "%R is no guard: a guard is a tuple that begins with its kind", row);
        return -1;
    }
    guard->kind = (GuardKind)kind;
    const char *letters = guard_facts[kind].operands;
    bool loads = *letters == '+';
    letters += loads;
    if (PyTuple_GET_SIZE(row) != (Py_ssize_t)strlen(letters) + 1) {
        PyErr_Format(PyExc_ValueError, "%s takes %zd operands: %R", guard_facts[kind].name,
                     (Py_ssize_t)strlen(letters), row);
        return -1;
    }
    int n_sources = 0, n_numbers = 0, n_objects = 0;
    for (Py_ssize_t i = 0; letters[i] != '\0'; i++) {
        PyObject *operand = PyTuple_GET_ITEM(row, i + 1);
        int status = 0;
        switch (letters[i]) {
        case 'r':
            status = read_register(operand, use, false, &guard->source[n_sources++]);
            break;
        case 'n':
        case 'b':
        case 'f':
            status = compile_number(letters[i], operand, &guard->number[n_numbers++]);
            break;
        case 'p':
            status = compile_axes(operand, guard);
            break;
        case 'R':
            status = (guard->relation = compile_program(operand, use, true)) == NULL ? -1 : 0;
            break;
        default:
            if (!fits_operand(letters[i], operand)) {
                PyErr_Format(PyExc_TypeError, "operand %zd of %s cannot be %R", i,
                             guard_facts[kind].name, operand);
                return -1;
            }
            guard->object[n_objects] =
                letters[i] == 'F' ? members_by_value(operand) : Py_NewRef(operand);
            status = guard->object[n_objects++] == NULL ? -1 : 0;
        }
        if (status < 0) {
            return -1;
        }
    }
    guard->loads = loads;
    use->appended += loads;
    return 0;
}

/*
 * Compile a sequence of rows; `use` is advanced by the registers they append. `rows` is borrowed.
 * Returns a new program (`free_guards` it), or NULL with an exception set.
 */
GuardProgram *
compile_guards(PyObject *rows, RegisterUse *use)
{
    PyObject *sequence = PySequence_Fast(rows, "guards are a sequence of tuples");
    if (sequence == NULL) {
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    GuardProgram *guards = PyMem_Calloc(1, sizeof(GuardProgram) + (size_t)count * sizeof(Guard));
    if (guards == NULL) {
        Py_DECREF(sequence);
        PyErr_NoMemory();
        return NULL;
    }
    guards->count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (compile_guard(PySequence_Fast_GET_ITEM(sequence, i), use, &guards->rows[i]) < 0) {
            Py_DECREF(sequence);
            free_guards(guards);
            return NULL;
        }
    }
    guards->loads = use->appended;
    Py_DECREF(sequence);
    return guards;
}

/* Free a program and drop what it owns. Accepts NULL. */
void
free_guards(GuardProgram *guards)
{
    if (guards == NULL) {
        return;
    }
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        Guard *guard = &guards->rows[i];
        for (int k = 0; k < 3; k++) {
            Py_CLEAR(guard->object[k]);
        }
        PyMem_Free(guard->axes);
        PyMem_Free(guard->relation);
    }
    PyMem_Free(guards);
}

/* Visit the objects a program owns, for the garbage collector. */
int
traverse_guards(GuardProgram *guards, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; guards != NULL && i < guards->count; i++) {
        for (int k = 0; k < 3; k++) {
            Py_VISIT(guards->rows[i].object[k]);
        }
    }
    return 0;
}

/* How many registers a program appends. */
Py_ssize_t
guards_loads(const GuardProgram *guards)
{
    return guards->loads;
}

/* ---- loading ---- */

/* A dict's value as a new reference, or NULL where it has none, or none that C can find. */
static PyObject *
dict_value(PyObject *dict, PyObject *key)
{
    PyObject *value;
    (void)find_in_dict(dict, key, &value);
    return Py_XNewRef(value);
}

/* An attribute that an object has itself, in its dict or slot, borrowed; NULL where it has none. */
static PyObject *
own_value(PyObject *object, PyObject *name)
{
    PyObject *value;
    (void)find_own(object, name, &value);
    return value;
}

/* What a `LOAD_…` row loads, as a new reference; NULL without an exception when it fails. */
static PyObject *
load_value(const Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    if (guard->kind == GUARD_LOAD_CONST) {
        return Py_NewRef(guard->object[0]);
    }
    if (guard->kind == GUARD_LOAD_KEY) {
        return dict_value(guard->object[0], guard->object[1]);
    }
    if (guard->kind == GUARD_LOAD_CLASS) {
        return Py_XNewRef(class_value(guard->object[0], guard->object[1]));
    }
    if (source == NULL) {
        return NULL;
    }
    switch (guard->kind) {
    case GUARD_LOAD_CELL:
        return PyCell_Check(source) ? Py_XNewRef(PyCell_GET(source)) : NULL;
    case GUARD_LOAD_ITEM:
        return sequence_item(source, guard->number[0]);
    case GUARD_LOAD_DICT_ITEM:
        return PyDict_Check(source) ? dict_value(source, guard->object[0]) : NULL;
    case GUARD_LOAD_ATTR:
        return attribute_value(source, guard->object[0]);
    case GUARD_LOAD_OWN:
        return Py_XNewRef(own_value(source, guard->object[0]));
    default:
        break;
    }
    if (!PyFunction_Check(source)) {
        return NULL;
    }
    PyFunctionObject *function = (PyFunctionObject *)source;
    switch (guard->kind) {
    case GUARD_LOAD_CLOSURE:
        return sequence_item(function->func_closure, guard->number[0]);
    case GUARD_LOAD_DEFAULT:
        return sequence_item(function->func_defaults, guard->number[0]);
    default:
        return function->func_kwdefaults == NULL
                   ? NULL
                   : dict_value(function->func_kwdefaults, guard->object[0]);
    }
}

/* ---- checking ---- */

/* Whether a possibly absent part of a function is `expected`, where None stands for absent. */
static inline bool
part_is(PyObject *part, PyObject *expected)
{
    return part == expected || (part == NULL && expected == Py_None);
}

/* Whether an exact function has this code and these defaults. */
static bool
function_is(PyObject *object, PyObject *const *expected)
{
    PyFunctionObject *function = (PyFunctionObject *)object;
    return Py_IS_TYPE(object, &PyFunction_Type) && function->func_code == expected[0] &&
           part_is(function->func_defaults, expected[1]) &&
           part_is(function->func_kwdefaults, expected[2]);
}

/* Whether a dict certainly has no such key. */
static bool
dict_lacks(PyObject *dict, PyObject *key)
{
    PyObject *value;
    return find_in_dict(dict, key, &value) == FIND_ABSENT;
}

/* Whether an object certainly has no such attribute of its own; one whose slot is empty has none.
 */
static bool
instance_lacks(PyObject *object, PyObject *name)
{
    PyObject *value;
    return find_own(object, name, &value) == FIND_ABSENT;
}

/* Whether an exact float has these bits. */
static bool
float_is(PyObject *object, int64_t bits)
{
    return PyFloat_CheckExact(object) &&
           memcmp(&((PyFloatObject *)object)->ob_fval, &bits, sizeof(bits)) == 0;
}

/* Whether a row that asks an array about its layout holds for `source`. */
static bool
layout_holds(const Guard *guard, PyObject *source)
{
    if (!is_array(source)) {
        return false;
    }
    switch (guard->kind) {
    case GUARD_WRITEABLE:
        return array_writeable(source) == (guard->number[0] != 0);
    case GUARD_ORDER:
        return array_order_is(source, guard->axes, guard->n_axes);
    case GUARD_SIZE:
        return guard->number[0] >= 0 && guard->number[0] < array_ndim(source) &&
               array_shape(source)[guard->number[0]] == guard->number[1];
    default:
        return array_ndim(source) == guard->n_axes &&
               array_contiguous(source, guard->axes, guard->n_axes) == (guard->number[0] != 0);
    }
}

/* Whether a row that compares values or registers holds. Runs no Python code, sets no exception. */
static bool
guard_holds(const Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    int64_t value;
    switch (guard->kind) {
    case GUARD_ABSENT:
        return dict_lacks(guard->object[0], guard->object[1]);
    case GUARD_CLASS_LACKS:
        return class_value(guard->object[0], guard->object[1]) == NULL;
    case GUARD_CLASS_OWN_LACKS:
        return class_own_lacks(guard->object[0], guard->object[1]);
    case GUARD_BASES:
        return ((PyTypeObject *)guard->object[0])->tp_mro == guard->object[1];
    case GUARD_ABC_TOKEN:
        return abc_token() == guard->number[0];
    case GUARD_RELATION:
        return run_program(guard->relation, registers, &value) && value;
    case GUARD_UNBOUND:
        return source == NULL;
    default:
        break;
    }
    if (source == NULL) {
        return false;
    }
    PyObject *other = registers[guard->source[1]];
    PyObject *expected = guard->object[0];
    switch (guard->kind) {
    case GUARD_BOUND:
        return true;
    case GUARD_TYPE:
        return Py_IS_TYPE(source, (PyTypeObject *)expected);
    case GUARD_IDENTITY:
        return source == expected;
    case GUARD_INT:
        return exact_int64(source, &value) && value == guard->number[0];
    case GUARD_FLOAT:
        return float_is(source, guard->number[0]);
    case GUARD_BIG_INT:
    case GUARD_STR:
    case GUARD_EQUAL:
        return same_value(source, expected);
    case GUARD_LENGTH:
        return container_length(source) == guard->number[0];
    case GUARD_DICT_KEYS:
        return dict_keys_are(source, expected);
    case GUARD_SET_IS:
        return set_members_are(source, expected);
    case GUARD_INSTANCE_LACKS:
        return instance_lacks(source, expected);
    case GUARD_CELL_EMPTY:
        return PyCell_Check(source) && PyCell_GET(source) == NULL;
    case GUARD_FUNCTION:
        return function_is(source, guard->object);
    case GUARD_DISJOINT:
        return other != NULL && is_array(source) && is_array(other) &&
               arrays_disjoint(source, other);
    case GUARD_SAME:
        return source == other;
    case GUARD_DIFFERENT:
        return source != other;
    case GUARD_NOT_DICT_OF:
        return other != NULL && dict_of_instance(other) != source;
    default:
        return layout_holds(guard, source);
    }
}

/*
 * Whether the commonest row holds: an array of the dtype, in nearly all cases the same dtype
 * object.
 */
static inline bool
array_guard_holds(const Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    return source != NULL && is_array(source) && array_ndim(source) == guard->number[0] &&
           array_type_is((PyArrayObject *)source, (PyArray_Descr *)guard->object[0]);
}

/*
 * Find the first row that does not hold. `registers` begins with `n_state` borrowed values and has
 * room for what the rows append; when every row holds (the result is -1) those are owned by the
 * caller, otherwise they are gone again. Runs no Python code, and never leaves an exception set.
 */
Py_ssize_t
first_failing_guard(const GuardProgram *guards, PyObject **registers, Py_ssize_t n_state)
{
    Py_ssize_t n_registers = n_state;
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        bool holds;
        if (guard->loads) {
            PyObject *value = load_value(guard, registers);
            holds = value != NULL;
            if (holds) {
                registers[n_registers++] = value;
            }
        }
        else {
            holds = guard->kind == GUARD_ARRAY ? array_guard_holds(guard, registers)
                                               : guard_holds(guard, registers);
        }
        if (!holds) {
            while (n_registers > n_state) {
                n_registers--;
                Py_CLEAR(registers[n_registers]);
            }
            return i;
        }
    }
    return -1;
}

/*
 * Put every kind into the module as an int, and `GUARD_KINDS`: name -> (int, text). 0, or -1 with
 * an exception set.
 */
int
export_guard_kinds(PyObject *module)
{
    PyObject *kinds = PyDict_New();
    if (kinds == NULL) {
        return -1;
    }
    for (int kind = 0; kind < N_GUARD_KINDS; kind++) {
        PyObject *row = Py_BuildValue("(is)", kind, guard_facts[kind].text);
        if (row == NULL || PyDict_SetItemString(kinds, guard_facts[kind].name, row) < 0 ||
            PyModule_AddIntConstant(module, guard_facts[kind].name, kind) < 0) {
            Py_XDECREF(row);
            Py_DECREF(kinds);
            return -1;
        }
        Py_DECREF(row);
    }
    int status = PyModule_AddObjectRef(module, "GUARD_KINDS", kinds);
    Py_DECREF(kinds);
    return status;
}
