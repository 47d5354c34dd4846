"""What operators, comparisons and functions of numbers give, as instructions of a nest: NumPy's and Python's rules."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.code import Code
from ufuse.frame_hook.nests.values import (
    BOOL,
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    TYPES,
    Item,
    Items,
    Known,
    NotNativeError,
    Number,
    NumberKind,
    kind_of,
)
from ufuse.graph.nest import F64, I1, I64, Value

LARGEST_EXPONENT = 8  # of powers of integers
EXACT_IN_F64 = 2**53  # every integer up to here is a float


def number(code: Code, item: Item) -> Number:
    """An item as a number."""
    if isinstance(item, Number):
        return item
    if isinstance(item, Known):
        kind = kind_of(item.value)
        if kind is not None:
            plain = item.value.item() if kind.numpy else item.value
            return Number(kind, code.constant(TYPES[kind.kind], plain))
    raise NotNativeError("it computes with what is no number")


def as_f64(code: Code, one: Number) -> Value:
    """A number as a float, as C converts it."""
    if one.type.kind == "float":
        return one.value
    return code.op("to_f64", F64, as_i64(code, one))


def as_i64(code: Code, one: Number) -> Value:
    """An int or bool as an integer."""
    assert one.type.kind != "float"
    return one.value if one.type.kind == "int" else code.op("widen", I64, one.value)


def truth(code: Code, item: Item) -> Value:
    """`bool(item)`."""
    one = number(code, item)
    if one.type.kind == "bool":
        return one.value
    if one.type.kind == "int":
        return code.op("ine", I1, one.value, code.constant(I64, 0))
    return code.op("fne", I1, one.value, code.constant(F64, 0.0))


def _doubt_inexact(code: Code, *numbers: Number) -> None:
    """Leave it to plain Python where an integer may not be a float exactly."""
    for one in numbers:
        if one.type.kind == "int":
            code.doubt_if(code.op("igt", I1, one.value, code.constant(I64, EXACT_IN_F64)))
            code.doubt_if(code.op("ilt", I1, one.value, code.constant(I64, -EXACT_IN_F64)))


FLOAT_OPS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
INT_OPS = {
    "+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod",
    "&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr",
}  # fmt: skip
BITWISE = {"&": "and", "|": "or", "^": "xor"}


def binary(code: Code, operator: str, left: Item, right: Item) -> Number:
    """`left operator right`."""
    one, other = number(code, left), number(code, right)
    numpy = one.type.numpy or other.type.numpy
    kinds = {one.type.kind, other.type.kind}
    if any(each.type == NP_BOOL for each in (one, other)) and not (
        kinds == {"bool"} and operator in BITWISE
    ):
        raise NotNativeError("it computes with NumPy's bools")
    if kinds == {"bool"} and operator in BITWISE:
        result = code.op(BITWISE[operator], I1, one.value, other.value)
        return Number(NumberKind("bool", numpy), result)
    if operator == "**":
        if one.type.kind != "float" and _is_small(right):
            return _whole_power(code, one, right, numpy)
        return _power(code, one, other, numpy)
    if operator in FLOAT_OPS and ("float" in kinds or operator == "/"):
        return _float(code, operator, one, other, numpy)
    if "float" not in kinds and operator in INT_OPS:
        inputs = as_i64(code, one), as_i64(code, other)
        return Number(NP_INT if numpy else INT, code.op(INT_OPS[operator], I64, *inputs))
    if operator in ("//", "%") and not (numpy and kinds != {"float"}):
        return _float_quotient(code, operator, one, other, numpy)
    raise NotNativeError(f"the operator {operator} of floats is not compiled yet")


def _float(code: Code, operator: str, one: Number, other: Number, numpy: bool) -> Number:
    if not numpy and operator == "/":
        if "float" not in (one.type.kind, other.type.kind):
            _doubt_inexact(code, one, other)
        divisor = as_f64(code, other)
        code.doubt_if(code.op("feq", I1, divisor, code.constant(F64, 0.0)))
    result = code.op(FLOAT_OPS[operator], F64, as_f64(code, one), as_f64(code, other))
    return Number(NP_FLOAT if numpy else FLOAT, result)


def _float_quotient(code: Code, operator: str, one: Number, other: Number, numpy: bool) -> Number:
    """`//` or `%` of floats, as CPython and NumPy compute both: from C's fmod, whose result has the dividend's sign."""
    left, right = as_f64(code, one), as_f64(code, other)
    zero, unit = code.constant(F64, 0.0), code.constant(F64, 1.0)
    _doubt_not_finite(code, right)
    rest = code.call("fmod", left, right)  # a doubt where the divisor is zero
    quotient = code.op("div", F64, code.op("sub", F64, left, rest), right)
    is_whole = code.op("feq", I1, rest, zero)
    unlike = code.op("xor", I1, code.op("flt", I1, right, zero), code.op("flt", I1, rest, zero))
    unlike = code.op("and", I1, unlike, code.op("not", I1, is_whole))
    kind = NP_FLOAT if numpy else FLOAT
    if operator == "%":
        moved = code.op("select", F64, unlike, code.op("add", F64, rest, right), rest)
        nothing = code.call("copysign", zero, right)
        return Number(kind, code.op("select", F64, is_whole, nothing, moved))
    quotient = code.op("select", F64, unlike, code.op("sub", F64, quotient, unit), quotient)
    below = code.call("floor", quotient)
    far = code.op("flt", I1, code.constant(F64, 0.5), code.op("sub", F64, quotient, below))
    floored = code.op("select", F64, far, code.op("add", F64, below, unit), below)
    nothing = code.call("copysign", zero, code.op("div", F64, left, right))
    is_none = code.op("feq", I1, quotient, zero)
    return Number(kind, code.op("select", F64, is_none, nothing, floored))


def _is_small(exponent: Item) -> bool:
    return (
        isinstance(exponent, Known)
        and type(exponent.value) is int
        and 0 <= exponent.value <= LARGEST_EXPONENT
    )


def _whole_power(code: Code, base: Number, exponent: Item, numpy: bool) -> Number:
    """An integer to a constant power: where that fits 64 bits, so do all powers before it."""
    assert isinstance(exponent, Known)
    factor = as_i64(code, base)
    result = code.constant(I64, 1)
    for _ in range(exponent.value):
        result = code.op("mul", I64, result, factor)
    return Number(NP_INT if numpy else INT, result)


def _power(code: Code, one: Number, other: Number, numpy: bool) -> Number:
    if one.type.kind != "float":
        raise NotNativeError("powers of integers are not compiled yet")
    result = code.call("pow", as_f64(code, one), as_f64(code, other))
    if not numpy:
        _doubt_not_finite(code, result)
    return Number(NP_FLOAT if numpy else FLOAT, result)


def _doubt_not_finite(code: Code, value: Value) -> None:
    size = code.op("abs", F64, value)
    is_finite = code.op("flt", I1, size, code.constant(F64, math.inf))
    code.doubt_if(code.op("not", I1, is_finite))


def compare(code: Code, name: str, left: Item, right: Item) -> Number:
    """`left < right` and the like; `name` is lt, le, eq, ne, gt or ge."""
    one, other = number(code, left), number(code, right)
    kinds = {one.type.kind, other.type.kind}
    numpy = one.type.numpy or other.type.numpy
    if numpy and "bool" in kinds:
        raise NotNativeError("it compares NumPy's bools")
    if "float" in kinds:
        _doubt_inexact(code, one, other)
        result = code.op("f" + name, I1, as_f64(code, one), as_f64(code, other))
    else:
        result = code.op("i" + name, I1, as_i64(code, one), as_i64(code, other))
    return Number(NP_BOOL if numpy else BOOL, result)


def contains(code: Code, items: Items, item: Item) -> Number:
    """Whether a number equals one of a tuple."""
    found = code.constant(I1, False)
    given = number(code, item)
    if given.type.kind == "float":  # NaN equals nothing, but may be one of the very objects
        code.doubt_if(code.op("fne", I1, given.value, given.value))
    for one in items.items:
        if isinstance(one, Known) and isinstance(one.value, (str, bytes, type(None))):
            continue  # equals no number
        found = code.op("or", I1, found, compare(code, "eq", one, item).value)
    return Number(BOOL, found)


def negative(code: Code, item: Item) -> Number:
    """`-item`."""
    one = number(code, item)
    if one.type == NP_BOOL:
        raise NotNativeError("it computes with NumPy's bools")
    if one.type.kind == "float":
        return Number(one.type, code.op("neg", F64, one.value))
    return Number(NumberKind("int", one.type.numpy), code.op("neg", I64, as_i64(code, one)))


def invert(code: Code, item: Item) -> Number:
    """`~item`."""
    one = number(code, item)
    if one.type.kind != "int":
        raise NotNativeError("it inverts what is no int")
    return Number(one.type, code.op("invert", I64, one.value))


def inverse_truth(code: Code, item: Item) -> Number:
    """`not item`."""
    return Number(BOOL, code.op("not", I1, truth(code, item)))


# Functions -------------------------------------------------------------------------------------------------------


def _abs(code: Code, item: Item) -> Number:
    one = number(code, item)
    if one.type == NP_BOOL:
        raise NotNativeError("it computes with NumPy's bools")
    if one.type.kind == "float":
        return Number(one.type, code.op("abs", F64, one.value))
    return Number(NumberKind("int", one.type.numpy), code.op("abs", I64, as_i64(code, one)))


def _int(code: Code, item: Item) -> Number:
    one = number(code, item)
    if one.type.kind == "float":
        return Number(INT, code.op("to_i64", I64, one.value))
    return Number(INT, as_i64(code, one))


def _float_of(code: Code, item: Item) -> Number:
    return Number(FLOAT, as_f64(code, number(code, item)))


def _bool_of(code: Code, item: Item) -> Number:
    return Number(BOOL, truth(code, item))


def _of_math(name: str) -> Callable[[Code, Item], Number]:
    """A function of `math`: C's, which raises where the result is not finite though the argument was."""

    def function(code: Code, item: Item) -> Number:
        given = as_f64(code, number(code, item))
        result = code.call(name, given)
        _doubt_not_finite(code, result)
        return Number(FLOAT, result)

    return function


