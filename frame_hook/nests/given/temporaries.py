"""Arrays that a nest makes, and the numbers that stand for arrays in its instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.containers import Entries, Generator, Thing
from ufuse.frame_hook.nests.known.frames import Frame
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    Holder,
    NotNativeError,
    NumberKind,
    TemporaryKind,
    ViewKind,
)
from ufuse.frame_hook.nests.known.numbers import Complex, ConstantKind, Known, Number
from ufuse.frame_hook.nests.known.values import Item
from ufuse.graph.nest import Block, Instruction, Map, View
from ufuse.graph.nest_slots import ArraySlot
from ufuse.graph.nest_types import Value
from ufuse.graph.records import record

# That hold none: those of the program's objects may be dataclasses, lists and tuples, too.
PLAIN = (Value, Known, Number, NumberKind, Complex, ConstantKind, Thing, Entries, Generator)
OTHER_ORDER = "a new array whose memory is not in C's order"
MOST_AT_ONCE = 4  # arrays that one instruction made, in as many variables


Seen = tuple[tuple[bool, int], ...]
Axes = tuple[tuple[int | None, int, bool, int], ...]
WindowKind = tuple[tuple[int, bool, bool], ...]  # as of `ViewKind`


@record
class _Made:
    prefix: str  # of the function
    position: int  # and of the instruction in it that makes it
    ordinal: int  # among those that the instruction makes


@record
class _Array(_Made):
    dtype: np.dtype
    seen: Seen
    items: NumberKind | None  # of a list: what its items are


@record
class _View(_Made):
    holder: Holder
    axes: Axes
    window: WindowKind


class Temporaries:
    """The arrays that the instructions of a loop make, and the views that variables are bound to.

    An instruction that runs again takes the same one again, unless a variable or the stack still holds it.
    `overwritten`: the local that gets another value now, and that value.
    """

    def __init__(self) -> None:
        self._arrays: list[_Array] = []
        self._views: list[_View] = []
        self._within: dict[int, str] = {}
        self._turned: set[int] = set()
        self._ordinal = 0
        self.overwritten: tuple[int, Item] | None = None

    @property
    def kinds(self) -> list[TemporaryKind]:
        """All arrays, by number."""
        return [TemporaryKind(number) for number in range(len(self._arrays))]

    def dtype(self, kind: TemporaryKind) -> np.dtype:
        """The dtype of one."""
        return self._arrays[kind.number].dtype

    def seen(self, kind: TemporaryKind) -> Seen:
        """For each of its axes whether it is known to have length 1, and how long it was seen to be at least."""
        return self._arrays[kind.number].seen

    def item_kind(self, kind: TemporaryKind) -> NumberKind | None:
        """The kind of the items of one that is a list."""
        return self._arrays[kind.number].items

    def begin(self) -> None:
        """Another instruction is read, perhaps once more."""
        self._ordinal = 0

    def array(
        self,
        frame: Frame,
        position: int,
        dtype: np.dtype,
        seen: Seen,
        items: NumberKind | None = None,
    ) -> TemporaryKind:
        """An array that is not held any more, for the instruction at a position; or a list, of such items."""
        wanted = _Array(*self._place(frame, position), dtype, seen, items)
        held = {one.number for one in self._held(frame) if isinstance(one, TemporaryKind)}
        return TemporaryKind(_free(self._arrays, wanted, held))

    def given(self, dtype: np.dtype, items: NumberKind | None) -> TemporaryKind:
        """An array that no instruction makes, as it is filled before."""
        self._arrays.append(_Array("", -1, len(self._arrays), dtype, ((False, 0),), items))
        return TemporaryKind(len(self._arrays) - 1)

    def give_within(self, kind: TemporaryKind, example: np.ndarray) -> None:
        """An array is given back as NumPy gives it: as an example, which may be a view of another array."""
        base = example.base
        if base is not None:
            self._within[kind.number] = "array" if base.ndim == example.ndim else "column"

    def is_within(self, kind: TemporaryKind) -> bool:
        """Whether an array is given back as a view."""
        return kind.number in self._within

    def keep_inside(self, kind: TemporaryKind) -> None:
        """The memory of an array is in another order than NumPy's would be."""
        self._turned.add(kind.number)

    def is_kept_inside(self, holder: Holder) -> bool:
        """Whether an array's strides would be others in NumPy."""
        return isinstance(holder, TemporaryKind) and holder.number in self._turned

    def refuse_given(self, holder: Holder) -> None:
        """Refuse to give an array back whose strides would be others.

        Raises:
            NotNativeError: they would.

        """
        if self.is_kept_inside(holder):
            raise NotNativeError(OTHER_ORDER)

    def view(
        self,
        frame: Frame,
        position: int,
        holder: Holder,
        axes: Axes,
        window: WindowKind = (),
    ) -> ViewKind:
        """A view that is not held any more, for the instruction that is read at a position."""
        wanted = _View(*self._place(frame, position), holder, axes, window)
        held = {one.number for one in self._held(frame) if isinstance(one, ViewKind)}
        return ViewKind(_free(self._views, wanted, held), holder, axes, window)

    def _place(self, frame: Frame, position: int) -> tuple[str, int, int]:
        self._ordinal += 1
        return frame.function.prefix, position, self._ordinal

    def _held(self, frame: Frame) -> Iterator[TemporaryKind | ViewKind]:
        slots = dict(frame.slots)
        items: list[Item] = []
        if self.overwritten is not None:
            slots.pop(self.overwritten[0], None)
            items = [self.overwritten[1]]
        return _kinds_in((*slots.values(), *items, *frame.stack, frame.caller))

    def slots(self) -> tuple[ArraySlot, ...]:
        """The arrays as the nest has them."""
        return tuple(
            ArraySlot(
                f".array{number}",
                made.dtype,
                len(made.seen),
                is_written=True,
                within=self._within.get(number, ""),
            )
            for number, made in enumerate(self._arrays)
        )


