/* LLVM text to object code in one call without the GIL, through the functions of llvmlite's
 * library. */
#include "runtime/tiles.h"

/* The functions, by their names in `llvmlite.binding.ffi.lib` without the prefix. */
typedef struct {
    void *(*ParseAssembly)(void *context, const char *text, const char **message);
    void *(*buildPerModuleDefaultPipeline)(void *builder, int speed);
    void *(*CreateNewModulePassManager)(void);
    void (*RunNewModulePassManager)(void *passes, void *module, void *builder);
    void (*DisposeNewModulePassManger)(void *passes);
    void *(*TargetMachineEmitToMemory)(void *machine, void *module, int object,
                                       const char **message);
    const char *(*GetBufferStart)(void *buffer);
    size_t (*GetBufferSize)(void *buffer);
    void (*DisposeMemoryBuffer)(void *buffer);
    void (*DisposeModule)(void *module);
    void (*DisposeString)(const char *string);
} Functions;

/* A function that adds a pass to those that are run. */
typedef void (*AddPass)(void *passes);

/* What LLVM works with. Without passes the whole pipeline is run. */
typedef struct {
    void *context, *machine, *builder;
    AddPass passes[]; /* some, and NULL */
} Tools;

enum { MOST_MESSAGE = 200, SPEED = 2 };

/* Keep what LLVM says, which ends where its own string does. */
static void
keep_message(const Functions *functions, const char *message, char *error)
{
    snprintf(error, MOST_MESSAGE, "%s", message == NULL ? "LLVM cannot read it" : message);
    if (message != NULL) {
        functions->DisposeString(message);
    }
}

/* Run passes on a module. */
static void
improve(const Functions *functions, const Tools *tools, void *module)
{
    void *passes;
    if (tools->passes[0] == NULL) {
        passes = functions->buildPerModuleDefaultPipeline(tools->builder, SPEED);
    }
    else {
        passes = functions->CreateNewModulePassManager();
        for (int i = 0; tools->passes[i] != NULL; i++) {
            tools->passes[i](passes);
        }
    }
    functions->RunNewModulePassManager(passes, module, tools->builder); /* uses them up */
    functions->DisposeNewModulePassManger(passes);
}

/* The object code of the text in a buffer of LLVM's; NULL with `error`. */
static void *
object_of(const Functions *functions, const Tools *tools, const char *text, char *error)
{
    const char *message = NULL;
    void *module = functions->ParseAssembly(tools->context, text, &message);
    if (module == NULL) {
        keep_message(functions, message, error);
        return NULL;
    }
    improve(functions, tools, module);
    void *object = functions->TargetMachineEmitToMemory(tools->machine, module, 1, &message);
    functions->DisposeModule(module);
    if (object == NULL) {
        keep_message(functions, message, error);
    }
    return object;
}

/* Whether bytes are `Tools`, up to a NULL. */
static bool
is_tools(const Py_buffer *bytes)
{
    static const char null[sizeof(AddPass)];
    Py_ssize_t size = bytes->len, word = (Py_ssize_t)sizeof null;
    return (uintptr_t)bytes->buf % sizeof null == 0 && size % word == 0 &&
           size > (Py_ssize_t)sizeof(Tools) &&
           memcmp((char *)bytes->buf + size - word, null, sizeof null) == 0;
}

/* Python's `compiled_object(functions, tools, text)`. */
static PyObject *
compiled_object(PyObject *module, PyObject *args)
{
    Py_buffer functions, tools;
    const char *text;
    if (!PyArg_ParseTuple(args, "y*y*y:compiled_object", &functions, &tools, &text)) {
        return NULL;
    }
    char error[MOST_MESSAGE] = "no such functions";
    void *object = NULL;
    Functions given;
    if (functions.len == sizeof given && is_tools(&tools)) {
        memcpy(&given, functions.buf, sizeof given);
        Py_BEGIN_ALLOW_THREADS
            ;
            object = object_of(&given, tools.buf, text, error);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&functions);
    PyBuffer_Release(&tools);
    if (object == NULL) {
        return PyErr_Format(PyExc_ValueError, "not compiled: %s", error);
    }
    PyObject *made = PyBytes_FromStringAndSize(given.GetBufferStart(object),
                                               (Py_ssize_t)given.GetBufferSize(object));
    given.DisposeMemoryBuffer(object);
    return made;
}

PyMethodDef llvm_methods[] = {
    {"compiled_object", compiled_object, METH_VARARGS,
     "compiled_object(functions, tools, text)\n--\n\nThe object code of LLVM text, compiled "
     "without the GIL. `functions`, `tools`: addresses in 8 bytes each."},
    {NULL},
};
