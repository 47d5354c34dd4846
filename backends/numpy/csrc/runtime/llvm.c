/* LLVM text to machine code in one call without the GIL, through the functions of llvmlite's
 * library. */
#include "runtime/tiles.h"

/* The functions, by their names in `llvmlite.binding.ffi.lib` without the prefix. */
typedef struct {
    void *(*ParseAssembly)(void *context, const char *text, const char **message);
    void *(*buildPerModuleDefaultPipeline)(void *builder, int speed);
    void (*RunNewModulePassManager)(void *passes, void *module, void *builder);
    void (*DisposeNewModulePassManger)(void *passes);
    void (*AddModule)(void *engine, void *module);
    void (*FinalizeObject)(void *engine);
    uint64_t (*GetFunctionAddress)(void *engine, const char *name);
    int (*RemoveModule)(void *engine, void *module, const char **message);
    void (*DisposeModule)(void *module);
    void (*DisposeString)(const char *string);
} Functions;

/* What LLVM works with. */
typedef struct {
    void *context, *engine, *builder;
} Tools;

enum { MOST_MESSAGE = 200, SPEED = 2 };

/*
 * The address of a function of the text; 0 with `error`. Of the engine only the machine code
 * remains: the module would take three times its memory.
 */
static uint64_t
function_address(const Functions *functions, const Tools *tools, const char *text, const char *name,
                 char *error)
{
    const char *message = NULL;
    void *module = functions->ParseAssembly(tools->context, text, &message);
    if (module == NULL) {
        snprintf(error, MOST_MESSAGE, "%s", message == NULL ? "LLVM cannot read it" : message);
        if (message != NULL) {
            functions->DisposeString(message);
        }
        return 0;
    }
    void *passes = functions->buildPerModuleDefaultPipeline(tools->builder, SPEED);
    functions->RunNewModulePassManager(passes, module, tools->builder); /* uses them up */
    functions->DisposeNewModulePassManger(passes);
    functions->AddModule(tools->engine, module);
    functions->FinalizeObject(tools->engine);
    uint64_t address = functions->GetFunctionAddress(tools->engine, name);
    if (!functions->RemoveModule(tools->engine, module, &message)) {
        functions->DisposeModule(module);
    }
    if (address == 0) {
        snprintf(error, MOST_MESSAGE, "LLVM does not give it an address");
    }
    return address;
}

/* Python's `compiled_address(functions, tools, text, name)`. */
static PyObject *
compiled_address(PyObject *module, PyObject *args)
{
    Py_buffer functions, tools;
    const char *text, *name;
    if (!PyArg_ParseTuple(args, "y*y*yy:compiled_address", &functions, &tools, &text, &name)) {
        return NULL;
    }
    char error[MOST_MESSAGE] = "";
    uint64_t address = 0;
    bool fit = functions.len == sizeof(Functions) && tools.len == sizeof(Tools);
    if (fit) {
        Functions given;
        Tools with;
        memcpy(&given, functions.buf, sizeof given);
        memcpy(&with, tools.buf, sizeof with);
        Py_BEGIN_ALLOW_THREADS
            ;
            address = function_address(&given, &with, text, name, error);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&functions);
    PyBuffer_Release(&tools);
    if (address == 0) {
        return PyErr_Format(PyExc_ValueError, "%s: %s", name, fit ? error : "no such functions");
    }
    return PyLong_FromUnsignedLongLong(address);
}

PyMethodDef llvm_methods[] = {
    {"compiled_address", compiled_address, METH_VARARGS,
     "compiled_address(functions, tools, text, name)\n--\n\nThe address of a function of LLVM "
     "text, compiled without the GIL. `functions`, `tools`: addresses in 8 bytes each."},
    {NULL},
};
