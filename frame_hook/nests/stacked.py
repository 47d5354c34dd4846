"""Attributes of listed objects that are arrays: those of all items are one array, with an axis more in front.

What an item has there is a part of that array, so all that is done with parts is done with it. Only its memory is
known: it is not given to the frame as an object. See `csrc/nest/stacked.c` for what else may share that memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ufuse.frame_hook.nests.integers import doubt_unlike, wrapped
from ufuse.frame_hook.nests.values import (
    Array,
    ArrayKind,
    Holder,
    Item,
    Member,
    NotNativeError,
    array_kind,
)
from ufuse.graph.nest import MAP_AXES

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.outside import Outside
    from ufuse.frame_hook.nests.reader import Reader


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


def is_stacked(outside: Outside, holder: object) -> bool:
    """Whether an array is one of what listed objects have."""
    return isinstance(holder, ArrayKind) and holder.slot in outside.stacks


def part(column: ArrayKind, owner: Member) -> Array:
    """What an item has."""
    return Array(column, (owner.index,))


def store(reader: Reader, owner: Member, column: ArrayKind, item: Item) -> None:
    """Set an attribute to the array that it is, as `owner.u += x` does."""
    text = reader.outside.text(column.slot)
    if not isinstance(item, Array) or item.holder != column or len(item.indices) != 1:
        raise NotNativeError(f"the attribute {text} is bound to what is another array", later=True)
    if item.indices[0] != owner.index:  # it was kept across a jump
        there = reader.length(column, 0).value
        places = (wrapped(reader.out, one, there) for one in (*item.indices, owner.index))
        doubt_unlike(reader.out, *places)


def refuse_as_object(outside: Outside, holder: Holder, name: str) -> None:
    """Refuse to give the frame, or a caller, an array that an item has.

    Raises:
        NotNativeError: it is one.

    """
    if is_stacked(outside, holder):
        raise NotNativeError(f"{name} is bound to an array that an object in a list has")


def refuse_shared(reader: Reader) -> None:
    """Refuse a loop that writes arrays which may not be written, or share memory with another: C would decline it.

    Raises:
        NotNativeError: some do so now.

    """
    outside, stored = reader.outside, reader.stored
    stacks = {slot: values for slot, values in outside.stacks.items() if slot in reader.used}
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
