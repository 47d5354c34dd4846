"""Functions of arrays that are several array statements, as NumPy itself computes them, in the same order."""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np

from ufuse.frame_hook.nests.arrays import (
    elementwise,
    flattening,
    making,
    reductions,
    rolls,
    statements,
    views,
)
from ufuse.frame_hook.nests.known import kinds, refusals
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Length, Part
from ufuse.frame_hook.nests.known.integers import minus, plus
from ufuse.frame_hook.nests.known.kinds import (
    INT,
    NP_BOOL,
    NP_FLOAT,
    NotNativeError,
    TemporaryKind,
)
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, SliceOf, is_none
from ufuse.frame_hook.nests.numbers import arithmetic, conversions
from ufuse.frame_hook.nests.numbers.functions import MOST_DECIMALS
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, F64, I1, I64, Value

NOTHING = Known(None)
EVERYTHING = SliceOf(NOTHING, NOTHING, NOTHING)
ORDERS: dict[float, str] = {1: "add", math.inf: "maximum"}  # of norms
FLOAT = np.dtype(float)
BOOL = np.dtype(bool)


def _refuse(*items: Item | None) -> None:
    """Refuse arguments that are given."""
    if not all(one is None or is_none(one) for one in items):
        raise NotNativeError("a function of arrays has arguments that are not followed")


def _array(item: Item) -> Array | Part | Lazy:
    if not isinstance(item, Array | Part | Lazy):
        raise refusals.not_of("calls a function of arrays with", item, "array")
    return item


def _floats(reader: Reader, item: Item) -> Array | Part | Lazy:
    one = _array(item)
    if elementwise.dtype(reader, one) != FLOAT:
        raise NotNativeError(f"a function of arrays of {elementwise.dtype(reader, one)}")
    return one


def _vector(reader: Reader, item: Item, *, takes_complex: bool = True) -> Part:
    return reductions.row(reader, _array(item), takes_complex=takes_complex)


def norm(
    reader: Reader,
    item: Item,
    ord: Item = NOTHING,  # noqa: A002  (NumPy's name)
    axis: Item = NOTHING,
    keepdims: Item | None = None,
) -> Item:
    """`np.linalg.norm` of all elements, one behind another as they lie in memory, or along an axis."""
    one = _floats(reader, item)
    name = ORDERS.get(ord.value) if _is_number(ord) else None
    is_vector = len(elementwise.copied(reader, one).lengths) == 1
    if name is not None and (is_vector or not is_none(axis)):
        if not is_none(axis) and (not isinstance(axis, Known) or type(axis.value) is not int):
            raise NotNativeError("a norm along several axes")
        sizes = elementwise.apply(reader, np.absolute, one)
        return reductions.fold(reader, name, sizes, Known(0) if is_none(axis) else axis, keepdims)
    if not is_none(axis):
        if not is_none(ord) and ord != Known(2):
            raise NotNativeError("a norm of another order")
        if not isinstance(axis, Known) or type(axis.value) is not int:
            raise NotNativeError("a norm along several axes")
        square = elementwise.apply(reader, np.multiply, one, one)
        total = reductions.fold(reader, "add", square, axis, keepdims)
        if isinstance(total, Number):
            return Number(NP_FLOAT, reader.out.op("sqrt", F64, total.value))
        return elementwise.apply(reader, np.sqrt, total)
    _refuse(keepdims)
    lazy = elementwise.copied(reader, one)
    if ord != Known("fro" if len(lazy.lengths) == 2 else 2):
        _refuse(ord)
    row = reductions.row(reader, flattened(reader, lazy))
    length = reductions.dot(reader, "dot", row, row)
    return Number(NP_FLOAT, reader.out.op("sqrt", F64, length.value))


def _is_number(item: Item) -> TypeGuard[Known]:
    return isinstance(item, Known) and type(item.value) in (int, float)


def flattened(reader: Reader, item: Lazy) -> Array | Lazy:
    """The elements of an expression as a vector, in the order in which a new array would have them."""
    if len(item.lengths) < 2:
        return item
    if elementwise.is_turned(item):
        item = elementwise.turned(item)
    else:
        elementwise.keep_orders(reader, item)
    return flattening.in_rows(reader, item)


