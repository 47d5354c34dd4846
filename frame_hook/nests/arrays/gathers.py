"""Elements by an array: those that indices name, or those where a mask is true, in loops that are read as nests."""

from __future__ import annotations

import numpy as np

from ufuse.frame_hook.nests.arrays import (
    arranged,
    elementwise,
    flattening,
    making,
    reductions,
    statements,
    views,
)
from ufuse.frame_hook.nests.arrays.elementwise import BOOL, is_array
from ufuse.frame_hook.nests.known.arrays import Array, Axis, Lazy, Part
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, SliceOf
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import View
from ufuse.graph.nest_types import MAP_AXES

INT = np.dtype(int)


def has_array(key: Item) -> bool:
    """Whether a key has an array in it, or a list."""
    parts = key.items if isinstance(key, Items) else (key,)
    return any(is_array(one) or isinstance(one, Listed) for one in parts)


def _with_arrays(reader: Reader, key: Item) -> Item:
    """A key whose lists are arrays, as NumPy makes them."""
    if isinstance(key, Items):
        return Items(tuple(_with_arrays(reader, one) for one in key.items))
    return making.array(reader, key) if isinstance(key, Listed) else key


def taken(reader: Reader, container: Array | Part, key: Item) -> Array:
    """`container[key]`: a new array."""
    key = _with_arrays(reader, key)
    indexed, indices = _indexed(reader, container, key)
    rest = indexed.axes[1:]
    lengths = (indices.axes[0].length, *(axis.length for axis in rest))
    fresh = statements.allocated(reader, indexed.dtype, lengths)
    _move(reader, "take", indexed, indices, views.part(reader, fresh))
    return fresh


def put(reader: Reader, container: Array | Part, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    key = _with_arrays(reader, key)
    is_mask = isinstance(key, Array | Part | Lazy) and elementwise.dtype(reader, key) == BOOL
    if is_mask and not is_array(item):
        assert isinstance(key, Array | Part | Lazy)
        _put_where(reader, views.part(reader, container), key, item)
        return
    indexed, indices = _indexed(reader, container, key)
    if indexed.holder != views.part(reader, container).holder:
        raise NotNativeError("an array is stored by a mask of several axes")
    lengths = (indices.axes[0].length, *(axis.length for axis in indexed.axes[1:]))
    values = views.part(reader, statements.allocated(reader, indexed.dtype, lengths))
    elementwise.assign(reader, values, item)
    elementwise.settle(reader)
    reader.writes(indexed.holder)
    _move(reader, "put", indexed, indices, values)


def _indexed(reader: Reader, container: Array | Part, key: Item) -> tuple[Part, Part]:
    """The part of an array whose first axis is indexed, and the indices as a vector of int64."""
    entries = list(key.items if isinstance(key, Items) else (key,))
    place = next(place for place, one in enumerate(entries) if is_array(one))
    others = entries[:place] + entries[place + 1 :]
    if views.has_slices(Items(tuple(entries[:place]))) or any(map(is_array, others)):
        raise NotNativeError("an index by arrays is not the first that leaves an axis")
    behind = entries[place + 1 :]
    if behind and (place or views.has_slices(Items(tuple(behind)))):
        raise NotNativeError("an index by an array has others around it")
    indices = entries[place]
    assert isinstance(indices, Array | Part | Lazy)
    kind = elementwise.dtype(reader, indices)
    if kind == BOOL:
        return _masked(reader, container, entries, place)
    if kind.kind not in "iu" or kind.char in "LQ":
        raise NotNativeError(f"an index by an array of {kind}")
    if kind != INT:
        source = indices if isinstance(indices, Lazy) else views.part(reader, indices)
        indices = Lazy("cast", (kind, INT), (source,), source.lengths)
    vector = reductions.row(reader, indices)
    left = views.part(reader, container)
    for one in entries[:place]:
        left = views.taken(reader, left, one)
    if behind:  # the axes behind the indexed one
        nothing = Known(None)
        left = views.taken(reader, left, Items((SliceOf(nothing, nothing, nothing), *behind)))
    views.refuse_computed_steps(left)
    if not 1 <= len(left.axes) < MAP_AXES:
        raise NotNativeError("an array with too many axes is indexed")
    return left, vector


def _masked(
    reader: Reader, container: Array | Part, entries: list[Item], place: int
) -> tuple[Part, Part]:
    """The same for a mask along an axis: the places where it is true."""
    if len(entries) > 1:
        raise NotNativeError("an index by a mask has others around it")
    given = reductions.array_of(reader, entries[place])
    left = views.part(reader, container)
    if len(given.axes) > 1:
        left, given = flattening.masked(reader, left, given)
    mask = arranged.mask_of(reader, given)
    doubt_unlike(reader.out, mask.lengths[0].value, left.lengths[0].value)
    if not 1 <= len(left.axes) < MAP_AXES:
        raise NotNativeError("an array with too many axes is indexed")
    return left, views.part(reader, arranged.places(reader, mask))


def _move(reader: Reader, op: str, indexed: Part, indices: Part, other: Part) -> None:
    """Over the axes of the other array, and the axis that is indexed."""
    rest = len(indexed.axes) - 1
    inputs = [*(axis.length.value for axis in other.axes), indexed.axes[0].length.value]
    attributes = (
        View(
            reader.array(indexed.holder),
            (None, *map(_walked, indexed.axes[1:]), _walked(indexed.axes[0])),
        ),
        View(reader.array(indices.holder), (_walked(indices.axes[0]), *[None] * (rest + 1))),
        View(reader.array(other.holder), (*map(_walked, other.axes), None)),
    )
    for part in (indexed, indices, other):
        inputs += part.places
    reader.out.write(op, *inputs, attributes=attributes)


def _walked(axis: Axis) -> tuple[int, int] | None:
    return None if axis.axis is None else (axis.axis, axis.step)


def _put_where(reader: Reader, target: Part, mask: Array | Part | Lazy, item: Item) -> None:
    """A number for all elements where a mask of the same shape is true."""
    if is_array(item) or isinstance(item, Items):
        raise NotNativeError("an array is stored by a mask")
    condition = views.part(reader, mask) if not isinstance(mask, Lazy) else mask
    if len(condition.lengths) != len(target.axes):
        raise NotNativeError("a mask has other axes than the array")
    for one, axis in zip(condition.lengths, target.axes, strict=True):
        doubt_unlike(reader.out, one.value, axis.length.value)
    kind = target.dtype
    value = elementwise.stored(reader, item, kind)
    chosen = (condition, value, target)
    lengths = target.lengths
    elementwise.assign(reader, target, Lazy("where", (BOOL, kind, kind, kind), chosen, lengths))
