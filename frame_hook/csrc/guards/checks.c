#include "guards/guard_rows.h"
#include "guards/skipped_checks.h"
#include "python/arrays.h"
#include "python/builtin_types.h"
#include "python/exceptions.h"
#include "python/finalizers.h"
#include "python/storage.h"

/* ---- loading ---- */

/* A dict's value, a new reference, or NULL where it has none or `find_in_dict` cannot tell. */
static PyObject *
dict_value(PyObject *dict, PyObject *key)
{
    PyObject *value;
    (void)find_in_dict(dict, key, &value);
    return Py_XNewRef(value);
}

/* What LOAD_KEY loads, as a new reference, or NULL. */
static inline PyObject *
named_value(Guard *guard)
{
    PyObject *value;
    (void)find_name(guard->object[0].object, guard->object[1].object, &guard->place, &value);
    return Py_XNewRef(value);
}

/* An attribute of the object itself, in its dict or slot, borrowed, or NULL. */
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
    PyObject *first = referent(&guard->object[0]);
    if (guard->kind == GUARD_LOAD_CONST) {
        return Py_XNewRef(first);
    }
    if (guard->kind == GUARD_LOAD_CLASS) {
        return first == NULL ? NULL : Py_XNewRef(class_value(first, guard->object[1].object));
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
        return PyDict_Check(source) ? dict_value(source, first) : NULL;
    case GUARD_LOAD_ATTR:
        return attribute_value(source, first);
    case GUARD_LOAD_OWN:
        return Py_XNewRef(own_value(source, first));
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
        return function->func_kwdefaults == NULL ? NULL
                                                 : dict_value(function->func_kwdefaults, first);
    }
}

/* ---- checking ---- */

/* Whether a dict certainly has no such key. */
static bool
dict_lacks(PyObject *dict, PyObject *key)
{
    PyObject *value;
    return find_in_dict(dict, key, &value) == FIND_ABSENT;
}

/* Whether the object itself certainly has no such attribute, or only an empty slot for it. */
static bool
instance_lacks(PyObject *object, PyObject *name)
{
    PyObject *value;
    return find_own(object, name, &value) == FIND_ABSENT;
}

/* Whether a class's MRO has the length and, at the place, the class that a BASE row says. */
static bool
base_is(PyTypeObject *type, const Guard *guard)
{
    PyObject *base = referent(&guard->object[1]);
    PyObject *order = type->tp_mro;
    return base != NULL && order != NULL && PyTuple_GET_SIZE(order) == guard->number[1] &&
           guard->number[0] >= 0 && guard->number[0] < guard->number[1] &&
           PyTuple_GET_ITEM(order, guard->number[0]) == base;
}

/* Whether an exact float has these bits. */
static bool
float_is(PyObject *object, int64_t bits)
{
    return PyFloat_CheckExact(object) &&
           memcmp(&((PyFloatObject *)object)->ob_fval, &bits, sizeof(bits)) == 0;
}

/* Whether a row about an array's layout holds for `source`. */
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
    case GUARD_APART:
        return array_elements_apart(source);
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
    PyObject *expected = referent(&guard->object[0]); /* NULL: it is dead, or there is none */
    int64_t value;
    switch (guard->kind) {
    case GUARD_ABSENT:
        return dict_lacks(expected, guard->object[1].object);
    case GUARD_CLASS_LACKS:
        return expected != NULL && class_value(expected, guard->object[1].object) == NULL;
    case GUARD_CLASS_OWN_LACKS:
        return expected != NULL && class_own_lacks(expected, guard->object[1].object);
    case GUARD_BASE:
        return expected != NULL && base_is((PyTypeObject *)expected, guard);
    case GUARD_ABC_TOKEN:
        return abc_token() == guard->number[0];
    case GUARD_NOTHING_HANDLED:
        return nothing_is_handled();
    case GUARD_RELATION:
        return run_integer(guard->relation, registers, &value) && value;
    case GUARD_UNBOUND:
        return source == NULL;
    case GUARD_NO_FINALIZER:
        return source == NULL || has_no_finalizer(source);
    default:
        break;
    }
    if (source == NULL) {
        return false;
    }
    PyObject *other = registers[guard->source[1]];
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
    case GUARD_NOT_FLOAT:
        return !float_is(source, guard->number[0]);
    case GUARD_BIG_INT:
    case GUARD_STR:
    case GUARD_EQUAL:
        return same_literal(source, expected);
    case GUARD_LENGTH:
        return container_length(source) == guard->number[0];
    case GUARD_DICT_KEYS:
        return dict_keys_are(source, expected);
    case GUARD_SET_IS:
        return set_members_are(source, expected);
    case GUARD_DICT_LACKS:
        return PyDict_CheckExact(source) && dict_lacks(source, expected);
    case GUARD_INSTANCE_LACKS:
        return instance_lacks(source, expected);
    case GUARD_CELL_EMPTY:
        return PyCell_Check(source) && PyCell_GET(source) == NULL;
    case GUARD_FUNCTION:
        return function_has_parts(source, guard->parts);
    case GUARD_DISJOINT:
        return other != NULL && is_array(source) && is_array(other) &&
               arrays_disjoint(source, other);
    case GUARD_SAME:
        return source == other;
    case GUARD_DIFFERENT:
        return source != other;
    case GUARD_NOT_DICT_OF:
        return other != NULL && dict_of_instance(other) != source;
    case GUARD_NO_FINALIZER_ATTR:
        return attribute_has_no_finalizer(source, expected);
    default:
        return layout_holds(guard, source);
    }
}

