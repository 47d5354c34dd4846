"""What reads a loop, as the rules of opcodes, functions and methods see it: its state, and what they may ask of it."""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.nests.given.holders import Holders
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.given.temporaries import Axes, Seen, WindowKind
from ufuse.frame_hook.nests.known.frames import Frame, Function, Version
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    Holder,
    NumberKind,
    TemporaryKind,
    ViewKind,
)
from ufuse.frame_hook.nests.known.numbers import ConstantKind, Known, Number
from ufuse.frame_hook.nests.known.positions import loop_positions
from ufuse.frame_hook.nests.known.recursive import Recursion
from ufuse.frame_hook.nests.known.tries import Tries
from ufuse.frame_hook.nests.known.values import Item, Kind, SlotKind, Turning
from ufuse.frame_hook.nests.known.ways import DOUBT, Exit, Outermost
from ufuse.frame_hook.trace import symbols
from ufuse.graph.nest_slots import Slot


class Reader(Holders, ABC):
    """What reads the loop whose header stands at a position; `loop_reader.py` has how.

    Slots are those of the frame. Of these `kinds` are what the frame brings, `changed` those whose new values it gets
    back, `written` those that the loop binds, `nothing` those that begin with None, and `begins_empty` those without a
    value, which get a number in some turn. `cells` are the registers of what lies in cells that it writes, `tuples`
    those of the items of tuples. `made` are kinds of numbers that the nest makes for exits, by slot; `made_members` the
    same of items of lists of objects. `viewed`: slots of array variables that may be views.
    """

    def __init__(
        self,
        code: types.CodeType,
        position: int,
        state: tuple[Any, ...],
        outside: Outside,
        tries: Tries,
    ) -> None:
        super().__init__(state, outside)
        self.own = Function(code, "")
        self.told = code  # what people know it as
        self.position = position
        self.region = loop_positions(code, position)
        self.tries = self.begun = tries  # which it learns, and which it has begun with
        self.frame = Frame(self.own, {}, [])
        self.at: Instruction = self.own.table[position]  # being read
        self.next = position  # where to read on
        self.keywords: tuple[str, ...] = ()  # of the call that follows
        self.outermost: Outermost | None = None
        self.is_while = False
        self.written: frozenset[int] = frozenset()
        self.written_cells: frozenset[int] = frozenset()
        self.begins_empty: frozenset[int] = frozenset()
        self.kinds: dict[int, SlotKind] = {}
        self.changed: frozenset[int] = frozenset()
        self.made: dict[str, str] = {}
        self.made_members: dict[str, ArrayKind] = {}
        self.nothing: dict[int, ConstantKind] = {}
        self.tuples: dict[int, tuple[int, ...]] = {}
        self.cells: dict[int, int] = {}
        self.viewed: set[int] = set()
        self.left: set[Version] = set()  # where it is left by an exit
        self.exits: list[Exit] = []
        self.labels: dict[Version, str] = {}  # of the versions that are read, or wait
        self.functions: dict[tuple[Any, ...], Function] = {}  # that are called
        self.recursion = Recursion()
        self.turn_items: dict[int, tuple[Known, str]] = {}  # by identity; of which loops
        self.unrolls = False
        self.has_sums = False  # of generators
        self.has_arrivals = False  # numbers are of kinds with which frames come to the loop
        self.is_long = False  # some statement is over many elements
        self.reads_neighbours = False  # some statement reads or writes several parts of one array
        self.doubts = False
        self.has_unknown = False  # it makes a list of which it is not known whether it gets items
        self._bodies = 0  # of inner loops
        self.reading: Version | None = None  # what control came to the block with
        # Where lists, dicts and sets are made, by their sites, and unrolled loops begin, by their names.
        self.makers: dict[str, list[Version]] = {}

    @property
    def code(self) -> types.CodeType:
        """The code being read."""
        return self.frame.function.code

    @property
    def stack(self) -> list[Item]:
        """The stack of the function being read."""
        return self.frame.stack

    @stack.setter
    def stack(self, stack: list[Item]) -> None:
        self.frame.stack = stack

    @property
    def slots(self) -> dict[int, Kind]:
        """The kinds of its locals."""
        return self.frame.slots

    def on_stack(self, depth: int) -> Item:
        """What stands on the stack, `depth` from its top, also below the iterator of the outermost loop."""
        if depth <= len(self.stack):
            return self.stack[-depth]
        return self.outside.local(len(self.state) + len(self.stack) - depth)

    def global_value(self, name: str) -> Item:
        """A global, guarded."""
        return self.outside.name(self.frame.function.called, name)

    def temporary(
        self, dtype: np.dtype, seen: Seen = ((False, 0),), items: NumberKind | None = None
    ) -> TemporaryKind:
        """A new array for the instruction that is being read; or a list, of such items."""
        return self.memory.array(self.frame, self.at.position, dtype, seen, items)

    def new_view(self, holder: Holder, axes: Axes, window: WindowKind = ()) -> ViewKind:
        """A view for variables that the instruction that is being read binds."""
        return self.memory.view(self.frame, self.at.position, holder, axes, window)

    def making(self) -> str:
        """The name of the place where a list, dict or set is made: the instruction that is being read."""
        site = f"{self.frame.function.prefix}{self.at.position}"
        self.note_maker(site)
        return site

    def note_maker(self, site: str) -> None:
        """Note what control came to the block with in which something is made, or an unrolled loop begins."""
        makers = self.makers.setdefault(site, [])
        if self.reading is not None and self.reading not in makers:
            makers.append(self.reading)

    def numbers_given(self) -> list[Number]:
        """The arguments of a whole call that are numbers: what it gives may be one of these objects."""
        return []

    def gives_back(self) -> bool:
        """Whether the program gets what the instruction that is being read gives, and this loop does no more."""
        return False

    def results(self) -> list[Slot]:
        """The slots of what a whole call gives."""
        return []

    # Blocks ---------------------------------------------------------------------------------------------------

    def new_label(self) -> str:
        """A label for a block that nobody else leads to."""
        self._bodies += 1
        return f"turn{self._bodies}"

    def go_to_doubt(self) -> None:
        """End the block: the turn is left to plain Python."""
        self.doubts = True
        self.out.end("jump", DOUBT)

    def jump(self, position: int) -> None:
        """End the block: control goes on at a position."""
        self.out.end("jump", self.target(position))

    @abstractmethod
    def target(self, position: int) -> str:
        """The label where control goes on with the variables and the stack as they are; sets what the stack holds."""

    @abstractmethod
    def version(self, position: int) -> Version:
        """What the function being read comes to a position with; sets what its stack holds."""

    @abstractmethod
    def label(self, version: Version) -> str:
        """The label of a version, which is read if it has not been."""

    @abstractmethod
    def resume(self, version: Version) -> None:
        """Go on from a version."""

    @abstractmethod
    def take_stack(self, version: Version) -> None:
        """Have on the stack what a version has in variables."""

    @abstractmethod
    def run(self, position: int) -> None:
        """Read instructions until the block ends."""

    # Locals ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def variable(self, slot: int, kind: str) -> str:
        """The variable that holds a local of the loop's own function, of a kind."""

    @abstractmethod
    def load(self, slot: int) -> None:
        """Push a local."""

    @abstractmethod
    def store(self, slot: int) -> None:
        """Pop a local's new value."""

    @abstractmethod
    def load_around(self, slot: int) -> None:
        """Push a variable that lies in a cell: of the function around, or one that inner functions use."""

    @abstractmethod
    def content(self, function: Function, slot: int) -> Item:
        """What a variable in a cell holds, of the function being read or of one that calls it."""

    # Calls ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def function(self, which: int, called: symbols.Function) -> Function:
        """A function that is called here, of several that may be; `which` is the id of what makes it another."""

    @abstractmethod
    def generator(self, code: types.CodeType, consumer: Any) -> Function:
        """A generator expression whose items are taken here; see `generators.py` for what takes them."""

    @abstractmethod
    def call(self, function: Item, arguments: list[Item]) -> None:
        """Push what a call gives, or read on in it; then go on where the next instruction is."""

    @abstractmethod
    def leave(self, item: Item) -> None:
        """Return from a function that is called."""

    @abstractmethod
    def iterate(self, item: Item) -> Turning:
        """`iter(item)`."""
