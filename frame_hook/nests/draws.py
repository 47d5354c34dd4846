"""Random numbers: methods of a generator of NumPy that give one number, or an array of them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ufuse.frame_hook.nests import elementwise, making
from ufuse.frame_hook.nests.conversions import as_f64, as_i64, doubt_not_finite, number
from ufuse.frame_hook.nests.values import (
    FLOAT,
    INT,
    NP_INT,
    Generating,
    Item,
    Items,
    Known,
    NotNativeError,
    Number,
    NumberKind,
)
from ufuse.graph.nest import DRAWS, F64, I1, I64, Value, View
from ufuse.graph.semantics.nest_reference import bit_generator_of

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.reader import Reader


ABSENT = object()


@dataclass(frozen=True, slots=True)
class _Method:
    """The names of its parameters with their defaults, and what draws for them.

    A shape comes behind them, by the name `size`; or as several lengths (`takes_lengths`).
    """

    parameters: Mapping[str, Known | None]
    draw: Callable[..., Item]
    takes_lengths: bool = False


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
) -> Item:
    """The number, or the array, that a method of a generator gives."""
    methods = LEGACY_METHODS if method.owner.is_legacy else METHODS
    found = methods.get(method.name)
    if found is None:
        raise NotNativeError(f"calls of the method {method.name} are not compiled yet")
    if found.takes_lengths and arguments:
        arguments = [Items(tuple(arguments))]
    parameters = dict(found.parameters) | {"size": NOTHING}
    names = list(parameters)
    if len(arguments) > len(names) or not keywords.keys() <= parameters.keys():
        raise NotNativeError(f"calls of the method {method.name} with other arguments")
    given: dict[str, Item | None] = (
        parameters | dict(zip(names, arguments, strict=False)) | dict(keywords)
    )
    if len(arguments) + len(keywords) > len(names) or None in given.values():
        raise NotNativeError(f"calls of the method {method.name} without its arguments")
    size = given.pop("size")
    assert size is not None
    return found.draw(_Draw(reader, reader.drawn_from(method), size), *given.values())


@dataclass(frozen=True, slots=True)
class _Draw:
    reader: Reader
    slot: str  # the generator's
    size: Item

    def __call__(self, name: str, kind: NumberKind, *inputs: Value) -> Item:
        out, type_ = self.reader.out, DRAWS[name][1]
        if isinstance(self.size, Known) and self.size.value is None:
            return Number(kind, out.op("draw", type_, *inputs, attributes=(name, self.slot)))
        lengths = making.lengths_of(self.reader, self.size)
        fresh = elementwise.allocated(self.reader, kind.dtype, lengths)
        view = View(
            self.reader.array(fresh.holder), tuple((axis, 1) for axis in range(len(lengths)))
        )
        places = [out.constant(I64, 0)] * len(lengths)
        shape = (length.value for length in lengths)
        out.write("draws", *inputs, *shape, *places, attributes=(name, self.slot, view))
        return fresh


def _plain(name: str, *, takes_lengths: bool = False) -> _Method:
    def rule(draw: _Draw) -> Item:
        return draw(name, FLOAT)

    return _Method({}, rule, takes_lengths=takes_lengths)


def _real(draw: _Draw, item: Item) -> Value:
    return as_f64(draw.reader.out, number(draw.reader.out, item))


def _scale(draw: _Draw, item: Item) -> Value:
    """A number that is to be positive: NumPy raises for others, but for 0."""
    out, scale = draw.reader.out, _real(draw, item)
    is_positive = out.op("fgt", I1, scale, out.constant(F64, 0.0))
    out.doubt_if(out.op("not", I1, is_positive))
    return scale


def _normal(draw: _Draw, mean: Item, deviation: Item) -> Item:
    return draw("normal", FLOAT, _real(draw, mean), _scale(draw, deviation))


def _exponential(draw: _Draw, scale: Item) -> Item:
    return draw("exponential", FLOAT, _scale(draw, scale))


def _uniform(draw: _Draw, low: Item, high: Item) -> Item:
    out, least = draw.reader.out, _real(draw, low)
    more = out.op("sub", F64, _real(draw, high), least)
    doubt_not_finite(out, more)
    # Some NumPys raise where this is -0.0.
    out.doubt_if(out.op("not", I1, out.op("fgt", I1, more, out.constant(F64, 0.0))))
    return draw("uniform", FLOAT, least, more)


def _integers(draw: _Draw, low: Item, high: Item) -> Item:
    """Of int64: from `low` to one less than `high`, or from 0 to one less than `low`."""
    return draw("integers", NP_INT, *_limits(draw, low, high))


def _limits(draw: _Draw, low: Item, high: Item) -> tuple[Value, Value]:
    """The least and the greatest that may be drawn."""
    out = draw.reader.out
    if isinstance(high, Known) and high.value is None:
        low, high = Known(0), low
    limits = [number(out, one) for one in (low, high)]
    if any(one.type not in (INT, NP_INT) for one in limits):
        raise NotNativeError("calls of the method integers with other numbers")
    least, beyond = (as_i64(out, one) for one in limits)
    most = out.op("sub", I64, beyond, out.constant(I64, 1))
    out.doubt_if(out.op("igt", I1, least, most))
    return least, most


def _legacy_integers(draw: _Draw, low: Item, high: Item) -> Item:
    """As `_integers`, drawn in another way; of Python."""
    return draw("masked_integers", INT, *_limits(draw, low, high))


NOTHING, ZERO, ONE = Known(None), Known(0.0), Known(1.0)
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
    "rand": _plain("random", takes_lengths=True),
    "uniform": METHODS["uniform"],
    "randint": _Method({"low": None, "high": Known(None)}, _legacy_integers),
}
