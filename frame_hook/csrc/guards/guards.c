#include "guards/guards.h"

#include "guards/guard_rows.h"
#include "guards/skipped_checks.h"
#include "values/arrays.h"
#include "values/builtin_types.h"

typedef struct {
    const char *name;
    const char *operands;
} GuardFacts;

#define X(name, operands) {#name, operands},
static const GuardFacts guard_facts[] = {GUARD_KINDS(X)};
#undef X

/* ---- compiling ---- */

/* Whether `object` may be an operand of this letter, one of those of objects. */
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
        return is_literal(object);
    case 'T':
        return PyType_Check(object);
    case 'd':
        return is_descr(object);
    case 't':
        return PyTuple_CheckExact(object);
    case 'C':
        return PyCode_Check(object);
    case 'F':
        return is_literal_set(object);
    default:
        return letter == 'o' || letter == 'k';
    }
}

/* Read a permutation of 0 … n-1 into `guard->axes`. Returns 0, or -1 with an exception set. */
static int
compile_axes(PyObject *operand, Guard *guard)
{
    RegisterUse ignored = {0};
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
        guard->c_order = guard->axes[i] == i && (i == 0 || guard->c_order);
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
 * Refer to an operand that is an object: weakly if it is compared by identity, or a class or
 * function; strongly otherwise, as nobody else may own it. Returns 0, or -1 with an exception set.
 */
static int
compile_object(char letter, PyObject *operand, const Guard *guard, Reference *reference)
{
    if (letter == 'F') {
        reference->object = members_by_value(operand);
        return reference->object == NULL ? -1 : 0;
    }
    if (guard->kind == GUARD_IDENTITY || is_definition(operand)) {
        return refer_to(operand, reference);
    }
    reference->object = Py_NewRef(operand);
    return 0;
}

/* Turn the three object operands of FUNCTION into its parts. Returns 0, or -1 with an exception. */
static int
compile_parts(Guard *guard)
{
    guard->parts =
        function_parts(guard->object[0].object, guard->object[1].object, guard->object[2].object);
    for (int k = 0; k < 3; k++) {
        Py_CLEAR(guard->object[k].object);
    }
    return guard->parts == NULL ? -1 : 0;
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
    RegisterUse own = *use; /* what guards read is not what the entry reads: `note_reads` */
    int n_numbers = 0, n_objects = 0;
    for (Py_ssize_t i = 0; letters[i] != '\0'; i++) {
        PyObject *operand = PyTuple_GET_ITEM(row, i + 1);
        int status = 0;
        switch (letters[i]) {
        case 'r':
            status = read_register(operand, &own, false, &guard->source[guard->n_sources++]);
            break;
        case 'n':
        case 'b':
        case 'f':
            status = compile_number(letters[i], operand, &guard->number[n_numbers++]);
            break;
        case 'p':
            status = compile_axes(operand, guard);
            break;
        case 's':
            status = read_registers(operand, use, false, &guard->axes, &guard->n_axes);
            break;
        case 'R':
            status = (guard->relation = compile_integer(operand, use, true)) == NULL ? -1 : 0;
            break;
        default:
            if (!fits_operand(letters[i], operand)) {
                PyErr_Format(PyExc_TypeError, "operand %zd of %s cannot be %R", i,
                             guard_facts[kind].name, operand);
                return -1;
            }
            status = compile_object(letters[i], operand, guard, &guard->object[n_objects++]);
        }
        if (status < 0) {
            return -1;
        }
        use->least_state = Py_MAX(use->least_state, own.least_state);
    }
    guard->loads = loads;
    use->appended += loads;
    return guard->kind == GUARD_FUNCTION ? compile_parts(guard) : 0;
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
    stop_watching(guards);
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        Guard *guard = &guards->rows[i];
        for (int k = 0; k < 3; k++) {
            Py_CLEAR(guard->object[k].object);
        }
        free_function_parts(guard->parts);
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
            Py_VISIT(guards->rows[i].object[k].object);
        }
        int status = traverse_function_parts(guards->rows[i].parts, visit, arg);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/*
 * Whether `object` is alive wherever the guards hold, as a register has it: then the entry need not
 * own it.
 */
bool
guards_ensure_alive(const GuardProgram *guards, PyObject *object)
{
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        bool in_register = guard->kind == GUARD_IDENTITY || guard->kind == GUARD_TYPE ||
                           guard->kind == GUARD_LOAD_CONST;
        if (in_register && guard->object[0].weak && referent(&guard->object[0]) == object) {
            return true;
        }
    }
    return false;
}

/* Whether some row can never hold again, as an object it compares with is dead. */
bool
guards_are_dead(const GuardProgram *guards)
{
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        const Guard *guard = &guards->rows[i];
        if (guard->parts != NULL && function_parts_are_dead(guard->parts)) {
            return true;
        }
        for (int k = 0; k < 3; k++) {
            if (guard->object[k].weak && referent(&guard->object[k]) == NULL) {
                return true;
            }
        }
    }
    return false;
}

/* Note what the rest of the entry reads. Call it before the guards are first checked. */
void
note_reads(GuardProgram *guards, const RegisterUse *use)
{
    guards->use = *use;
}

/* How many registers a program appends. */
Py_ssize_t
guards_loads(const GuardProgram *guards)
{
    return guards->loads;
}

/* Add `GUARD_KINDS`, name -> number, to the module. Returns 0, or -1 with an exception set. */
int
export_guard_kinds(PyObject *module)
{
    PyObject *kinds = PyDict_New();
    int status = kinds == NULL ? -1 : 0;
    for (int kind = 0; status == 0 && kind < N_GUARD_KINDS; kind++) {
        PyObject *number = PyLong_FromLong(kind);
        status = number == NULL ? -1 : PyDict_SetItemString(kinds, guard_facts[kind].name, number);
        Py_XDECREF(number);
    }
    if (status == 0) {
        status = PyModule_AddObjectRef(module, "GUARD_KINDS", kinds);
    }
    Py_XDECREF(kinds);
    return status;
}