def _free(known: list[Any], wanted: _Made, held: set[int]) -> int:
    """The number of one that is like the wanted one and not held; perhaps a new one."""
    same = [number for number, made in enumerate(known) if made == wanted]
    found = next((number for number in same if number not in held), None)
    if found is None:
        if len(same) >= MOST_AT_ONCE:
            raise NotNativeError("too many variables hold arrays that one instruction made")
        found = len(known)
        known.append(wanted)
    return found


def _kinds_in(things: Iterable[Any]) -> Iterator[TemporaryKind | ViewKind]:
    """The kinds that items and kinds are or are part of."""
    return parts_in(things, (TemporaryKind, ViewKind))


def holders_in(things: Iterable[Any]) -> Iterator[Holder]:
    """The arrays that items and kinds are or are part of."""
    return parts_in(things, (ArrayKind, TemporaryKind))


def parts_in(things: Iterable[Any], wanted: tuple[type, ...]) -> Iterator[Any]:
    """What items and kinds are or are part of, as far as it is of these types."""
    found: list[Any] = []
    for one in things:
        _add_parts(one, wanted, found)
    return iter(found)


def _add_parts(one: Any, wanted: tuple[type, ...], found: list[Any]) -> None:
    if isinstance(one, wanted):
        found.append(one)
    if isinstance(one, tuple | list):
        for part in one:
            _add_parts(part, wanted, found)
        return
    names = getattr(type(one), "__dataclass_fields__", None)
    if names is not None and not isinstance(one, PLAIN):
        for name in names:
            _add_parts(getattr(one, name), wanted, found)


def renumbered(block: Block, new: Mapping[int, int], arrays: int, bound: dict[int, View]) -> Block:
    """A block with other numbers of arrays; the views that variables are bound to get numbers behind all arrays."""
    found = tuple(_renumbered(one, new, arrays, bound) for one in block.instructions)
    return replace(block, instructions=found)


def _renumbered(
    one: Instruction, new: Mapping[int, int], arrays: int, bound: dict[int, View]
) -> Instruction:
    attributes: tuple[Any, ...]
    match one.op, one.attributes:
        case "array", (number,):  # a number as such
            return replace(one, op="const", attributes=(new[number],))
        case "view", (number, view):
            bound.setdefault(number, _view(view, new))
            return replace(one, op="const", attributes=(arrays + list(bound).index(number),))
        case (
            "load" | "store" | "append" | "trim" | "push" | "peek" | "drop" | "dim" | "alloc",
            (number, *rest),
        ):
            attributes = (new[number], *rest)
        case "find" | "enter", numbers:
            attributes = tuple(new[number] for number in numbers)
        case (
            "fold" | "dot" | "reduce" | "matmul" | "take" | "put" | "position"
            | "scan" | "nonzero" | "sort" | "argsort" | "draws", given,
        ):  # fmt: skip
            attributes = tuple(_view(each, new) for each in given)
        case "map", (Map() as statement,):
            operands = tuple(_view(each, new) for each in statement.operands)
            target = _view(statement.target, new)
            attributes = (replace(statement, operands=operands, target=target),)
        case _:
            return one
    return replace(one, attributes=attributes)


def _view(view: Any, new: Mapping[int, int]) -> Any:
    return replace(view, array=new[view.array]) if isinstance(view, View) else view
