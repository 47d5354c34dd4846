"""Puts Python functions in the place of CuPy's C functions that would call the CUDA runtime and driver.

CuPy's modules find each other's C functions in the tables `__pyx_capi__`, whose capsules are named by the C
signature. A C function of the same signature is generated for each capsule; it calls a Python function.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.support.cupy_host import build
from ufuse.frame_hook import _hook

# How each C type is given to Python.
ARGUMENTS = {
    "int": ("i", "int"),
    "CUdevice": ("i", "int"),
    "cudaMemcpyKind": ("i", "int"),
    "unsigned int": ("I", "unsigned int"),
    "size_t": ("n", "Py_ssize_t"),
    "intptr_t": ("n", "Py_ssize_t"),
    "PyObject *": ("O", "PyObject *"),
}
# How a result is read, and what it is where an exception was raised.
RESULTS = {
    "PyObject *": ("result", "NULL"),
    "int": ("(int)PyLong_AsLong(result)", "-1"),
    "unsigned int": ("(unsigned int)PyLong_AsLong(result)", "0"),
    "size_t": ("(size_t)PyLong_AsSsize_t(result)", "-1"),
    "intptr_t": ("PyLong_AsSsize_t(result)", "0"),
    "float": ("(float)PyFloat_AsDouble(result)", "0"),
}
ERRORS = {"streamGetPriority": "0", "funcGetAttribute": "-2"}
# They ask no device.
KEPT = {
    "check_status",
    "get_build_version",
    "runtimeGetVersion",
    "_getCUDAMajorVersion",
    "make_Extent",
    "make_Pos",
    "make_PitchedPtr",
}

MODULE = """
static PyObject *functions[%(count)d];
%(definitions)s
static const struct { const char *name, *signature; void *function; } rows[] = {
%(rows)s
};

/* replace(table, index, function): put row `index` in its module's table; it calls `function`. */
static PyObject *
replace(PyObject *module, PyObject *arguments)
{
    PyObject *table, *function;
    int index;
    if (!PyArg_ParseTuple(arguments, "OiO", &table, &index, &function))
        return NULL;
    PyObject *capsule = PyCapsule_New(rows[index].function, rows[index].signature, NULL);
    if (capsule == NULL)
        return NULL;
    int status = PyDict_SetItemString(table, rows[index].name, capsule);
    Py_DECREF(capsule);
    if (status < 0)
        return NULL;
    Py_XSETREF(functions[index], Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *
called(PyObject *owner, PyObject *arguments, PyObject *keywords)
{
    PyObject *function = PyDict_GetItemString(PyModule_GetDict(owner), "function");
    return PyObject_Call(function, arguments, keywords);
}

/* builtin(owner, name): a function of C's, as programs know CUDA's, that calls the `function` of a module; it is kept. */
static PyObject *
builtin(PyObject *module, PyObject *arguments)
{
    PyObject *owner;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "O!s", &PyModule_Type, &owner, &name))
        return NULL;
    PyMethodDef *row = PyMem_Calloc(1, sizeof(*row));
    if (row == NULL)
        return PyErr_NoMemory();
    *row = (PyMethodDef){strdup(name), (PyCFunction)(void (*)(void))called, METH_VARARGS | METH_KEYWORDS, NULL};
    return PyCFunction_NewEx(row, owner, PyDict_GetItemString(PyModule_GetDict(owner), "__name__"));
}

