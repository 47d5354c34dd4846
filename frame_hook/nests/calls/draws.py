"""Random numbers: methods of a generator of NumPy that give one number, or an array of them, and of one of Python's.

Of `random.Random` what draws bits is drawn by a nest; its other methods are Python code, which is read like any other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, partial

import numpy as np

from ufuse.frame_hook.nests.arrays import gathers, making, statements, views
from ufuse.frame_hook.nests.containers import tuples
from ufuse.frame_hook.nests.known.arrays import Array, Numbers, Part
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.containers import Generating, MadeList
from ufuse.frame_hook.nests.known.kinds import (
    FLOAT,
    INT,
    NP_FLOAT,
    NP_INT,
    NotNativeError,
    NumberKind,
)
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.numbers import arithmetic
from ufuse.frame_hook.nests.numbers.conversions import as_f64, as_i64, doubt_not_finite, number
from ufuse.frame_hook.nests.reading.operations import ELEMENT
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import View
from ufuse.graph.nest_types import DRAWS, F64, I1, I64, Value
from ufuse.graph.records import record


@record
class _Method:
    """The names of its parameters with their defaults, and what draws for them.

    A shape comes behind them, by the name `size`; or as several lengths (`takes_lengths`). Parameters `behind` it have
    to be what they are by default.
    """

    parameters: Mapping[str, Known | None]
    draw: Callable[..., Item]
    takes_lengths: bool = False
    behind: Mapping[str, Known] = field(default_factory=dict)


def called(
    reader: Reader,
    method: Generating,
    arguments: Sequence[Item],
    keywords: Mapping[str, Item],
) -> Item:
    """The number, or the array, that a method of a generator gives."""
    is_python = method.owner.type is random.Random
    of_numpy = LEGACY_METHODS if method.owner.type is np.random.RandomState else METHODS
    found = (PYTHON_METHODS if is_python else of_numpy).get(method.name)
    if found is None:
        raise NotNativeError(f"calls of the method {method.name} are not compiled yet")
    if found.takes_lengths and keywords:
        raise NotNativeError(f"calls of the method {method.name} with keywords")
    if found.takes_lengths and arguments:
        arguments = [Items(tuple(arguments))]
    size_of = {} if is_python else {"size": NOTHING}
    parameters: dict[str, Known | None] = {**found.parameters, **size_of, **found.behind}
    names = list(parameters)
    if len(arguments) > len(names) or not keywords.keys() <= parameters.keys():
        raise NotNativeError(f"calls of the method {method.name} with other arguments")
    given: dict[str, Item | None] = (
        parameters | dict(zip(names, arguments, strict=False)) | dict(keywords)
    )
    if len(arguments) + len(keywords) > len(names) or None in given.values():
        raise NotNativeError(f"calls of the method {method.name} without its arguments")
    for name, default in found.behind.items():
        one = given.pop(name)
        if not isinstance(one, Known) or one.value is not default.value:
            raise NotNativeError(f"calls of the method {method.name} with another {name}")
    size = given.pop("size", NOTHING)
    assert size is not None
    return found.draw(_Draw(reader, reader.drawn_from(method), size), *given.values())


@record
class _Draw:
    reader: Reader
    slot: str  # the generator's
    size: Item

    def __call__(self, name: str, kind: NumberKind, *inputs: Value) -> Item:
        out, type_ = self.reader.out, DRAWS[name][1]
        if isinstance(self.size, Known) and self.size.value is None:
            return Number(kind, out.op("draw", type_, *inputs, attributes=(name, self.slot)))
        lengths = making.lengths_of(self.reader, self.size)
        fresh = statements.allocated(self.reader, kind.dtype, lengths)
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


def _normal(name: str, draw: _Draw, mean: Item, deviation: Item) -> Item:
    return draw(name, FLOAT, _real(draw, mean), _scale(draw, deviation))


def _exponential(name: str, draw: _Draw, scale: Item) -> Item:
    return draw(name, FLOAT, _scale(draw, scale))


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


def _interval(name: str, draw: _Draw, most: Item) -> Item:
    """From 0 to a number that is not negative."""
    inputs = [as_i64(draw.reader.out, number(draw.reader.out, most))]
    if name == "integers":
        inputs.insert(0, draw.reader.out.constant(I64, 0))
    return draw(name, INT, *inputs)


def _legacy_integers(draw: _Draw, low: Item, high: Item) -> Item:
    """As `_integers`, drawn in another way; of Python."""
    return draw("masked_integers", INT, *_limits(draw, low, high))


def _choice(name: str, draw: _Draw, items: Item) -> Item:
    """Some of a sequence of numbers, as an array has them, or ints below one; drawn as ints of that range are."""
    out = draw.reader.out
    if isinstance(items, MadeList):
        items = making.array(draw.reader, items)
    if not _chooses_so(name):
        raise NotNativeError("the method choice of another NumPy")
    most = out.op("sub", I64, _positive(draw, _count(draw.reader, items)), out.constant(I64, 1))
    is_one = isinstance(draw.size, Known) and draw.size.value is None
    place = draw(name, INT if is_one else NP_INT, out.constant(I64, 0), most)
    if isinstance(place, Array):
        return _chosen(draw.reader, items, place)
    assert isinstance(place, Number)
    if isinstance(items, Items | Listed):
        numbers = [number(out, one) for one in items.items]
        kinds = {one.type for one in numbers}
        if len(kinds) > 1 or not kinds <= OF_ARRAYS.keys():
            raise NotNativeError("calls of the method choice with numbers of other types")
        return _of_array(tuples.chosen_number(draw.reader, list(enumerate(numbers)), place.value))
    if isinstance(items, Array | Part | Numbers):
        found = ELEMENT(draw.reader, items, place)
        assert found is not None
        return _of_array(found) if isinstance(items, Numbers) else found
    return place


def _chosen(reader: Reader, items: Item, places: Array) -> Item:
    """What a sequence of numbers has in some places, as an array; of an int the places themselves."""
    if isinstance(items, Numbers):
        raise NotNativeError("calls of the method choice with a list and a size")
    if isinstance(items, Items | Listed):
        made = making.array(reader, items)
        assert isinstance(made, Array)
        items = made
    return gathers.taken(reader, items, places) if isinstance(items, Array | Part) else places


def _count(reader: Reader, items: Item) -> Value:
    """How many there are to choose from."""
    if isinstance(items, Array | Part):
        lengths = views.part(reader, items).lengths
        if len(lengths) > 1:
            raise NotNativeError("calls of the method choice with an array of several axes")
        return lengths[0].value
    if isinstance(items, Items | Listed):
        return reader.out.constant(I64, len(items.items))
    if isinstance(items, Numbers):
        return reader.length(items.holder, 0).value
    count = number(reader.out, items)
    if count.type != INT:
        raise NotNativeError("calls of the method choice with another number")
    return as_i64(reader.out, count)


OF_ARRAYS = {INT: NP_INT, FLOAT: NP_FLOAT, NP_INT: NP_INT, NP_FLOAT: NP_FLOAT}


def _of_array(item: Item) -> Number:
    """What an array of such numbers has in its place."""
    if not isinstance(item, Number) or item.type not in OF_ARRAYS:
        raise NotNativeError("calls of the method choice with numbers of other types")
    return Number(OF_ARRAYS[item.type], item.value)


@lru_cache(maxsize=2)
def _chooses_so(name: str) -> bool:
    """Whether NumPy draws what it chooses as an int of a range."""
    kind = np.random.Generator if name == "integers" else np.random.RandomState
    one, other = (kind(np.random.MT19937(1)) for _ in range(2))
    method = getattr(other, "integers" if name == "integers" else "randint")
    counts = [2, 7, 1000, 2**33] * 16
    few = [one.choice(count) for count in counts] == [method(0, count) for count in counts]
    many = (one.choice(7, 50), one.choice(2**33, 3)), (method(0, 7, 50), method(0, 2**33, 3))
    return few and all(map(np.array_equal, *many))


def _below(draw: _Draw, count: Item) -> Item:
    """An int of Python that is less."""
    out, number_ = draw.reader.out, number(draw.reader.out, count)
    if number_.type != INT:
        raise NotNativeError("calls of the method _randbelow with other numbers")
    return draw("below", INT, _positive(draw, as_i64(out, number_)))


def _gauss(draw: _Draw, mean: Item, deviation: Item) -> Item:
    out = draw.reader.out
    return arithmetic.binary(
        out, "+", mean, arithmetic.binary(out, "*", draw("gauss", FLOAT), deviation)
    )


def _positive(draw: _Draw, value: Value) -> Value:
    out = draw.reader.out
    out.doubt_if(out.op("not", I1, out.op("igt", I1, value, out.constant(I64, 0))))
    return value


def _from_range(draw: _Draw, start: Item, stop: Item, step: Item) -> Item:
    """`randrange` with a step of one."""
    out = draw.reader.out
    if isinstance(stop, Known) and stop.value is None:
        start, stop = Known(0), start
    limits = [number(out, one) for one in (start, stop)]
    is_one = isinstance(step, Known) and type(step.value) is int and step.value == 1
    if any(one.type not in (INT, NP_INT) for one in limits) or not is_one:
        raise NotNativeError("calls of the method randrange with other numbers")
    least, beyond = (_near(draw, as_i64(out, one)) for one in limits)
    found = draw("below", INT, _positive(draw, out.op("sub", I64, beyond, least)))
    assert isinstance(found, Number)
    return Number(INT, out.op("add", I64, least, found.value))


def _near(draw: _Draw, value: Value) -> Value:
    """A number of which differences are numbers of 64 bits, too."""
    out = draw.reader.out
    known = out.known(value)
    if known is None or not -FAR < known < FAR:
        out.doubt_if(out.op("ilt", I1, value, out.constant(I64, -FAR)))
        out.doubt_if(out.op("igt", I1, value, out.constant(I64, FAR)))
    return value


def _seed(name: str, draw: _Draw, seed: Item) -> Item:
    """The generator begins anew, and the call gives None."""
    if draw.size != NOTHING:
        raise NotNativeError("calls of the method seed with other arguments")
    begin_anew(draw.reader.out, name, draw.slot, seed)
    return NOTHING


def begin_anew(out: Code, name: str, slot: str, item: Item) -> None:
    """Have a generator begin anew with an int; `name` is one of `DRAWS`. Ints that it refuses are in doubt."""
    if item == NOTHING:
        raise NotNativeError("a generator of random numbers that begins without a seed")
    seed = number(out, item)
    if seed.type not in ((INT,) if name == "python_seed" else (INT, NP_INT)):
        raise NotNativeError("a generator of random numbers that begins with no int")
    failed = out.op("draw", I64, as_i64(out, seed), attributes=(name, slot))
    out.doubt_if(out.op("igt", I1, failed, out.constant(I64, 0)))


FAR = 2**62
NOTHING, ZERO, ONE, YES = Known(None), Known(0.0), Known(1.0), Known(True)
METHODS = {
    "random": _plain("random"),
    "standard_normal": _plain("standard_normal"),
    "standard_exponential": _plain("standard_exponential"),
    "normal": _Method({"loc": ZERO, "scale": ONE}, partial(_normal, "normal")),
    "uniform": _Method({"low": ZERO, "high": ONE}, _uniform),
    "exponential": _Method({"scale": ONE}, partial(_exponential, "exponential")),
    "integers": _Method({"low": None, "high": Known(None)}, _integers),
    "choice": _Method(
        {"a": None},
        partial(_choice, "integers"),
        behind={"replace": YES, "p": NOTHING, "axis": Known(0), "shuffle": YES},
    ),
}
# What they draw places by where they shuffle, and where they choose: no methods of theirs have these names.
SHUFFLING, CHOOSING = "<interval>", "<bounded>"
METHODS[SHUFFLING] = _Method({"most": None}, partial(_interval, "interval"))
METHODS[CHOOSING] = _Method({"most": None}, partial(_interval, "integers"))
# Of `np.random.RandomState`, and of `np.random` itself. Its normal and exponential numbers are made in their own way.
LEGACY_METHODS = {
    SHUFFLING: METHODS[SHUFFLING],
    "random": _plain("random"),
    "random_sample": _plain("random"),
    "rand": _plain("random", takes_lengths=True),
    "uniform": METHODS["uniform"],
    "standard_normal": _plain("legacy_gauss"),
    "randn": _plain("legacy_gauss", takes_lengths=True),
    "normal": _Method({"loc": ZERO, "scale": ONE}, partial(_normal, "legacy_normal")),
    "exponential": _Method({"scale": ONE}, partial(_exponential, "legacy_exponential")),
    "randint": _Method({"low": None, "high": Known(None)}, _legacy_integers),
    "choice": _Method(
        {"a": None}, partial(_choice, "masked_integers"), behind={"replace": YES, "p": NOTHING}
    ),
}
LEGACY_METHODS["seed"] = _Method({"seed": None}, partial(_seed, "legacy_seed"))
PYTHON_METHODS = {
    "random": _plain("random"),
    "_randbelow": _Method({"n": None}, _below),
    "gauss": _Method({"mu": ZERO, "sigma": ONE}, _gauss),
    "randrange": _Method({"start": None, "stop": NOTHING, "step": Known(1)}, _from_range),
    "seed": _Method({"a": None}, partial(_seed, "python_seed"), behind={"version": Known(2)}),
}
