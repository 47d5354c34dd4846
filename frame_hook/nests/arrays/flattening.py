"""Arrays of several axes as vectors, row by row, in loops that are read as nests: `flatten`, `ravel`, a mask of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ufuse.frame_hook.nests.arrays import elementwise, reductions, statements, views
from ufuse.frame_hook.nests.arrays.elementwise import is_array
from ufuse.frame_hook.nests.known.arrays import Array, Axis, Lazy, Length, Part
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64


def in_rows(reader: Reader, one: Part | Lazy) -> Array:
    """The elements of an array, or of an expression, as a new vector, the last axis first."""
    out = reader.out
    axes: list[Axis] = []
    step = out.constant(I64, 1)
    for length in reversed(one.lengths):
        axes.insert(0, Axis(length, 0, computed=step if axes else None))
        step = out.op("mul", I64, step, length.value)
    fresh = statements.allocated(reader, one.dtype, [Length(step)])
    target = replace(views.part(reader, fresh), axes=tuple(axes))
    elementwise.assign(reader, target, one)
    return fresh


def flatten(reader: Reader, item: Item) -> Item:
    """The method `flatten`, which copies."""
    return in_rows(reader, reductions.array_of(reader, _several_axes(reader, item)))


def ravel(reader: Reader, item: Item) -> Item:
    """`ravel` of a part of an array: what lies without gaps would be a view, and is a doubt."""
    found = _several_axes(reader, item)
    if isinstance(found, Lazy):
        raise NotNativeError("ravel of an expression")
    one = views.part(reader, found)
    if any(axis.axis is None or axis.step != 1 or axis.computed is not None for axis in one.axes):
        raise NotNativeError("ravel of what has other steps")
    reader.keep_contiguous(one)
    _doubt_without_gaps(reader, one)
    return in_rows(reader, reductions.array_of(reader, one))


def masked(reader: Reader, container: Array | Part, mask: Item) -> tuple[Part, Part]:
    """An array and a mask of its shape as vectors, from which a mask picks what it picks of the array."""
    condition, given = reductions.array_of(reader, mask), views.part(reader, container)
    views.refuse_computed_steps(given)
    _doubt_unlike_shapes(reader, condition.lengths, given.lengths)
    vectors = (in_rows(reader, reductions.array_of(reader, one)) for one in (given, condition))
    elements, chosen = (views.part(reader, one) for one in vectors)
    return elements, chosen


def _doubt_unlike_shapes(
    reader: Reader, lengths: Sequence[Length], others: Sequence[Length]
) -> None:
    if len(lengths) != len(others):
        raise NotNativeError("a mask has other axes than the array")
    for one, other in zip(lengths, others, strict=True):
        if one.value != other.value:
            differs = reader.out.op("ine", I1, one.value, other.value)
            reader.out.doubt_if(differs)


def _several_axes(reader: Reader, item: Item) -> Array | Part | Lazy:
    if not is_array(item):
        raise NotNativeError("it flattens what is no array")
    assert isinstance(item, Array | Part | Lazy)
    lengths = item.lengths if isinstance(item, Lazy) else views.part(reader, item).lengths
    if len(lengths) < 2:
        raise NotNativeError("it flattens what has one axis")
    return item


def _doubt_without_gaps(reader: Reader, one: Part) -> None:
    """A part of an array that has no gaps has some where its rows are several, and shorter than the array's."""
    out, last = reader.out, one.axes[-1]
    if last.axis != len(reader.seen(one.holder)) - 1:
        raise NotNativeError("ravel of a part without the last axis")
    assert last.axis is not None
    zero = out.constant(I64, 0)
    rows = out.constant(I64, 1)
    for axis in one.axes[:-1]:
        rows = out.op("mul", I64, rows, axis.length.value)
    most = reader.length(one.holder, last.axis).value
    out.doubt_if(out.op("ile", I1, rows, out.constant(I64, 1)))
    out.doubt_if(out.op("ile", I1, last.length.value, zero))
    out.doubt_if(out.op("ile", I1, most, last.length.value))