def close(
    reader: Reader,
    left: Item,
    right: Item,
    rtol: Item = Known(1e-5),  # noqa: B008 (it never changes)
    atol: Item = Known(1e-8),  # noqa: B008
    equal_nan: Item = Known(False),  # noqa: B008
) -> Number | Lazy:
    """`np.isclose` of floats, arrays or numbers, in NumPy's order; what is invalid is a doubt, as elsewhere."""
    if not isinstance(equal_nan, Known) or equal_nan.value is not False:
        raise NotNativeError("np.isclose has arguments that are not followed")
    out = reader.out
    relative, absolute, x, y = (_real(reader, one) for one in (rtol, atol, left, right))
    if not (isinstance(relative, Number) and isinstance(absolute, Number)):
        raise NotNativeError("np.isclose has arrays as tolerances")
    for one in (relative, absolute):
        conversions.doubt_not_finite(out, one.value)
    if isinstance(x, Number) and isinstance(y, Number):
        distance = out.op("abs", F64, out.op("sub", F64, x.value, y.value))
        most, is_finite = _nearest(reader, y, relative, absolute)
        is_near = out.op("and", I1, out.op("fle", I1, distance, most), is_finite)
        return Number(NP_BOOL, out.op("or", I1, is_near, out.op("feq", I1, x.value, y.value)))

    def of(ufunc: np.ufunc, *operands: Item) -> Lazy:
        return elementwise.apply(reader, ufunc, *operands)

    distances = of(np.absolute, of(np.subtract, x, y))
    finite: Item
    if isinstance(y, Number):
        limit, is_finite = _nearest(reader, y, relative, absolute)
        finite = Number(NP_BOOL, is_finite)
        near = of(np.less_equal, distances, Number(NP_FLOAT, limit))
    else:
        sizes = of(np.absolute, y)
        near = of(np.less_equal, distances, of(np.add, absolute, of(np.multiply, relative, sizes)))
        finite = of(np.less, sizes, Known(math.inf))
    return of(np.bitwise_or, of(np.bitwise_and, near, finite), of(np.equal, x, y))


def _nearest(
    reader: Reader, item: Number, relative: Number, absolute: Number
) -> tuple[Value, Value]:
    """How far from a number is close to it, and whether it is finite."""
    out = reader.out
    size = out.op("abs", F64, item.value)
    most = out.op("add", F64, absolute.value, out.op("mul", F64, relative.value, size))
    return most, out.op("flt", I1, size, out.constant(F64, math.inf))


def _real(reader: Reader, item: Item) -> Number | Array | Part | Lazy:
    """An array of floats, or a number as one of NumPy's."""
    if elementwise.is_array(item):
        return _floats(reader, item)
    one = conversions.number(reader.out, item)
    if one.type.kind not in ("float", "int"):
        raise NotNativeError("a function of arrays has other numbers")
    conversions.doubt_inexact(reader.out, one)
    return Number(NP_FLOAT, conversions.as_f64(reader.out, one))


def all_close(
    reader: Reader, left: Item, right: Item, *tolerances: Item, **keywords: Item
) -> Number:
    """`np.allclose`: Python's bool."""
    found = close(reader, left, right, *tolerances, **keywords)
    if not isinstance(found, Number):
        every = reductions.fold(reader, "logical_and", found)
        assert isinstance(every, Number)
        found = every
    return Number(kinds.BOOL, found.value)


def outer(reader: Reader, left: Item, right: Item) -> Lazy:
    """`np.outer` of vectors."""
    column = views.taken(reader, _vector(reader, left), Items((EVERYTHING, NOTHING)))
    row = views.taken(reader, _vector(reader, right), Items((NOTHING, EVERYTHING)))
    return elementwise.apply(reader, np.multiply, column, row)


def diff(reader: Reader, item: Item) -> Lazy:
    """`np.diff` of a vector."""
    one = _vector(reader, item)
    if one.dtype == BOOL:
        raise NotNativeError("differences of bools")
    behind = views.taken(reader, one, SliceOf(Known(1), NOTHING, NOTHING))
    before = views.taken(reader, one, SliceOf(NOTHING, Known(-1), NOTHING))
    return elementwise.apply(reader, np.subtract, behind, before)


def roll(reader: Reader, item: Item, shift: Item, axis: Item | None = None) -> Lazy:
    """`np.roll` along an axis; of a vector without one a view of it."""
    one = reductions.array_of(reader, _array(item), takes_complex=True)
    along_all = axis is None or is_none(axis)
    if along_all and len(one.axes) > 1:
        raise NotNativeError("np.roll of several axes at once")
    axes = reductions.folded_axes(axis, len(one.axes))
    if len(axes) > 1:
        raise NotNativeError("np.roll along several axes")
    reader.keep_order(one)
    by = views.index(reader, shift)
    return rolls.rolled(reader, one, axes[0], by, is_view=along_all)


Bounds = tuple[Value | None, Value | None]


