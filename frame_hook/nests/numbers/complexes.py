"""Complex numbers in nests: two floats each, computed with as Python's and NumPy's scalars are."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    COMPLEX,
    FLOAT,
    NP_BOOL,
    NP_COMPLEX,
    NP_FLOAT,
    TYPES,
    NotNativeError,
    NumberKind,
    kind_of,
)
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import CALLABLE, Item, Items, Method
from ufuse.frame_hook.nests.numbers.conversions import (
    as_f64,
    doubt_inexact,
    doubt_not_finite,
    number,
)
from ufuse.graph.nest_types import F64, I1, PARTS, Value

# From 3.14 on a float beside a complex number has no imaginary part; before it is zero.
REALS_STAY = math.copysign(1.0, (complex(0.0, -0.0) + 0.0).imag) < 0.0
# `complex(a, b)` adds the imaginary part, zero, of a NumPy number `a` to `b`.
ADDS_ZERO = math.copysign(1.0, complex(np.float64(1.0), -0.0).imag) > 0.0
LARGEST_POWER = 8  # of constant exponents
LOG_OF_LARGE = math.log(1e308)  # where `cmath.exp` is not far from an overflow
Pair = tuple[Value, Value | None]  # the imaginary part is None where there is none


def is_complex(item: Item) -> bool:
    """Whether an item is a complex number."""
    if isinstance(item, Known):
        return kind_of(item.value) in (COMPLEX, NP_COMPLEX)
    return isinstance(item, Complex)


def scalar(code: Code, item: Item) -> Number | Complex:
    """An item as a number, complex or not."""
    if isinstance(item, Complex):
        return item
    if isinstance(item, Known) and (kind := kind_of(item.value)) in (COMPLEX, NP_COMPLEX):
        real, imaginary = (code.constant(F64, float(getattr(item.value, part))) for part in PARTS)
        assert kind is not None
        return Complex(kind, real, imaginary)
    return number(code, item)


def keep(code: Code, name: str, one: Number | Complex) -> None:
    """Put a number into a variable, a complex one into two."""
    if isinstance(one, Number):
        code.set(name, one.value)
        return
    code.set(f"{name}.real", one.real)
    code.set(f"{name}.imag", one.imag)


def kept(code: Code, name: str, kind: NumberKind) -> Number | Complex:
    """The number that was put into variables."""
    if kind.kind != "complex":
        return Number(kind, code.get(name, TYPES[kind.kind]))
    return Complex(kind, *(code.get(f"{name}.{part}", F64) for part in PARTS))


def load(code: Code, array: int, place: Sequence[Value]) -> Complex:
    """An element of an array."""
    parts = (code.op("load", F64, *place, attributes=(array, part)) for part in PARTS)
    return Complex(NP_COMPLEX, *parts)


def store(code: Code, array: int, place: Sequence[Value], one: Complex) -> None:
    """Write an element of an array."""
    for part in PARTS:
        code.store(array, *place, getattr(one, part), part=part)


def whole(code: Code, item: Item) -> Complex:
    """A number as a complex one."""
    one = scalar(code, item)
    if isinstance(one, Complex):
        return one
    return Complex(NP_COMPLEX, as_f64(code, one), code.constant(F64, 0.0))


# Operators -------------------------------------------------------------------------------------------------------


def binary(code: Code, operator: str, left: Item, right: Item) -> Complex:
    """`left operator right`, of which one is complex."""
    one, other = scalar(code, left), scalar(code, right)
    kind = _common(one.type, other.type)
    if (
        kind.numpy
        and operator in "*/"
        and COMPLEX in (one.type, other.type)
        and NP_COMPLEX not in (one.type, other.type)
    ):
        raise NotNativeError("NumPy multiplies such numbers as arrays")
    if operator == "**":
        return _power(code, one, right, kind)
    rule = OPERATORS.get(operator)
    if rule is None:
        raise NotNativeError(f"the operator {operator} of complex numbers is not compiled yet")
    if operator == "/" and not kind.numpy:
        rule = _quotient
    keeps_reals = REALS_STAY and not kind.numpy
    real, imaginary = rule(code, *(_pair(code, each, keeps_reals) for each in (one, other)))
    if keeps_reals and isinstance(one, Complex) and isinstance(other, Complex) and operator in "*/":
        _doubt_nan(code, real, imaginary)
    return Complex(kind, real, imaginary)


def _common(one: NumberKind, other: NumberKind) -> NumberKind:
    """The type of what an operator gives."""
    kinds = one, other
    if NP_BOOL in kinds:
        raise NotNativeError("it computes with NumPy's bools")
    if NP_COMPLEX in kinds:
        return NP_COMPLEX
    if not other.numpy and not one.numpy:
        return COMPLEX
    if kinds == (COMPLEX, NP_FLOAT):  # which is a float of Python, too
        return COMPLEX
    if kinds == (NP_FLOAT, COMPLEX):
        return NP_COMPLEX
    raise NotNativeError("it computes with a complex number of Python and a number of NumPy")


def _pair(code: Code, one: Number | Complex, keeps_reals: bool) -> Pair:
    if isinstance(one, Complex):
        return one.real, one.imag
    return as_f64(code, one), None if keeps_reals else code.constant(F64, 0.0)


def _doubt_nan(code: Code, real: Value, imaginary: Value) -> None:
    """Leave it to Python, which looks for infinities then, where both parts are NaN."""
    both = (code.op("fne", I1, part, part) for part in (real, imaginary))
    code.doubt_if(code.op("and", I1, *both))


def _sum(code: Code, one: Pair, other: Pair) -> tuple[Value, Value]:
    real = code.op("add", F64, one[0], other[0])
    if one[1] is None or other[1] is None:
        imaginary = one[1] or other[1]
        assert imaginary is not None
        return real, imaginary
    return real, code.op("add", F64, one[1], other[1])


def _difference(code: Code, one: Pair, other: Pair) -> tuple[Value, Value]:
    real = code.op("sub", F64, one[0], other[0])
    if other[1] is None:
        assert one[1] is not None
        return real, one[1]
    if one[1] is None:
        return real, code.op("neg", F64, other[1])
    return real, code.op("sub", F64, one[1], other[1])


def _product(code: Code, one: Pair, other: Pair) -> tuple[Value, Value]:
    if one[1] is None:
        one, other = other, one
    assert one[1] is not None
    real = code.op("mul", F64, one[0], other[0])
    if other[1] is None:
        return real, code.op("mul", F64, one[1], other[0])
    imaginary = code.op("mul", F64, one[0], other[1])
    return (
        code.op("sub", F64, real, code.op("mul", F64, one[1], other[1])),
        code.op("add", F64, imaginary, code.op("mul", F64, one[1], other[0])),
    )


def _select(code: Code, condition: Value, then: Value, other: Value) -> Value:
    return code.op("select", F64, condition, then, other)


class _Divisor:
    """A complex divisor as Smith's algorithm takes it: the part that is greater, and the other by it."""

    def __init__(self, code: Code, real: Value, imaginary: Value) -> None:
        sizes = [code.op("abs", F64, part) for part in (real, imaginary)]
        code.doubt_if(code.op("fne", I1, real, real))
        code.doubt_if(code.op("fne", I1, imaginary, imaginary))
        self.is_real = code.op("fge", I1, *sizes)
        greater = _select(code, self.is_real, real, imaginary)
        lesser = _select(code, self.is_real, imaginary, real)
        self.ratio = code.op("div", F64, lesser, greater)  # a doubt where both are zero
        self.size = code.op("add", F64, greater, code.op("mul", F64, lesser, self.ratio))


