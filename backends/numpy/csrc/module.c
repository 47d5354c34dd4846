/* The module: loops, kernels, nests, programs, and the settings of memory and threads. */
#define UFUSE_TILES_IMPORTS_ARRAY
#include "nest/type/nest_type.h"
#include "program/program.h"
#include "program/drawing.h"
#include "loops/loops.h"
#include "loops/small.h"
#include "kernel/kernel.h"

static int
begin(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0 || threads_begin() < 0 || memory_begin(module) < 0 ||
        error_state_begin() < 0) {
        return -1;
    }
    PyMethodDef *const tables[] = {loops_methods,  memory_methods, threads_methods, llvm_methods,
                                   object_methods, chosen_methods, window_methods,  small_methods,
                                   bin_methods,    search_methods, running_methods, ordered_methods,
                                   place_methods};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(tables); i++) {
        if (PyModule_AddFunctions(module, tables[i]) < 0) {
            return -1;
        }
    }
    return loops_begin(module) < 0 || small_begin(module) < 0 || scalars_begin(module) < 0 ||
                   kernel_begin(module) < 0 || nest_begin(module) < 0 ||
                   program_begin(module) < 0 || drawing_begin(module) < 0
               ? -1
               : 0;
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
    .m_name = "ufuse.backends.numpy._tiles",
    .m_doc = "Runs kernels and programs: docs/design/0002-kernels-and-programs.md.",
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__tiles(void)
{
    return PyModuleDef_Init(&definition);
}
