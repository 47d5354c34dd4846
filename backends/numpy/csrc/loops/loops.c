/* The Loop type and its makers. */
#include "loops/loops.h"

#include "loops/casts.h"
#include "loops/choice.h"
#include "loops/quick.h"
#include "loops/short_folds.h"

#include <stddef.h>

PyTypeObject *loop_type;

static Loop *
new_loop(const char *name, int inputs, int outputs)
{
    Loop *loop = (Loop *)loop_type->tp_alloc(loop_type, 0);
    if (loop != NULL) {
        loop->name = name;
        loop->inputs = (short)inputs;
        loop->outputs = (short)outputs;
    }
    return loop;
}

/* NumPy's layout of a "numpy_1.24_ufunc_call_info" capsule, as `ufunc._get_strided_loop` documents.
 */
typedef struct {
    PyArrayMethod_StridedLoop *strided_loop;
    PyArrayMethod_Context *context;
    NpyAuxData *auxdata;
    npy_bool requires_pyapi;
    npy_bool no_floatingpoint_errors;
} CallInfo;

static bool
name_is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

static Fold
fold_of(const char *ufunc, const int *types)
{
    static const char *const anywhere[] = {
        "add",        "multiply",    "maximum",    "minimum",     "fmax",
        "fmin",       "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and",
        "logical_or", "logical_xor", NULL,
    };
    static const char *const extreme[] = {"maximum", "minimum", "fmax", "fmin", NULL};
    int type = types[0];
    if (type != types[1] || type != types[2]) {
        return FOLD_WHOLE;
    }
    if (PyTypeNum_ISBOOL(type) || PyTypeNum_ISINTEGER(type)) {
        return name_is_one_of(ufunc, anywhere) ? FOLD_ANYWHERE : FOLD_WHOLE;
    }
    if (type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_LONGDOUBLE) {
        return strcmp(ufunc, "add") == 0        ? FOLD_PAIRWISE
               : name_is_one_of(ufunc, extreme) ? FOLD_EXTREME
                                                : FOLD_WHOLE;
    }
    if (type == NPY_CFLOAT || type == NPY_CDOUBLE || type == NPY_CLONGDOUBLE) {
        return strcmp(ufunc, "add") == 0 ? FOLD_PAIRWISE : FOLD_WHOLE;
    }
    return FOLD_WHOLE; /* half sums its tree in single precision, which partial sums would round */
}

/* Set which pairs of numbers the loop treats differently by position: see unlike.c. */
static void
note_fickleness(Loop *loop)
{
    static const char *const commuting[] = {"add",  "multiply", "maximum", "minimum",
                                            "fmax", "fmin",     NULL};
    int type = loop->types[0];
    bool vectors =
        type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT || type == NPY_CDOUBLE;
    loop->position_dependent = vectors && name_is_one_of(loop->name, commuting);
    loop->position_dependent_product =
        loop->position_dependent && strcmp(loop->name, "multiply") == 0;
    loop->position_dependent_zeros =
        loop->position_dependent && loop->name[0] != 'a' && !loop->position_dependent_product;
}

/* Fill `loop` from the capsule, with the dtypes that NumPy resolved. -1: exception. */
static int
take_call_info(Loop *loop, PyObject *ufunc, PyObject *asked, PyObject *resolved, PyObject *capsule)
{
    Py_ssize_t count = PyTuple_GET_SIZE(asked);
    if (!PyTuple_Check(resolved) || PyTuple_GET_SIZE(resolved) != count) {
        PyErr_SetString(PyExc_ValueError, "NumPy resolved another number of dtypes");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = PyTuple_GET_ITEM(asked, i), *other = PyTuple_GET_ITEM(resolved, i);
        if (!PyArray_DescrCheck(one) || !PyArray_DescrCheck(other) ||
            !PyArray_EquivTypes((PyArray_Descr *)one, (PyArray_Descr *)other)) {
            PyErr_Format(PyExc_ValueError, "%R has no loop for exactly %R: NumPy would use %R",
                         ufunc, asked, resolved);
            return -1;
        }
        int type = ((PyArray_Descr *)other)->type_num;
        loop->types[i] = type;
        loop->fails = loop->fails || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_BOOL);
    }
    PyObject *done = PyObject_CallMethod(ufunc, "_get_strided_loop", "O", capsule);
    if (done == NULL) {
        return -1;
    }
    Py_DECREF(done);
    const CallInfo *info = PyCapsule_GetPointer(capsule, "numpy_1.24_ufunc_call_info");
    if (info == NULL) {
        return -1;
    }
    if (info->requires_pyapi) {
        PyErr_Format(PyExc_ValueError, "the loop of %R for %R needs the GIL", ufunc, asked);
        return -1;
    }
    loop->strided = info->strided_loop;
    loop->context = info->context;
    loop->auxdata = info->auxdata;
    loop->raises = !info->no_floatingpoint_errors;
    return 0;
}

