"""What operators, comparisons and functions of numbers give, as instructions of a nest: NumPy's and Python's rules."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    EITHER_KINDS,
    ELEMENT_KINDS,
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    TYPES,
    EitherKind,
    NotNativeError,
    NumberKind,
)
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.nests.numbers.conversions import (
    as_f64,
    as_i64,
    common_kind,
    converted,
    doubt_inexact,
    doubt_not_finite,
    made,
    number,
    refuse_bools,
    truth,
)
from ufuse.frame_hook.nests.numbers.either import common_tag, is_either, settled, why_not_same
from ufuse.graph.nest_types import ELEMENTS, F32, F64, I1, I64, KNOWN_POWERS, U64, Value

POWERS = (-1, 2)  # of which run-time ints are exponents
LARGEST_SHIFT = 62
LARGEST_EXPONENT = 8  # of powers of integers
NAMES_OF_POWERS = {exponent: name for name, exponent in KNOWN_POWERS.items()}


FLOAT_OPS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
INT_OPS = {
    "+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod",
    "&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr",
}  # fmt: skip
NUMPY_SHIFTS = {"<<": "lshift", ">>": "rshift"}
BITWISE = {"&": "and", "|": "or", "^": "xor"}


def binary(code: Code, operator: str, left: Item, right: Item) -> Number:
    """`left operator right`."""
    one, other = number(code, left), number(code, right)
    if (is_either(one) or is_either(other)) and why_not_same(operator, one, other) is None:
        return _of_either(code, operator, one, other)
    if operator in FLOAT_OPS and not one.type.kind == other.type.kind == "bool":
        one, other = _counted(code, one, other), _counted(code, other, one)
    numpy = one.type.numpy or other.type.numpy
    if one.type.kind == other.type.kind == "bool" and operator in BITWISE:
        result = code.op(BITWISE[operator], I1, one.value, other.value)
        return Number(NumberKind("bool", numpy), result)
    refuse_bools(one, other)
    kind = common_kind(one, other) if numpy else _common_of_python(one, other)
    if operator == "**":
        if one.type.is_whole and kind.is_whole and _is_small(right):
            return _whole_power(code, one, right, kind)
        if one.type == other.type == INT and isinstance(left, Known) and left.value in POWERS:
            return _power_of_known(code, left.value, other)
        return _power(code, one, other, kind, right.value if isinstance(right, Known) else None)
    if kind.is_whole and operator == "/":
        kind = NP_FLOAT if numpy else FLOAT
    if kind.is_whole:
        name = NUMPY_SHIFTS.get(operator, INT_OPS[operator]) if numpy else INT_OPS[operator]
        inputs = converted(code, one, kind), converted(code, other, kind)
        return Number(kind, code.op(name, TYPES[kind.kind], *inputs))
    if operator in FLOAT_OPS:
        return _float(code, operator, one, other, kind)
    are_plain = {one.type.kind, other.type.kind} <= {"int", "float"}
    if operator in ("//", "%") and (are_plain or (one.type.is_real and other.type.is_real)):
        return _float_quotient(code, operator, one, other, kind)
    raise NotNativeError(f"the operator {operator} of floats is not compiled yet")


def _of_either(code: Code, operator: str, one: Number, other: Number) -> Number:
    """What an operator gives for Python's numbers and for NumPy's alike; which of them it is lies in its tag."""
    tag = common_tag(code, one, other)
    numbers = (settled(each, numpy=tag is None) for each in (one, other))
    found = binary(code, operator, *numbers)
    return found if tag is None else Number(EitherKind(found.type.kind), found.value, tag)


def _counted(code: Code, one: Number, other: Number) -> Number:
    """One of NumPy's bools beside a number of 64 bits as the integer that NumPy makes of it; others as they are."""
    if one.type == NP_BOOL and other.type.kind in ("int", "float", "bool"):
        return Number(NP_INT, code.op("widen", I64, one.value))
    return one


def _common_of_python(one: Number, other: Number) -> NumberKind:
    return FLOAT if "float" in (one.type.kind, other.type.kind) else INT