def _math_sqrt(code: Code, item: Item) -> Number:
    given = as_f64(code, number(code, item))
    code.doubt_if(code.op("flt", I1, given, code.constant(F64, 0.0)))
    return Number(FLOAT, code.op("sqrt", F64, given))


def _np_sqrt(code: Code, item: Item) -> Number:
    one = number(code, item)
    if one.type.kind == "bool":
        raise NotNativeError("the square root of a bool has half precision")
    return Number(NP_FLOAT, code.op("sqrt", F64, as_f64(code, one)))


def _np_abs(code: Code, item: Item) -> Number:
    found = _abs(code, item)
    if number(code, item).type.kind == "bool":
        raise NotNativeError("it computes with NumPy's bools")
    return Number(NumberKind(found.type.kind, numpy=True), found.value)


def _fabs(code: Code, item: Item) -> Number:
    return Number(FLOAT, code.op("abs", F64, as_f64(code, number(code, item))))


def _of_two(name: str) -> Callable[[Code, Item, Item], Number]:
    """A function of two floats of `math`."""

    def function(code: Code, item: Item, other: Item) -> Number:
        given = (as_f64(code, number(code, one)) for one in (item, other))
        return Number(FLOAT, code.call(name, *given))

    return function


def _rounded(name: str) -> Callable[[Code, Item], Number]:
    """A float rounded to one of Python's ints by a function of C."""

    def function(code: Code, item: Item) -> Number:
        one = number(code, item)
        if one.type.kind == "float":
            return Number(INT, code.op("to_i64", I64, code.call(name, one.value)))
        if one.type != INT:
            raise NotNativeError("it rounds what is no float")
        return one

    return function


