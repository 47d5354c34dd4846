#include "guards/recipe.h"

#include <stdbool.h>
#include <string.h>

#include "guards/references.h"

/* clang-format off */
/*
 * A row is `(name, operand, …)` and appends one register; a row that only writes appends None.
 *   r  a register        ?  a register, or -1 for "none"     m  a sequence of registers
 *   o  any object        s  an exact str                     c  a callable
 *   i  an index          R  an integer program
 * `only` lets the next row run where a number is true, or (index 0) where it is not: that row then
 * appends None.
 */
/* clang-format on */
#define RECIPE_STEPS(X)                                                                            \
    X(const, "o")                                                                                  \
    X(tuple, "m")                                                                                  \
    X(list, "m")                                                                                   \
    X(dict, "m")                                                                                   \
    X(slice, "???")                                                                                \
    X(cell, "?")                                                                                   \
    X(call, "cm")                                                                                  \
    X(int, "R")                                                                                    \
    X(list_set, "rir")                                                                             \
    X(list_append, "rr")                                                                           \
    X(dict_set, "rr?")                                                                             \
    X(cell_set, "r?")                                                                              \
    X(set_attr, "rs?")                                                                             \
    X(only, "ri")

#define X(name, operands) STEP_##name,
typedef enum { RECIPE_STEPS(X) N_RECIPE_STEPS } StepKind;
#undef X

static const struct {
    const char *name;
    const char *operands;
} step_facts[] = {
#define X(name, operands) {#name, operands},
    RECIPE_STEPS(X)
#undef X
};

typedef struct {
    StepKind kind;
    int n_sources;
    int32_t source[3]; /* the r and ? operands in order */
    Py_ssize_t index;
    Reference object; /* weak where the guards ensure that it is alive */
    int32_t *members; /* owned */
    Py_ssize_t n_members;
    IntegerProgram *integer; /* owned */
} RecipeStep;

struct Recipe {
    Py_ssize_t count;
    RecipeStep steps[1];
};

/* ---- compiling ---- */

/* Read one operand. Returns 0, or -1 with an exception set. */
static int
compile_operand(char letter, PyObject *operand, const GuardProgram *guards, RegisterUse *use,
                RecipeStep *step)
{
    switch (letter) {
    case 'r':
    case '?':
        return read_register(operand, use, letter == '?', &step->source[step->n_sources++]);
    case 'm':
        return read_registers(operand, use, false, &step->members, &step->n_members);
    case 'R':
        step->integer = compile_integer(operand, use, false);
        return step->integer == NULL ? -1 : 0;
    case 'i':
        step->index = PyLong_AsSsize_t(operand);
        return step->index == -1 && PyErr_Occurred() ? -1 : 0;
    default:
        if ((letter == 's' && !PyUnicode_CheckExact(operand)) ||
            (letter == 'c' && !PyCallable_Check(operand))) {
            PyErr_Format(PyExc_TypeError, "%R cannot be an operand of %s", operand,
                         step_facts[step->kind].name);
            return -1;
        }
        if (guards_ensure_alive(guards, operand)) {
            return refer_to(operand, &step->object);
        }
        step->object.object = Py_NewRef(operand);
        return 0;
    }
}

/*
 * Compile one row. Returns 0, or -1 with an exception set; what the step then owns is freed with
 * it.
 */