def _quotient(code: Code, one: Pair, other: Pair) -> tuple[Value, Value]:
    """As Python has it."""
    if other[1] is None:
        assert one[1] is not None
        return code.op("div", F64, one[0], other[0]), code.op("div", F64, one[1], other[0])
    divisor = _Divisor(code, other[0], other[1])
    if one[1] is None:
        scaled = code.op("mul", F64, one[0], divisor.ratio)
        negative = code.op("neg", F64, one[0])
        negative_scaled = code.op("mul", F64, negative, divisor.ratio)
        real = _select(code, divisor.is_real, one[0], scaled)
        imaginary = _select(code, divisor.is_real, negative_scaled, negative)
    else:
        real, imaginary = _crossed(code, (one[0], one[1]), divisor)
    return code.op("div", F64, real, divisor.size), code.op("div", F64, imaginary, divisor.size)


def _numpy_quotient(code: Code, one: Pair, other: Pair) -> tuple[Value, Value]:
    """As NumPy's scalars have it."""
    assert one[1] is not None
    assert other[1] is not None
    divisor = _Divisor(code, other[0], other[1])
    scale = code.op("div", F64, code.constant(F64, 1.0), divisor.size)
    real, imaginary = _crossed(code, (one[0], one[1]), divisor)
    return code.op("mul", F64, real, scale), code.op("mul", F64, imaginary, scale)


