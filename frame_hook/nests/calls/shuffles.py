"""Shuffles, permutations, choices without repetition or with weights by NumPy's generators, as loops that draw numbers.

NumPy shuffles by what `randint` of a RandomState draws, by a Generator, too, and a Generator chooses by `integers`.
The Python functions here stand in the place of the calls; they are compared with the methods once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import arranged, elementwise, making, reductions, views
from ufuse.frame_hook.nests.calls import draws, idioms
from ufuse.frame_hook.nests.given import generator_methods
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.containers import Generating
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError, TemporaryKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, SliceOf
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64
from ufuse.graph.semantics.nest_generators import bit_generator_of

Draw = Callable[[int], int]
Shuffle = Callable[[Draw, Any, Any, Any], Any]
MOST_MARKED = (
    10_000  # of what NumPy chooses from by marking what it has: of more it may shuffle all
)
TOLERANCE = math.sqrt(np.finfo(np.float64).eps)  # of the sum of weights
NOTHING: Item = Known(None)


# What stands in the place of calls ----------------------------------------------------------------------------------


def _shuffled(draw: Draw, items: Any, found: Any, source: Any) -> Any:
    for i in range(len(items) - 1, 0, -1):
        j = draw(i)
        items[i], items[j] = items[j], items[i]
    return found if source is None else source[found]


def _marked(shuffled: Shuffle, draw: Draw, marks: Any, found: Any, source: Any) -> Any:
    before = len(marks) - len(found)
    for i in range(before, len(marks)):
        j = draw(i)
        if marks[j]:
            j = i
        marks[j] = True
        found[i - before] = j
    return shuffled(draw, found, found, source)


def _add_up(weights: Any, sums: Any) -> None:
    """Fill in the running sums of weights, as shares of their total: the checks are NumPy's."""
    lost = running = 0.0
    total = weights[0]
    for i in range(len(weights)):
        weight = weights[i]
        if not weight >= 0.0:
            raise ValueError
        running += weight
        sums[i] = running
        if i > 0:
            more = weight - lost
            greater = total + more
            lost = (greater - total) - more
            total = greater
    if not abs(total - 1.0) <= TOLERANCE:
        raise ValueError
    for i in range(len(weights)):
        sums[i] /= running


def _place(sums: Any, drawn: float) -> int:
    """How many of the sums are no more than a number."""
    low, high = 0, len(sums)
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] <= drawn:
            low = middle + 1
        else:
            high = middle
    return low


def _weighted(add_up: Any, place: Any, draw: Any, weights: Any, sums: Any, source: Any) -> Any:
    add_up(weights, sums)
    found = place(sums, draw())
    return found if source is None else source[found]


def _weighted_array(
    add_up: Any, place: Any, draw: Any, weights: Any, sums: Any, source: Any, found: Any
) -> Any:
    add_up(weights, sums)
    for i in range(len(found)):
        found[i] = place(sums, draw())
    return found if source is None else source[found]


# Calls --------------------------------------------------------------------------------------------------------------


def is_read(method: Generating, arguments: Sequence[Item], keywords: Mapping[str, Item]) -> bool:
    """Whether a call of a generator's method is read so."""
    if method.owner.type is random.Random:
        return False
    repeats = arguments[2] if len(arguments) > 2 else keywords.get("replace")
    is_choice = method.name == "choice" and repeats == Known(False)
    return (
        is_choice
        or _has_weights(method, arguments, keywords)
        or method.name in generator_methods.SHUFFLES
    )


