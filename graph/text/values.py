"""Constants and attributes as text, and back: sizes, numbers to the bit, dtypes, tuples."""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np

from ufuse.graph import size
from ufuse.graph.size import Expression, Size


class TextError(ValueError):
    """The text is no graph; says where."""


PLAIN: frozenset[type] = frozenset({bool, int, str, bytes})


def dtype_text(dtype: np.dtype) -> str:
    """A dtype in NumPy's short form: f8, i4, b1."""
    return dtype.str if not dtype.isnative else dtype.str[1:]


def value_text(value: Any) -> str:
    """The text of an attribute or constant; `read_value` reads back an equal one.

    Raises:
        TextError: the value has no text.

    """
    if type(value) in (float, complex):
        return _number_text(value)
    if value is None or type(value) in PLAIN:
        return repr(value)
    if value is Ellipsis:
        return "..."
    match value:
        case Expression():
            return str(value)
        case np.dtype():
            return f"dtype({dtype_text(value)!r})"
        case np.generic() | np.ndarray():
            return _array_text(value)
        case tuple():
            inner = ", ".join(map(value_text, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case list():
            return f"[{', '.join(map(value_text, value))}]"
        case slice():
            return f"slice({value_text(value.start)}, {value_text(value.stop)}, {value_text(value.step)})"
    raise TextError(f"a {type(value).__name__} has no text")


def _number_text(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({_number_text(value.real)}, {_number_text(value.imag)})"
    if isnan(value) and np.float64(value).tobytes() != np.float64("nan").tobytes():
        return f"bits('float', {np.float64(value).tobytes().hex()!r})"
    return repr(value)


def _array_text(value: np.generic | np.ndarray) -> str:
    """A NumPy scalar by its digits where they say everything, and anything else by its bytes."""
    short = dtype_text(value.dtype)
    if value.dtype.char not in "?bBhHiIlLqQefdgFDG":
        raise TextError(f"a constant of dtype {value.dtype} has no text")
    if isinstance(value, np.generic) and value.dtype.char in "?bBhHiIlLqQefd":
        text = repr(value.item())
        if value.dtype.type(read_value(text)).tobytes() == value.tobytes():
            return f"{short}({text})"
    shape = None if isinstance(value, np.generic) else tuple(map(int, value.shape))
    return f"bits({short!r}, {value.tobytes().hex()!r}, {shape!r})"


def _from_bits(dtype: str, digits: str, shape: tuple[int, ...] | None = None) -> Any:
    if dtype == "float":
        return float(np.frombuffer(bytes.fromhex(digits), "f8")[0])
    flat = np.frombuffer(bytes.fromhex(digits), dtype)
    return flat[0] if shape is None else flat.reshape(shape).copy()


def read_value(text: str) -> Any:
    """The value of a text; names are symbols of sizes.

    Raises:
        TextError: it is no value.

    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise TextError(f"not a value: {text!r}") from None
    return evaluated(tree.body)


def read_size(text: str) -> Size:
    """The size of a text.

    Raises:
        TextError: it is no size.

    """
    value = read_value(text)
    if isinstance(value, bool) or not isinstance(value, (int, Expression)):
        raise TextError(f"not a size: {text!r}")
    return value


NAMES: dict[str, Any] = {"nan": float("nan"), "inf": float("inf"), "None": None}
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: size.divide("//", a, b),
    ast.Mod: lambda a, b: size.divide("%", a, b),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "complex": complex,
    "dtype": np.dtype,
    "slice": slice,
    "bits": _from_bits,
}


def evaluated(tree: ast.expr) -> Any:
    """The value of a parsed expression.

    Raises:
        TextError: it has parts that no attribute has.

    """
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return NAMES[name] if name in NAMES else size.symbol(name)
        case ast.Tuple(elts=items):
            return tuple(map(evaluated, items))
        case ast.List(elts=items):
            return list(map(evaluated, items))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluated(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            return ARITHMETIC[type(op)](evaluated(left), evaluated(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            given = list(map(evaluated, arguments))
            if name in FUNCTIONS:
                return FUNCTIONS[name](*given)
            return _scalar_of(name, given)
    raise TextError(f"not a value: {ast.unparse(tree)}")


def _scalar_of(name: str, given: list[Any]) -> Any:
    try:
        (value,) = given
        return np.dtype(name).type(value)
    except (TypeError, ValueError):
        raise TextError(f"not a value: {name}(...)") from None