static PyObject *
numpy_loop(PyObject *module, PyObject *arguments)
{
    PyObject *ufunc, *asked;
    int depends_on_strides = 0;
    if (!PyArg_ParseTuple(arguments, "OO!|p:numpy_loop", &ufunc, &PyTuple_Type, &asked,
                          &depends_on_strides)) {
        return NULL;
    }
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    PyObject *inputs = PyObject_GetAttrString(ufunc, "nin");
    PyObject *found = PyObject_CallMethod(ufunc, "_resolve_dtypes_and_context", "(O)", asked);
    Loop *loop = NULL;
    PyObject *resolved, *capsule;
    Py_ssize_t count = PyTuple_GET_SIZE(asked);
    if (name == NULL || inputs == NULL || found == NULL ||
        !PyArg_ParseTuple(found, "OO", &resolved, &capsule)) {
        goto done;
    }
    int n_inputs = (int)PyLong_AsLong(inputs);
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL || count > MAX_ARGUMENTS || n_inputs < 1 || n_inputs >= count) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "not so many inputs and outputs");
        }
        goto done;
    }
    loop = new_loop(NULL, n_inputs, (int)(count - n_inputs));
    if (loop == NULL) {
        goto done;
    }
    loop->owner = PyTuple_Pack(3, capsule, name, ufunc);
    loop->name = text; /* the name is alive in the owner */
    loop->depends_on_strides = depends_on_strides;
    if (loop->owner == NULL || take_call_info(loop, ufunc, asked, resolved, capsule) < 0) {
        Py_CLEAR(loop);
        goto done;
    }
    if (count == 3 && n_inputs == 2) {
        loop->fold = fold_of(text, loop->types);
        set_short_folds(loop);
        set_quick(loop);
        note_fickleness(loop);
    }
done:
    Py_XDECREF(name);
    Py_XDECREF(inputs);
    Py_XDECREF(found);
    return (PyObject *)loop;
}

static PyObject *
native_loop(PyObject *module, PyObject *arguments)
{
    PyObject *address, *owner;
    int inputs, outputs;
    if (!PyArg_ParseTuple(arguments, "OOii:native_loop", &address, &owner, &inputs, &outputs)) {
        return NULL;
    }
    void *function = PyLong_AsVoidPtr(address);
    if (function == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "no function at address 0");
        }
        return NULL;
    }
    if (inputs < 0 || outputs < 1 || inputs + outputs > MAX_ARGUMENTS) {
        return PyErr_Format(PyExc_ValueError, "a loop has at most %d arguments", MAX_ARGUMENTS);
    }
    Loop *loop = new_loop("native", inputs, outputs);
    if (loop != NULL) {
        memcpy(&loop->function, &function, sizeof function);
        loop->owner = Py_NewRef(owner);
        loop->raises = true;
        loop->native = true;
    }
    return (PyObject *)loop;
}

/* Only plain numbers and bools in native byte order. -1: exception. */
static int
require_numeric(PyArray_Descr *descr)
{
    int type = descr->type_num;
    if ((PyTypeNum_ISBOOL(type) || PyTypeNum_ISNUMBER(type)) && PyArray_ISNBO(descr->byteorder)) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "no loop for %R: not a number in native byte order", descr);
    return -1;
}

static PyObject *
own_loop(LoopFunction *function, const char *name, int inputs, bool raises, const int *types)
{
    if (function == NULL) {
        return PyErr_Format(PyExc_ValueError, "no %s loop for these dtypes", name);
    }
    Loop *loop = new_loop(name, inputs, 1);
    if (loop != NULL) {
        loop->function = function;
        loop->raises = raises;
        memcpy(loop->types, types, sizeof(int) * (size_t)(inputs + 1));
    }
    return (PyObject *)loop;
}

static PyObject *
cast_loop(PyObject *module, PyObject *arguments)
{
    PyArray_Descr *from, *to;
    if (!PyArg_ParseTuple(arguments, "O!O!:cast_loop", &PyArrayDescr_Type, &from,
                          &PyArrayDescr_Type, &to) ||
        require_numeric(from) < 0 || require_numeric(to) < 0) {
        return NULL;
    }
    int types[2] = {from->type_num, to->type_num};
    bool exact =
        PyTypeNum_ISBOOL(types[1]) ||
        ((PyTypeNum_ISINTEGER(types[0]) || PyTypeNum_ISBOOL(types[0])) && types[1] != NPY_HALF);
    Loop *loop = (Loop *)own_loop(cast_function(types[0], types[1]), "cast", 1, !exact, types);
    bool wide = types[1] == NPY_UINT || types[1] == NPY_ULONG || types[1] == NPY_ULONGLONG;
    if (loop != NULL && wide && (PyTypeNum_ISFLOAT(types[0]) || PyTypeNum_ISCOMPLEX(types[0]))) {
        loop->position_dependent = true;
        loop->position_dependent_limit =
            PyDataType_ELSIZE(to) == 4 ? 4294967296.0 : 18446744073709551616.0;
        loop->position_dependent_itemsize = PyDataType_ELSIZE(from);
    }
    return (PyObject *)loop;
}