def _copy(
    reader: Reader, target: Part, to: Bounds, source: Part, bounds: Bounds, axis: int = 0
) -> None:
    """Copy a part of an array, along an axis, to a part of another."""
    into, given = (
        views.taken(
            reader,
            one,
            Items((*[EVERYTHING] * axis, SliceOf(_bound(start), _bound(stop), NOTHING))),
        )
        for one, (start, stop) in ((target, to), (source, bounds))
    )
    elementwise.assign(reader, into, given)


def _bound(value: Value | None) -> Item:
    return NOTHING if value is None else Number(INT, value)


def concatenate(reader: Reader, items: Item) -> Array:
    """`np.concatenate` of vectors of one dtype."""
    if not isinstance(items, Items | Listed) or not items.items:
        raise NotNativeError("it joins what is no tuple of arrays")
    out, rows = reader.out, [_vector(reader, one) for one in items.items]
    if len({one.dtype for one in rows}) > 1:
        raise NotNativeError("it joins arrays of several types")
    ends = [out.constant(I64, 0)]
    for one in rows:
        ends.append(plus(out, ends[-1], one.axes[0].length.value))
    fresh = statements.allocated(reader, rows[0].dtype, [Length(ends[-1])])
    target = views.part(reader, fresh)
    for one, begin, end in zip(rows, ends, ends[1:], strict=False):
        _copy(reader, target, (begin, end), one, (None, None))
    return fresh


def append(reader: Reader, item: Item, values: Item) -> Array:
    """`np.append` of a number or a vector to a vector, of one dtype; a whole number is a float among these."""
    if elementwise.is_array(values):
        return concatenate(reader, Items((item, values)))
    out, one = reader.out, _vector(reader, item, takes_complex=False)
    number = conversions.number(out, values)
    if number.type.dtype != one.dtype and (one.dtype != FLOAT or number.type.kind != "int"):
        raise NotNativeError("it appends a number of another type to an array")
    value = conversions.as_element(out, number, ELEMENTS[one.dtype])
    count = one.axes[0].length.value
    fresh = statements.allocated(
        reader, one.dtype, [Length(plus(out, count, out.constant(I64, 1)))]
    )
    _copy(reader, views.part(reader, fresh), (None, count), one, (None, None))
    elementwise.settle(reader)
    out.store(reader.array(fresh.holder), count, value)
    return fresh


def clip(reader: Reader, item: Item, low: Item, high: Item) -> Lazy:
    """`np.clip` of floats to two numbers. What equals a limit stays: it may be the other zero."""
    least, most = _limit(reader, low), _limit(reader, high)
    given = _floats(reader, item)
    is_below = elementwise.apply(reader, np.less, given, least)
    found = elementwise.where(reader, is_below, least, given)
    is_above = elementwise.apply(reader, np.greater, found, most)
    return elementwise.where(reader, is_above, most, found)


def _limit(reader: Reader, limit: Item) -> Number:
    one = conversions.number(reader.out, limit)
    if one.type.kind not in ("float", "int"):
        raise NotNativeError("it clips to what is no number")
    conversions.doubt_inexact(reader.out, one)
    value = conversions.as_f64(reader.out, one)
    reader.out.doubt_if(reader.out.op("fne", I1, value, value))
    return Number(NP_FLOAT, value)


def variance(
    reader: Reader,
    item: Item,
    axis: Item | None = None,
    *,
    ddof: Item | None = None,
    keepdims: Item | None = None,
) -> Number | Array | Lazy:
    """`np.var` of floats, of all of an array or along axes."""
    one = reductions.array_of(reader, _floats(reader, item))
    taken = ddof.value if isinstance(ddof, Known) else 0 if ddof is None else None
    if type(taken) is not int:
        raise NotNativeError("ddof is no constant")
    out, axes = reader.out, reductions.folded_axes(axis, len(one.axes))
    is_all = len(axes) == len(one.axes)
    mean = reductions.mean(reader, one, axis, None if is_all else Known(True))
    distance = elementwise.apply(reader, np.subtract, one, mean)
    square = elementwise.apply(reader, np.multiply, distance, distance)
    total = reductions.fold(reader, "add", square, axis, keepdims)
    count = reductions.elements_along(reader, one, axes)
    count = minus(out, count, out.constant(I64, taken))
    out.doubt_if(out.op("ile", I1, count, out.constant(I64, 0)))
    divisor = Number(NP_FLOAT, out.op("to_f64", F64, count))
    if isinstance(total, Number):
        return Number(NP_FLOAT, out.op("div", F64, total.value, divisor.value))
    assert isinstance(total, Array)
    quotient = elementwise.apply(reader, np.divide, total, divisor)
    return reductions.in_place(reader, total, quotient)


