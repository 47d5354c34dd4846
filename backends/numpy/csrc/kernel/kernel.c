/* The Kernel type: what Python says a kernel is, checked once. */
#include "kernel/bind.h"
#include "kernel/plan.h"
#include "kernel/rolls.h"

#include <stddef.h>
#include <structmember.h>

PyTypeObject *kernel_type;

static int
read_value(Kernel *self, int number, PyObject *dtype, bool is_row)
{
    if (!PyArray_DescrCheck(dtype)) {
        PyErr_Format(PyExc_TypeError, "value %d has no dtype but %R", number, dtype);
        return -1;
    }
    PyArray_Descr *descr = (PyArray_Descr *)dtype;
    int type = descr->type_num;
    if (!(PyTypeNum_ISBOOL(type) || PyTypeNum_ISNUMBER(type)) || !PyArray_ISNBO(descr->byteorder) ||
        PyDataType_ELSIZE(descr) > MAX_ITEM) {
        PyErr_Format(PyExc_ValueError, "value %d: %R is no number in native byte order", number,
                     descr);
        return -1;
    }
    Value *value = &self->value[number];
    value->descr = (PyArray_Descr *)Py_NewRef(dtype);
    value->itemsize = PyDataType_ELSIZE(descr);
    value->is_row = is_row;
    return 0;
}