static PyObject *
where_loop(PyObject *module, PyObject *argument)
{
    if (!PyArray_DescrCheck(argument)) {
        return PyErr_Format(PyExc_TypeError, "where_loop() takes a dtype, not %R", argument);
    }
    PyArray_Descr *descr = (PyArray_Descr *)argument;
    if (require_numeric(descr) < 0) {
        return NULL;
    }
    int types[4] = {NPY_BOOL, descr->type_num, descr->type_num, descr->type_num};
    return own_loop(where_function(PyDataType_ELSIZE(descr)), "where", 3, false, types);
}

static PyObject *
copy_loop(PyObject *module, PyObject *argument)
{
    if (!PyArray_DescrCheck(argument)) {
        return PyErr_Format(PyExc_TypeError, "copy_loop() takes a dtype, not %R", argument);
    }
    PyArray_Descr *descr = (PyArray_Descr *)argument;
    if (require_numeric(descr) < 0) {
        return NULL;
    }
    int types[2] = {descr->type_num, descr->type_num};
    return own_loop(copy_function(PyDataType_ELSIZE(descr)), "copy", 1, false, types);
}

static int
loop_traverse(Loop *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->owner);
    return 0;
}

static int
loop_clear(Loop *self)
{
    /* The owner is released last: the code it keeps mapped may still be called.
     */
    return 0;
}

static void
loop_dealloc(Loop *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
loop_repr(Loop *self)
{
    return PyUnicode_FromFormat("<loop %s, %d to %d>", self->name, self->inputs, self->outputs);
}

static PyObject *
loop_raises(Loop *self, void *unused)
{
    return PyBool_FromLong(self->raises);
}

static PyObject *
loop_is_quick(Loop *self, void *unused)
{
    return PyBool_FromLong(self->quick != NULL);
}

static PyGetSetDef loop_attributes[] = {
    {"is_quick", (getter)loop_is_quick, NULL,
     PyDoc_STR("Whether ordinary numbers are not left to NumPy's loop.")},
    {"raises", (getter)loop_raises, NULL, PyDoc_STR("Whether it may raise floating-point flags.")},
    {NULL},
};

static PyType_Slot loop_slots[] = {
    {Py_tp_doc, "An inner loop with NumPy's strided signature."},
    {Py_tp_traverse, loop_traverse},
    {Py_tp_clear, loop_clear},
    {Py_tp_dealloc, loop_dealloc},
    {Py_tp_repr, loop_repr},
    {Py_tp_getset, loop_attributes},
    {0, NULL},
};

static PyType_Spec loop_spec = {
    "ufuse.backends.numpy._tiles.Loop",
    sizeof(Loop),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
        Py_TPFLAGS_IMMUTABLETYPE,
    loop_slots,
};

int
loops_begin(PyObject *module)
{
    if (loop_type == NULL) {
        loop_type = (PyTypeObject *)PyType_FromSpec(&loop_spec);
    }
    return loop_type == NULL ? -1 : PyModule_AddObjectRef(module, "Loop", (PyObject *)loop_type);
}

PyMethodDef loops_methods[] = {
    {"numpy_loop", numpy_loop, METH_VARARGS,
     PyDoc_STR("numpy_loop(ufunc, dtypes, depends_on_strides=False, /)\n--\n\nNumPy's own loop for "
               "exactly these dtypes, "
               "inputs then outputs; ValueError where it has none that needs no GIL.")},
    {"native_loop", native_loop, METH_VARARGS,
     PyDoc_STR("native_loop(address, owner, n_inputs, n_outputs, /)\n--\n\nA compiled function; "
               "`owner` keeps it alive.")},
    {"cast_loop", cast_loop, METH_VARARGS,
     PyDoc_STR("cast_loop(from, to, /)\n--\n\nWhat `astype` does with each element.")},
    {"where_loop", where_loop, METH_O,
     PyDoc_STR("where_loop(dtype, /)\n--\n\nChoose between two values by a bool.")},
    {"copy_loop", copy_loop, METH_O, PyDoc_STR("copy_loop(dtype, /)\n--\n\nCopy the bits.")},
    {NULL},
};