static int
compile_recipe_step(PyObject *row, const GuardProgram *guards, RegisterUse *use, RecipeStep *step)
{
    int kind = N_RECIPE_STEPS;
    if (PyTuple_Check(row) && PyTuple_GET_SIZE(row) > 0 &&
        PyUnicode_Check(PyTuple_GET_ITEM(row, 0))) {
        kind = 0;
        while (kind < N_RECIPE_STEPS && PyUnicode_CompareWithASCIIString(
                                            PyTuple_GET_ITEM(row, 0), step_facts[kind].name) != 0) {
            kind++;
        }
    }
    if (kind == N_RECIPE_STEPS ||
        PyTuple_GET_SIZE(row) != (Py_ssize_t)strlen(step_facts[kind].operands) + 1) {
        PyErr_Format(PyExc_ValueError, "%R is no row of a recipe", row);
        return -1;
    }
    step->kind = (StepKind)kind;
    const char *letters = step_facts[kind].operands;
    for (Py_ssize_t i = 0; letters[i] != '\0'; i++) {
        if (compile_operand(letters[i], PyTuple_GET_ITEM(row, i + 1), guards, use, step) < 0) {
            return -1;
        }
    }
    if (kind == STEP_dict && step->n_members % 2 != 0) {
        PyErr_Format(PyExc_ValueError, "a dict needs a value for every key: %R", row);
        return -1;
    }
    use->appended += 1;
    return 0;
}

/*
 * Compile a sequence of rows; `use` is advanced by one register per row. `rows` is borrowed;
 * `guards` are the entry's. Returns a new recipe (`free_recipe` it), or NULL with an exception set.
 */
Recipe *
compile_recipe(PyObject *rows, const GuardProgram *guards, RegisterUse *use)
{
    PyObject *sequence = PySequence_Fast(rows, "a recipe is a sequence of tuples");
    if (sequence == NULL) {
        return NULL;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    Recipe *recipe = PyMem_Calloc(1, sizeof(Recipe) + (size_t)count * sizeof(RecipeStep));
    if (recipe == NULL) {
        Py_DECREF(sequence);
        PyErr_NoMemory();
        return NULL;
    }
    recipe->count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (compile_recipe_step(PySequence_Fast_GET_ITEM(sequence, i), guards, use,
                                &recipe->steps[i]) < 0) {
            Py_DECREF(sequence);
            free_recipe(recipe);
            return NULL;
        }
    }
    Py_DECREF(sequence);
    return recipe;
}

/* Free a recipe and drop what it owns. Accepts NULL. */
void
free_recipe(Recipe *recipe)
{
    for (Py_ssize_t i = 0; recipe != NULL && i < recipe->count; i++) {
        Py_CLEAR(recipe->steps[i].object.object);
        PyMem_Free(recipe->steps[i].members);
        PyMem_Free(recipe->steps[i].integer);
    }
    PyMem_Free(recipe);
}

/* Visit the objects a recipe owns, for the garbage collector. */
int
traverse_recipe(Recipe *recipe, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; recipe != NULL && i < recipe->count; i++) {
        Py_VISIT(recipe->steps[i].object.object);
    }
    return 0;
}

/* How many rows a recipe has, which is how many registers it appends. */
Py_ssize_t
recipe_rows(const Recipe *recipe)
{
    return recipe->count;
}

/* ---- running ---- */

/*
 * The value of a register that must not be empty, borrowed; NULL with SystemError set when it is.
 */
static PyObject *
value_of(PyObject *const *registers, int32_t number)
{
    PyObject *value = registers[number];
    if (value == NULL) {
        PyErr_Format(PyExc_SystemError, "ufuse: a recipe reads register %d, which is empty",
                     (int)number);
    }
    return value;
}

/* The object operand of a row, borrowed; NULL with SystemError set when it is dead. */
static PyObject *
constant_of(const RecipeStep *step)
{
    PyObject *constant = referent(&step->object);
    if (constant == NULL) {
        PyErr_SetString(PyExc_SystemError,
                        "ufuse: a constant of a recipe died while its entry ran");
    }
    return constant;
}

/* As `value_of`, but -1 means `absent`. */
static PyObject *
value_or(PyObject *const *registers, int32_t number, PyObject *absent)
{
    return number < 0 ? absent : value_of(registers, number);
}

/*
 * Untrack a tuple of atomic items from the garbage collector as BUILD_TUPLE does (3.14.1 on), so
 * that gc.is_tracked() is the same.
 */
