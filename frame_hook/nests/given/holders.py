"""The arrays, lists and generators that a loop uses: numbers that stand for them, and what is known of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ufuse.frame_hook.nests.given import growing
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.given.temporaries import OTHER_ORDER, Temporaries
from ufuse.frame_hook.nests.known.arrays import Part
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.containers import Generating
from ufuse.frame_hook.nests.known.kinds import (
    ELEMENT_KINDS,
    INT,
    ArrayKind,
    ColumnKind,
    Holder,
    NotNativeError,
    NumberKind,
    TemporaryKind,
)
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.trace.layouts import memory_order
from ufuse.graph.nest_types import ELEMENTS, I64


class Holders:
    """What the instructions of a loop read and write, beside variables.

    `used` are slots of the frame, and registers with what is taken from outside; `stored` those of arrays that are
    written, `ordered` those of arrays whose axes must lie in memory in order, `contiguous` without gaps, too; `drawn`
    are registers of generators.
    `kept_arrays` are arrays that lists have as rows while they have other names, `changed_arrays` those that are
    written as the program says; `shared_lists` have items that something else may have, too, see `identity.py`.
    """

    def __init__(self, state: tuple[Any, ...], outside: Outside) -> None:
        self.state, self.outside = state, outside
        self.out = Code()
        self.memory = Temporaries()
        self.lists = growing.Lists()
        self.numbers: dict[Holder | ColumnKind, int] = {}
        self.used: set[int] = set()
        self.stored: set[int] = set()
        self.ordered: set[int] = set()
        self.contiguous: set[int] = set()
        self.kept_arrays: set[Holder] = set()
        self.changed_arrays: set[Holder] = set()
        self.shared_lists: set[Holder] = set()
        self.drawn: set[int] = set()

    def array(self, holder: Holder) -> int:
        """The number of an array; in order of first use until the nest is finished."""
        if isinstance(holder, ArrayKind) and holder.slot in self.outside.sequences:
            self.lists.read.add(holder.slot)
        return self.number(holder)

    def number(self, holder: Holder | ColumnKind) -> int:
        """The number of an array that is not read."""
        if not isinstance(holder, TemporaryKind):
            self.used.add(holder.slot)
        return self.numbers.setdefault(holder, len(self.numbers))

    def given(self, slot: int) -> Any:
        """The array in a slot of the frame, or in a register with what is taken from outside."""
        return self.outside.arrays[slot][1] if slot in self.outside.arrays else self.state[slot]

    def dtype(self, holder: Holder) -> np.dtype:
        """The dtype of an array."""
        if isinstance(holder, ArrayKind):
            dtype: np.dtype = self.given(holder.slot).dtype
            return dtype
        return self.memory.dtype(holder)

    def seen(self, holder: Holder) -> tuple[tuple[bool, int], ...]:
        """For each axis of an array whether it is taken to have length 1, and how long it was seen to be at least."""
        if isinstance(holder, ArrayKind):
            seen = tuple((length == 1, length) for length in self.given(holder.slot).shape)
            is_column = holder.slot in self.outside.owners  # a list may get longer
            return ((False, seen[0][1]), *seen[1:]) if is_column else seen
        return self.memory.seen(holder)

    def keep_order(self, part: Part, *, is_operand: bool = False) -> None:
        """Rely on it that the axes of a view lie in memory in their order.

        Those of length 1 of an operand have no say in the order of the result.
        """
        axes = [
            one.axis
            for one in part.axes
            if one.axis is not None and not (is_operand and one.length.is_one)
        ]
        if axes != sorted(axes):
            raise NotNativeError(OTHER_ORDER)
        if isinstance(part.holder, ArrayKind) and len(axes) > 1:
            array = self.given(part.holder.slot)
            if memory_order(array) != tuple(range(array.ndim)):
                raise NotNativeError(OTHER_ORDER)
            self.ordered.add(part.holder.slot)

    def keep_contiguous(self, part: Part) -> None:
        """Rely on it, too, that the array fills its memory in the order of its axes."""
        self.keep_order(part)
        if isinstance(part.holder, ArrayKind):
            if not self.given(part.holder.slot).flags.c_contiguous:
                raise NotNativeError(OTHER_ORDER)
            self.ordered.add(part.holder.slot)
            self.contiguous.add(part.holder.slot)

    @staticmethod
    def element_kind(dtype: np.dtype) -> NumberKind:
        """The kind of an array's elements."""
        type_ = ELEMENTS.get(dtype)
        if type_ is None:
            raise NotNativeError(f"elements of {dtype} are not compiled yet")
        return ELEMENT_KINDS[type_]

    def item_kind(self, holder: Holder) -> NumberKind:
        """The kind of an array's elements, or of a list's items."""
        if isinstance(holder, ArrayKind) and holder.slot in self.outside.lists:
            return self.outside.lists[holder.slot].type
        made = self.memory.item_kind(holder) if isinstance(holder, TemporaryKind) else None
        return made or self.element_kind(self.dtype(holder))

    def drawn_from(self, method: Generating) -> str:
        """The slot of the generator from which a method draws."""
        register = method.owner.register
        self.drawn.add(register)
        return self.outside.generators[register].name

    def writes(self, holder: Holder) -> None:
        """An array is written that the program knows."""
        self.changed_arrays.add(holder)
        if isinstance(holder, ArrayKind):
            self.stored.add(holder.slot)

    def length(self, holder: Holder, axis: int) -> Number:
        """The length of an axis."""
        return Number(INT, self.out.op("dim", I64, attributes=(self.array(holder), axis)))