/* Whether ARRAY, the commonest kind, holds. Runs no Python code, sets no exception. */
static inline bool
array_guard_holds(const Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    return source != NULL && is_array(source) && array_ndim(source) == guard->number[0] &&
           array_type_is((PyArrayObject *)source, (PyArray_Descr *)guard->object[0].object);
}

/*
 * Whether a row holds for these registers. A row that loads puts what it loads, owned by the
 * caller, into `*loaded`. Runs no Python code, sets no exception.
 */
static inline bool
guard_row_holds(Guard *guard, PyObject **registers, PyObject **loaded)
{
    if (guard->loads) {
        *loaded = guard->kind == GUARD_LOAD_KEY ? named_value(guard) : load_value(guard, registers);
        return *loaded != NULL;
    }
    return guard->kind == GUARD_ARRAY ? array_guard_holds(guard, registers)
                                      : guard_holds(guard, registers);
}

/*
 * Find the first row that does not hold. `registers` begins with `n_state` borrowed values and has
 * room for what the rows append; when every row holds (the result is -1) those are owned by the
 * caller, otherwise they are gone again. Runs no Python code, and never leaves an exception set.
 */
Py_ssize_t
first_failing_guard(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state)
{
    Py_ssize_t n_registers = n_state;
    for (Py_ssize_t i = 0; i < guards->count; i++) {
        Guard *guard = &guards->rows[i];
        if (!guard_row_holds(guard, registers, &registers[n_registers])) {
            while (n_registers > n_state) {
                n_registers--;
                Py_CLEAR(registers[n_registers]);
            }
            return i;
        }
        n_registers += guard->loads;
    }
    return -1;
}

/*
 * Whether the rows that are not skipped hold. As `first_failing_guard`, but registers that only
 * skipped rows read stay empty.
 */
static bool
remaining_guards_hold(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state)
{
    PyObject **appended = registers + n_state;
    for (Py_ssize_t i = 0; i < guards->loads; i++) {
        appended[i] = NULL;
    }
    for (Py_ssize_t i = 0; i < guards->n_remaining; i++) {
        const RemainingGuard *row = &guards->remaining[i];
        if (!guard_row_holds(row->guard, registers, &appended[row->appended])) {
            for (Py_ssize_t k = 0; k < guards->loads; k++) {
                Py_CLEAR(appended[k]);
            }
            return false;
        }
    }
    return true;
}

/*
 * Whether every row holds. As `first_failing_guard`, but rows that cannot have changed are skipped,
 * and registers that nobody reads may stay empty.
 */
bool
guards_hold(GuardProgram *guards, PyObject **registers, Py_ssize_t n_state)
{
    if (guards->n_checks < 0) {
        return first_failing_guard(guards, registers, n_state) < 0;
    }
    if (guards->held_at_epoch == watch_epoch && guards->n_state == n_state) {
        return remaining_guards_hold(guards, registers, n_state);
    }
    uint64_t epoch = watch_epoch;
    bool refer_to = first_failing_guard(guards, registers, n_state) < 0;
    if (refer_to) {
        note_guards_held(guards, n_state, epoch);
    }
    return refer_to;
}