static void
untrack_as_build_tuple(PyObject *tuple)
{
#if PY_VERSION_HEX >= 0x030E0100
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (PyObject_IS_GC(item) && (!PyTuple_CheckExact(item) || PyObject_GC_IsTracked(item))) {
            return;
        }
    }
    if (PyObject_GC_IsTracked(tuple)) { /* the empty one is not */
        PyObject_GC_UnTrack(tuple);
    }
#else
    (void)tuple;
#endif
}

/* A new tuple or list of registers, or NULL with an exception set. */
static PyObject *
build_sequence(const RecipeStep *step, PyObject *const *registers)
{
    bool is_tuple = step->kind == STEP_tuple;
    PyObject *built = is_tuple ? PyTuple_New(step->n_members) : PyList_New(step->n_members);
    for (Py_ssize_t i = 0; built != NULL && i < step->n_members; i++) {
        PyObject *value = value_of(registers, step->members[i]);
        if (value == NULL) {
            Py_CLEAR(built);
        }
        else if (is_tuple) {
            PyTuple_SET_ITEM(built, i, Py_NewRef(value));
        }
        else {
            PyList_SET_ITEM(built, i, Py_NewRef(value));
        }
    }
    if (built != NULL && is_tuple) {
        untrack_as_build_tuple(built);
    }
    return built;
}

/*
 * A new dict of (key, value) registers, or NULL with an exception set. Hashing may run user code.
 */
static PyObject *
build_dict(const RecipeStep *step, PyObject *const *registers)
{
    PyObject *built = PyDict_New();
    for (Py_ssize_t i = 0; built != NULL && i < step->n_members; i += 2) {
        PyObject *key = value_of(registers, step->members[i]);
        PyObject *value = key == NULL ? NULL : value_of(registers, step->members[i + 1]);
        if (value == NULL || PyDict_SetItem(built, key, value) < 0) {
            Py_CLEAR(built);
        }
    }
    return built;
}

/*
 * Call a constant callable with registers. Runs user code. Returns a new reference, or NULL with
 * its exception.
 */
