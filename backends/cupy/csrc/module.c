/* The module: kernels and programs on a device, and what launches need of CuPy. */
#define UFUSE_LAUNCH_IMPORTS_ARRAY
#include "program/program.h"
#include "program/program_run.h"
#include "kernel/kernel.h"
#include "kernel/numbers.h"
#include "kernel/walk.h"

/* use(array, offsets, capsules, driver, early, failed, refusal, check, errors) */
static PyObject *
use(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"array",  "offsets", "capsules", "driver", "early",
                            "failed", "refusal", "check",    "errors", NULL};
    PyObject *array, *offsets, *capsules, *driver, *early, *failed, *refusal, *check, *errors;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!O!O!OOOOO!:use", names, &array,
                                     &PyTuple_Type, &offsets, &PyDict_Type, &capsules, &PyDict_Type,
                                     &driver, &early, &failed, &refusal, &check, &PyTuple_Type,
                                     &errors)) {
        return NULL;
    }
    if (functions_use(capsules, driver, early, failed, refusal) < 0 ||
        layout_use(array, offsets) < 0 || numbers_use(check) < 0 || program_use(errors) < 0 ||
        replay_use(driver) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
signatures(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return functions_signatures();
}

static PyMethodDef methods[] = {
    {"use", (PyCFunction)(void (*)(void))use, METH_VARARGS | METH_KEYWORDS,
     "Take CuPy's arrays and functions; LookupError where a function has another signature."},
    {"signatures", signatures, METH_NOARGS, "The names and signatures of CuPy's functions."},
    {"view", layout_view, METH_O, "Axes, dtype, address and device of an array, or None."},
    {"walk", walk_as_tuple, METH_O,
     "Shape, elements, axes, wide, lengths and steps for (shape, strides, itemsize) of arrays."},
    {"replay", replay_mode, METH_O,
     "Launch each kernel by itself ('never'), or what comes again as one graph of CUDA's: "
     "'always', "
     "or where that is 'measured' to be faster."},
    {"replays", replay_counts, METH_NOARGS,
     "How many graphs of CUDA's were built, and how often one was replayed."},
    {"packed", packed, METH_VARARGS, "packed(value, dtype): the bytes of an argument."},
    {NULL},
};

static int
begin(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0) {
        return -1;
    }
    return views_begin() < 0 || kernel_begin(module) < 0 || program_begin(module) < 0 ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, begin},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ufuse.backends._launch",
    .m_doc = "Launches kernels on CUDA devices: docs/design/0010-cupy.md.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__launch(void)
{
    return PyModuleDef_Init(&definition);
}