static PyMethodDef methods[] = {
    {"replace", replace, METH_VARARGS, NULL}, {"builtin", builtin, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_capsules", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__capsules(void) { return PyModule_Create(&definition); }
"""


class SignatureError(Exception):
    """A function of CuPy's has a signature that the test device does not know."""


def signature_of(capsule: object) -> str:
    """The C signature that a capsule is named by."""
    return repr(capsule).split('"')[1]


def definition_of(index: int, name: str, signature: str) -> str:
    """The C function for one row."""
    result, _, rest = signature.partition("(")
    result = result.strip()
    boxed = "PyObject *" if result.startswith("struct __pyx_obj_") else result
    parameters, formats, values = [], "", []
    for number, text in enumerate(rest.removesuffix(")").split(", ")):
        if text in {"void", "int __pyx_skip_dispatch"} or "__pyx_opt_args" in text:
            parameters.append(
                "void" if text == "void" else f"{'void *' if '*' in text else 'int '}skip{number}"
            )
            continue
        kind = "PyObject *" if text.startswith("struct __pyx_obj_") else text
        if kind not in ARGUMENTS:
            raise SignatureError(f"{name}: no argument of type {text} is known, in {signature}")
        letter, declared = ARGUMENTS[kind]
        parameters.append(f"{declared} a{number}")
        formats += letter
        values.append(f", a{number}")
    if boxed not in RESULTS:
        raise SignatureError(f"{name}: no result of type {result} is known, in {signature}")
    reading, error = RESULTS[boxed]
    error = ERRORS.get(name, error)
    call = f'PyObject_CallFunction(functions[{index}], "({formats})"{"".join(values)})'
    release = "" if boxed == "PyObject *" else "    Py_DECREF(result);\n"
    return (
        f"static {boxed}\nf{index}({', '.join(parameters)})\n{{\n"
        f"    PyObject *result = {call};\n    if (result == NULL)\n        return {error};\n"
        f"    {boxed} value = {reading};\n{release}    return value;\n}}\n"
    )


def replace(modules: dict[ModuleType, object]) -> None:
    """Have each module's functions, in C and in Python, be the methods of the same names of an object."""
    rows: list[tuple[ModuleType, str, str, Callable[..., Any]]] = []
    for module, device in modules.items():
        rows += rows_of(module, device)
    definitions = [definition_of(i, row[1], row[2]) for i, row in enumerate(rows)]
    entries = [f'    {{"{row[1]}", "{row[2]}", f{i}}},' for i, row in enumerate(rows)]
    text = "#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n" + MODULE % {
        "count": len(rows), "definitions": "\n".join(definitions), "rows": "\n".join(entries),
    }  # fmt: skip
    spec = importlib.util.spec_from_file_location("_capsules", build.extension(text))
    capsules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(capsules)
    for i, (module, name, _, function) in enumerate(rows):
        capsules.replace(module.__pyx_capi__, i, function)
        if hasattr(module, name):
            setattr(module, name, capsules.builtin(owner_of(function, module), name))
    for module, device in modules.items():
        for name in methods_of(device):
            owner = owner_of(getattr(device, name), module)
            setattr(module, name, capsules.builtin(owner, name))


def owner_of(function: Callable[..., Any], module: ModuleType) -> ModuleType:
    """What a builtin function has for its module, which holds the function to be called."""
    owner = ModuleType(module.__name__)
    owner.function = function  # type: ignore[attr-defined]
    return owner


def rows_of(
    module: ModuleType, device: object
) -> list[tuple[ModuleType, str, str, Callable[..., Any]]]:
    """The module's C functions and what is to be called in place of each."""
    rows = []
    for name, capsule in module.__pyx_capi__.items():
        signature = signature_of(capsule)
        if "(" not in signature or name in KEPT:
            continue
        if hasattr(device, name):
            rows.append((module, name, signature, getattr(device, name)))
        elif can_be_expressed(signature):
            rows.append((module, name, signature, missing(name)))
    for name in methods_of(device):
        if not hasattr(module, name) and name not in module.__pyx_capi__:
            raise SignatureError(f"{module.__name__} has no function {name}")
    return rows


def can_be_expressed(signature: str) -> bool:
    """Whether a C function of this signature can be generated."""
    try:
        definition_of(0, "", signature)
    except SignatureError:
        return False
    return True


def missing(name: str) -> Callable[..., Any]:
    """What stands for a function that the test device does not have; a real device must not be asked in its place."""

    def function(*_: object) -> None:
        raise NotImplementedError(f"the test device has no {name}")

    return function


def methods_of(device: object) -> list[str]:
    """The names of an object's methods that stand for functions of CUDA's."""
    return [name for name, value in vars(type(device)).items() if getattr(value, "of_cuda", False)]


def of_cuda(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that stands for the CUDA function of its name: none of what it runs is captured, as C is not."""
    enter, leave = _hook.enter_eager, _hook.leave_eager  # also as Python ends and modules are empty

    @functools.wraps(function)
    def method(*arguments: Any) -> Any:
        enter()
        try:
            return function(*arguments)
        finally:
            leave()

    method.of_cuda = True  # type: ignore[attr-defined]
    return method