def _crossed(code: Code, one: tuple[Value, Value], divisor: _Divisor) -> tuple[Value, Value]:
    """The quotient's parts before they are divided by the size of the divisor."""
    first = _select(code, divisor.is_real, *one)
    second = _select(code, divisor.is_real, one[1], one[0])
    real = code.op("add", F64, first, code.op("mul", F64, second, divisor.ratio))
    crossed = code.op("mul", F64, first, divisor.ratio)
    minuend = _select(code, divisor.is_real, second, crossed)
    subtrahend = _select(code, divisor.is_real, crossed, second)
    return real, code.op("sub", F64, minuend, subtrahend)


def _power(code: Code, one: Number | Complex, exponent: Item, kind: NumberKind) -> Complex:
    """A complex number to a small constant power, by products."""
    power = exponent.value if isinstance(exponent, Known) else None
    if type(power) is not int or not 2 <= power <= LARGEST_POWER or isinstance(one, Number):
        raise NotNativeError("such a power of complex numbers is not compiled yet")
    base = one.real, one.imag
    if kind.numpy:
        zero = code.constant(F64, 0.0)
        are_zero = (code.op("feq", I1, part, zero) for part in base)
        code.doubt_if(code.op("and", I1, *are_zero))
    if kind.numpy and power <= 3:
        found = _product(code, base, base)
        if power == 3:
            found = _product(code, base, found)
    else:
        found = _by_squaring(code, base, power)
    if not kind.numpy:
        for part in found:
            doubt_not_finite(code, part)
    return Complex(kind, *found)


def _by_squaring(code: Code, base: tuple[Value, Value], power: int) -> tuple[Value, Value]:
    found = code.constant(F64, 1.0), code.constant(F64, 0.0)
    while True:
        if power & 1:
            found = _product(code, found, base)
        power >>= 1
        if not power:
            return found
        base = _product(code, base, base)


def compare(code: Code, name: str, left: Item, right: Item) -> Number:
    """`left == right` or `left != right`, of which one is complex."""
    if name not in ("eq", "ne"):
        raise NotNativeError("it compares complex numbers by size")
    one, other = scalar(code, left), scalar(code, right)
    kind = _common(one.type, other.type)
    for each in (one, other):
        if isinstance(each, Number):
            doubt_inexact(code, each)
    (real, imaginary), (other_real, other_imaginary) = (
        _pair(code, each, keeps_reals=False) for each in (one, other)
    )
    assert imaginary is not None
    assert other_imaginary is not None
    are_equal = code.op(
        "and",
        I1,
        code.op("feq", I1, real, other_real),
        code.op("feq", I1, imaginary, other_imaginary),
    )
    result = are_equal if name == "eq" else code.op("not", I1, are_equal)
    return Number(NP_BOOL if kind.numpy else BOOL, result)


def negative(code: Code, item: Item) -> Complex:
    """`-item`."""
    one = whole(code, item)
    return Complex(one.type, *(code.op("neg", F64, part) for part in (one.real, one.imag)))


# Attributes and functions ----------------------------------------------------------------------------------------


def attribute(owner: Complex, name: str) -> Item:
    """`owner.name`."""
    if name in PARTS:
        return Number(NP_FLOAT if owner.type.numpy else FLOAT, getattr(owner, name))
    if name == "conjugate" or (name == "conj" and owner.type.numpy):
        return Method(owner, "conjugate")
    raise NotNativeError(f"the attribute {name} of a complex number is not compiled yet")


def conjugate(code: Code, item: Item) -> Complex:
    """`item.conjugate()`."""
    one = whole(code, item)
    return Complex(one.type, one.real, code.op("neg", F64, one.imag))