def _float(code: Code, operator: str, one: Number, other: Number, kind: NumberKind) -> Number:
    if not kind.numpy and operator == "/":
        if "float" not in (one.type.kind, other.type.kind):
            doubt_inexact(code, one, other)
        if not code.known(other.value):
            divisor = as_f64(code, other)
            code.doubt_if(code.op("feq", I1, divisor, code.constant(F64, 0.0)))
    inputs = converted(code, one, kind), converted(code, other, kind)
    return Number(kind, code.op(FLOAT_OPS[operator], TYPES[kind.kind], *inputs))


def _exactly(code: Code, name: str, *inputs: Value) -> Value:
    """A function of C that rounds nothing, so that doubles serve for every type of reals."""
    if inputs[0].type == F64:
        return code.call(name, *inputs)
    result = code.call(name, *(code.op("to_f64", F64, one) for one in inputs))
    return code.op("to_f32", F32, result)


def _float_quotient(
    code: Code, operator: str, one: Number, other: Number, kind: NumberKind
) -> Number:
    """`//` or `%` of floats, as CPython and NumPy compute both: from C's fmod, whose result has the dividend's sign."""
    type_ = TYPES[kind.kind]
    left, right = converted(code, one, kind), converted(code, other, kind)
    zero, unit = code.constant(type_, 0.0), code.constant(type_, 1.0)
    doubt_not_finite(code, right)
    rest = _exactly(code, "fmod", left, right)  # a doubt where the divisor is zero
    quotient = code.op("div", type_, code.op("sub", type_, left, rest), right)
    is_whole = code.op("feq", I1, rest, zero)
    unlike = code.op("xor", I1, code.op("flt", I1, right, zero), code.op("flt", I1, rest, zero))
    unlike = code.op("and", I1, unlike, code.op("not", I1, is_whole))
    if operator == "%":
        moved = code.op("select", type_, unlike, code.op("add", type_, rest, right), rest)
        nothing = _exactly(code, "copysign", zero, right)
        return Number(kind, code.op("select", type_, is_whole, nothing, moved))
    quotient = code.op("select", type_, unlike, code.op("sub", type_, quotient, unit), quotient)
    below = _exactly(code, "floor", quotient)
    far = code.op("flt", I1, code.constant(type_, 0.5), code.op("sub", type_, quotient, below))
    floored = code.op("select", type_, far, code.op("add", type_, below, unit), below)
    nothing = _exactly(code, "copysign", zero, code.op("div", type_, left, right))
    is_none = code.op("feq", I1, quotient, zero)
    return Number(kind, code.op("select", type_, is_none, nothing, floored))


def _is_small(exponent: Item) -> bool:
    return (
        isinstance(exponent, Known)
        and type(exponent.value) is int
        and 0 <= exponent.value <= LARGEST_EXPONENT
    )


def _whole_power(code: Code, base: Number, exponent: Item, kind: NumberKind) -> Number:
    """An integer to a constant power: where that fits its type, so do all powers before it."""
    assert isinstance(exponent, Known)
    type_ = TYPES[kind.kind]
    factor = converted(code, base, kind)
    result = code.constant(type_, 1)
    for _ in range(exponent.value):
        result = code.op("mul", type_, result, factor)
    return Number(kind, result)


def _power_of_known(code: Code, base: int, exponent: Number) -> Number:
    """-1 or 2 to the power of an int, which is one itself where that is not below zero, and fits."""
    zero, one = code.constant(I64, 0), code.constant(I64, 1)
    code.doubt_if(code.op("ilt", I1, exponent.value, zero))
    if base == 2:
        code.doubt_if(code.op("ilt", I1, code.constant(I64, LARGEST_SHIFT), exponent.value))
        return Number(INT, code.op("shl", I64, one, exponent.value))
    is_odd = code.op("ieq", I1, code.op("and", I64, exponent.value, one), one)
    return Number(INT, code.op("select", I64, is_odd, code.constant(I64, -1), one))


def _power(code: Code, one: Number, other: Number, kind: NumberKind, known: Any) -> Number:
    """`one` to the power of `other`, which is `known` or not."""
    if not one.type.is_real and not (one.type == INT and other.type == FLOAT):
        raise NotNativeError("powers of integers are not compiled yet")
    if other.type.is_whole and other.type.numpy and not one.type.numpy:
        raise NotNativeError("a Python float to the power of NumPy's integer is np.power's")
    name = "powf" if TYPES[kind.kind] == F32 else "pow"
    base = converted(code, one, kind)
    if name == "pow" and known in NAMES_OF_POWERS:
        return Number(kind, code.call(NAMES_OF_POWERS[known], base))
    return Number(kind, code.call(name, base, converted(code, other, kind)))


