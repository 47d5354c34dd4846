/* The Kernel type: operands and results read from Python, checked once. */
#include "kernel/records.h"

#include <stddef.h>

enum { MOST_RESULTS = 10000, MOST_AT_ONCE = 16 };

PyTypeObject *kernel_type;

/* ("table", (itemsize, axes)) or ("axis", (axis, how many come behind it)) */
static bool
read_apart(const char *kind, PyObject *what, Operand *operand)
{
    if (!is_tuple(what)) {
        PyErr_Clear();
        return false;
    }
    if (strcmp(kind, "table") == 0) {
        operand->kind = OPERAND_TABLE;
        return PyArg_ParseTuple(what, "ni", &operand->item, &operand->axes) && operand->item > 0 &&
               operand->axes > 0 && operand->axes <= MOST_AXES;
    }
    operand->kind = OPERAND_AXIS;
    return strcmp(kind, "axis") == 0 &&
           PyArg_ParseTuple(what, "ii", &operand->axis, &operand->behind) && operand->axis >= 0 &&
           operand->behind >= 0 && operand->axis < MOST_AXES && operand->behind < MOST_AXES;
}

/* An array whose address has to be a multiple where a record says so: ("aligned", (itemsize,
 * multiple)) */
static bool
read_aligned(PyObject *what, Operand *operand)
{
    operand->kind = OPERAND_ARRAY;
    return is_tuple(what) && PyArg_ParseTuple(what, "nn", &operand->item, &operand->multiple) &&
           operand->item > 0 && operand->multiple > 0;
}

/* ("array", itemsize), ("number", dtype), ("known", bytes), or what others read. */
static int
read_operand(PyObject *given, Operand *operand)
{
    const char *kind;
    PyObject *what;
    if (!is_tuple(given) || !PyArg_ParseTuple(given, "sO;an operand", &kind, &what)) {
        return -1;
    }
    if (strcmp(kind, "array") == 0) {
        operand->kind = OPERAND_ARRAY;
        operand->item = PyLong_AsSsize_t(what);
        if (operand->item > 0) {
            return 0;
        }
    }
    else if (strcmp(kind, "number") == 0) {
        operand->kind = OPERAND_NUMBER;
        if (PyArray_DescrCheck(what) && !PyDataType_REFCHK((PyArray_Descr *)what) &&
            PyDataType_ELSIZE((PyArray_Descr *)what) <= (npy_intp)sizeof(Cell)) {
            operand->dtype = Py_NewRef(what);
            return 0;
        }
    }
    else if (strcmp(kind, "known") == 0) {
        operand->kind = OPERAND_KNOWN;
        if (PyBytes_CheckExact(what) && PyBytes_GET_SIZE(what) <= (Py_ssize_t)sizeof(Cell)) {
            memcpy(&operand->value, PyBytes_AS_STRING(what), (size_t)PyBytes_GET_SIZE(what));
            return 0;
        }
    }
    else if (strcmp(kind, "aligned") == 0 ? read_aligned(what, operand)
                                          : read_apart(kind, what, operand)) {
        return 0;
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "no operand: %R", given);
    }
    return -1;
}

static int
read_operands(Kernel *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    self->operand = PyMem_Calloc((size_t)count + 1, sizeof(Operand));
    if (self->operand == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Operand *operand = &self->operand[self->operands++];
        if (read_operand(PyTuple_GET_ITEM(given, i), operand) < 0) {
            return -1;
        }
        self->arrays += operand->kind == OPERAND_ARRAY || operand->kind == OPERAND_AXIS;
        self->axes += operand->kind == OPERAND_AXIS;
        self->rows += operand->axes;
    }
    if (self->arrays == 0) {
        PyErr_SetString(PyExc_ValueError, "no operand is an array");
        return -1;
    }
    return 0;
}

/* Whether an operand is no element of the kernel's shape. */
static bool
has_apart(const Kernel *self)
{
    for (int i = 0; i < self->operands; i++) {
        OperandKind kind = self->operand[i].kind;
        if (kind == OPERAND_TABLE || kind == OPERAND_AXIS) {
            return true;
        }
    }
    return false;
}

/* The dtypes of a map's results; of others only how many there are. */
static int
read_results(Kernel *self, PyObject *given)
{
    if (PyLong_CheckExact(given)) {
        long count = PyLong_AsLong(given);
        if (count < 0 || count > MOST_RESULTS) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "no number of results: %R", given);
            return -1;
        }
        if (has_apart(self)) {
            PyErr_SetString(PyExc_ValueError, "only a map picks elements");
            return -1;
        }
        self->results = (int)count;
        self->record = PyMem_Calloc(RECORDS, sizeof(Record *));
        if (self->record == NULL) {
            PyErr_NoMemory();
        }
        return self->record == NULL ? -1 : 0;
    }
    if (!PyTuple_Check(given)) {
        PyErr_Format(PyExc_TypeError, "no results: %R", given);
        return -1;
    }
    self->dtype = PyMem_Calloc((size_t)PyTuple_GET_SIZE(given) + 1, sizeof(PyObject *));
    if (self->dtype == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        PyObject *dtype = PyTuple_GET_ITEM(given, i);
        if (!PyArray_DescrCheck(dtype)) {
            PyErr_Format(PyExc_TypeError, "no dtype: %R", dtype);
            return -1;
        }
        self->dtype[self->results++] = Py_NewRef(dtype);
    }
    return 0;
}