def _np_rounded(name: str) -> Callable[[Code, Item], Number]:
    def function(code: Code, item: Item) -> Number:
        one = number(code, item)
        if one.type.kind != "float":
            raise NotNativeError("it rounds what is no float")
        return Number(NP_FLOAT, code.call(name, one.value))

    return function


def _is_nan(kind: NumberKind) -> Callable[[Code, Item], Number]:
    def function(code: Code, item: Item) -> Number:
        given = as_f64(code, number(code, item))
        return Number(kind, code.op("fne", I1, given, given))

    return function


def _is_finite(code: Code, item: Item) -> Number:
    size = code.op("abs", F64, as_f64(code, number(code, item)))
    return Number(BOOL, code.op("flt", I1, size, code.constant(F64, math.inf)))


def _np_float(code: Code, item: Item) -> Number:
    return Number(NP_FLOAT, as_f64(code, number(code, item)))


def _np_int(code: Code, item: Item) -> Number:
    one = number(code, item)
    if one.type.kind == "float":
        raise NotNativeError("it makes one of NumPy's integers of a float")
    return Number(NP_INT, as_i64(code, one))


LIBM = (
    "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "cbrt", "erf", "erfc",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip
# fmt: off
FUNCTIONS: dict[tuple[Any, int], Callable[..., Number]] = {  # with so many arguments
    (abs, 1): _abs, (np.abs, 1): _np_abs, (int, 1): _int, (float, 1): _float_of, (bool, 1): _bool_of,
    (round, 1): _rounded("rint"), (np.float64, 1): _np_float, (np.int64, 1): _np_int,
    (math.sqrt, 1): _math_sqrt, (math.fabs, 1): _fabs,
    **{(getattr(math, name), 1): _of_math(name) for name in LIBM},
    **{(getattr(math, name), 2): _of_two(name) for name in ("pow", "atan2", "fmod", "copysign")},
    **{(getattr(math, name), 1): _rounded(name) for name in ("floor", "ceil", "trunc")},
    (math.isnan, 1): _is_nan(BOOL), (math.isfinite, 1): _is_finite,
    (np.sqrt, 1): _np_sqrt, (np.isnan, 1): _is_nan(NP_BOOL),
    (np.floor, 1): _np_rounded("floor"), (np.ceil, 1): _np_rounded("ceil"),
}
# fmt: on


def is_first(code: Code, function: Any, best: Number, other: Number) -> Value:
    """Whether `min` or `max` keeps the first of two numbers: the other one is taken where it is strictly better."""
    better = "lt" if function is builtins.min else "gt"
    return code.op("not", I1, compare(code, better, other, best).value)
