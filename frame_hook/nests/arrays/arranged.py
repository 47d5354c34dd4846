"""Vectors in another form, in loops that are read as nests: running sums, places of a mask, sorted, counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, making, reductions, statements, views
from ufuse.frame_hook.nests.arrays.composed import EVERYTHING, NOTHING
from ufuse.frame_hook.nests.known.arrays import Array, Converted, Lazy, Length, Part
from ufuse.frame_hook.nests.known.integers import minus, range_length
from ufuse.frame_hook.nests.known.kinds import INT, NP_FLOAT, NP_INT, NotNativeError, TemporaryKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import View
from ufuse.graph.nest_types import F64, I1, I64, Value

WHOLE, REAL, BOOL = np.dtype(int), np.dtype(float), np.dtype(bool)
VECTOR = ((0, 1),)
MOST = 1 << 31  # of elements of an array that floats count
SHORT = "bBhHI"  # integers that are sorted as longer ones
# How NumPy gives such results: as views of other arrays, or not.
_PLACES, _SPACED = np.flatnonzero([True, False]), np.linspace(0, 1, 3)
# A count of `np.count_nonzero` is Python's, or NumPy's.
_EXAMPLE: object = np.count_nonzero(np.ones(1, bool))
COUNT = INT if type(_EXAMPLE) is int else NP_INT


def _refuse_other_axes(axis: Item | None) -> None:
    if axis is not None and not (isinstance(axis, Known) and axis.value in (0, -1, None)):
        raise NotNativeError("a function of vectors goes along another axis")


def accumulated(name: str) -> Callable[..., Array]:
    """`np.cumsum` and the like of a vector."""

    def rule(reader: Reader, item: Item, axis: Item | None = None) -> Array:
        _refuse_other_axes(axis)
        one = reductions.as_folded(reader, name, reductions.row(reader, item))
        (length,) = one.lengths
        fresh = statements.allocated(reader, one.dtype, [length])
        target = View(reader.array(fresh.holder), VECTOR)
        attributes = (name, statements.view_of(reader, one, 1), target)
        zero = reader.out.constant(I64, 0)
        reader.out.write("scan", length.value, *one.places, zero, attributes=attributes)
        return fresh

    return rule


# Masks -----------------------------------------------------------------------------------------------------------


def mask_of(reader: Reader, item: Item) -> Part:
    """A vector of bools."""
    found = reductions.row(reader, item)
    if found.dtype != BOOL:
        raise NotNativeError(f"the places of {found.dtype}")
    return found


def places(reader: Reader, item: Item) -> Array:
    """`np.flatnonzero` of a vector of bools."""
    out, mask = reader.out, mask_of(reader, item)
    total = reductions.fold(reader, "add", mask)
    assert isinstance(total, Number)
    fresh = statements.allocated(reader, WHOLE, [Length(total.value)])
    (walked,) = statements.view_of(reader, mask, 1).axes
    attributes = (
        View(reader.array(mask.holder), (walked, None)),
        View(reader.array(fresh.holder), (None, *VECTOR)),
    )
    inputs = (mask.lengths[0].value, total.value, *mask.places, out.constant(I64, 0))
    out.write("nonzero", *inputs, attributes=attributes)
    assert isinstance(fresh.holder, TemporaryKind)
    reader.memory.give_within(fresh.holder, _PLACES)
    return fresh


def nonzero(reader: Reader, item: Item) -> Items:
    """`np.nonzero` of a vector of bools."""
    return Items((places(reader, item),))


def count_nonzero(reader: Reader, item: Item) -> Number:
    """`np.count_nonzero` of an array of bools."""
    one = reductions.array_of(reader, item)
    if one.dtype != BOOL:
        raise NotNativeError(f"a count of {one.dtype}")
    total = reductions.fold(reader, "add", one)
    assert isinstance(total, Number)
    return Number(COUNT, total.value)


# Sorted ----------------------------------------------------------------------------------------------------------


def ordered(reader: Reader, item: Item, axis: Item | None = None) -> Array:
    """`np.sort` of a vector of numbers: where zeros or NaN are among floats only one order gives NumPy's bits."""
    one = reductions.row(reader, item)
    if one.dtype.char not in SHORT:
        found, _ = _to_be_sorted(reader, item, axis)
        _sort(reader, found)
        return found
    _refuse_other_axes(axis)  # integers, which sort as longer ones
    found = _new(reader, Lazy("cast", (one.dtype, WHOLE), (one,), one.lengths))
    _sort(reader, found)
    longer = views.part(reader, found)
    return _new(reader, Lazy("cast", (WHOLE, one.dtype), (longer,), longer.lengths))


