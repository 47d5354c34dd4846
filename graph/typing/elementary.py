"""Rows of the table of calls: functions of `math`, of numbers that are known only when a graph runs."""

from __future__ import annotations

import math
from functools import partial

from ufuse.graph.types import ArrayType, NumberType, Type
from ufuse.graph.typing.call import Argument, Call, Rule, Shapes
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape

# Those of one number; of one or two, of two, and of any number of them.
ONE = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log2 log10 log1p sqrt cbrt fabs "
    "degrees radians erf erfc gamma lgamma"
)
SEVERAL = {
    "log": (1, 2),
    "atan2": (2, 2),
    "pow": (2, 2),
    "fmod": (2, 2),
    "copysign": (2, 2),
    "hypot": (2, 9),
}
TRUTHS = "isnan isinf isfinite"
KINDS = ("bool", "int", "float")


def _of_numbers(least: int, most: int, call: Call) -> Shape:
    if call.keywords or not least <= len(call.arguments) <= most:
        raise CannotInfer(f"{call.name} with these arguments")
    if not all(map(_is_real, call.arguments)):
        raise CannotInfer(f"{call.name} of what is no real number")
    return ()


def _is_real(given: Argument) -> bool:
    type_ = given.type if isinstance(given, Constant) else given
    if isinstance(type_, NumberType):
        return type_.kind in KINDS
    return isinstance(type_, ArrayType) and type_.scalar and type_.dtype.char in "?bhilqBHILQefd"


def _gives(kind: str, _: Call, __: Shapes) -> Type:
    return NumberType(kind)


def _rows() -> dict[str, Rule]:
    counts = {**dict.fromkeys(ONE.split(), (1, 1)), **SEVERAL}
    counts |= dict.fromkeys(TRUTHS.split(), (1, 1))
    return {
        f"math.{name}": Rule(
            partial(_of_numbers, *count),
            gives=partial(_gives, "bool" if name in TRUTHS.split() else "float"),
        )
        for name, count in counts.items()
        if hasattr(math, name)  # `cbrt` and `exp2` are new in 3.11
    }


ELEMENTARY = _rows()
