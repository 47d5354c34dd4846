"""Operations on numbers in nests, as plain Python: each gives NumPy's bits, or a doubt."""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ufuse.graph.nest import numpy_function
from ufuse.graph.nest_types import (
    COMPARISONS,
    F32,
    F64,
    I1,
    I64,
    INTEGERS,
    KNOWN_POWERS,
    REALS,
    SIGNATURES,
    limits,
)

LIMIT = 1 << 63
Number = float | int | bool | np.float32  # of an f32 always np.float32


class DoubtError(Exception):
    """Plain Python must do the turn."""


class UnlikeNansError(DoubtError):
    """Both operands are NaN, with other bits: which one lives on is up to a compiler. Doubted only if it is kept."""


def bits(number: float | np.float32) -> int:
    """The bits of a float."""
    single = isinstance(number, np.float32)
    return int(np.asarray(number).view(np.uint32 if single else np.uint64))


def called(name: str, inputs: Sequence[Any]) -> Any:
    """What a function of C, NumPy or Python gives for numbers."""
    if name.startswith("numpy."):
        if isinstance(inputs[0], np.float32):
            return numpy_function(name)(*inputs)
        return float(numpy_function(name)(*map(np.float64, inputs)))
    if name.startswith("python."):
        return _of_python(name.removeprefix("python."), inputs)
    if name in KNOWN_POWERS:  # as C's `pow` rounds them
        return called("pow", (*inputs, KNOWN_POWERS[name]))
    function = getattr(_library_of_c(), name)
    is_single = isinstance(inputs[0], np.float32)
    function.restype = ctypes.c_float if is_single else ctypes.c_double
    function.argtypes = [function.restype] * len(inputs)
    result = function(*map(float, inputs))
    if not math.isfinite(result):
        raise DoubtError
    return np.float32(result) if is_single else result


@cache
def _library_of_c() -> ctypes.CDLL:
    return ctypes.CDLL("libm.so.6")


def _of_python(name: str, inputs: Sequence[float]) -> float:
    try:
        result: float = getattr(math, name)(*inputs)
    except (OverflowError, ValueError):
        raise DoubtError from None
    if not math.isfinite(result):
        raise DoubtError
    return result


def _real(type_: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    exact = np.float32 if type_ == F32 else np.float64

    def rule(left: Any, right: Any) -> Any:
        if math.isnan(left) and math.isnan(right) and bits(left) != bits(right):
            raise UnlikeNansError
        # NumPy's scalars: an overflow is infinite, and flags are NumPy's.
        return _rounded(type_, function(exact(left), exact(right)))

    return rule


def _rounded(type_: str, value: Any) -> Any:
    """As a value of a type of reals."""
    return np.float32(value) if type_ == F32 else float(value)


def _divide(type_: str) -> Callable[[Any, Any], Any]:
    def rule(left: Any, right: Any) -> Any:
        if right == 0:
            raise DoubtError
        return _real(type_, operator.truediv)(left, right)

    return rule


def _square_root(type_: str) -> Callable[[Any], Any]:
    def rule(value: Any) -> Any:
        return _rounded(type_, np.sqrt(value if type_ == F32 else np.float64(value)))

    return rule


def _to_single(value: Any) -> np.float32:
    """Rounded once, whatever it is."""
    if isinstance(value, int):
        return np.float32(np.int64(value) if value < LIMIT else np.uint64(value))
    return np.float32(np.float64(value))


def _to_double(value: Any) -> float:
    return float(value)


def _whole_quotient(type_: str, function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def rule(left: int, right: int) -> int:
        if right == 0 or (left == limits(type_)[0] and right == -1):
            raise DoubtError
        return function(left, right)

    return rule


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def rule(left: int, count: int) -> int:
        if not 0 <= count < 64:
            raise DoubtError
        return function(left, count)

    return rule


def _wrap(type_: str) -> Callable[[int], int]:
    """The integer of a type with the same last bits."""
    low, high = limits(type_)
    return lambda value: (value - low) % (high - low + 1) + low


def _left_shift(type_: str) -> Callable[[int, int], int]:
    def rule(left: int, count: int) -> int:
        return _wrap(type_)(left << count) if 0 <= count < int(type_[1:]) else 0

    return rule


def _right_shift(type_: str) -> Callable[[int, int], int]:
    def rule(left: int, count: int) -> int:
        return left >> (count if 0 <= count < int(type_[1:]) else int(type_[1:]))

    return rule


def _to_whole(value: Any) -> int:
    if not -float(LIMIT) <= value < 2 * float(LIMIT):
        raise DoubtError
    return int(value)


def _not(value: bool) -> bool:
    return not value


def _comparison(name: str) -> Callable[[Any, Any], bool]:
    compare = getattr(operator, name)
    return lambda left, right: bool(compare(left, right))


def _of_reals(type_: str) -> dict[str, Callable[..., Any]]:
    # fmt: off
    return {
        "add":  _real(type_, operator.add),
        "sub":  _real(type_, operator.sub),
        "mul":  _real(type_, operator.mul),
        "div":  _divide(type_),
        "neg":  operator.neg,
        "abs":  abs,
        "sqrt": _square_root(type_),
        "minus_zero": lambda value: bool(value == 0 and np.signbit(value)),
        **{"f" + name: _comparison(name) for name in COMPARISONS},
    }
    # fmt: on


def _of_integers(type_: str) -> dict[str, Callable[..., Any]]:
    # fmt: off
    return {
        "add":      operator.add,
        "sub":      operator.sub,
        "mul":      operator.mul,
        "floordiv": _whole_quotient(type_, operator.floordiv),
        "mod":      _whole_quotient(type_, operator.mod),
        "neg":      operator.neg,
        "abs":      abs,
        "and":      operator.and_,
        "or":       operator.or_,
        "xor":      operator.xor,
        "invert":   lambda value: _wrap(type_)(~value),
        "lshift":   _left_shift(type_),
        "rshift":   _right_shift(type_),
        **{"i" + name: _comparison(name) for name in COMPARISONS},
    }
    # fmt: on


def _conversion(op: str) -> Callable[[Any], Any]:
    how, _, type_ = op.partition("_")
    if how == "wrap":
        return _wrap(type_)
    return {F64: _to_double, F32: _to_single}.get(type_, _to_whole)


# fmt: off
RULES: dict[tuple[str, str], Callable[..., Any]] = {
    **{(op, type_): rule for type_ in REALS for op, rule in _of_reals(type_).items()},
    **{(op, type_): rule for type_ in INTEGERS for op, rule in _of_integers(type_).items()},
    **{(op, type_): _conversion(op) for op, type_ in SIGNATURES if op.startswith(("to_", "wrap_"))},
    ("shl", I64):      _shift(operator.lshift),
    ("shr", I64):      _shift(operator.rshift),
    ("widen", I1):     int,
    ("and", I1):       operator.and_,
    ("or", I1):        operator.or_,
    ("xor", I1):       operator.xor,
    ("not", I1):       _not,
}
# fmt: on
