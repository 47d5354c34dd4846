"""`np.pad` in loops that are read as nests: a new array, and statements that fill its middle and its edges.

As in NumPy the edges along an axis are made of what those along the axes before have become.
"""

from __future__ import annotations

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, reductions, statements, views
from ufuse.frame_hook.nests.arrays.composed import EVERYTHING, NOTHING
from ufuse.frame_hook.nests.known.arrays import Array, Length, Part
from ufuse.frame_hook.nests.known.integers import minus, plus
from ufuse.frame_hook.nests.known.kinds import INT, NP_INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, SliceOf
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value
from ufuse.graph.records import record

BACKWARDS = SliceOf(NOTHING, NOTHING, Known(-1))
CONSTANT = Known("constant")
# For a mode: whether it mirrors, and how many elements at the edge it leaves out.
MODES: dict[str, tuple[bool, int]] = {
    "wrap": (False, 0),
    "symmetric": (True, 0),
    "reflect": (True, 1),
}


@record
class _Edges:
    """Along an axis: how much comes before the middle and behind it, and where the middle begins and ends."""

    before: Value
    behind: Value
    length: Value
    end: Value


def pad(
    reader: Reader,
    item: Item,
    pad_width: Item,
    mode: Item = CONSTANT,
    *,
    constant_values: Item | None = None,
) -> Array:
    """`np.pad` with a constant, with the elements at the edges, or with others in their order or mirrored."""
    name = mode.value if isinstance(mode, Known) else None
    if name not in ("constant", "edge", *MODES) or (constant_values and name != "constant"):
        raise NotNativeError("such an np.pad is not compiled yet")
    if not isinstance(item, Array | Part) and not elementwise.is_array(item):
        raise NotNativeError("np.pad of what is no array")
    one = reductions.array_of(reader, item)
    reader.keep_order(one)
    edges = [
        _edges(reader, *pair, length.value)
        for pair, length in zip(_widths(reader, pad_width, len(one.axes)), one.lengths, strict=True)
    ]
    out = reader.out
    fresh = statements.allocated(
        reader, one.dtype, [Length(plus(out, each.end, each.behind)) for each in edges]
    )
    whole = views.part(reader, fresh)
    middle = [_part(each.before, each.end) for each in edges]
    if name == "constant":
        value = Known(0) if constant_values is None else _constant(constant_values, one.dtype)
        elementwise.assign(reader, whole, value)
    elementwise.assign(reader, views.taken(reader, whole, Items(tuple(middle))), one)
    if name != "constant":
        for axis, each in enumerate(edges):
            _fill(reader, name, whole, each, axis, middle)
    return fresh


def _constant(item: Item, kind: np.dtype) -> Item:
    """What the edges are: a number that an array of this dtype has as it is."""
    fits = isinstance(item, Known) and (
        type(item.value) is int if kind.kind == "i" else type(item.value) in (int, float)
    )
    if not fits or kind not in (np.dtype(float), np.dtype(int)):
        raise NotNativeError("np.pad with such a constant is not compiled yet")
    return item


def _widths(reader: Reader, item: Item, axes: int) -> list[tuple[Value, Value]]:
    """How much comes before each axis and behind it: a number for all, a pair for all, or a pair for each."""
    if not isinstance(item, Items | Listed):
        one = _width(reader, item)
        return [(one, one)] * axes
    pairs = item.items
    if not any(isinstance(one, Items | Listed) for one in pairs):
        pairs = (item,)
    found = []
    for pair in pairs:
        if not isinstance(pair, Items | Listed) or len(pair.items) != 2:
            raise NotNativeError("np.pad with such widths is not compiled yet")
        before, behind = (_width(reader, one) for one in pair.items)
        found.append((before, behind))
    if len(found) not in (1, axes):
        raise NotNativeError("np.pad with such widths is not compiled yet")
    return found * axes if len(found) == 1 else found


def _width(reader: Reader, item: Item) -> Value:
    out, one = reader.out, conversions.number(reader.out, item)
    if one.type not in (INT, NP_INT):
        raise NotNativeError("np.pad with such widths is not compiled yet")
    value = conversions.as_i64(out, one)
    known = out.known(value)
    if known is None or known < 0:
        out.doubt_if(out.op("ilt", I1, value, out.constant(I64, 0)))
    return value


def _edges(reader: Reader, before: Value, behind: Value, length: Value) -> _Edges:
    return _Edges(before, behind, length, plus(reader.out, before, length))


def _fill(
    reader: Reader, name: str, whole: Part, edges: _Edges, axis: int, middle: list[SliceOf]
) -> None:
    """Fill what comes before the middle along an axis, and behind it."""
    out = reader.out
    zero, one = out.constant(I64, 0), out.constant(I64, 1)
    total = plus(out, edges.end, edges.behind)
    first, last = (Number(INT, each) for each in (edges.before, minus(out, edges.end, one)))
    if name == "edge":
        _doubt_beyond(reader, one, edges.length)
        given = [_slab(reader, whole, (place, NOTHING), axis, middle) for place in (first, last)]
    else:
        given = _others(reader, name, whole, edges, axis, middle)
    for source, bounds in zip(given, ((zero, edges.before), (edges.end, total)), strict=True):
        target = _slab(reader, whole, (_part(*bounds),), axis, middle)
        elementwise.assign(reader, target, source)


def _others(
    reader: Reader, name: str, whole: Part, edges: _Edges, axis: int, middle: list[SliceOf]
) -> list[Part]:
    """What lies before the middle and behind it, as it stands in the middle or mirrored."""
    mirrors, left_out = MODES[name]
    out = reader.out
    out_of_it = out.constant(I64, left_out)
    _doubt_beyond(reader, out.constant(I64, 1), edges.length)
    for width in (edges.before, edges.behind):
        _doubt_beyond(reader, width, minus(out, edges.length, out_of_it))
    begin, end = plus(out, edges.before, out_of_it), minus(out, edges.end, out_of_it)
    near_begin = _part(begin, plus(out, begin, edges.before if mirrors else edges.behind))
    near_end = _part(minus(out, end, edges.behind if mirrors else edges.before), end)
    parts = (near_begin, near_end) if mirrors else (near_end, near_begin)
    given = [_slab(reader, whole, (one,), axis, middle) for one in parts]
    if mirrors:
        turned = Items((*[EVERYTHING] * axis, BACKWARDS))
        given = [_taken(reader, one, turned) for one in given]
    return given


def _doubt_beyond(reader: Reader, width: Value, most: Value) -> None:
    """NumPy repeats what is too short, and raises for nothing."""
    reader.out.doubt_if(reader.out.op("igt", I1, width, most))


def _part(start: Value, stop: Value) -> SliceOf:
    return SliceOf(Number(INT, start), Number(INT, stop), NOTHING)


def _slab(
    reader: Reader, whole: Part, key: tuple[Item, ...], axis: int, middle: list[SliceOf]
) -> Part:
    """All along the axes before, the middle along those behind."""
    return _taken(reader, whole, Items((*[EVERYTHING] * axis, *key, *middle[axis + 1 :])))


def _taken(reader: Reader, part: Part, key: Items) -> Part:
    found = views.taken(reader, part, key)
    assert isinstance(found, Part)
    return found