def called_method(
    code: Code, owner: Complex, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> Complex:
    """The result of the method `conjugate`."""
    if arguments or keywords:
        raise NotNativeError("a method of a complex number has arguments")
    return conjugate(code, owner)


def called(code: Code, function: Any, arguments: list[Item]) -> Item | None:
    """The result of a function of complex numbers; None where it is none of those.

    Raises:
        NotNativeError: it is not followed.

    """
    rule = rule_of(function, len(arguments))
    fits = rule is not None and (
        (function, len(arguments)) in MAKERS or any(map(is_complex, arguments))
    )
    return rule(code, *arguments) if rule is not None and fits else None


def rule_of(function: Any, arguments: int) -> Callable[..., Item] | None:
    """What a call of a function with so many arguments gives, where it is one of complex numbers."""
    if not isinstance(function, CALLABLE):
        return None
    key = function, arguments
    return MAKERS.get(key) or FUNCTIONS.get(key)


def _made(code: Code, item: Item) -> Complex:
    one = whole(code, item)
    return Complex(COMPLEX, one.real, one.imag)


def _made_of_two(code: Code, item: Item, other: Item) -> Complex:
    """`complex(item, other)`."""
    one, imaginary = number(code, item), number(code, other)
    if NP_BOOL in (one.type, imaginary.type):
        raise NotNativeError("it computes with NumPy's bools")
    part = as_f64(code, imaginary)
    if one.type.numpy and ADDS_ZERO:
        part = code.op("add", F64, part, code.constant(F64, 0.0))
    return Complex(COMPLEX, as_f64(code, one), part)


def _np_made(code: Code, item: Item) -> Complex:
    one = whole(code, item)
    return Complex(NP_COMPLEX, one.real, one.imag)


def _size(code: Code, one: Complex) -> Value:
    return code.call("hypot", one.real, one.imag)


def _abs(code: Code, item: Item) -> Number:
    one = whole(code, item)
    return Number(NP_FLOAT if one.type.numpy else FLOAT, _size(code, one))


def _np_conjugate(code: Code, item: Item) -> Complex:
    return _np_made(code, conjugate(code, item))


def _part(name: str) -> Callable[[Code, Item], Item]:
    def rule(code: Code, item: Item) -> Item:
        return attribute(whole(code, item), name)

    return rule


def _finite(code: Code, item: Item) -> Complex:
    """An argument of `cmath`."""
    one = whole(code, item)
    for part in (one.real, one.imag):
        doubt_not_finite(code, part)
    return one


def _phase(code: Code, item: Item) -> Number:
    one = _finite(code, item)
    return Number(FLOAT, code.call("atan2", one.imag, one.real))


def _polar(code: Code, item: Item) -> Items:
    size = Number(FLOAT, _size(code, whole(code, item)))
    return Items((size, _phase(code, item)))


def _exp(code: Code, item: Item) -> Complex:
    """`cmath.exp`, where no part overflows."""
    one = _finite(code, item)
    limit = code.constant(F64, LOG_OF_LARGE)
    code.doubt_if(code.op("fgt", I1, one.real, limit))
    size = code.call("exp", one.real)
    parts = (code.op("mul", F64, size, code.call(name, one.imag)) for name in ("cos", "sin"))
    return Complex(COMPLEX, *parts)


def _sqrt(code: Code, item: Item) -> Complex:
    """`cmath.sqrt` of what is neither zero nor tiny."""
    one = _finite(code, item)
    width, height = (code.op("abs", F64, part) for part in (one.real, one.imag))
    tiny = code.constant(F64, float(np.finfo(float).tiny))
    are_tiny = (code.op("flt", I1, part, tiny) for part in (width, height))
    code.doubt_if(code.op("and", I1, *are_tiny))
    eight, two = code.constant(F64, 8.0), code.constant(F64, 2.0)
    width, lower = (code.op("div", F64, part, eight) for part in (width, height))
    total = code.op("add", F64, width, code.call("hypot", width, lower))
    size = code.op("mul", F64, two, code.op("sqrt", F64, total))
    other = code.op("div", F64, height, code.op("mul", F64, two, size))
    is_right = code.op("fge", I1, one.real, code.constant(F64, 0.0))
    real = _select(code, is_right, size, other)
    imaginary = _select(code, is_right, other, size)
    return Complex(COMPLEX, real, code.call("copysign", imaginary, one.imag))


def _rect(code: Code, size: Item, angle: Item) -> Complex:
    """`cmath.rect`."""
    given = [as_f64(code, number(code, one)) for one in (size, angle)]
    for one in given:
        doubt_not_finite(code, one)
    code.doubt_if(code.op("feq", I1, given[1], code.constant(F64, 0.0)))
    parts = (code.op("mul", F64, given[0], code.call(name, given[1])) for name in ("cos", "sin"))
    return Complex(COMPLEX, *parts)


Rule = Callable[[Code, Pair, Pair], tuple[Value, Value]]
OPERATORS: dict[str, Rule] = {
    "+": _sum, "-": _difference, "*": _product, "/": _numpy_quotient,
}  # fmt: skip
# fmt: off
MAKERS: dict[tuple[Any, int], Callable[..., Item]] = {
    (complex, 1): _made, (complex, 2): _made_of_two, (np.complex128, 1): _np_made,
    (cmath.rect, 2): _rect, (cmath.exp, 1): _exp, (cmath.sqrt, 1): _sqrt,
    (cmath.phase, 1): _phase, (cmath.polar, 1): _polar,
}
FUNCTIONS: dict[tuple[Any, int], Callable[..., Item]] = {  # with so many arguments, one of which is complex
    (abs, 1): _abs, (np.conjugate, 1): _np_conjugate,
    (np.real, 1): _part("real"), (np.imag, 1): _part("imag"),
}
# fmt: on
