"""Powers with constant exponents, without `pow` where it is known what that gives.

The C library of GNU promises an error of 0.509 units in the last place, and 3e-5 more for each unit of the result's
logarithm (`e_pow.c`; without fused products 0.511 and 5e-5): of 0.5155 units for results between 2**-128 and 2**128. So
it gives the double that is nearest to the power, unless that lies nearly in the middle of two: then `pow` is called.
A promise is no proof: each process first compares its `pow` with the nearest doubles, of numbers whose powers are next
to where it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ufuse.backends.numpy.nest_code.body import Body, literal
from ufuse.backends.numpy.nest_code.calls import emit_function
from ufuse.backends.numpy.nest_passes.nearest import MOST, is_nearest
from ufuse.graph.nest import F64, KNOWN_POWERS, Instruction

# Of a double's bits: one in its exponent, and the exponent of 1.
ONE, BIAS = 1 << 52, 1023 << 52
# Times this, less than half of the distance to the next double: less than 31/64 of it.
MARGIN = 1.0323


class Twice(NamedTuple):
    """Names of a double and of what is to be added to it."""

    number: str
    rest: str


class Doubled:
    """Arithmetic on doubles that keeps what is rounded off."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def op(self, name: str, *operands: str) -> str:
        """Append an operation that rounds."""
        return self.body.strict(f"{name}.f64", "double", [("double", one) for one in operands])

    def fma(self, *operands: str) -> str:
        """Append a fused product and sum."""
        return self.body.intrinsic("llvm.fma.f64", "double", [("double", one) for one in operands])

    def negative(self, one: str) -> str:
        """Append the same with another sign."""
        return self.body.add(f"fneg double {one}")

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
        inverse = self.op("fdiv", literal(1.0, F64), one.number)
        negative = self.negative(inverse)
        lack = self.fma(negative, one.rest, self.fma(negative, one.number, literal(1.0, F64)))
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
    power, is_sure = nearest_power(body, name, base)
    return body.otherwise(is_sure, power, "double", called)


def nearest_power(body: Body, name: str, base: str) -> tuple[str, str]:
    """Append the double that is nearest to a power, and whether `pow` gives it for sure."""
    exponent, doubled = KNOWN_POWERS[name], Doubled(body)
    if name == "square":  # whose flags are those of `pow`
        power, rest = POWERS[name](doubled, base)
        is_usual = _is_between(body, body.add(f"bitcast double {power} to i64"), MOST)
    else:
        word = body.add(f"bitcast double {base} to i64")
        if exponent.is_integer():
            word = body.add(f"and i64 {word}, {(1 << 63) - 1}")
        is_usual = _is_between(body, word, int(MOST / abs(exponent)))
        base = body.add(f"select i1 {is_usual}, double {base}, double {literal(1.0, F64)}")
        power, rest = POWERS[name](doubled, base)
    if name not in ROUNDED:
        power, rest = doubled.nearest(Twice(power, rest))
    return power, body.add(f"and i1 {is_usual}, {_is_far(doubled, Twice(power, rest))}")


def _is_between(body: Body, word: str, most: int) -> str:
    """Whether bits of a positive double are of one whose logarithm has either sign and is less than `most`."""
    reach = most * ONE
    return body.add(f"icmp ult i64 {body.add(f'sub i64 {word}, {BIAS - reach}')}, {2 * reach}")


def _is_far(doubled: Doubled, one: Twice) -> str:
    """Whether a usual number was rounded by less than half a unit for sure: a little more does not change it."""
    more = doubled.fma(one.rest, literal(MARGIN, F64), one.number)
    return doubled.body.compare("ueq", more, one.number)


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
    "inverse": lambda doubled, x: doubled.inverse(Twice(x, literal(0.0, F64))),
    "inverse_square": lambda doubled, x: doubled.inverse(doubled.product(x, x)),
    "inverse_cube": lambda doubled, x: doubled.inverse(_cubed(doubled, x)),
    "inverse_root": lambda doubled, x: doubled.inverse(doubled.root(x)),
    "inverse_root_cubed": lambda doubled, x: doubled.inverse(_root_cubed(doubled, x)),
}
