"""How far values of the frame are read: as constants, by identity, item by item, or not at all (opaque)."""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from ufuse.graph.typing.sample import DTYPE_CODES

NUMERIC = DTYPE_CODES - frozenset("gG")
NUMBER_CODES = frozenset("?bBhHiIlLqQefdgFDGO")  # of dtypes of which NumPy has one object each
IDENTIFIED = (
    type,
    types.CodeType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    property,
    classmethod,
    staticmethod,
    np.ufunc,
    np.dtype,
    type(np.zeros_like),  # functions behind __array_function__
    type(np._NoValue),
)
# NumPy's own context variable: what is done where floating-point flags are raised.
ERROR_STATE: Any = np._core.umath._extobj_contextvar  # type: ignore[attr-defined]
# A metaclass that defines one of these itself may answer differently each time its classes are asked.
ANSWERS = ("__eq__", "__hash__", "__getattribute__", "__getattr__")
BOUND_BUILTINS = (types.BuiltinFunctionType, types.MethodWrapperType)
CONTAINERS = (tuple, list, dict, set, frozenset)
LARGEST_CONTAINER = 512  # items, each of which may get a symbol and guards
# Objects of C types whose attributes and operators have rules of their own, or none.
LEFT_ALONE = (np.ndarray, np.generic, np.dtype, types.FunctionType, *BOUND_BUILTINS)


def is_plain(value: Any) -> bool:
    """Whether a value is immutable, and comparing it runs none of the user's code; a NaN is not, it equals nothing."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    if type(value) in (float, complex):
        return bool(value == value)  # noqa: PLR0124
    return value is None or value is Ellipsis or type(value) in (int, bool, str, bytes)


def is_key(value: Any) -> bool:
    """Whether a dict of the frame with such a key can be read: a plain value, or one that is compared by identity."""
    kind = type(value)  # isinstance() would ask the value for its class
    if issubclass(kind, enum.Enum):
        hashed = kind.__hash__
        return not isinstance(hashed, types.FunctionType) or hashed is enum.Enum.__hash__
    if issubclass(kind, type):
        return kind.__hash__ is type.__hash__ and kind.__eq__ is type.__eq__
    if issubclass(kind, np.dtype):
        return value.char in NUMBER_CODES and np.dtype(value.char) is value
    known = issubclass(kind, (types.FunctionType, types.BuiltinFunctionType, np.ufunc))
    return is_plain(value) or (known and not is_made_anew(value))


def exactly(value: Any) -> Any:
    """What two keys share only where nobody can tell them apart, unlike 1 and True, or 0.0 and -0.0."""
    kind = type(value)
    if kind is tuple:
        return kind, tuple(map(exactly, value))
    if kind is frozenset:
        return kind, frozenset(map(exactly, value))
    return kind, repr(value) if kind in (float, complex) else value


def _is_of_enum(method: Any) -> bool:
    return type(method) is types.FunctionType and method.__module__ == "enum"


def answers_itself(metaclass: type) -> str:
    """The first of `ANSWERS` that a metaclass defines itself; "" where none. No code of the user's is run."""
    for one in type.__dict__["__mro__"].__get__(metaclass):
        if one is type:
            break
        names = type.__dict__["__dict__"].__get__(one)
        for name in ANSWERS:
            if name in names and not _is_of_enum(names[name]):
                return name
    return ""


def size_of(value: Any) -> int:
    """The number of items of a container, whatever its class says."""
    base = next(one for one in CONTAINERS if issubclass(type(value), one))
    return base.__len__(value)


def is_made_anew(value: Any) -> bool:
    """Whether each call of the function that made it makes another: a guard on its identity would not hold again."""
    kind = type(value)  # isinstance() may ask the value, and that may run code of the user's
    if issubclass(kind, types.FunctionType):
        name = value.__qualname__
        return "<locals>" in name or (name.endswith("<lambda>") and not _is_global(value))
    if issubclass(kind, np.dtype):
        return value.names is not None or value.subdtype is not None  # its names may be set
    bound = issubclass(kind, BOUND_BUILTINS) and getattr(value, "__self__", None)
    return bound is not False and not issubclass(
        type(bound), (types.ModuleType, type, types.NoneType)
    )


def _is_global(function: types.FunctionType) -> bool:
    """Whether a lambda of a module has a name there; otherwise a loop may make it anew at each turn."""
    return any(one is function for one in function.__globals__.copy().values())


def is_followed(dtype: np.dtype) -> bool:
    """Whether arrays of this dtype are captured: numbers in native byte order; no metadata, which `==` ignores.

    What `newbyteorder` gives may be native and say so, `<f8`: results have that dtype where NumPy hands it on.
    """
    return dtype.char in NUMERIC and dtype.byteorder in "=|" and dtype.metadata is None


def is_shared(dtype: np.dtype) -> bool:
    """Whether NumPy gives this very object to all who ask for such a dtype."""
    return dtype.char in NUMERIC and np.dtype(dtype.char) is dtype