def order(reader: Reader, item: Item, axis: Item | None = None) -> Array:
    """`np.argsort` of a vector of numbers."""
    numbers, one = _to_be_sorted(reader, item, axis)
    fresh = statements.allocated(reader, WHOLE, one.lengths)
    parts = (View(reader.array(each.holder), VECTOR) for each in (numbers, fresh))
    zero = reader.out.constant(I64, 0)
    reader.out.write("argsort", one.lengths[0].value, zero, zero, attributes=tuple(parts))
    return fresh


def _to_be_sorted(reader: Reader, item: Item, axis: Item | None) -> tuple[Array, Part]:
    """A copy of a vector of numbers, and the vector."""
    _refuse_other_axes(axis)
    one = reductions.row(reader, item)
    if one.dtype.char not in "dlfi":
        raise NotNativeError(f"sorting {one.dtype} is not compiled yet")
    return _new(reader, elementwise.copied(reader, one)), one


def _new(reader: Reader, item: Lazy) -> Array:
    found = elementwise.computed(reader, item)
    assert isinstance(found, Array)
    return found


def _sort(reader: Reader, item: Array) -> None:
    """Sort all elements of a new array, which lie one behind another."""
    lengths = [length.value for length in views.part(reader, item).lengths]
    view = View(reader.array(item.holder), tuple((axis, 1) for axis in range(len(lengths))))
    zeros = [reader.out.constant(I64, 0)] * len(lengths)
    reader.out.write("sort", *lengths, *zeros, attributes=(view,))


def median(reader: Reader, item: Item) -> Number:
    """`np.median` of all floats of an array, of which none is NaN, or of integers that floats hold."""
    out, one = reader.out, reductions.array_of(reader, item)
    is_whole = one.dtype.char in SHORT + "i"
    if one.dtype != REAL and not is_whole:
        raise NotNativeError(f"the median of {one.dtype}")
    lengths = [length.value for length in one.lengths]
    fresh = statements.allocated(reader, REAL, one.lengths)
    floats = Lazy("cast", (one.dtype, REAL), (one,), one.lengths) if is_whole else one
    elementwise.assign(reader, views.part(reader, fresh), floats)
    _sort(reader, fresh)
    unit, two = out.constant(I64, 1), out.constant(I64, 2)
    count = unit
    for length in lengths:
        count = out.op("mul", I64, count, length)
    out.doubt_if(out.op("ieq", I1, count, out.constant(I64, 0)))

    def at(place: Value) -> Value:
        return _flat_element(reader, fresh, lengths, place)

    last = at(minus(out, count, unit))
    out.doubt_if(out.op("fne", I1, last, last))
    middle, is_odd = out.op("floordiv", I64, count, two), out.op("mod", I64, count, two)
    upper = at(middle)
    lower = at(minus(out, middle, minus(out, unit, is_odd)))
    mean = out.op("div", F64, out.op("add", F64, lower, upper), out.constant(F64, 2.0))
    found = out.op("select", F64, out.op("ieq", I1, is_odd, unit), upper, mean)
    if not is_whole:  # of zeros of either sign any may be in the middle
        out.doubt_if(out.op("feq", I1, found, out.constant(F64, 0.0)))
    conversions.doubt_not_finite(out, mean)
    return Number(NP_FLOAT, found)


def _flat_element(reader: Reader, item: Array, lengths: list[Value], place: Value) -> Value:
    """An element of a new array by its place among all."""
    out, index = reader.out, [place]
    for length in reversed(lengths[1:]):
        first = index[0]
        index[:1] = [out.op(name, I64, first, length) for name in ("floordiv", "mod")]
    return out.op("load", F64, *index, attributes=(reader.array(item.holder),))


# Counted ---------------------------------------------------------------------------------------------------------


def arange(
    reader: Reader,
    start: Item,
    stop: Item = NOTHING,
    step: Item = Known(1),  # noqa: B008 (it never changes)
) -> Item:
    """`np.arange` of ints of 64 bits, or with floats among them."""
    out = reader.out
    if isinstance(stop, Known) and stop.value is None:
        start, stop = Known(0), start
    given = [conversions.number(out, one) for one in (start, stop, step)]
    kinds = {one.type.kind for one in given}
    if "float" in kinds and kinds <= {"int", "float"} and _fills_so():
        return _arange_of_floats(reader, *given)
    if kinds != {"int"}:
        raise NotNativeError("np.arange of what are no ints or floats")
    length = range_length(out, *(one.value for one in given))
    begin, by = given[0].value, given[2].value
    counted = _counted(reader, length, by)
    before = minus(out, begin, by)
    if out.known(before) == 0:
        return counted
    return elementwise.apply(reader, np.add, counted, Number(NP_INT, before))