def compare(code: Code, name: str, left: Item, right: Item) -> Number:
    """`left < right` and the like; `name` is lt, le, eq, ne, gt or ge."""
    one, other = number(code, left), number(code, right)
    numpy = one.type.numpy or other.type.numpy
    one, other = _counted(code, one, other), _counted(code, other, one)
    if numpy and one.type == BOOL:
        one = Number(INT, as_i64(code, one))
    if numpy and other.type == BOOL:
        other = Number(INT, as_i64(code, other))
    if numpy and "bool" in (one.type.kind, other.type.kind):
        raise NotNativeError("it compares NumPy's bools")
    kind = NP_BOOL if numpy else BOOL
    if one.type.is_real or other.type.is_real:
        doubt_inexact(code, one, other)
        common = common_kind(one, other) if numpy else FLOAT
        inputs = converted(code, one, common), converted(code, other, common)
        return Number(kind, code.op("f" + name, I1, *inputs))
    inputs = _as_comparable(code, one, other)
    return Number(kind, code.op("i" + name, I1, *inputs))


def known_comparison(name: str, left: Item, right: Item) -> bool | None:
    """What a comparison of two of Python's numbers, or of two texts, gives that are known."""
    if not isinstance(left, Known) or not isinstance(right, Known):
        return None
    types = {type(left.value), type(right.value)}
    if str in types and len(types) == 2 and name in ("eq", "ne"):
        return name == "ne" if types <= {str, int, float, bool} else None
    if types <= {int, float, bool} or types == {str}:
        return bool(getattr(operator, name)(left.value, right.value))
    return None


def compare_truth(code: Code, name: str, left: Item, right: Item) -> Number:
    """As `compare`, where only the truth of the result is used: it is the same for Python's numbers and NumPy's."""
    one, other = number(code, left), number(code, right)
    if {one.type.kind, other.type.kind} <= EITHER_KINDS:
        one, other = (
            settled(each, numpy=False) if is_either(each) else each for each in (one, other)
        )
    return compare(code, name, one, other)


def _as_comparable(code: Code, one: Number, other: Number) -> tuple[Value, Value]:
    """Two integers in one type that holds both, compared as the numbers they are."""
    if one.value.type == other.value.type != I1:
        return one.value, other.value
    kind = INT
    if U64 in (one.value.type, other.value.type):
        rest = other if one.value.type == U64 else one
        if (code.known(rest.value) or 0) > 0 or rest.value.type.startswith("u"):
            kind = ELEMENT_KINDS[U64]
    return converted(code, one, kind), converted(code, other, kind)


def _of_own_kind(code: Code, name: str, one: Number) -> Number:
    """One operation on a number in its own type; a bool is an int then."""
    refuse_bools(one)
    kind = INT if one.type.kind == "bool" else one.type
    tag = one.tag if kind is one.type else None
    return Number(kind, code.op(name, TYPES[kind.kind], converted(code, one, kind)), tag)


def contains(code: Code, items: Items, item: Item) -> Number:
    """Whether a number equals one of a tuple."""
    found = code.constant(I1, False)
    given = number(code, item)
    if given.type.is_real:  # NaN equals nothing, but may be one of the very objects
        code.doubt_if(code.op("fne", I1, given.value, given.value))
    for one in items.items:
        if isinstance(one, Known) and isinstance(one.value, (str, bytes, type(None))):
            continue  # equals no number
        found = code.op("or", I1, found, compare(code, "eq", one, item).value)
    return Number(BOOL, found)


def negative(code: Code, item: Item) -> Number:
    """`-item`."""
    return _of_own_kind(code, "neg", number(code, item))


def positive(code: Code, item: Item) -> Number:
    """`+item`."""
    one = number(code, item)
    refuse_bools(one)
    return Number(INT, converted(code, one, INT)) if one.type == BOOL else one


def invert(code: Code, item: Item) -> Number:
    """`~item`."""
    one = number(code, item)
    if not one.type.is_whole:
        raise NotNativeError("it inverts what is no int")
    return _of_own_kind(code, "invert", one)


def inverse_truth(code: Code, item: Item) -> Number:
    """`not item`."""
    return Number(BOOL, code.op("not", I1, truth(code, item)))


