"""The functions that a loop is read in: its own, and those it calls, which are read in the place of the call."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.nests.known.kinds import Listing
from ufuse.frame_hook.nests.known.positions import joins
from ufuse.frame_hook.nests.known.sides import left_in_function
from ufuse.frame_hook.nests.known.values import Item, Kind
from ufuse.graph.records import record

RESULT, LOST = ".result", ".lost"  # the variables of what takes the items of a generator
HIDDEN = (RESULT, LOST)


class Function:
    """What does not change while a function is read; `prefix` begins the names of its variables and labels."""

    def __init__(
        self, code: types.CodeType, prefix: str, called: Any = None, consumer: Any = None
    ) -> None:
        self.code = code
        self.prefix = prefix
        self.called = called  # where it is called in the loop; None: the loop stands in it
        self.consumer = consumer  # of a generator: what takes its items, see `generators.py`
        self.sums: set[Kind] = set()  # what sums of its items are
        own = instructions.slot_names(code)
        self.names = own if consumer is None else (*own, *HIDDEN)
        self.hidden = frozenset(range(len(own), len(self.names)))  # slots that are always live
        # Where its cells lie: of variables that inner functions use, and of those around it.
        self.cells = frozenset(
            slot
            for slot, name in enumerate(own)
            if name in code.co_cellvars or slot >= len(own) - len(code.co_freevars)
        )
        self.own_cells = self.cells.intersection(range(len(own) - len(code.co_freevars)))
        self.table = instructions.by_position(code)
        self.live = instructions.live_locals(code)
        self.joins = joins(code)
        # Where plain Python goes on: the turn is in doubt.
        self.left: frozenset[int] = frozenset() if called is None else left_in_function(code)
        # A function of its own up to 3.11, which begins with its iterator.
        self.is_comprehension = code.co_varnames[:1] == (".0",)
        returns = [one for one in self.table.values() if one.opname in instructions.ENDS]
        self.returns_once = len(returns) == 1

    def only_cells(self, slots: Iterable[int]) -> None:
        """Cells lie in these slots alone: in others that may have some, variables do."""
        self.cells = self.cells.intersection(slots)
        self.own_cells = self.own_cells & self.cells

    def variable(self, slot: int) -> str:
        """What the names of the variables that hold a local begin with."""
        return self.prefix + self.names[slot]

    def __repr__(self) -> str:
        return f"<{self.prefix}{self.code.co_name}>"


@record
class Version:
    """A position in a function, the kinds of the live locals and of the stack, and where its caller goes on."""

    function: Function
    position: int
    locals: tuple[tuple[int, Kind], ...]
    stack: tuple[Kind, ...]
    caller: Version | None
    unique: frozenset[int] = frozenset()  # of locals, as of `Frame`
    listed: frozenset[tuple[int, Listing]] = frozenset()  # the same

    @property
    def place(self) -> tuple[str, int]:
        """Where it is in the program: the same for all versions of it."""
        return self.function.prefix, self.position


def without_attributes(version: Version) -> Version:
    """The version of a caller: what is called has the attributes that are bound to other arrays, see `fields.py`."""
    return replace(version, locals=tuple(one for one in version.locals if one[0] >= 0))


def attributes_in(slots: dict[int, Kind]) -> dict[int, Kind]:
    """These attributes, among the variables of a function."""
    return {slot: kind for slot, kind in slots.items() if slot < 0}


@dataclass(slots=True)
class Frame:
    """A function being read: its locals and its stack as they are, and attributes, see `fields.py`.

    `unique`: slots of locals whose objects nothing else has; `listed`: of those that are items of a list, of which the
    loop that has given them still stands at the next one. See `identity.py`.
    """

    function: Function
    slots: dict[int, Kind]
    stack: list[Item]
    caller: Version | None = None
    unique: set[int] = field(default_factory=set)
    listed: dict[int, Listing] = field(default_factory=dict)


def is_filled(cell: types.CellType) -> bool:
    """Whether there is something in a cell."""
    try:
        cell.cell_contents  # noqa: B018  raises where there is nothing
    except ValueError:
        return False
    return True
