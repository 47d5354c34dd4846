"""Attributes of listed objects that are arrays: those of all items are one array, with an axis more in front.

What an item has there is a part of that array, so all that is done with parts is done with it. Only its memory is
known: it is not given to the frame as an object. `csrc/nest/containers/stacked.c` says what else may share that memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, views
from ufuse.frame_hook.nests.given.temporaries import holders_in
from ufuse.frame_hook.nests.known.arrays import Array, ArrayItem, Axis, Lazy, Length, Member, Part
from ufuse.frame_hook.nests.known.integers import doubt_unlike, wrapped
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    Holder,
    NotNativeError,
    TemporaryKind,
    array_kind,
)
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, MAP_AXES


def why_not_stacked(values: Sequence[Any]) -> str | None:
    """Why arrays cannot be one, in words that go behind the attribute's name."""
    first = values[0]
    if any(type(one) is not np.ndarray for one in values):
        return "of what are not all arrays"
    if array_kind(0, first) is None or first.ndim == MAP_AXES:
        return "of arrays of a dtype that is not followed, or of many axes"
    if any(one.dtype != first.dtype for one in values):
        return "of arrays of several dtypes"
    if any(one.shape != first.shape for one in values):
        return "of arrays of several shapes"
    if any(not (one.flags.c_contiguous and one.flags.aligned) for one in values):
        return "of arrays with gaps in memory, or in another order"
    return None


def part(column: ArrayKind, owner: Member) -> Array:
    """What an item has."""
    return Array(column, (owner.index,))


def store(reader: Reader, owner: Member, column: ArrayKind, item: Item, name: str) -> None:
    """`owner.name = item`: the array that it is, as by `owner.name += x`, or a new one."""
    text = reader.outside.text(column.slot)
    if isinstance(item, Array) and item.holder == column and len(item.indices) == 1:
        if item.indices[0] != owner.index:  # it was kept across a jump
            there = reader.length(column, 0).value
            places = (wrapped(reader.out, one, there) for one in (*item.indices, owner.index))
            doubt_unlike(reader.out, *places)
        return
    if not isinstance(item, Array | Part | Lazy):
        raise NotNativeError(f"the attribute {text} changes its type", later=True)
    if not _is_new(reader, item):
        raise NotNativeError(f"the attribute {text} is bound to an array with another name")
    _bind(reader, owner, column, item, name)


def _is_new(reader: Reader, item: ArrayItem) -> bool:
    """Whether nobody else has an array, and it is no view."""
    if isinstance(item, Lazy):
        return True
    return (
        isinstance(item, Array)
        and isinstance(item.holder, TemporaryKind)
        and not item.indices
        and not reader.memory.is_within(item.holder)
        and not _is_held(reader, item.holder)
    )


def _is_held(reader: Reader, holder: Holder) -> bool:
    """Whether a local that is still needed, or the stack, has an array or a part of it."""
    frame = reader.frame
    function = frame.function
    always = reader.changed if frame.caller is None else function.hidden
    live = function.live[reader.next]
    locals_ = [
        kind for slot, kind in frame.slots.items() if slot < 0 or slot in live or slot in always
    ]
    return holder in holders_in((*locals_, *reader.stack, frame.caller))


def _bind(reader: Reader, owner: Member, column: ArrayKind, item: ArrayItem, name: str) -> None:
    """Have an item get a new array: what the nest has for it is what that has from now on."""
    text = reader.outside.text(column.slot)
    elementwise.settle(reader)
    if _is_held(reader, column):
        raise NotNativeError(f"the attribute {text} is bound anew while its array is still used")
    target = views.part(reader, part(column, owner))
    one = item if isinstance(item, Lazy) else views.part(reader, item)
    lengths = [(there.length.is_one, length.is_one) for there, length in _pairs(target, one)]
    if (
        one.dtype != target.dtype
        or len(one.lengths) != len(target.axes)
        or (False, True) in lengths
    ):
        raise NotNativeError(f"the attribute {text} gets an array of another dtype or shape")
    for there, length in _pairs(target, one):
        doubt_unlike(reader.out, there.length.value, length.value)
    if isinstance(one, Lazy):
        elementwise.keep_orders(reader, one)
    is_stored = column.slot in reader.stored
    elementwise.assign(reader, target, one)
    if not is_stored:  # what is written is copied into a new array
        reader.stored.discard(column.slot)
    known = reader.outside.objects[owner.holder.slot]
    marks = ArrayKind(reader.outside.marks(known, name))
    reader.writes(marks)
    reader.out.store(reader.array(marks), owner.index, reader.out.constant(I1, True))


def _pairs(target: Part, one: Part | Lazy) -> list[tuple[Axis, Length]]:
    return list(zip(target.axes, one.lengths, strict=False))


def refuse_shared(reader: Reader) -> None:
    """Refuse a loop that writes arrays which may not be written, or share memory with another: C would decline it.

    Raises:
        NotNativeError: some do so now.

    """
    outside, stored = reader.outside, reader.stored
    stacks = {slot: values for slot, values in outside.stacks.items() if slot in reader.used}
    if not stacks:
        return
    for slot in sorted(stacks.keys() & stored):
        if not all(one.flags.writeable for one in stacks[slot]):
            text = outside.text(slot)
            raise NotNativeError(f"it changes {text}, of which one is read-only", later=True)
    others = {
        slot: [array]
        for slot in reader.used
        if slot not in outside.owners and type(array := _given(reader, slot)) is np.ndarray
    }
    extents = sorted(
        (*np.lib.array_utils.byte_bounds(one), slot)
        for slot, arrays in (stacks | others).items()
        for one in arrays
        if one.size
    )
    # So far; of those that are stacked, and those that are written.
    ends: dict[tuple[bool, bool], int] = {}
    for begin, end, slot in extents:
        kind = slot in stacks, slot in stored
        for other, past in ends.items():
            if begin < past and (kind[0] or other[0]) and (kind[1] or other[1]):
                raise NotNativeError(
                    "arrays that objects in a list have share memory with what changes", later=True
                )
        ends[kind] = max(end, ends.get(kind, 0))


def _given(reader: Reader, slot: int) -> Any:
    """What lies in a slot of the frame, or a register."""
    known = slot in reader.outside.arrays or slot < len(reader.state)
    return reader.given(slot) if known else None