def _has_weights(
    method: Generating, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> bool:
    weights = arguments[3] if len(arguments) > 3 else keywords.get("p", NOTHING)
    return method.name == "choice" and weights != NOTHING


def enter(
    reader: Reader, method: Generating, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> None:
    """Read on in what stands in the place of such a call.

    Raises:
        NotNativeError: its arguments are not followed, or NumPy draws in another way.

    """
    kind = method.owner.type
    if _has_weights(method, arguments, keywords):
        _choose_by_weights(reader, method, arguments, keywords)
        return
    if not _draws_so(kind):
        raise NotNativeError(f"calls of the method {method.name} of another NumPy")
    names = ("a", "size", "replace") if method.name == "choice" else ("x",)
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    if len(given) < max(len(names), len(arguments) + len(keywords)) or given.keys() - {*names}:
        raise NotNativeError(f"calls of the method {method.name} with other arguments")
    draw = Generating(method.owner, draws.SHUFFLING)
    if method.name == "choice":
        _choose(reader, draw, given["a"], given["size"])
    elif method.name == "shuffle":
        idioms.enter(reader, _shuffled, draw, _vector(reader, given["x"]), NOTHING, NOTHING)
    else:
        items = _fresh(reader, given["x"])
        idioms.enter(reader, _shuffled, draw, items, items, NOTHING)


def _vector(reader: Reader, item: Item) -> Part:
    if not isinstance(item, Array | Part):
        raise refusals.not_of("shuffles", item, "array")
    return reductions.row(reader, item)


def _fresh(reader: Reader, item: Item) -> Item:
    """A copy of a vector, or the numbers below one."""
    if elementwise.is_array(item):
        out, row = reader.out, reductions.row(reader, item)
        length = row.axes[0].length.value
        out.doubt_if(out.op("ieq", I1, length, out.constant(I64, 0)))  # it is given as it is
        return elementwise.computed(reader, elementwise.copied(reader, row))
    return _numbers_below(reader, _number(reader, item))


def _numbers_below(reader: Reader, count: Number) -> Array | Part:
    counted = arranged.arange(reader, count)
    assert isinstance(counted, Array | Lazy)
    return elementwise.computed(reader, counted)


def _number(reader: Reader, item: Item) -> Number:
    one = conversions.number(reader.out, item)
    if one.type != INT:
        raise refusals.not_of("shuffles or chooses from", item, "array and no int")
    return one


def _choose(reader: Reader, draw: Generating, items: Item, size: Item) -> None:
    """Some of the elements of a vector, or of the numbers below one."""
    out, chosen = reader.out, _number(reader, size)
    source: Item = NOTHING
    if elementwise.is_array(items):
        source = reductions.row(reader, items)
        count = Number(INT, source.axes[0].length.value)
    else:
        count = _number(reader, items)
    out.doubt_if(out.op("ilt", I1, chosen.value, out.constant(I64, 1)))
    out.doubt_if(out.op("igt", I1, chosen.value, count.value))
    if draw.owner.type is np.random.RandomState:
        places: Item = _numbers_below(reader, count)
        assert isinstance(places, Array | Part)
        found = views.taken(reader, places, SliceOf(NOTHING, chosen, NOTHING))
        idioms.enter(reader, _shuffled, draw, places, found, source)
        return
    out.doubt_if(out.op("igt", I1, count.value, out.constant(I64, MOST_MARKED)))
    marks = making.maker(0)(reader, count, Known(bool))
    places = making.maker(None)(reader, chosen, Known(int))
    shuffled = idioms.known(reader, _shuffled)
    assert isinstance(places, Array)
    assert isinstance(places.holder, TemporaryKind)
    reader.memory.give_within(places.holder, _chosen())
    chooses = Generating(draw.owner, draws.CHOOSING)
    idioms.enter(reader, _marked, shuffled, chooses, marks, places, source)


def _choose_by_weights(
    reader: Reader, method: Generating, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> None:
    """One of the elements of a vector, or of the numbers below one, or an array of them."""
    names = ("a", "size", "replace", "p")
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    if len(given) < len(arguments) + len(keywords) or not {"a", "p"} <= given.keys() <= {*names}:
        raise NotNativeError("calls of the method choice with other arguments")
    if given.get("replace", Known(True)) != Known(True) or not _weighs_so(method.owner.type):
        raise NotNativeError("calls of the method choice with weights and without repetition")
    out, weights = reader.out, _numbers(reader, given["p"])
    if weights.dtype != np.dtype(float):
        raise NotNativeError("calls of the method choice with weights that are no floats")
    count, source = Number(INT, weights.axes[0].length.value), NOTHING
    items = given["a"]
    if elementwise.is_array(items) or isinstance(items, Items | Listed):
        source = _numbers(reader, items)
        its_count = source.axes[0].length.value
    else:
        its_count = _number(reader, items).value
    out.doubt_if(out.op("ine", I1, its_count, count.value))
    out.doubt_if(out.op("ilt", I1, count.value, out.constant(I64, 1)))
    sums = making.maker(None)(reader, count, Known(float))
    tools = [idioms.known(reader, one) for one in (_add_up, _place)]
    draw = Generating(method.owner, "random")
    size = given.get("size", NOTHING)
    if size == NOTHING:
        idioms.enter(reader, _weighted, *tools, draw, weights, sums, source)
        return
    found = making.maker(None)(reader, _number(reader, size), Known(int))
    idioms.enter(reader, _weighted_array, *tools, draw, weights, sums, source, found)


def _numbers(reader: Reader, item: Item) -> Part:
    """A vector, or a list or tuple of numbers as one."""
    if isinstance(item, Items | Listed):
        item = making.array(reader, item)
    return _vector(reader, item)


@lru_cache(maxsize=2)
def _weighs_so(kind: Any) -> bool:
    """Whether NumPy chooses by weights as the functions here do."""
    one, other = (kind(np.random.MT19937(1)) for _ in range(2))
    alike = []
    for count in (1, 2, 7, 100):
        weights = np.arange(count) + 0.5
        weights /= weights.sum()
        sums = np.empty(count)
        given = _add_up, _place, other.random, weights, sums
        alike.append(one.choice(count, p=weights) == _weighted(*given, None))
        found = np.empty(9, int)
        several = one.choice(weights, 9, p=weights)
        alike.append(np.array_equal(several, _weighted_array(*given, weights, found)))
    return all(alike)


@lru_cache(maxsize=1)
def _chosen() -> np.ndarray:
    """What a Generator gives that chooses: it may be a view."""
    found: np.ndarray = np.random.Generator(np.random.MT19937(1)).choice(3, 2, replace=False)
    return found


@lru_cache(maxsize=2)
def _draws_so(kind: Any) -> bool:
    """Whether NumPy's methods draw as the functions here do."""
    one, other = (kind(np.random.MT19937(1)) for _ in range(2))
    legacy, alike = np.random.RandomState(bit_generator_of(other)), []

    def below(most: int) -> int:
        return legacy.randint(0, most + 1)

    def chooses(most: int) -> int:
        return int(other.integers(0, most, endpoint=True))

    for count in (1, 2, 7, 300):
        items, size = np.arange(count) * 0.5, count // 3 + 1
        copy, places = items.copy(), np.arange(count)
        one.shuffle(items)
        _shuffled(below, copy, None, None)
        alike.append(np.array_equal(items, copy))
        alike.append(np.array_equal(one.permutation(count), _shuffled(below, places, places, None)))
        chosen = one.choice(items, size, replace=False)
        if kind is np.random.RandomState:
            places = np.arange(count)
            found = _shuffled(below, places, places[:size], copy)
        else:
            marks, places = np.zeros(count, bool), np.empty(size, int)
            found = _marked(_shuffled, chooses, marks, places, copy)
        alike.append(np.array_equal(chosen, found))
    return all(alike)