# Functions -------------------------------------------------------------------------------------------------------


def _abs(code: Code, item: Item) -> Number:
    return _of_own_kind(code, "abs", number(code, item))


def _int(code: Code, item: Item) -> Number:
    one = number(code, item)
    if one.type.is_real:
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
        doubt_not_finite(code, result)
        return Number(FLOAT, result)

    return function


def _math_sqrt(code: Code, item: Item) -> Number:
    given = as_f64(code, number(code, item))
    code.doubt_if(code.op("flt", I1, given, code.constant(F64, 0.0)))
    return Number(FLOAT, code.op("sqrt", F64, given))


def _np_sqrt(code: Code, item: Item) -> Number:
    one = number(code, item)
    dtype = np.sqrt(one.type.dtype.type(0)).dtype if one.type.numpy else np.dtype(float)
    if dtype not in ELEMENTS or one.type.kind == "bool":
        raise NotNativeError("the square root has half precision")
    kind = ELEMENT_KINDS[ELEMENTS[dtype]]
    return Number(kind, code.op("sqrt", TYPES[kind.kind], converted(code, one, kind)))


def _np_abs(code: Code, item: Item) -> Number:
    one = number(code, item)
    if one.type.kind == "bool":
        raise NotNativeError("it computes with NumPy's bools")
    found = _abs(code, one)
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
        if one.type.is_real:
            return Number(INT, code.op("to_i64", I64, code.call(name, as_f64(code, one))))
        if one.type != INT:
            raise NotNativeError("it rounds what is no float")
        return one

    return function


def _truncated(code: Code, item: Item) -> Number:
    if number(code, item).type.kind == "float32":
        raise NotNativeError("numbers of float32 have no __trunc__")
    return _rounded("trunc")(code, item)


def _np_rounded(name: str) -> Callable[[Code, Item], Number]:
    def function(code: Code, item: Item) -> Number:
        one = number(code, item)
        if not one.type.is_real:
            raise NotNativeError("it rounds what is no float")
        kind = NumberKind(one.type.kind, numpy=True)
        return Number(kind, _exactly(code, name, one.value))

    return function


def _is_nan(kind: NumberKind) -> Callable[[Code, Item], Number]:
    def function(code: Code, item: Item) -> Number:
        given = as_f64(code, number(code, item))
        return Number(kind, code.op("fne", I1, given, given))

    return function


def _is_finite(code: Code, item: Item) -> Number:
    size = code.op("abs", F64, as_f64(code, number(code, item)))
    return Number(BOOL, code.op("flt", I1, size, code.constant(F64, math.inf)))


LIBM = (
    "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "cbrt", "erf", "erfc",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip
# fmt: off
FUNCTIONS: dict[tuple[Any, int], Callable[..., Number]] = {  # with so many arguments
    (abs, 1): _abs, (np.abs, 1): _np_abs, (int, 1): _int, (float, 1): _float_of, (bool, 1): _bool_of,
    (round, 1): _rounded("rint"),
    **{(kind.dtype.type, 1): partial(made, kind) for kind in ELEMENT_KINDS.values()},
    (math.sqrt, 1): _math_sqrt, (math.fabs, 1): _fabs,
    **{(getattr(math, name), 1): _of_math(name) for name in LIBM},
    **{(getattr(math, name), 2): _of_two(name) for name in ("pow", "atan2", "fmod", "copysign")},
    **{(getattr(math, name), 1): _rounded(name) for name in ("floor", "ceil")}, (math.trunc, 1): _truncated,
    (math.hypot, 2): _of_two("python.hypot"),
    **{(getattr(math, name), 1): _of_math(f"python.{name}") for name in ("gamma", "lgamma")},
    (math.isnan, 1): _is_nan(BOOL), (math.isfinite, 1): _is_finite,
    (np.sqrt, 1): _np_sqrt, (np.isnan, 1): _is_nan(NP_BOOL),
    (np.floor, 1): _np_rounded("floor"), (np.ceil, 1): _np_rounded("ceil"),
}
# fmt: on


def is_first(code: Code, function: Any, best: Number, other: Number) -> Value:
    """Whether `min` or `max` keeps the first of two numbers: the other one is taken where it is strictly better."""
    better = "lt" if function is builtins.min else "gt"
    return code.op("not", I1, compare(code, better, other, best).value)