def _arange_of_floats(reader: Reader, *given: Number) -> Array:
    """As NumPy computes it: the first two, then the others by what lies between these. Fewer than two are a doubt."""
    out = reader.out
    conversions.doubt_inexact(out, *given)
    start, stop, step = (conversions.as_f64(out, one) for one in given)
    zero, one = out.constant(I64, 0), out.constant(I64, 1)
    out.doubt_if(out.op("feq", I1, step, out.constant(F64, 0.0)))
    steps = out.op("div", F64, out.op("sub", F64, stop, start), step)
    out.doubt_if(out.op("not", I1, out.op("fgt", I1, steps, out.constant(F64, 1.0))))
    out.doubt_if(out.op("not", I1, out.op("flt", I1, steps, out.constant(F64, float(MOST)))))
    whole = out.op("to_i64", I64, steps)
    is_less = out.op("flt", I1, out.op("to_f64", F64, whole), steps)
    count = out.op("select", I64, is_less, out.op("add", I64, whole, one), whole)
    second = out.op("add", F64, start, step)
    between = out.op("sub", F64, second, start)
    conversions.doubt_not_finite(out, between)
    counted = elementwise.apply(reader, np.subtract, _counted(reader, count, one), Known(1))
    scaled = elementwise.apply(reader, np.multiply, counted, Number(NP_FLOAT, between))
    found = _new(reader, elementwise.apply(reader, np.add, scaled, Number(NP_FLOAT, start)))
    for place, value in ((zero, start), (one, second)):
        out.store(reader.array(found.holder), place, value)
    return found


@lru_cache(maxsize=1)
def _fills_so() -> bool:
    """Whether NumPy computes so what it does not add up: without fusing a product and a sum."""
    return all(
        np.array_equal(
            np.arange(start, start + 60 * step, step)[2:60],
            start + np.arange(2, 60) * ((start + step) - start),
        )
        for start in (0.1, -7.3, 1e6 + 0.7)
        for step in (0.1, 1 / 3, 0.037, -0.7)
    )


def _counted(reader: Reader, length: Value, step: Value) -> Array:
    """A vector of `step`, twice `step` and so on."""
    fresh = statements.allocated(reader, WHOLE, [Length(length)])
    elementwise.assign(reader, views.part(reader, fresh), Converted(step, WHOLE))
    view = View(reader.array(fresh.holder), VECTOR)
    zero = reader.out.constant(I64, 0)
    reader.out.write("scan", length, zero, zero, attributes=("add", view, view))
    return fresh


def identity(reader: Reader, size: Item, *, dtype: Item | None = None) -> Item:
    """`np.eye` of a size."""
    if making.is_small(size):
        return making.identity(reader, size, dtype=dtype)
    kind = making.dtype_of(dtype, REAL)
    (length,) = making.lengths_of(reader, size)  # a negative one is in doubt
    row = views.part(reader, _counted(reader, length.value, reader.out.constant(I64, 1)))
    column = views.taken(reader, row, Items((EVERYTHING, NOTHING)))
    is_one = elementwise.apply(reader, np.equal, column, row)
    return elementwise.computed(reader, Lazy("cast", (BOOL, kind), (is_one,), is_one.lengths))


def linspace(reader: Reader, start: Item, stop: Item, num: Item = Known(50)) -> Array:  # noqa: B008
    """`np.linspace` between two numbers, as NumPy computes it: steps from 0, then moved, then the last is set."""
    out = reader.out
    low, high, count = (conversions.number(out, one) for one in (start, stop, num))
    kinds = {low.type.kind, high.type.kind}
    if not kinds <= {"int", "float"} or count.type.kind != "int":
        raise NotNativeError("np.linspace of other numbers")
    conversions.doubt_inexact(out, low, high)
    first, last = (conversions.as_f64(out, one) for one in (low, high))
    one = out.constant(I64, 1)
    steps = minus(out, count.value, one)
    out.doubt_if(out.op("ilt", I1, steps, one))
    step = out.op("div", F64, out.op("sub", F64, last, first), out.op("to_f64", F64, steps))
    out.doubt_if(out.op("feq", I1, step, out.constant(F64, 0.0)))
    counted = elementwise.apply(reader, np.subtract, _counted(reader, count.value, one), Known(1))
    scaled = elementwise.apply(reader, np.multiply, counted, Number(NP_FLOAT, step))
    moved = elementwise.apply(reader, np.add, scaled, Number(NP_FLOAT, first))
    found = elementwise.computed(reader, moved)
    assert isinstance(found, Array)
    out.store(reader.array(found.holder), steps, last)
    assert isinstance(found.holder, TemporaryKind)
    reader.memory.give_within(found.holder, _SPACED)
    return found