def deviation(
    reader: Reader,
    item: Item,
    axis: Item | None = None,
    *,
    ddof: Item | None = None,
    keepdims: Item | None = None,
) -> Number | Array | Lazy:
    """`np.std` of floats, of all of an array or along axes."""
    found = variance(reader, item, axis, ddof=ddof, keepdims=keepdims)
    if isinstance(found, Number):
        return Number(NP_FLOAT, reader.out.op("sqrt", F64, found.value))
    root = elementwise.apply(reader, np.sqrt, found)
    return root if isinstance(found, Lazy) else reductions.in_place(reader, found, root)


def covariance(reader: Reader, item: Item, other: Item) -> Array:
    """`np.cov` of two vectors of floats."""
    out, one = reader.out, Known(1)
    rows = making.stacked(reader, Items(tuple(_floats(reader, each) for each in (item, other))))
    assert isinstance(rows, Array)
    means = elementwise.computed(reader, _array(reductions.mean(reader, rows, one)))
    column = views.taken(reader, means, Items((EVERYTHING, NOTHING)))
    elementwise.update(reader, "-", rows, column)
    found = reductions.product(reader, "dot", rows, views.transposed(reader, rows))
    assert isinstance(found, Array)
    count = views.part(reader, rows).lengths[1].value
    freedom = Number(INT, minus(out, count, out.constant(I64, 1)))
    out.doubt_if(out.op("ile", I1, freedom.value, out.constant(I64, 0)))
    elementwise.update(reader, "*", found, arithmetic.binary(out, "/", Known(1), freedom))
    _give_as(reader, found, _SQUEEZED)
    return found


def correlation(reader: Reader, item: Item, other: Item) -> Array:
    """`np.corrcoef` of two vectors of floats."""
    found = covariance(reader, item, other)
    number = reader.array(found.holder)
    deviations = []
    for place in (0, 1):
        at = reader.out.constant(I64, place)
        loaded = reader.out.op("load", F64, at, at, attributes=(number,))
        deviations.append(Number(NP_FLOAT, reader.out.op("sqrt", F64, loaded)))
    row = making.array(reader, Items(tuple(deviations)))
    assert isinstance(row, Array)
    for axes in (Items((EVERYTHING, NOTHING)), Items((NOTHING, EVERYTHING))):
        elementwise.update(reader, "/", found, views.taken(reader, row, axes))
    whole = views.part(reader, found)
    elementwise.assign(reader, whole, clip(reader, found, Known(-1), Known(1)))
    return found


def _give_as(reader: Reader, item: Array, example: np.ndarray) -> None:
    """Have a new array be given back as NumPy gives it."""
    assert isinstance(item.holder, TemporaryKind)
    reader.memory.give_within(item.holder, example)


_SQUEEZED = np.cov([1.0, 2.0], [1.0, 2.0])


def extent(reader: Reader, item: Item) -> Number:
    """`np.ptp` of all floats of an array."""
    one = reductions.array_of(reader, _floats(reader, item))
    high, low = (reductions.fold(reader, name, one) for name in ("maximum", "minimum"))
    return arithmetic.binary(reader.out, "-", high, low)


def rounded(reader: Reader, item: Item, decimals: Item = Known(0)) -> Lazy:  # noqa: B008 (it never changes)
    """`np.round` of an array of floats."""
    one = _floats(reader, item)
    places = decimals.value if isinstance(decimals, Known) else None
    if type(places) is not int or not 0 <= places <= MOST_DECIMALS:
        raise NotNativeError("it rounds to many decimals")
    if places == 0:
        return elementwise.apply(reader, np.rint, one)
    scale = Known(float(10**places))
    scaled = elementwise.apply(reader, np.multiply, one, scale)
    return elementwise.apply(reader, np.divide, elementwise.apply(reader, np.rint, scaled), scale)


def converted(reader: Reader, item: Item, dtype: Item) -> Item:
    """`item.astype(dtype)`: a new array."""
    one, wanted = _array(item), making.dtype_of(dtype, FLOAT)
    lazy = elementwise.copied(reader, one)
    if lazy.dtype != wanted:
        source = one if isinstance(one, Lazy) else views.part(reader, one)
        lazy = Lazy("cast", (source.dtype, wanted), (source,), source.lengths)
    return elementwise.computed(reader, lazy)


def filled(reader: Reader, item: Item, value: Item) -> Item:
    """`item.fill(value)` of an array of floats."""
    if not isinstance(item, Array | Part):
        raise NotNativeError("it fills what is no array")
    _floats(reader, item)
    conversions.number(reader.out, value)
    reader.writes(item.holder)
    elementwise.assign(reader, views.part(reader, item), value)
    return NOTHING