static int
read_all_values(Kernel *self, PyObject *operands, PyObject *temporaries)
{
    Py_ssize_t count = PyTuple_GET_SIZE(operands), more = PyTuple_GET_SIZE(temporaries);
    if (count + more > MAX_VALUES) {
        PyErr_Format(PyExc_ValueError, "a kernel has at most %d values", MAX_VALUES);
        return -1;
    }
    self->value = PyMem_Calloc((size_t)(count + more) + 1, sizeof(Value));
    if (self->value == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->operands = (int)count;
    self->values = (int)(count + more);
    for (int i = 0; i < self->operands; i++) {
        if (read_value(self, i, PyTuple_GET_ITEM(operands, i), false) < 0) {
            return -1;
        }
    }
    for (int i = 0; i < (int)more; i++) {
        PyObject *pair = PyTuple_GET_ITEM(temporaries, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_Format(PyExc_TypeError, "a temporary is (dtype, is_row), not %R", pair);
            return -1;
        }
        int is_row = PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1));
        if (is_row < 0 ||
            read_value(self, self->operands + i, PyTuple_GET_ITEM(pair, 0), is_row) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The order of the axes: None, "C", or a permutation, outermost first. */
static int
read_order(Result *result, PyObject *order)
{
    result->axes = -1;
    if (order == Py_None ||
        (PyUnicode_Check(order) && PyUnicode_CompareWithASCIIString(order, "C") == 0)) {
        return 0;
    }
    if (!PyTuple_Check(order) || PyTuple_GET_SIZE(order) > MAX_AXES) {
        PyErr_Format(PyExc_ValueError, "an axis order is None, 'C' or a tuple, not %R", order);
        return -1;
    }
    int axes = (int)PyTuple_GET_SIZE(order);
    bool ascending = true;
    uint64_t seen = 0;
    for (int i = 0; i < axes; i++) {
        int axis = number_between(PyTuple_GET_ITEM(order, i), axes, "an axis");
        if (axis < 0) {
            return -1;
        }
        seen |= (uint64_t)1 << axis;
        ascending = ascending && axis == i;
        result->order[i] = (signed char)axis;
    }
    if (seen != ((uint64_t)1 << axes) - 1) {
        PyErr_Format(PyExc_ValueError, "%R is no order of axes", order);
        return -1;
    }
    result->axes = ascending ? -1 : axes;
    return 0;
}

static int
read_how(Kernel *self, Result *result, PyObject *how)
{
    PyObject *kind =
        PyTuple_Check(how) && PyTuple_GET_SIZE(how) > 0 ? PyTuple_GET_ITEM(how, 0) : NULL;
    PyObject *detail = kind != NULL && PyTuple_GET_SIZE(how) > 1 ? PyTuple_GET_ITEM(how, 1) : NULL;
    if (kind == NULL || !PyUnicode_Check(kind)) {
        PyErr_Format(PyExc_TypeError, "how a result is given is a tuple, not %R", how);
        return -1;
    }
    bool is_row = self->value[result->value].is_row;
    if (PyUnicode_CompareWithASCIIString(kind, "new") == 0 && detail != NULL && !is_row) {
        result->kind = RESULT_NEW;
        return read_order(result, detail);
    }
    if (PyUnicode_CompareWithASCIIString(kind, "into") == 0 && detail != NULL && !is_row) {
        result->kind = RESULT_INTO;
        result->operand = number_between(detail, self->operands, "an operand");
        if (result->operand < 0) {
            return -1;
        }
        if (!PyArray_EquivTypes(self->value[result->operand].descr,
                                self->value[result->value].descr)) {
            PyErr_SetString(PyExc_ValueError, "into an operand of another dtype");
            return -1;
        }
        self->has_into = true;
        result->given_out = PyTuple_GET_SIZE(how) == 3 && PyTuple_GET_ITEM(how, 2) == Py_True;
        return 0;
    }
    if (PyUnicode_CompareWithASCIIString(kind, "scalar") == 0 && !self->rows) {
        result->kind = RESULT_SCALAR;
        return 0;
    }
    if (PyUnicode_CompareWithASCIIString(kind, "rows") == 0 && detail != NULL && is_row &&
        self->rows) {
        result->kind = RESULT_ROWS;
        int keepdims = PyObject_IsTrue(detail);
        result->keepdims = keepdims == 1;
        return keepdims < 0 ? -1 : 0;
    }
    PyErr_Format(PyExc_ValueError, "value %d cannot be given as %R", result->value, how);
    return -1;
}

static bool
same_order(const Result *one, const Result *other)
{
    return one->axes == other->axes &&
           (one->axes < 0 || memcmp(one->order, other->order, (size_t)one->axes) == 0);
}

static int
read_results(Kernel *self, PyObject *results)
{
    Py_ssize_t count = PyTuple_GET_SIZE(results);
    if (count > MAX_VALUES) {
        PyErr_SetString(PyExc_ValueError, "too many results");
        return -1;
    }
    self->result = PyMem_Calloc((size_t)count + 1, sizeof(Result));
    if (self->result == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < (int)count; i++) {
        PyObject *pair = PyTuple_GET_ITEM(results, i);
        Result *result = &self->result[i];
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_Format(PyExc_TypeError, "a result is (value, how), not %R", pair);
            return -1;
        }
        result->value = number_between(PyTuple_GET_ITEM(pair, 0), self->values, "a result");
        if (result->value < 0) {
            return -1;
        }
        if (result->value < self->operands) {
            PyErr_SetString(PyExc_ValueError, "an operand is no result: copy it");
            return -1;
        }
        self->results++;
        if (read_how(self, result, PyTuple_GET_ITEM(pair, 1)) < 0) {
            return -1;
        }
        if (result->kind == RESULT_NEW && self->order == NULL) {
            self->order = result;
        }
        bool first = true;
        for (int j = 0; j < i; j++) {
            first = first && !(self->result[j].value == result->value && self->result[j].direct);
        }
        result->direct = first && (result->kind == RESULT_ROWS ||
                                   (result->kind == RESULT_NEW && same_order(result, self->order)));
    }
    if (self->rows && self->order != NULL && self->order->axes >= 0) {
        PyErr_SetString(PyExc_ValueError, "a kernel of rows walks in C order");
        return -1;
    }
    return 0;
}

/* Find, from the plain segments, which operands may be written without a copy in between. */
static int
examine_plain(Kernel *self)
{
    for (int i = 0; i < self->results; i++) {
        Result *result = &self->result[i];
        int made = -1, read = -1;
        for (int s = 0; s < self->plain->segments; s++) {
            const Segment *segment = &self->plain->segment[s];
            for (int j = 0; j < segment->arguments; j++) {
                made = segment->values[j] == result->value && made < 0 ? s : made;
                read =
                    result->kind == RESULT_INTO && segment->values[j] == result->operand ? s : read;
            }
        }
        result->unread = read < 0;
        result->read_before = read <= made;
        bool total = self->value[result->value].is_total;
        if (total != (result->kind == RESULT_SCALAR)) {
            PyErr_Format(PyExc_ValueError, "result %d: totals, and only they, are scalars", i);
            return -1;
        }
        for (int j = 0; j < i; j++) {
            if (result->kind == RESULT_INTO && self->result[j].kind == RESULT_INTO &&
                self->result[j].operand == result->operand) {
                PyErr_Format(PyExc_ValueError, "operand %d is written twice", result->operand);
                return -1;
            }
        }
    }
    for (int s = 0; s < self->plain->segments; s++) {
        const Segment *segment = &self->plain->segment[s];
        self->totals += segment->kind == SEGMENT_TOTAL;
        self->raises |= segment->loop->raises;
        self->depends_on_strides |= segment->loop->depends_on_strides;
        self->position_dependent |=
            segment->loop->position_dependent && segment->kind < SEGMENT_REDUCE;
    }
    return 0;
}

/* Totals run in the native plan too, with the places that the plain plan's totals have. */
static int
set_native(Kernel *self, PyObject *segments)
{
    Plan *plan = NULL;
    if (segments != NULL && segments != Py_None) {
        plan = plan_make(self, segments, true);
        if (plan == NULL) {
            return -1;
        }
        self->maps_rows |= plan->has_map_row;
    }
    Plan *before = self->native;
    self->native = plan;
    plan_release(before);
    return 0;
}

static PyObject *
kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"operands", "temporaries", "segments", "results", "rows", "native",
                            "cost",     "on_hot",      "hot",      "rolls",   NULL};
    PyObject *operands, *temporaries, *segments, *results, *native = Py_None, *on_hot = Py_None,
                                                           *rolls = NULL;
    int rows = 0;
    double cost = 1.0;
    long long hot = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!|$pOdOLO!:Kernel", names,
                                     &PyTuple_Type, &operands, &PyTuple_Type, &temporaries,
                                     &PyTuple_Type, &segments, &PyTuple_Type, &results, &rows,
                                     &native, &cost, &on_hot, &hot, &PyTuple_Type, &rolls)) {
        return NULL;
    }
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->rows = rows;
    self->cost = cost;
    self->hot = hot;
    self->on_hot = on_hot == Py_None ? NULL : Py_NewRef(on_hot);
    if (read_all_values(self, operands, temporaries) < 0 || rolls_read(self, rolls) < 0 ||
        read_results(self, results) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->plain = plan_make(self, segments, false);
    if (self->plain != NULL) {
        self->maps_rows = self->plain->has_map_row;
    }
    if (self->plain == NULL || examine_plain(self) < 0 || set_native(self, native) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
kernel_traverse(Kernel *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->on_hot);
    int result = self->plain ? plan_traverse(self->plain, visit, arg) : 0;
    return result ? result : plan_traverse(self->native, visit, arg);
}

static int
kernel_clear(Kernel *self)
{
    Py_CLEAR(self->on_hot);
    Plan *native = self->native;
    self->native = NULL;
    plan_release(native);
    return 0;
}

static void
kernel_dealloc(Kernel *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    kernel_clear(self);
    plan_release(self->plain);
    for (int i = 0; i < self->values; i++) {
        Py_XDECREF(self->value[i].descr);
        PyMem_Free(self->value[i].roll);
    }
    PyMem_Free(self->value);
    PyMem_Free(self->result);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
kernel_method_run(Kernel *self, PyObject *const *args, Py_ssize_t count)
{
    unsigned mask = STATUS_ALL;
    if (count < 1 || count > 2 || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "run() takes a tuple of arguments and a mask");
        return NULL;
    }
    if (count == 2) {
        int given = number_between(args[1], STATUS_ALL + 1, "the mask");
        if (given < 0) {
            return NULL;
        }
        mask = (unsigned)given;
    }
    if (PyTuple_GET_SIZE(args[0]) != self->operands) {
        return PyErr_Format(PyExc_TypeError, "%d operands, but %zd arguments", self->operands,
                            PyTuple_GET_SIZE(args[0]));
    }
    PyObject *results[MAX_VALUES], *flags;
    int done = kernel_run(self, ((PyTupleObject *)args[0])->ob_item, mask, results, &flags, NULL);
    if (done != RUN_DONE) {
        return done == RUN_REFUSED ? Py_NewRef(Py_NotImplemented) : NULL;
    }
    PyObject *given = PyTuple_New(self->results);
    for (int i = 0; i < self->results; i++) {
        if (given == NULL) {
            Py_DECREF(results[i]);
        }
        else {
            PyTuple_SET_ITEM(given, i, results[i]);
        }
    }
    PyObject *pair = given == NULL ? NULL : PyTuple_Pack(2, given, flags);
    Py_XDECREF(given);
    Py_DECREF(flags);
    return pair;
}

static PyObject *
kernel_method_set_native(Kernel *self, PyObject *segments)
{
    return set_native(self, segments) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
kernel_get_native(Kernel *self, void *unused)
{
    return PyBool_FromLong(self->native != NULL);
}

static int
kernel_set_native(Kernel *self, PyObject *segments, void *unused)
{
    return set_native(self, segments);
}

static PyMethodDef kernel_methods[] = {
    {"run", (PyCFunction)(void (*)(void))kernel_method_run, METH_FASTCALL,
     PyDoc_STR("run(arguments, mask=15, /)\n--\n\nCompute `(results, flags)`; flags is None or a "
               "tuple of (node, bits). NotImplemented where these arguments are refused.")},
    {"set_native", (PyCFunction)kernel_method_set_native, METH_O,
     PyDoc_STR("set_native(segments, /)\n--\n\nRun these segments instead of the plain ones from "
               "now on; None for none.")},
    {NULL},
};

static PyMemberDef kernel_members[] = {
    {"runs", T_LONGLONG, offsetof(Kernel, runs), READONLY, "How often it ran."},
    {"elements", T_LONGLONG, offsetof(Kernel, elements), READONLY,
     "Elements of the space, summed over all runs."},
    {"flagged", T_LONGLONG, offsetof(Kernel, flagged), READONLY,
     "Tiles that native segments left to the plain ones."},
    {"cost", T_DOUBLE, offsetof(Kernel, cost), 0, "Nanoseconds an element, about."},
    {NULL},
};

static PyGetSetDef kernel_attributes[] = {
    {"native", (getter)kernel_get_native, (setter)kernel_set_native,
     PyDoc_STR("Whether it has native segments; set to a tuple of them or None.")},
    {NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc,
     "Kernel(operands, temporaries, segments, results, *, rows=False, native=None, "
     "cost=1.0, on_hot=None, hot=0, rolls=())\n--\n\nSegments run over the tiles of a space."},
    {Py_tp_new, kernel_new},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_methods, kernel_methods},
    {Py_tp_members, kernel_members},
    {Py_tp_getset, kernel_attributes},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    "ufuse.backends.numpy._tiles.Kernel",
    sizeof(Kernel),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    kernel_slots,
};

int
kernel_begin(PyObject *module)
{
    if (kernel_type == NULL) {
        kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
    }
    return kernel_type == NULL ? -1
                               : PyModule_AddObjectRef(module, "Kernel", (PyObject *)kernel_type);
}