static PyObject *
call_callable(const RecipeStep *step, PyObject *const *registers)
{
    PyObject *callable = constant_of(step);
    if (callable == NULL) {
        return NULL;
    }
    PyObject *few[9];
    PyObject **arguments = few;
    if (step->n_members > 8 && (arguments = PyMem_New(PyObject *, step->n_members + 1)) == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *result = NULL;
    bool complete = true;
    for (Py_ssize_t i = 0; i < step->n_members && complete; i++) {
        arguments[i + 1] = value_of(registers, step->members[i]);
        complete = arguments[i + 1] != NULL;
    }
    if (complete) {
        result =
            PyObject_Vectorcall(callable, arguments + 1,
                                (size_t)step->n_members | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    if (arguments != few) {
        PyMem_Free(arguments);
    }
    return result;
}

/* A new slice of registers, None for -1, or NULL with an exception set. */
static PyObject *
build_slice(const RecipeStep *step, PyObject *const *registers)
{
    PyObject *part[3];
    for (int i = 0; i < 3; i++) {
        part[i] = value_or(registers, step->source[i], Py_None);
        if (part[i] == NULL) {
            return NULL;
        }
    }
    return PySlice_New(part[0], part[1], part[2]);
}

/* A new cell, empty for -1, or NULL with an exception set. */
static PyObject *
build_cell(const RecipeStep *step, PyObject *const *registers)
{
    PyObject *content = step->source[0] < 0 ? NULL : value_of(registers, step->source[0]);
    return content == NULL && step->source[0] >= 0 ? NULL : PyCell_New(content);
}

/* A new int, or NULL with an exception set. */
static PyObject *
build_int(const RecipeStep *step, PyObject *const *registers)
{
    int64_t value;
    if (run_integer(step->integer, registers, &value)) {
        return PyLong_FromLongLong(value);
    }
    return run_integer_exactly(step->integer, registers); /* it does not fit 64 bits */
}

/*
 * Set or (NULL) delete an item of a dict, past what a subclass overrides, but with the order of an
 * OrderedDict. Hashing may run code of the program. Returns 0, or -1 with an exception set.
 */
static int
set_dict_item(PyObject *dict, PyObject *key, PyObject *value)
{
    if (PyODict_Check(dict)) {
        return PyODict_Type.tp_as_mapping->mp_ass_subscript(dict, key, value);
    }
    return value == NULL ? PyDict_DelItem(dict, key) : PyDict_SetItem(dict, key, value);
}

/*
 * Carry out one of the program's writes; where the last operand is -1, it deletes. An attribute is
 * set as object.__setattr__ does: a __setattr__ of the class has been traced. May run user code.
 * Returns 0, or -1 with an exception set.
 */
static int
write_effect(const RecipeStep *step, PyObject *const *registers)
{
    PyObject *operands[3] = {NULL, NULL, NULL};
    for (int i = 0; i < step->n_sources; i++) {
        if (step->source[i] >= 0 && (operands[i] = value_of(registers, step->source[i])) == NULL) {
            return -1;
        }
    }
    PyObject *target = operands[0];
    switch (step->kind) {
    case STEP_list_set:
        return PyList_SetItem(target, step->index, Py_NewRef(operands[1]));
    case STEP_list_append:
        return PyList_Append(target, operands[1]);
    case STEP_dict_set:
        return set_dict_item(target, operands[1], operands[2]);
    case STEP_cell_set:
        return PyCell_Set(target, operands[1]);
    default:
        return PyObject_GenericSetAttr(target, step->object.object, operands[1]);
    }
}

/* True where the row behind an `only` is to run, else False, borrowed; NULL with an exception set.
 */
static PyObject *
runs_next(const RecipeStep *step, PyObject *const *registers)
{
    PyObject *number = value_of(registers, step->source[0]);
    int truth = number == NULL ? -1 : PyObject_IsTrue(number);
    return truth < 0 ? NULL : truth == (int)step->index ? Py_True : Py_False;
}

/* Run one row. Returns what it appends, a new reference; NULL with an exception set. */
static PyObject *
run_step(const RecipeStep *step, PyObject *const *registers)
{
    switch (step->kind) {
    case STEP_const:
        return Py_XNewRef(constant_of(step));
    case STEP_tuple:
    case STEP_list:
        return build_sequence(step, registers);
    case STEP_dict:
        return build_dict(step, registers);
    case STEP_slice:
        return build_slice(step, registers);
    case STEP_cell:
        return build_cell(step, registers);
    case STEP_call:
        return call_callable(step, registers);
    case STEP_int:
        return build_int(step, registers);
    case STEP_only:
        return Py_XNewRef(runs_next(step, registers));
    default:
        return write_effect(step, registers) < 0 ? NULL : Py_NewRef(Py_None);
    }
}

/*
 * Run every row. `registers` begins with `n_registers` values and has room for one more per row,
 * which the caller owns afterwards. May run code of the program. Returns 0, or -1 with an exception
 * set: then the registers from the row that failed on are NULL.
 */
int
run_recipe(const Recipe *recipe, PyObject **registers, Py_ssize_t n_registers)
{
    for (Py_ssize_t i = 0; i < recipe->count; i++) {
        bool is_left = i > 0 && recipe->steps[i - 1].kind == STEP_only &&
                       registers[n_registers + i - 1] == Py_False;
        PyObject *value = is_left ? Py_NewRef(Py_None) : run_step(&recipe->steps[i], registers);
        if (value == NULL) {
            for (Py_ssize_t k = i; k < recipe->count; k++) {
                registers[n_registers + k] = NULL;
            }
            return -1;
        }
        registers[n_registers + i] = value;
    }
    return 0;
}
