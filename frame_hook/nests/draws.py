"""Random numbers: methods of a generator of NumPy that give one number."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ufuse.frame_hook.nests.conversions import as_f64, as_i64, doubt_not_finite, number
from ufuse.frame_hook.nests.values import (
    FLOAT,
    INT,
    NP_INT,
    Generating,
    Item,
    Known,
    NotNativeError,
    Number,
)
from ufuse.graph.nest import DRAWS, F64, I1, I64, Value
from ufuse.graph.semantics.nest_reference import bit_generator_of

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.reader import Reader


ABSENT = object()


@dataclass(frozen=True, slots=True)
class _Method:
    """The names of its parameters with their defaults, and what draws for them."""

    parameters: Mapping[str, Known | None]
    draw: Callable[..., Number]


def why_not_followed(generator: np.random.Generator | np.random.RandomState) -> str | None:
    """Why nothing is drawn from a generator in a nest."""
    kind = type(bit_generator_of(generator))
    if kind not in (np.random.PCG64, np.random.MT19937):  # whose state can be saved
        return f"calls of a generator by {kind.__name__} are not compiled yet"
    return None


def is_of_module(method: types.MethodType) -> bool:
    """Whether a method is a function of `np.random` that is followed."""
    own = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", ABSENT)
    return method.__self__ is own and method.__name__ in LEGACY_METHODS


def called(
    reader: Reader,
    method: Generating,
    arguments: Sequence[Item],
    keywords: Mapping[str, Item],
) -> Number:
    """The number that a method of a generator gives."""
    methods = LEGACY_METHODS if method.owner.is_legacy else METHODS
    found = methods.get(method.name)
    if found is None:
        raise NotNativeError(f"calls of the method {method.name} are not compiled yet")
    names = list(found.parameters)
    if len(arguments) > len(names) or not keywords.keys() <= found.parameters.keys():
        raise NotNativeError(f"calls of the method {method.name} for arrays are not compiled yet")
    given: dict[str, Item | None] = (
        dict(found.parameters) | dict(zip(names, arguments, strict=False)) | dict(keywords)
    )
    if len(arguments) + len(keywords) > len(names) or None in given.values():
        raise NotNativeError(f"calls of the method {method.name} without its arguments")
    return found.draw(_Draw(reader, reader.drawn_from(method)), *given.values())


@dataclass(frozen=True, slots=True)
class _Draw:
    reader: Reader
    slot: str  # the generator's

    def __call__(self, name: str, *inputs: Value) -> Value:
        return self.reader.out.op("draw", DRAWS[name][1], *inputs, attributes=(name, self.slot))


def _plain(name: str) -> _Method:
    def rule(draw: _Draw) -> Number:
        return Number(FLOAT, draw(name))

    return _Method({}, rule)


def _real(draw: _Draw, item: Item) -> Value:
    return as_f64(draw.reader.out, number(draw.reader.out, item))


def _scale(draw: _Draw, item: Item) -> Value:
    """A number that is to be positive: NumPy raises for others, but for 0."""
    out, scale = draw.reader.out, _real(draw, item)
    is_positive = out.op("fgt", I1, scale, out.constant(F64, 0.0))
    out.doubt_if(out.op("not", I1, is_positive))
    return scale


def _normal(draw: _Draw, mean: Item, deviation: Item) -> Number:
    return Number(FLOAT, draw("normal", _real(draw, mean), _scale(draw, deviation)))


def _exponential(draw: _Draw, scale: Item) -> Number:
    return Number(FLOAT, draw("exponential", _scale(draw, scale)))


def _uniform(draw: _Draw, low: Item, high: Item) -> Number:
    out, least = draw.reader.out, _real(draw, low)
    more = out.op("sub", F64, _real(draw, high), least)
    doubt_not_finite(out, more)
    out.doubt_if(out.op("flt", I1, more, out.constant(F64, 0.0)))
    return Number(FLOAT, draw("uniform", least, more))


def _integers(draw: _Draw, low: Item, high: Item, name: str = "integers") -> Number:
    """Of int64: from `low` to one less than `high`, or from 0 to one less than `low`."""
    out = draw.reader.out
    if isinstance(high, Known) and high.value is None:
        low, high = Known(0), low
    limits = [number(out, one) for one in (low, high)]
    if any(one.type not in (INT, NP_INT) for one in limits):
        raise NotNativeError("calls of the method integers with other numbers")
    least, beyond = (as_i64(out, one) for one in limits)
    most = out.op("sub", I64, beyond, out.constant(I64, 1))
    out.doubt_if(out.op("igt", I1, least, most))
    return Number(NP_INT, draw(name, least, most))


def _legacy_integers(draw: _Draw, low: Item, high: Item) -> Number:
    """As `_integers`, drawn in another way; of Python."""
    return Number(INT, _integers(draw, low, high, "masked_integers").value)


ZERO, ONE = Known(0.0), Known(1.0)
METHODS = {
    "random": _plain("random"),
    "standard_normal": _plain("standard_normal"),
    "standard_exponential": _plain("standard_exponential"),
    "normal": _Method({"loc": ZERO, "scale": ONE}, _normal),
    "uniform": _Method({"low": ZERO, "high": ONE}, _uniform),
    "exponential": _Method({"scale": ONE}, _exponential),
    "integers": _Method({"low": None, "high": Known(None)}, _integers),
}
# Of `np.random.RandomState`, and of `np.random` itself. Its normal and exponential numbers are made in another way.
LEGACY_METHODS = {
    "random": _plain("random"),
    "random_sample": _plain("random"),
    "rand": _plain("random"),
    "uniform": METHODS["uniform"],
    "randint": _Method({"low": None, "high": Known(None)}, _legacy_integers),
}
