#include "guards/guard_rows.h"
#include "guards/skipped_checks.h"
#include "values/arrays.h"
#include "values/builtin_types.h"
#include "values/device_arrays.h"
#include "python/exceptions.h"
#include "values/finalizers.h"
#include "values/iterators.h"
#include "values/remembered.h"

/* ---- loading ---- */

/* What a row's dict has under its key, a new reference, or NULL where that cannot be told. */
static PyObject *
item_of_dict(PyObject *dict, Guard *guard)
{
    PyObject *key = guard->object[0].object, *value;
    if (PyUnicode_CheckExact(key)) {
        (void)find_name(dict, key, &guard->known.index, &value);
    }
    else {
        (void)find_in_dict(dict, referent(&guard->object[0]), &value);
    }
    return Py_XNewRef(value);
}

/* What LOAD_KEY loads, as a new reference, or NULL. */
static inline PyObject *
named_value(Guard *guard)
{
    PyObject *value;
    (void)find_name(guard->object[0].object, guard->object[1].object, &guard->known.index, &value);
    return Py_XNewRef(value);
}

/* An attribute of the object itself, in its dict or slot, borrowed, or NULL. */
static PyObject *
own_value(PyObject *object, Guard *guard)
{
    PyObject *value;
    (void)find_own(object, guard->object[0].object, &guard->known, &value);
    return value;
}

/* What LOAD_CLASS loads from a class, borrowed, or NULL. */
static PyObject *
value_of_class(PyTypeObject *type, Guard *guard)
{
    if (!class_has_version(type, guard->known.version)) {
        guard->on_class = class_value((PyObject *)type, guard->object[1].object);
        guard->known.version = type->tp_version_tag;
    }
    return guard->on_class;
}

/* What a row loads from a function, as a new reference, or NULL. */
static inline PyObject *
part_of_function(Guard *guard, PyObject *source)
{
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
                                                 : item_of_dict(function->func_kwdefaults, guard);
    }
}

/*
 * What a `LOAD_…` row loads, as a new reference; NULL without an exception when it fails. Inline:
 * most rows of most entries load.
 */
