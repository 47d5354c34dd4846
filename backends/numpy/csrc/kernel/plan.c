/* Plans: segments read from Python, checked, and their temporaries given places. */
#include "kernel/plan.h"
#include "loops/loops.h"

#include <stdlib.h>

int
number_between(PyObject *number, Py_ssize_t past, const char *what)
{
    Py_ssize_t value = PyNumber_AsSsize_t(number, PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (value < 0 || value >= past) {
        PyErr_Format(PyExc_ValueError, "%s is %zd, not between 0 and %zd", what, value, past - 1);
        return -1;
    }
    return (int)value;
}

void
plan_release(Plan *plan)
{
    if (plan == NULL || --plan->references > 0) {
        return;
    }
    for (int i = 0; i < plan->segments; i++) {
        Py_XDECREF(plan->segment[i].loop);
        Py_XDECREF(plan->segment[i].initial);
        PyMem_Free(plan->segment[i].values);
    }
    PyMem_Free(plan->segment);
    PyMem_Free(plan->slot_of);
    PyMem_Free(plan->slot);
    PyMem_Free(plan);
}

int
plan_traverse(const Plan *plan, visitproc visit, void *arg)
{
    if (plan != NULL) {
        for (int i = 0; i < plan->segments; i++) {
            Py_VISIT(plan->segment[i].loop);
        }
    }
    return 0;
}

static int
segment_kind(PyObject *text)
{
    static const char *const names[] = {"map", "map_row", "reduce", "total"};
    for (int i = 0; PyUnicode_Check(text) && i < 4; i++) {
        if (PyUnicode_CompareWithASCIIString(text, names[i]) == 0) {
            return i;
        }
    }
    PyErr_Format(PyExc_ValueError, "no kind of segment: %R", text);
    return -1;
}

/* The value numbers of one side of a segment. -1: exception. */
static int
read_values(const Kernel *kernel, PyObject *numbers, int wanted, short *values)
{
    if (!PyTuple_Check(numbers) || PyTuple_GET_SIZE(numbers) != wanted) {
        PyErr_Format(PyExc_ValueError, "a segment's loop takes %d values here, not %R", wanted,
                     numbers);
        return -1;
    }
    for (int i = 0; i < wanted; i++) {
        int value = number_between(PyTuple_GET_ITEM(numbers, i), kernel->values, "a value");
        if (value < 0) {
            return -1;
        }
        values[i] = (short)value;
    }
    return 0;
}

static int
refuse(const Segment *segment, const char *why)
{
    PyErr_Format(PyExc_ValueError, "segment %S of node %d: %s", (PyObject *)segment->loop,
                 segment->node, why);
    return -1;
}

static int
check_types(const Kernel *kernel, const Segment *segment)
{
    const Loop *loop = segment->loop;
    if (loop->native) {
        return 0;
    }
    for (int i = 0; i < segment->arguments; i++) {
        /* A fold's loop takes (accumulator, input) and gives the accumulator. */
        int type = loop->types[segment->kind >= SEGMENT_REDUCE && i == 0 ? 1
                               : segment->kind >= SEGMENT_REDUCE         ? 2
                                                                         : i];
        PyArray_Descr *has = kernel->value[segment->values[i]].descr;
        if (has->type_num != type) {
            PyArray_Descr *wants = PyArray_DescrFromType(type);
            if (wants == NULL) {
                return -1;
            }
            bool same = PyArray_EquivTypes(has, wants); /* as long and long long may be */
            Py_DECREF(wants);
            if (!same) {
                return refuse(segment, "a value has not its loop's dtype");
            }
        }
    }
    return 0;
}

/* Check a segment by its kind; `made` says which values exist before it. -1: exception. */
static int
check_segment(Kernel *kernel, Segment *segment, bool *made)
{
    const Loop *loop = segment->loop;
    bool folds = segment->kind >= SEGMENT_REDUCE;
    int outputs_from = segment->arguments - (folds ? 1 : loop->outputs);
    for (int i = 0; i < segment->arguments; i++) {
        int number = segment->values[i];
        Value *value = &kernel->value[number];
        bool output = i >= outputs_from, operand = number < kernel->operands;
        if (output && operand) {
            return refuse(segment, "an operand is no output: give the result as into");
        }
        if (!output && !made[number]) {
            return refuse(segment, "a value is used before it is made");
        }
        if (!output && value->is_total) {
            return refuse(segment, "a total feeds results only");
        }
        if (output && made[number]) {
            return refuse(segment, "a value is made twice");
        }
        switch (segment->kind) {
        case SEGMENT_MAP:
            segment->mixes_rows |= value->is_row;
            if (output && value->is_row && !loop->native) {
                return refuse(segment, "a map makes no row value");
            }
            break;
        case SEGMENT_MAP_ROW:
            if (!operand && !value->is_row) {
                return refuse(segment, "a map_row takes row values and operands");
            }
            break;
        case SEGMENT_REDUCE:
            if (output != value->is_row) {
                return refuse(segment, "a reduce folds a value into a row value");
            }
            break;
        case SEGMENT_TOTAL:
            if (!output && value->is_row) {
                return refuse(segment, "a total folds a value over the space");
            }
            break;
        }
        if (output) {
            made[number] = true;
            value->is_total = segment->kind == SEGMENT_TOTAL;
        }
    }
    if (kernel->rows ? segment->kind == SEGMENT_TOTAL
                     : segment->kind == SEGMENT_REDUCE || segment->kind == SEGMENT_MAP_ROW) {
        return refuse(segment, kernel->rows ? "a kernel of rows has no total"
                                            : "only a kernel of rows has row values");
    }
    return check_types(kernel, segment);
}

static int
read_initial(const Kernel *kernel, Segment *segment, PyObject *initial)
{
    if (initial == Py_None) {
        return 0;
    }
    npy_intp itemsize = kernel->value[segment->values[1]].itemsize;
    if (segment->kind < SEGMENT_REDUCE || !PyBytes_Check(initial) ||
        PyBytes_GET_SIZE(initial) != itemsize) {
        return refuse(segment, "the initial value is bytes, one element long, of a fold");
    }
    segment->initial = Py_NewRef(initial);
    return 0;
}

static int
read_segment(Kernel *kernel, PyObject *item, Segment *segment, bool native, bool *made)
{
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 5 || PyTuple_GET_SIZE(item) > 6 ||
        !Py_IS_TYPE(PyTuple_GET_ITEM(item, 0), loop_type)) {
        PyErr_Format(PyExc_ValueError, "a segment is (loop, inputs, outputs, kind, node), not %R",
                     item);
        return -1;
    }
    segment->loop = (Loop *)Py_NewRef(PyTuple_GET_ITEM(item, 0));
    int kind = segment_kind(PyTuple_GET_ITEM(item, 3));
    long node = PyLong_AsLong(PyTuple_GET_ITEM(item, 4));
    if (kind < 0 || (node == -1 && PyErr_Occurred())) {
        return -1;
    }
    segment->kind = (SegmentKind)kind;
    segment->node = (int)node;
    const Loop *loop = segment->loop;
    bool folds = segment->kind >= SEGMENT_REDUCE;
    if (folds && (loop->inputs != 2 || loop->outputs != 1)) {
        return refuse(segment, "only a loop of two inputs and one output folds");
    }
    if (!native && loop->native) {
        return refuse(segment, "a native loop is not plain");
    }
    int inputs = folds ? 1 : loop->inputs;
    segment->arguments = inputs + loop->outputs;
    segment->values = PyMem_Calloc((size_t)segment->arguments, sizeof(short));
    if (segment->values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (read_values(kernel, PyTuple_GET_ITEM(item, 1), inputs, segment->values) < 0 ||
        read_values(kernel, PyTuple_GET_ITEM(item, 2), loop->outputs, segment->values + inputs) <
            0) {
        return -1;
    }
    if (check_segment(kernel, segment, made) < 0) {
        return -1;
    }
    return PyTuple_GET_SIZE(item) == 6 ? read_initial(kernel, segment, PyTuple_GET_ITEM(item, 5))
                                       : 0;
}

/* Whether segments write the value straight into a result, so that it needs no scratch slot. */
static bool
value_is_direct(const Kernel *kernel, int value)
{
    for (int i = 0; i < kernel->results; i++) {
        if (kernel->result[i].value == value && kernel->result[i].direct) {
            return true;
        }
    }
    return false;
}

static bool
value_is_result(const Kernel *kernel, int value)
{
    for (int i = 0; i < kernel->results; i++) {
        if (kernel->result[i].value == value) {
            return true;
        }
    }
    return false;
}

static int
last_use(const Kernel *kernel, const Plan *plan, int value)
{
    if (value_is_result(kernel, value)) {
        return plan->segments;
    }
    int last = -1;
    for (int i = 0; i < plan->segments; i++) {
        for (int j = 0; j < plan->segment[i].arguments; j++) {
            if (plan->segment[i].values[j] == value) {
                last = i;
            }
        }
    }
    return last;
}

/*
 * Assign slots to temporaries; a dead value's slot goes to the next one of its kind. Inputs die
 * after their last segment, never within it: loops see disjoint memory, as they mostly do in eager
 * NumPy.
 */
static int
assign_slots(const Kernel *kernel, Plan *plan)
{
    size_t values = (size_t)kernel->values;
    plan->slot_of = PyMem_Calloc(values, sizeof(short));
    plan->slot = PyMem_Calloc(values, sizeof(Slot));
    int *free_from = PyMem_Calloc(values, sizeof(int)); /* per slot */
    if (plan->slot_of == NULL || plan->slot == NULL || free_from == NULL) {
        PyMem_Free(free_from);
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < kernel->values; i++) {
        plan->slot_of[i] = -1;
    }
    for (int i = 0; i < plan->segments; i++) {
        const Segment *segment = &plan->segment[i];
        int inputs = segment->kind >= SEGMENT_REDUCE ? 1 : segment->loop->inputs;
        for (int j = inputs; j < segment->arguments; j++) {
            int number = segment->values[j], found = -1;
            const Value *value = &kernel->value[number];
            if (value->is_total || value_is_direct(kernel, number)) {
                continue;
            }
            for (int s = 0; s < plan->slots; s++) {
                bool fits = plan->slot[s].is_row == value->is_row && free_from[s] <= i;
                if (fits && (found < 0 || plan->slot[s].itemsize == value->itemsize)) {
                    found = s;
                }
            }
            if (found < 0) {
                found = plan->slots++;
                plan->slot[found].is_row = value->is_row;
            }
            if (plan->slot[found].itemsize < value->itemsize) {
                plan->slot[found].itemsize = value->itemsize;
            }
            int last = last_use(kernel, plan, number);
            free_from[found] = (last < i ? i : last) + 1;
            plan->slot_of[number] = (short)found;
        }
    }
    PyMem_Free(free_from);
    return 0;
}

/* Read a list of segments; the kernel's values and results are known. NULL: exception. */
Plan *
plan_make(const Kernel *kernel_, PyObject *segments, bool native)
{
    Kernel *kernel = (Kernel *)kernel_;
    if (!PyTuple_Check(segments)) {
        PyErr_SetString(PyExc_TypeError, "segments are a tuple");
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(segments);
    if (count > 10000) {
        PyErr_SetString(PyExc_ValueError, "too many segments");
        return NULL;
    }
    Plan *plan = PyMem_Calloc(1, sizeof(Plan));
    bool *made = PyMem_Calloc((size_t)kernel->values + 1, sizeof(bool));
    if (plan != NULL) {
        plan->references = 1;
        plan->native = native;
        plan->segment = PyMem_Calloc((size_t)count + 1, sizeof(Segment));
    }
    if (plan == NULL || made == NULL || plan->segment == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    for (int i = 0; i < kernel->operands; i++) {
        made[i] = true;
    }
    for (int i = 0; i < (int)count; i++) {
        Segment *segment = &plan->segment[i];
        plan->segments++;
        if (read_segment(kernel, PyTuple_GET_ITEM(segments, i), segment, native, made) < 0) {
            goto failed;
        }
        plan->has_map_row |= segment->kind == SEGMENT_MAP_ROW;
    }
    for (int i = 0; i < kernel->results; i++) {
        if (!made[kernel->result[i].value]) {
            PyErr_Format(PyExc_ValueError, "result %d is never computed", i);
            goto failed;
        }
    }
    if (assign_slots(kernel, plan) < 0) {
        goto failed;
    }
    PyMem_Free(made);
    return plan;
failed:
    PyMem_Free(made);
    plan_release(plan);
    return NULL;
}
