"""Powers with constant exponents, without `pow` where it is known what that gives.

The C library of GNU promises an error of 0.509 units in the last place, and 3e-5 more for each unit of the result's
logarithm (`e_pow.c`; without fused products 0.511 and 5e-5): of 0.5155 units for results between 2**-128 and 2**128. So
it gives the double that is nearest to the power, unless that lies nearly in the middle of two: then `pow` is called.
What it errs by before it rounds is a part of the power, as it computes a factor of a power of two; units are half as
much of a number just below a power of two as of one above, which is where it comes to as many as promised. Of numbers
in general one in 45 is so near. A promise is no proof: each process first compares its `pow` with the nearest doubles,
of numbers whose powers are next to where it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ufuse.backends.numpy.nest_code.body import Body, literal
from ufuse.backends.numpy.nest_code.calls import emit_function
from ufuse.backends.numpy.nest_passes.nearest import MOST, is_nearest
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import F64, KNOWN_POWERS

# Of a double's bits: one in its exponent, and the exponent of 1.
ONE, BIAS = 1 << 52, 1023 << 52
ERROR = (
    2.0**-59
)  # more than what `pow` errs by before it rounds, of a power: 1/64 of a unit just below a power of two


class Twice(NamedTuple):
    """Names of a double and of what is to be added to it."""

    number: str
    rest: str


class Doubled:
    """Arithmetic on doubles, or on so many `lanes` of them at once, that keeps what is rounded off."""

    def __init__(self, body: Body, lanes: int = 0) -> None:
        self.body = body
        self._lanes = lanes
        self._suffix = f"v{lanes}f64" if lanes else "f64"
        self.type, self.bits_type = self._of("double"), self._of("i64")

    def _of(self, type_: str) -> str:
        return f"<{self._lanes} x {type_}>" if self._lanes else type_

    def number(self, value: float) -> str:
        """A constant double."""
        return self._constant("double", literal(value, F64))

    def word(self, value: int) -> str:
        """A constant integer."""
        return self._constant("i64", str(value))

    def _constant(self, type_: str, text: str) -> str:
        return f"<{', '.join([f'{type_} {text}'] * self._lanes)}>" if self._lanes else text

    def op(self, name: str, *operands: str) -> str:
        """Append an operation that rounds; those of many lanes are plain."""
        given = [(self.type, one) for one in operands]
        if not self._lanes:
            return self.body.strict(f"{name}.f64", "double", given)
        if name == "sqrt":
            return self.body.intrinsic(f"llvm.sqrt.{self._suffix}", self.type, given)
        return self.body.add(f"{name} {self.type} {', '.join(operands)}")

    def fma(self, *operands: str) -> str:
        """Append a fused product and sum."""
        given = [(self.type, one) for one in operands]
        return self.body.intrinsic(f"llvm.fma.{self._suffix}", self.type, given)

    def negative(self, one: str) -> str:
        """Append the same with another sign."""
        return self.body.add(f"fneg {self.type} {one}")

    def bits(self, one: str) -> str:
        """Append the bits as integers."""
        return self.body.add(f"bitcast {self.type} {one} to {self.bits_type}")

    def are_equal(self, one: str, other: str) -> str:
        """Append a comparison of numbers, of which none is NaN where it matters."""
        if self._lanes:
            return self.body.add(f"fcmp ueq {self.type} {one}, {other}")
        return self.body.compare("ueq", one, other)

    def both(self, one: str, other: str) -> str:
        """Append whether two conditions hold."""
        return self.body.add(f"and {self._of('i1')} {one}, {other}")

    def usual(self, condition: str, one: str) -> str:
        """Append a number where a condition holds, else 1."""
        choice = f"{self._of('i1')} {condition}, {self.type} {one}, {self.type} {self.number(1.0)}"
        return self.body.add(f"select {choice}")

    def product(self, one: str, other: str) -> Twice:
        """Append a product of two doubles."""
        product = self.op("fmul", one, other)
        return Twice(product, self.fma(one, other, self.negative(product)))

    def times(self, one: Twice, other: str) -> Twice:
        """Append a product."""
        product, rest = self.product(one.number, other)
        return Twice(product, self.fma(one.rest, other, rest))

    def square(self, one: Twice) -> Twice:
        """Append the square."""
        product, rest = self.product(one.number, one.number)
        return Twice(product, self.fma(self.op("fadd", one.number, one.number), one.rest, rest))

    def root(self, one: str) -> Twice:
        """Append the square root of a double."""
        root = self.op("sqrt", one)
        lack = self.fma(self.negative(root), root, one)
        return Twice(root, self.op("fdiv", lack, self.op("fadd", root, root)))

    def inverse(self, one: Twice) -> Twice:
        """Append what the product with is 1."""
        inverse = self.op("fdiv", self.number(1.0), one.number)
        negative = self.negative(inverse)
        lack = self.fma(negative, one.rest, self.fma(negative, one.number, self.number(1.0)))
        return Twice(inverse, self.op("fmul", lack, inverse))

    def nearest(self, one: Twice) -> Twice:
        """Append the same number, with a rest that is no more than half a unit."""
        total = self.op("fadd", *one)
        return Twice(total, self.op("fsub", one.rest, self.op("fsub", total, one.number)))


def emit_power(body: Body, one: Instruction) -> str:
    """Append what `pow` gives for a constant exponent."""
    (name,) = one.attributes
    (base,) = (body.operand(value) for value in one.inputs)

    def called() -> str:
        return emit_function(body, "math.pow", F64, (base, literal(KNOWN_POWERS[name], F64)))

    if not is_nearest(name):
        return called()
    power, is_sure = nearest_power(Doubled(body), name, base)
    return body.otherwise(is_sure, power, "double", called)


def nearest_power(doubled: Doubled, name: str, base: str) -> tuple[str, str]:
    """Append the double that is nearest to a power, and whether `pow` gives it for sure."""
    exponent = KNOWN_POWERS[name]
    if name == "square":  # whose flags are those of `pow`
        power, rest = POWERS[name](doubled, base)
        is_usual = _is_between(doubled, doubled.bits(power), MOST)
    else:
        word = doubled.bits(base)
        if exponent.is_integer():
            sign = doubled.word((1 << 63) - 1)
            word = doubled.body.add(f"and {doubled.bits_type} {word}, {sign}")
        is_usual = _is_between(doubled, word, int(MOST / abs(exponent)))
        power, rest = POWERS[name](doubled, doubled.usual(is_usual, base))
    if name not in ROUNDED:
        power, rest = doubled.nearest(Twice(power, rest))
    return power, doubled.both(is_usual, _is_far(doubled, Twice(power, rest)))


def _is_between(doubled: Doubled, word: str, most: int) -> str:
    """Whether bits of a positive double are of one whose logarithm has either sign and is less than `most`."""
    reach, type_ = most * ONE, doubled.bits_type
    above = doubled.body.add(f"sub {type_} {word}, {doubled.word(BIAS - reach)}")
    return doubled.body.add(f"icmp ult {type_} {above}, {doubled.word(2 * reach)}")


def _is_far(doubled: Doubled, one: Twice) -> str:
    """Whether a usual number is nearest for sure: a little more and a little less are rounded to the same."""
    more, less = (
        doubled.op("fadd", one.number, doubled.fma(one.number, doubled.number(error), one.rest))
        for error in (ERROR, -ERROR)
    )
    return doubled.are_equal(more, less)


def _cubed(doubled: Doubled, x: str) -> Twice:
    return doubled.times(doubled.product(x, x), x)


def _root_cubed(doubled: Doubled, x: str) -> Twice:
    return doubled.times(doubled.root(x), x)


ROUNDED = {"square", "root", "inverse"}  # of one operation
POWERS: dict[str, Callable[[Doubled, str], Twice]] = {
    "square": lambda doubled, x: doubled.product(x, x),
    "cube": _cubed,
    "fourth": lambda doubled, x: doubled.square(doubled.product(x, x)),
    "root": Doubled.root,
    "root_cubed": _root_cubed,
    "inverse": lambda doubled, x: doubled.inverse(Twice(x, doubled.number(0.0))),
    "inverse_square": lambda doubled, x: doubled.inverse(doubled.product(x, x)),
    "inverse_cube": lambda doubled, x: doubled.inverse(_cubed(doubled, x)),
    "inverse_root": lambda doubled, x: doubled.inverse(doubled.root(x)),
    "inverse_root_cubed": lambda doubled, x: doubled.inverse(_root_cubed(doubled, x)),
}
