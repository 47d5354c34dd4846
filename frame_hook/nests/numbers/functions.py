"""Functions of numbers: Python's, those of `math`, and NumPy's elementwise ones of scalars."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    EXACT,
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    TYPES,
    NotNativeError,
    NumberKind,
)
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.nests.numbers import arithmetic
from ufuse.frame_hook.nests.numbers.conversions import (
    as_f64,
    as_i64,
    common_kind,
    converted,
    number,
)
from ufuse.graph import ops
from ufuse.graph.nest import numpy_function
from ufuse.graph.nest_types import F64, I1, I64, Value

Rule = Callable[..., Item]
NP_SINGLE = NumberKind("float32", numpy=True)
LARGEST_ROOT = 2**48  # of `math.isqrt`: up to here the root of a float is exact, rounded down
MOST_DECIMALS = 15
NO_DECIMALS = Known(0)


def rule_of(function: Any, arguments: int) -> Rule | None:
    """What a call of a function with so many arguments gives."""
    try:
        key = function, arguments
        found = RULES.get(key) or arithmetic.FUNCTIONS.get(key)
    except TypeError:  # it is not hashable
        return None
    if found is None and isinstance(function, np.ufunc):
        fits = function.nin == arguments and function.nout == 1
        return _ufunc_rule(function) if fits else None
    return found


def _whole_or_real(code: Code, *items: Item) -> list[Number]:
    """Ints and floats, of Python or of 64 bits of NumPy."""
    found = [number(code, one) for one in items]
    if any(one.type.kind not in ("float", "int") for one in found):
        raise NotNativeError("a function of a bool, or of a number of another size")
    return found


# Python's ---------------------------------------------------------------------------------------------------------


def _divmod(code: Code, left: Item, right: Item) -> Item:
    _whole_or_real(code, left, right)
    return Items(tuple(arithmetic.binary(code, name, left, right) for name in ("//", "%")))


def _pow(code: Code, base: Item, exponent: Item) -> Item:
    return arithmetic.binary(code, "**", base, exponent)


def _round_decimals(code: Code, item: Item, decimals: Item) -> Item:
    """Of one of NumPy's floats: NumPy scales, rounds and scales back. Python's rounds decimal digits."""
    if number(code, item).type != NP_FLOAT:
        raise NotNativeError("round() of a float of Python to decimals is not compiled yet")
    return _np_round(code, item, decimals)


def _np_round(code: Code, item: Item, decimals: Item = NO_DECIMALS) -> Item:
    one = number(code, item)
    places = decimals.value if isinstance(decimals, Known) else None
    if one.type.kind != "float" or type(places) is not int or not 0 <= places <= MOST_DECIMALS:
        raise NotNativeError("it rounds what is no float, or to many decimals")
    if places == 0:
        return Number(NP_FLOAT, code.call("numpy.rint", one.value))
    scale = code.constant(F64, float(10**places))
    rounded = code.call("numpy.rint", code.op("mul", F64, one.value, scale))
    return Number(NP_FLOAT, code.op("div", F64, rounded, scale))


def _float_of_text(code: Code, item: Item) -> Item:
    """`float("inf")`, too."""
    if isinstance(item, Known) and type(item.value) is str:
        try:
            return Known(float(item.value))
        except ValueError:
            raise refusals.not_of("calls float() of", item, "number") from None
    return arithmetic.FUNCTIONS[float, 1](code, item)


def _is_instance(code: Code, item: Item, kinds: Item) -> Item:
    """Of a number, whose type is known: of classes that answer for themselves nothing is known."""
    one = number(code, item)
    classes = kinds.items if isinstance(kinds, Items) else (kinds,)
    found = [each.value for each in classes if isinstance(each, Known)]
    if len(found) < len(classes) or any(type(each) is not type for each in found):
        raise NotNativeError("isinstance() of such a class is not compiled yet")
    own = next(each for each, kind in EXACT.items() if kind == one.type)
    return Known(issubclass(own, tuple(found)))


# math -------------------------------------------------------------------------------------------------------------


def as_int(code: Code, item: Item) -> Number:
    """An int of 64 bits, Python's or NumPy's, as one of Python."""
    one = number(code, item)
    if one.type not in (INT, NP_INT):
        raise NotNativeError("a function of ints is given another number")
    return Number(INT, as_i64(code, one))


def _log_to_base(code: Code, item: Item, base: Item) -> Item:
    logs = [arithmetic.FUNCTIONS[math.log, 1](code, one) for one in (item, base)]
    return arithmetic.binary(code, "/", *logs)


def _is_infinite(kind: Any) -> Rule:
    def rule(code: Code, item: Item) -> Item:
        size = code.op("abs", F64, as_f64(code, number(code, item)))
        return Number(kind, code.op("feq", I1, size, code.constant(F64, math.inf)))

    return rule


def _np_is_finite(code: Code, item: Item) -> Item:
    size = code.op("abs", F64, as_f64(code, number(code, item)))
    return Number(NP_BOOL, code.op("flt", I1, size, code.constant(F64, math.inf)))


def _times(factor: float) -> Rule:
    def rule(code: Code, item: Item) -> Item:
        given = as_f64(code, number(code, item))
        return Number(FLOAT, code.op("mul", F64, given, code.constant(F64, factor)))

    return rule


def _isqrt(code: Code, item: Item) -> Item:
    one = number(code, item)
    if one.type.kind != "int":
        raise NotNativeError("the whole root of what is no int")
    value = one.value
    code.doubt_if(code.op("ilt", I1, value, code.constant(I64, 0)))
    code.doubt_if(code.op("igt", I1, value, code.constant(I64, LARGEST_ROOT)))
    root = code.op("sqrt", F64, code.op("to_f64", F64, value))
    return Number(INT, code.op("to_i64", I64, root))


# NumPy's ----------------------------------------------------------------------------------------------------------


def _ufunc_rule(function: np.ufunc) -> Rule | None:
    name = function.__name__
    if not ops.is_numpys(function):
        return None
    if name not in REAL and name not in WHOLE:
        return None

    has_singles = "f" * function.nin + "->f" in function.types

    def rule(code: Code, *items: Item) -> Item:
        numbers = [number(code, one) for one in items]
        if any(one.type == NP_SINGLE for one in numbers):
            if not has_singles or name not in REAL:
                raise NotNativeError(f"np.{name} of a float32 is not compiled yet")
            return _of_singles(code, name, numbers)
        numbers = _whole_or_real(code, *items)
        is_whole = all(one.type.kind == "int" for one in numbers)
        if is_whole and name in WHOLE:
            values = [as_i64(code, one) for one in numbers]
            return Number(NP_INT, WHOLE[name](code, *values))
        if name not in REAL or (is_whole and name not in ALWAYS_REAL):
            raise NotNativeError(f"np.{name} of ints is not compiled yet")
        values = [as_f64(code, one) for one in numbers]
        if name in EXTREMES:
            return Number(NP_FLOAT, _extreme(code, EXTREMES[name], *values))
        operation = REAL[name]
        if operation is None:
            return Number(NP_FLOAT, code.call(f"numpy.{name}", *values))
        return Number(NP_FLOAT, code.op(operation, F64, *values))

    return rule


def _of_singles(code: Code, name: str, numbers: list[Number]) -> Number:
    """A function of numbers of which one is a float32: NumPy computes in what is common to all, as operators do."""
    if any(one.type.kind not in ("float", "float32", "int") for one in numbers):
        raise NotNativeError(
            "a function of a float32 and of a bool, or of a number of another size"
        )
    kind = reduce(lambda kind, one: common_kind(Number(kind, one.value), one), numbers, NP_SINGLE)
    if name in EXTREMES:  # doubles that are singles are compared as these
        values = [as_f64(code, Number(kind, converted(code, one, kind))) for one in numbers]
        return Number(
            kind, converted(code, Number(NP_FLOAT, _extreme(code, EXTREMES[name], *values)), kind)
        )
    values = [converted(code, one, kind) for one in numbers]
    operation = REAL[name]
    if operation is None:
        return Number(kind, code.call(f"numpy.{name}", *values))
    return Number(kind, code.op(operation, TYPES[kind.kind], *values))


def _best(comparison: str) -> Callable[..., Value]:
    def rule(code: Code, one: Value, other: Value) -> Value:
        return code.op("select", I64, code.op(comparison, I1, one, other), one, other)

    return rule


def _extreme(code: Code, comparison: str, one: Value, other: Value) -> Value:
    """The greater or smaller float. Of two zeros, or where one is NaN, it is up to NumPy: a doubt."""
    is_first = code.op(comparison, I1, one, other)
    is_other = code.op(comparison, I1, other, one)
    are_equal = code.op("feq", I1, one, other)
    known = code.op("or", I1, code.op("or", I1, is_first, is_other), are_equal)
    code.doubt_if(code.op("not", I1, known))
    unit = code.constant(F64, 1.0)
    signs = (code.call("copysign", unit, each) for each in (one, other))
    code.doubt_if(code.op("and", I1, are_equal, code.op("fne", I1, *signs)))
    return code.op("select", F64, is_first, one, other)


def _sign(code: Code, one: Value) -> Value:
    zero = code.constant(I64, 0)
    is_more, is_less = code.op("igt", I1, one, zero), code.op("ilt", I1, one, zero)
    return code.op("sub", I64, code.op("widen", I64, is_more), code.op("widen", I64, is_less))


def _whole_clip(code: Code, one: Value, low: Value, high: Value) -> Value:
    return _best("ilt")(code, _best("igt")(code, one, low), high)


def _whole(name: str) -> Callable[..., Value]:
    def rule(code: Code, *values: Value) -> Value:
        return code.op(name, I64, *values)

    return rule


def _clip(code: Code, item: Item, low: Item, high: Item) -> Item:
    """`np.clip`: where it is given a float, it gives one of NumPy's."""
    rule = _ufunc_rule(CLIP)
    assert rule is not None
    one, *limits = _whole_or_real(code, item, low, high)
    if one.type.kind == "int" and any(limit.type.kind != "int" for limit in limits):
        raise NotNativeError("np.clip of an int to floats is not compiled yet")
    return rule(code, item, low, high)