static inline PyObject *
load_value(Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    PyObject *first;
    switch (guard->kind) {
    case GUARD_LOAD_KEY:
        return named_value(guard);
    case GUARD_LOAD_OWN:
        return source == NULL ? NULL : Py_XNewRef(own_value(source, guard));
    case GUARD_LOAD_CONST:
        return Py_XNewRef(referent(&guard->object[0]));
    case GUARD_LOAD_CLASS:
        first = referent(&guard->object[0]);
        return first == NULL ? NULL : Py_XNewRef(value_of_class((PyTypeObject *)first, guard));
    default:
        break;
    }
    if (source == NULL) {
        return NULL;
    }
    switch (guard->kind) {
    case GUARD_LOAD_ATTR:
        return attribute_value(source, guard->object[0].object, &guard->known);
    case GUARD_LOAD_CELL:
        return PyCell_Check(source) ? Py_XNewRef(PyCell_GET(source)) : NULL;
    case GUARD_LOAD_ITEM:
        return sequence_item(source, guard->number[0]);
    case GUARD_LOAD_ITERATED:
        return Py_XNewRef(iterated(source));
    case GUARD_LOAD_DICT_ITEM:
        return PyDict_Check(source) ? item_of_dict(source, guard) : NULL;
    case GUARD_LOAD_REMEMBERED:
        first = referent(&guard->object[0]);
        return Py_XNewRef(remembered_result(source, first, (Py_hash_t)guard->number[0]));
    default:
        return part_of_function(guard, source);
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
instance_lacks(PyObject *object, Guard *guard)
{
    PyObject *value;
    return find_own(object, guard->object[0].object, &guard->known, &value) == FIND_ABSENT;
}

/* Whether CLASS_LACKS or CLASS_OWN_LACKS holds for a class, or NULL. */
static bool
class_lacks(PyTypeObject *type, Guard *guard)
{
    if (type == NULL || class_has_version(type, guard->known.version)) {
        return type != NULL;
    }
    PyObject *name = guard->object[1].object;
    bool lacks = guard->kind == GUARD_CLASS_OWN_LACKS ? class_own_lacks((PyObject *)type, name)
                                                      : class_value((PyObject *)type, name) == NULL;
    guard->known.version = lacks ? type->tp_version_tag : 0;
    return lacks;
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

/*
 * Whether a row about an order of axes is about C order, and the array has it without gaps, as its
 * flag says: the answer that is nearly always asked for.
 */
static inline bool
is_c_contiguous(const Guard *guard, PyObject *array)
{
    return guard->c_order && array_ndim(array) == guard->n_axes &&
           PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
}

/*
 * Whether ORDER and CONTIGUOUS hold, as a DEVICE_LAYOUT row says, for an array on a device of as
 * many axes: at once where no axis is of size 0 or 1.
 */
static bool
device_layout_holds(const Guard *guard, const DeviceView *view, Py_ssize_t item)
{
    bool gapless = guard->number[1] != 0, fills = true;
    Py_ssize_t least = item, expected = item;
    for (Py_ssize_t i = guard->n_axes; i-- > 0;) {
        Py_ssize_t size = view->shape[guard->axes[i]], stride = view->strides[guard->axes[i]];
        if (size <= 1) {
            ArrayView whole = {view->shape, view->strides, view->dtype, view->data,
                               item,        view->ndim,    view->device};
            return array_order_is(&whole, guard->axes, guard->n_axes) &&
                   array_contiguous(&whole, guard->axes, guard->n_axes) == gapless;
        }
        if (stride < least) {
            return false;
        }
        fills = fills && stride == expected;
        expected *= size;
        least = stride + 1;
    }
    return fills == gapless;
}

/* Whether an object is an array on the device as a DEVICE_ARRAY or DEVICE_LAYOUT row says. */
static inline bool
device_guard_holds(const Guard *guard, PyObject *source)
{
    DeviceView view;
    if (!members_by_layout(&device_layout, source, &view) || view.device != guard->number[0]) {
        return false;
    }
    PyArray_Descr *dtype = (PyArray_Descr *)view.dtype;
    PyArray_Descr *wanted = (PyArray_Descr *)guard->object[0].object; /* in native byte order */
    if (dtype != wanted && (!is_dtype(&device_layout, view.dtype) ||
                            !PyDataType_ISNOTSWAPPED(dtype) || !same_descr(dtype, wanted))) {
        return false;
    }
    if (guard->kind == GUARD_DEVICE_ARRAY) {
        return view.ndim == guard->number[1];
    }
    Py_ssize_t item = PyDataType_ELSIZE(dtype);
    return view.ndim == guard->n_axes &&
           (guard->c_order && guard->number[1] != 0
                ? is_gapless(view.ndim, view.shape, view.strides, item, false)
                : device_layout_holds(guard, &view, item));
}

/* Whether a row about an array's type or layout holds for `source`. */
static bool
layout_holds(const Guard *guard, PyObject *source)
{
    if (guard->kind == GUARD_SIZE && is_array(source)) { /* the commonest, without a view */
        return guard->number[0] >= 0 && guard->number[0] < array_ndim(source) &&
               array_shape(source)[guard->number[0]] == guard->number[1];
    }
    ArrayView view;
    if (!view_of(source, &view)) {
        return false;
    }
    switch (guard->kind) {
    case GUARD_WRITEABLE:
        return is_array(source) && array_writeable(source) == (guard->number[0] != 0);
    case GUARD_ORDER:
        return array_order_is(&view, guard->axes, guard->n_axes);
    case GUARD_APART:
        return array_elements_apart(&view);
    case GUARD_SIZE:
        return guard->number[0] >= 0 && guard->number[0] < view.ndim &&
               view.shape[guard->number[0]] == guard->number[1];
    default:
        return view.ndim == guard->n_axes &&
               array_contiguous(&view, guard->axes, guard->n_axes) == (guard->number[0] != 0);
    }
}

/* Whether a row of another kind holds. Runs no Python code, sets no exception. */
static bool
guard_holds(Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    if (guard->kind == GUARD_DEVICE_LAYOUT || guard->kind == GUARD_DEVICE_ARRAY) {
        return source != NULL && device_guard_holds(guard, source);
    }
    PyObject *expected = referent(&guard->object[0]); /* NULL: it is dead, or there is none */
    int64_t value;
    switch (guard->kind) {
    case GUARD_ABSENT:
        return dict_lacks(expected, guard->object[1].object);
    case GUARD_CLASS_LACKS:
    case GUARD_CLASS_OWN_LACKS:
        return class_lacks((PyTypeObject *)expected, guard);
    case GUARD_BASE:
        return expected != NULL && base_is((PyTypeObject *)expected, guard);
    case GUARD_ABC_TOKEN:
        return abc_token() == guard->number[0];
    case GUARD_NOTHING_HANDLED:
        return nothing_is_handled();
    case GUARD_ALL_DISJOINT:
        return arrays_all_disjoint(registers, guard->axes, guard->n_axes, guard->number[0]);
    case GUARD_UNBOUND:
        return source == NULL;
    default:
        break;
    }
    if (source == NULL) {
        return false;
    }
    PyObject *other = registers[guard->source[1]];
    switch (guard->kind) {
    case GUARD_INT:
        return exact_int64(source, &value) && value == guard->number[0];
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
        return instance_lacks(source, guard);
    case GUARD_CELL_EMPTY:
        return PyCell_Check(source) && PyCell_GET(source) == NULL;
    case GUARD_DISJOINT:
        return other != NULL && is_any_array(source) && is_any_array(other) &&
               arrays_disjoint(source, other);
    case GUARD_DIFFERENT:
        return source != other && (other == NULL || !share_dict(source, other));
    case GUARD_NOT_DICT_OF:
        return other != NULL && dict_of_instance(other) != source;
    case GUARD_NO_FINALIZER_ATTR:
        return attribute_has_no_finalizer(source, expected, &guard->known);
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

static bool
first_type_is(PyObject *source, PyTypeObject *type)
{
    if (!PyList_CheckExact(source) && !PyTuple_CheckExact(source)) {
        return false;
    }
    return Py_SIZE(source) == 0 || Py_IS_TYPE(PySequence_Fast_ITEMS(source)[0], type);
}

/*
 * Whether a row that does not load holds, where that is one of the commonest kinds and the usual
 * answer; else `guard_holds` tells. Runs no Python code, sets no exception.
 */
static inline bool
plain_row_holds(Guard *guard, PyObject *const *registers)
{
    PyObject *source = registers[guard->source[0]];
    switch (guard->kind) {
    case GUARD_ARRAY:
        return array_guard_holds(guard, registers);
    case GUARD_ORDER:
    case GUARD_CONTIGUOUS:
        if (source != NULL && is_array(source) && is_c_contiguous(guard, source)) {
            return guard->kind == GUARD_ORDER || guard->number[0] != 0;
        }
        break;
    case GUARD_RELATION:
        return relation_holds(guard->relation, registers);
    case GUARD_TYPE:
        return source != NULL && Py_IS_TYPE(source, (PyTypeObject *)referent(&guard->object[0]));
    case GUARD_EITHER_TYPE:
        return source != NULL && (Py_IS_TYPE(source, (PyTypeObject *)referent(&guard->object[0])) ||
                                  Py_IS_TYPE(source, (PyTypeObject *)referent(&guard->object[1])));
    case GUARD_FIRST_TYPE:
        return source != NULL && first_type_is(source, (PyTypeObject *)referent(&guard->object[0]));
    case GUARD_IDENTITY:
        return source != NULL && source == referent(&guard->object[0]);
    case GUARD_BOUND:
        return source != NULL;
    case GUARD_SAME:
        return source != NULL && source == registers[guard->source[1]];
    case GUARD_FLOAT:
        return source != NULL && float_is(source, guard->number[0]);
    case GUARD_FUNCTION:
        return source != NULL && function_has_parts(source, guard->parts);
    case GUARD_NO_FINALIZER:
        return source == NULL || has_no_finalizer(source);
    case GUARD_STR:
    case GUARD_EQUAL:
        if (source != NULL && source == guard->object[0].object) {
            return true;
        }
        break;
    default:
        break;
    }
    return guard_holds(guard, registers);
}

/*
 * Whether a row holds for these registers. A row that loads puts what it loads, owned by the
 * caller, into `*loaded`. Runs no Python code, sets no exception.
 */
static inline bool
guard_row_holds(Guard *guard, PyObject **registers, PyObject **loaded)
{
    if (guard->loads) {
        *loaded = load_value(guard, registers);
        return *loaded != NULL;
    }
    return plain_row_holds(guard, registers);
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

/* Whether the classes that rows name are what they were when all rows last held. */
static inline bool
classes_are_unchanged(const GuardProgram *guards)
{
    for (Py_ssize_t i = 0; i < guards->n_classes; i++) {
        PyTypeObject *type = (PyTypeObject *)referent(guards->classes[i].type);
        if (type == NULL || !class_has_version(type, guards->classes[i].version)) {
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
    uint64_t epoch = watch_epoch(guards->watches, guards->n_watches);
    if (guards->held_at_epoch == epoch && guards->n_state == n_state &&
        classes_are_unchanged(guards)) {
        return remaining_guards_hold(guards, registers, n_state);
    }
    bool hold = first_failing_guard(guards, registers, n_state) < 0;
    if (hold) {
        note_guards_held(guards, n_state, epoch);
    }
    return hold;
}
