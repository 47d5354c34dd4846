"""Lists of the program that a loop appends to: what each gets, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known.arrays import Table
from ufuse.frame_hook.nests.known.kinds import ArrayKind, ColumnKind, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.ragged_shapes import is_of_lists
from ufuse.graph.nest_slots import ArraySlot, Column, ListSlot
from ufuse.graph.records import record

MOST_COLUMNS = 8  # as in C


@record
class Growth:
    """What a list gets: numbers, tuples of numbers, or arrays of so many axes."""

    kinds: tuple[NumberKind, ...]
    has_tuples: bool
    axes: int = 0


@dataclass(slots=True)
class Lists:
    """What a loop does with lists, by the registers that they are in."""

    grown: dict[int, Growth] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    walked: set[int] = field(default_factory=set)  # by inner loops
    sliced: set[int] = field(default_factory=set)  # of which slices are gone over

    def columns(self) -> list[ArrayKind | ColumnKind]:
        """The columns of all lists that grow, in order."""
        return [column(slot, i) for slot in sorted(self.grown) for i in range(self._count(slot))]

    def _count(self, slot: int) -> int:
        return len(self.grown[slot].kinds)

    def temporaries(self) -> tuple[ArraySlot, ...]:
        """These columns as the nest has them."""
        return tuple(
            ArraySlot(f".list{slot}.{i}", kind.dtype, 1, is_written=True)
            for slot in sorted(self.grown)
            for i, kind in enumerate(self.grown[slot].kinds)
        )

    def slot(self, name: str, slot: int, first: int) -> ListSlot:
        """A list that grows as the nest has it; `first` is the number of the first column of all."""
        growth = self.grown[slot]
        before = sum(self._count(other) for other in self.grown if other < slot)
        columns = tuple(
            Column(first + before + i, kind.kind, kind.numpy) for i, kind in enumerate(growth.kinds)
        )
        return ListSlot(name, columns, growth.has_tuples, slot in self.read, growth.axes)

    def check(self, outside: Outside, stored: set[int]) -> None:
        """See whether all that is done with lists goes together.

        Raises:
            NotNativeError: it does not.

        """
        changed = self.grown.keys() | (stored & outside.lists.keys())
        for slot in sorted(self.read - outside.lists.keys() - self.grown.keys()):
            raise NotNativeError(
                f"{outside.text(slot)} is a list whose items are not numbers of one type"
            )
        for slot in sorted(changed):
            self._check_change(outside, slot, slot in stored)

    def _check_change(self, outside: Outside, slot: int, is_stored: bool) -> None:
        name, value = outside.text(slot), outside.sequences[slot]
        if any(other is value for at, other in outside.sequences.items() if at != slot):
            raise NotNativeError(
                f"it changes the list {name}, which it knows by another name, too", later=True
            )
        if isinstance(outside.lists.get(slot), Table) and (why := why_not_changed(outside, slot)):
            raise NotNativeError(why, later=True)
        if slot in self.sliced:
            raise NotNativeError(f"it goes over a slice of the list {name}, which changes")
        if slot not in self.grown:
            return
        if is_stored:
            raise NotNativeError(f"it appends to the list {name}, and stores into it")
        if slot in self.walked:
            raise NotNativeError(f"it goes over the list {name}, which grows")
        growth = self.grown[slot]
        known = outside.lists.get(slot)
        if slot in self.read and (
            growth.has_tuples or growth.axes or known is None or (known.type,) != growth.kinds
        ):
            raise NotNativeError(f"{name} is a list whose items are not numbers of one type")


def column(slot: int, number: int) -> ArrayKind | ColumnKind:
    """One of the columns of a list that grows; the first is the list's own holder."""
    return ColumnKind(slot, number) if number else ArrayKind(slot)


def why_not_changed(outside: Outside, slot: int) -> str | None:
    """Why the numbers of a table may not be changed: some of its rows has another name."""
    rows: Sequence[object] = outside.sequences[slot]
    name = outside.text(slot)
    known = {id(one) for one in rows}
    if len(known) < len(rows):
        return f"it changes the list {name}, of which two rows are one list"
    for at, other in outside.sequences.items():
        of_other = other if is_of_lists(other) else ()
        if at != slot and (id(other) in known or not known.isdisjoint(map(id, of_other))):
            return f"it changes rows of the list {name}, which it knows by another name, too"
    return None