/* The bytes that each array takes when it is turned; NULL: none is. */
static int
read_rooms(Kernel *self, PyObject *given)
{
    self->room = PyMem_Calloc((size_t)self->arrays, sizeof(Py_ssize_t));
    if (self->room == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (given != NULL && PyTuple_GET_SIZE(given) != self->arrays) {
        PyErr_Format(PyExc_ValueError, "no rooms of %d arrays: %R", self->arrays, given);
        return -1;
    }
    for (int i = 0; given != NULL && i < self->arrays; i++) {
        self->room[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, i));
        if (self->room[i] < 0) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "no room: %zd", self->room[i]);
            }
            return -1;
        }
    }
    return 0;
}

static PyObject *
kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"operands",  "results", "maker", "few",       "tile",
                            "takes_few", "warps",   "rooms", "condition", NULL};
    PyObject *operands, *results, *maker, *rooms = NULL, *condition = Py_None;
    int few = 1, tile = 1;
    Py_ssize_t takes_few = 0, warps = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO|iinnO!O:Kernel", names, &PyTuple_Type,
                                     &operands, &results, &maker, &few, &tile, &takes_few, &warps,
                                     &PyTuple_Type, &rooms, &condition)) {
        return NULL;
    }
    if (warps < 1) {
        return PyErr_Format(PyExc_ValueError, "no number of warps: %zd", warps);
    }
    if (few < 1 || few > MOST_AT_ONCE || tile < 1 || tile > MOST_AT_ONCE) {
        return PyErr_Format(PyExc_ValueError, "no numbers of elements: %d, %d", few, tile);
    }
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->maker = Py_NewRef(maker);
    self->condition = condition == Py_None ? NULL : Py_NewRef(condition);
    self->few = few;
    self->tile = tile;
    self->takes_few = takes_few;
    self->warps = warps;
    if (read_operands(self, operands) < 0 || read_results(self, results) < 0 ||
        read_rooms(self, rooms) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
kernel_traverse(Kernel *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->maker);
    Py_VISIT(self->condition);
    for (int i = 0; i < self->forms; i++) {
        Py_VISIT(self->form[i].owner);
    }
    return 0;
}

/* tp_clear of a garbage cycle: a program that is called later has no kernels. */
static int
kernel_clear(Kernel *self)
{
    Py_CLEAR(self->maker);
    Py_CLEAR(self->condition);
    int forms = self->forms;
    self->forms = 0;
    for (int i = 0; i < forms; i++) {
        Py_CLEAR(self->form[i].owner);
    }
    return 0;
}

static void
kernel_dealloc(Kernel *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    kernel_clear(self);
    for (int i = 0; i < self->operands; i++) {
        Py_XDECREF(self->operand[i].dtype);
    }
    for (int i = 0; self->dtype != NULL && i < self->results; i++) {
        Py_XDECREF(self->dtype[i]);
    }
    for (int i = 0; self->record != NULL && i < RECORDS; i++) {
        record_release(self->record[i]);
    }
    PyMem_Free(self->operand);
    PyMem_Free(self->room);
    PyMem_Free(self->dtype);
    PyMem_Free(self->form);
    PyMem_Free(self->record);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc,
     "Kernel(operands, results, maker, few=1, tile=1, takes_few=0, warps=1, rooms=..., "
     "condition=None)\n--\n\n"
     "Operands are ('array', itemsize), ('number', dtype) or ('known', bytes); of a map also "
     "('table', (itemsize, axes)),\nan array that elements are picked from, and ('axis', (axis, "
     "behind)), along which it counts. A map has the dtypes "
     "of its results, and\nmaker(axes, wide, few, columns, device) gives a compiled form, with its "
     "address as `ptr`: of `takes_few` elements and more threads take `few` at once, or `tile` of "
     "a "
     "row, along which arrays step as `columns` say,\nand of more than `warps` of them one goes "
     "down several rows; of arrays that are far apart along that and neighbours along the axis "
     "before, blocks read tiles\nfirst, for which each needs as many bytes as `rooms` say. "
     "Others have how many results there are,\nand "
     "maker(arrays, device) gives a record: "
     "((shape, dtype), ...), sizes of temporaries, and launches of\n(owner, address, blocks, "
     "threads, arguments), each argument a place among operands, results and temporaries, or "
     "bytes."},
    {Py_tp_new, kernel_new},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_dealloc, kernel_dealloc},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    "ufuse.backends._launch.Kernel",
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
