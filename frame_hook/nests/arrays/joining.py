"""Arrays joined along an axis, in loops that are read as nests: `np.concatenate`, `np.hstack`, `np.vstack`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ufuse.frame_hook.nests.arrays import (
    composed,
    elementwise,
    making,
    reductions,
    statements,
    views,
)
from ufuse.frame_hook.nests.arrays.elementwise import is_array
from ufuse.frame_hook.nests.known.arrays import Array, Length, Part
from ufuse.frame_hook.nests.known.integers import doubt_unlike, plus
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, SliceOf
from ufuse.frame_hook.nests.reading.operations import AS_ROW
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I64

NOTHING: Item = Known(None)


def concatenate(reader: Reader, items: Item, axis: Item = Known(0)) -> Array:  # noqa: B008 (it never changes)
    """`np.concatenate` along an axis that is known."""
    parts = _parts(reader, items)
    ndim = len(parts[0].axes)
    if not isinstance(axis, Known) or type(axis.value) is not int or axis.value not in range(ndim):
        raise NotNativeError("it joins arrays along an axis that is not followed")
    return _joined(reader, parts, axis.value)


def hstack(reader: Reader, items: Item) -> Array:
    """`np.hstack`: of matrices along their second axis."""
    parts = _parts(reader, items)
    return _joined(reader, parts, min(len(parts[0].axes) - 1, 1))


def vstack(reader: Reader, items: Item) -> Item:
    """`np.vstack`: vectors are rows."""
    if not isinstance(items, Items | Listed) or not all(map(is_array, items.items)):
        return making.stacked(reader, items)
    parts = _parts(reader, items)
    if all(len(one.axes) == 1 for one in parts):
        return making.stacked(reader, items)
    rows = [views.taken(reader, one, NOTHING) if len(one.axes) == 1 else one for one in parts]
    return _joined(reader, rows, 0)


def _parts(reader: Reader, items: Item) -> list[Part]:
    if not isinstance(items, Items | Listed) or not items.items:
        raise NotNativeError("it joins what is no tuple of arrays")
    rows = [one if (rule := AS_ROW.rule(one)) is None else rule(reader, one) for one in items.items]
    return [reductions.array_of(reader, one, takes_complex=True) for one in rows]


def _joined(reader: Reader, parts: Sequence[Part], axis: int) -> Array:
    """A new array; its memory is in C's order, as that of all parts is."""
    first = parts[0]
    if any(len(one.axes) != len(first.axes) for one in parts):
        raise NotNativeError("it joins arrays with several numbers of axes")
    kinds = {one.dtype for one in parts}
    if len(first.axes) == 1 and len(kinds) == 1:
        return composed.concatenate(reader, Items(tuple(parts)))
    for one in parts:
        reader.keep_order(one, is_operand=True)
        for other, (length, its) in enumerate(zip(first.lengths, one.lengths, strict=True)):
            if other != axis:
                doubt_unlike(reader.out, length.value, its.value)
    ends = [reader.out.constant(I64, 0)]
    for one in parts:
        ends.append(plus(reader.out, ends[-1], one.lengths[axis].value))
    lengths = list(first.lengths)
    lengths[axis] = Length(ends[-1])
    fresh = statements.allocated(reader, np.result_type(*kinds), lengths)
    everything = SliceOf(NOTHING, NOTHING, NOTHING)
    for one, begin, end in zip(parts, ends, ends[1:], strict=False):
        part = SliceOf(Number(INT, begin), Number(INT, end), NOTHING)
        key = Items((*[everything] * axis, part))
        elementwise.assign(reader, views.taken(reader, fresh, key), one)
    elementwise.settle(reader)
    return fresh