CLIP = numpy_function("numpy.clip")
# What NumPy does with floats: an operation of nests, or (None) its own loop.
REAL: dict[str, str | None] = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg",
    "absolute": "abs", "fabs": "abs", "sqrt": "sqrt",
    **dict.fromkeys((
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
        "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "square", "reciprocal",
        "rint", "floor", "ceil", "trunc", "sign", "maximum", "minimum", "fmax", "fmin", "power", "float_power",
        "hypot", "arctan2", "remainder", "fmod", "floor_divide", "copysign", "nextafter", "logaddexp", "logaddexp2",
        "heaviside", "deg2rad", "rad2deg", "degrees", "radians", "spacing", "clip",
    )),
}  # fmt: skip
EXTREMES = {
    "maximum": "fgt",
    "minimum": "flt",
    "fmax": "fgt",
    "fmin": "flt",
}  # by comparisons, where none is odd
# Whose results are floats for ints, too.
ALWAYS_REAL = frozenset((
    "divide", "fabs", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "hypot", "arctan2",
    "float_power", "copysign", "nextafter", "logaddexp", "logaddexp2", "heaviside", "deg2rad", "rad2deg", "degrees",
    "radians",
))  # fmt: skip
WHOLE: dict[str, Callable[..., Value]] = {
    "maximum": _best("igt"), "minimum": _best("ilt"), "fmax": _best("igt"), "fmin": _best("ilt"),
    "sign": _sign, "clip": _whole_clip,
    **{name: _whole(op) for name, op in (
        ("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("floor_divide", "floordiv"), ("remainder", "mod"),
        ("negative", "neg"), ("absolute", "abs"), ("bitwise_and", "and"), ("bitwise_or", "or"), ("bitwise_xor", "xor"),
        ("invert", "invert"),
    )},
}  # fmt: skip
# fmt: off
RULES: dict[tuple[Any, int], Rule] = {  # with so many arguments
    (float, 1): _float_of_text, (isinstance, 2): _is_instance,
    (operator.index, 1): as_int,
    (builtins.divmod, 2): _divmod, (builtins.pow, 2): _pow, (math.pow, 2): arithmetic.FUNCTIONS[math.pow, 2],
    (builtins.round, 2): _round_decimals, (np.round, 1): _np_round, (np.round, 2): _np_round,
    (np.clip, 3): _clip,
    (math.log, 2): _log_to_base, (math.isinf, 1): _is_infinite(BOOL), (math.isqrt, 1): _isqrt,
    (math.degrees, 1): _times(180.0 / math.pi), (math.radians, 1): _times(math.pi / 180.0),
    (np.isinf, 1): _is_infinite(NP_BOOL), (np.isfinite, 1): _np_is_finite,
}
# fmt: on
