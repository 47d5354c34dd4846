"""From the bytecode of a loop over a range to a nest: every path through it, with the types its variables have there.

A position of the code is read once for each tuple of types that the variables may have where control comes to it, so
that every block is typed: `total = 0` that becomes a float in the first turn gives an inner loop two versions.
"""

from __future__ import annotations

import math
import time
import types
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.code.places import ON_STACK
from ufuse.frame_hook.nests.arrays import statements
from ufuse.frame_hook.nests.calls import generators, inlining, iterating, recursion, unrolling
from ufuse.frame_hook.nests.containers import (
    fields,
    identity,
    object_lists,
)
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.containers import Entries
from ufuse.frame_hook.nests.known.frames import Frame, Version
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    EitherError,
    EitherKind,
    NotNativeError,
    NumberKind,
    UnpaidError,
    array_kind,
    kind_of,
)
from ufuse.frame_hook.nests.known.naming import value_in_words
from ufuse.frame_hook.nests.known.numbers import Known, constant_kind
from ufuse.frame_hook.nests.known.positions import read_behind, written
from ufuse.frame_hook.nests.known.sides import left_in_loop, read_in_loop
from ufuse.frame_hook.nests.known.tries import (
    NO_TRIES,
    GrowError,
    RollError,
    Tries,
    WidenError,
)
from ufuse.frame_hook.nests.known.values import (
    Generated,
    Item,
    Items,
    ItemsKind,
    Kind,
    Mapped,
    Members,
    SlotKind,
    Turning,
    Unrolled,
    is_none,
    known_truth,
)
from ufuse.frame_hook.nests.known.ways import DOUBT, ITERATOR, Outermost
from ufuse.frame_hook.nests.loops import carried, finishing, learning, leaving
from ufuse.frame_hook.nests.loops.finishing import Read
from ufuse.frame_hook.nests.loops.outermost import outermost
from ufuse.frame_hook.nests.loops.versions import Versions
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.opcodes import (
    dispatch,
    displays,
    functions,
    operators,
    splitting,
    variables,
)
from ufuse.frame_hook.nests.opcodes.handlers import HANDLERS
from ufuse.frame_hook.nests.reading import operations, refused
from ufuse.frame_hook.trace.symbols import Source
from ufuse.graph.nest_types import I1, I64, TURNS

MOST_BLOCKS = 200
MOST_TWICE = 100  # instructions of a loop that is read for two sets of scalars
# What fills `HANDLERS`.
HANDLING = (displays, functions, operators, variables)
OF_NUMBERS = ("BINARY_OP", "COMPARE_OP", "STORE_SUBSCR", "UNARY_NEGATIVE", "CALL")


class LoopReader(Versions):
    """Reads the loop whose header stands at a position, for the state in which a frame comes to it.

    `until`: of this thread's processor time, reading ends then.
    """

    def __init__(
        self,
        code: types.CodeType,
        position: int,
        state: tuple[Any, ...],
        null: object,
        outside: Outside,
        *,
        keeps_all: bool = False,
        arrives: Mapping[int, NumberKind] = MappingProxyType({}),
        tries: Tries = NO_TRIES,
        until: float = math.inf,
    ) -> None:
        super().__init__(code, position, state, outside, tries)
        outside.keyed.begin(self.memory, tries)
        self.until = until
        self.arrives = arrives if len(self.region) <= MOST_TWICE else {}
        self.null = null
        self.own.left = left_in_loop(code, position)
        # From 3.12 on a comprehension has its own variables in the slots of cells of the same names.
        self.own.only_cells(
            slot for slot, value in enumerate(state) if type(value) is types.CellType
        )
        self.is_while = self.own.table[position].opname != "FOR_ITER"
        self.written = written(
            self.own.table[one] for one in (position, *read_in_loop(code, position))
        )
        self._live = frozenset(range(len(self.own.names))) if keeps_all else self.own.live[position]
        self.written_cells = self.own.own_cells & self.written
        for slot in self.written_cells:
            state = (*state[:slot], _content(state[slot]), *state[slot + 1 :])
        self.begins_empty = frozenset(slot for slot in self.written_cells if state[slot] is null)
        self.kinds = {
            slot: kind
            for slot in range(len(self.own.names))
            if state[slot] is not null
            and (kind := _slot_kind(slot, state[slot], is_written=slot in self.written)) is not None
            and not self._is_idle(slot)
        }
        self.changed = frozenset(
            slot
            for slot in self.written
            if isinstance(self.kinds.get(slot), NumberKind | ArrayKind | ItemsKind)
        )
        self.waiting = []
        self.counts = {}
        self.comes_back = False
        self.mismatch = None
        # What is not done where a list may get items or none, as far as that is known, and where.
        self._unknown: tuple[NotNativeError, Frame, Instruction] | None = None
        self.outermost = self._outermost_iterator()
        self._begin_members()

    def _begin_members(self) -> None:
        """Find the locals that are items of lists of objects: the loop binds them anew, or was read without knowing."""
        others = [slot for slot in range(len(self.own.names)) if slot not in self.written]
        bound = (self.written & self._live) - self.kinds.keys() - self.written_cells
        for slot in sorted(bound | self.tries.members):
            kind = object_lists.kind_of_local(self.outside, self.state[slot], others)
            if kind is not None:
                self.kinds[slot] = kind
                self.changed |= {slot}
                self.outside.exact_type(slot)

    def _outermost_iterator(self) -> Outermost | None:
        if self.is_while:
            return None
        iterator = len(self.state) - 1
        source = Source(iterator, ON_STACK.format(iterator - len(self.own.names)))
        return outermost(self.outside, source, self.state[iterator], ITERATOR)

    # The whole ------------------------------------------------------------------------------------------------

    def read(self) -> Read:
        """The nest.

        Raises:
            NotNativeError: it cannot be one.
            ReadAnewError: more is known of it now.

        """
        return learning.all_at_once(self, self._read)

    def _read(self) -> Read:
        names, live = self.own.names, self._live
        self.frame.slots = {
            slot: kind for slot, kind in self.kinds.items() if slot in live or slot in self.changed
        }
        for slot in sorted(self.written - self.changed - self.begins_empty):
            value = self.state[slot]
            if slot in live and self._is_nothing(slot):
                self._begin_with_nothing(slot)
            elif slot in live or (value is not self.null and not _hook.has_no_finalizer(value)):
                raise NotNativeError(
                    f"`{names[slot]}` is {value_in_words(value)}, and the loop assigns to it",
                    later=True,
                )
        for slot, kind in self.unsettled():
            self.frame.slots[slot] = EitherKind(kind.kind)
        self._guard_numbers()
        for slot, own in self.kinds.items():
            if isinstance(own, ItemsKind):
                self.tuples[slot] = self.outside.members(slot)
        for slot in self.written_cells:
            register = self.outside.written_cell(slot, names[slot])
            if register is not None:
                self.cells[slot] = register
        self.label(self.version(self.position))
        others = self._other_scalars()
        headers: list[Version] = []
        while self.waiting or recursion.go_on(self) or self._arrives_with(others):
            if len(self.out.blocks) > MOST_BLOCKS:
                self.refuse_size("it is too long")
            if time.thread_time() > self.until:
                raise UnpaidError
            if not self.waiting:
                continue
            self.reading = version = self.waiting.pop()
            try:
                self._read_version(version, headers)
            except (GrowError, RollError, WidenError) as more:
                if not learning.go_on(self, more):
                    raise
        if self._unknown is not None:
            (why, self.frame, self.at), self._unknown = self._unknown, None
            try:
                raise why
            finally:
                # Its traceback has this frame: neither may keep the program's objects alive.
                del why
        if not self.comes_back:
            raise NotNativeError(self.mismatch or "no turn of it ends", later=True)
        if self.is_while and not self.exits:
            raise NotNativeError("what is read behind it has no value yet", later=True)
        statements.refuse_long(self)
        recursion.finish(self)
        if self.doubts:
            self.out.begin(DOUBT)
            self.out.end("doubt")
        return finishing.finished(self, headers)

    def _read_version(self, version: Version, headers: list[Version]) -> None:
        """Read what control comes to a position with, until the block ends; `headers` are those of the loop."""
        self.out.begin(self.labels[version])
        self.resume(version)
        if version.place == ("", self.position) and self.changed_kind(dict(version.locals)) is None:
            headers.append(version)
            self.label(self._as_it_comes(version))
            self._header(version)
        elif version in self.left:
            leaving.leave(self, version)
        else:
            self.run(version.position)

    def _other_scalars(self) -> dict[int, Kind] | None:
        """The kinds with which frames come to the loop, where but NumPy's scalars differ from Python's."""
        slots, found = self.frame.slots, dict(self.frame.slots)
        for slot in self.changed:
            kind, arrived = slots.get(slot), self.arrives.get(slot)
            if isinstance(kind, NumberKind):
                if arrived is None or arrived.kind != kind.kind:
                    return None
                found[slot] = kind if either.is_either(kind) else arrived
        return found if found != slots else None

    def _arrives_with(self, others: dict[int, Kind] | None) -> bool:
        """Read the loop for these scalars, too, if there are some: when all is read for those of this frame."""
        if others is None or self.has_arrivals:
            return False
        self.has_arrivals = True
        self.frame = Frame(self.own, others, [])
        self.label(self.version(self.position))
        return True

    def _is_nothing(self, slot: int) -> bool:
        """Whether a local has no value, or None, where the frame comes to the loop."""
        return self.state[slot] is self.null or self.state[slot] is None

    def _guard_numbers(self) -> None:
        """Where the loop looks for None, ask for another nest when a number is None: it would only be declined."""
        names = [self.own.table[one].opname for one in self.region]
        if any("NONE" in name or name == "IS_OP" for name in names):
            for slot in sorted(self.changed):
                if isinstance(self.kinds[slot], NumberKind):
                    self.outside.not_none(slot)

    def _begin_with_nothing(self, slot: int) -> None:
        """A local without a value, or with None.

        A nest that begins with None is left when it gets a number. One that begins without a value goes on, and is left
        at its header by an exit when a chunk ends.
        """
        if self.state[slot] is self.null:
            self.outside.unbound(slot)
            self.begins_empty |= {slot}
            return
        item = self.outside.local(slot)
        assert isinstance(item, Known)
        self.nothing[slot] = self.frame.slots[slot] = constant_kind(item)

    def _is_idle(self, slot: int) -> bool:
        """Whether each turn overwrites a local that nobody reads behind the loop.

        Numbers that are read only behind an exit need not be given; arrays do.
        """
        if slot not in self.written or slot in self._live:
            return False
        is_array = type(self.state[slot]) is np.ndarray
        return not (is_array and slot in read_behind(self.own.code).get(self.position, ()))

    def _as_it_comes(self, version: Version) -> Version:
        """A version of the header with which the nest may begin again where it was left with this one."""
        own = self.kinds
        locals_ = tuple(
            (slot, own[slot] if isinstance(own.get(slot), ArrayKind) else kind)
            for slot, kind in version.locals
            if slot >= 0
        )
        return replace(version, locals=locals_)

    # Blocks ---------------------------------------------------------------------------------------------------

    def _header(self, version: Version) -> None:
        """Leave where no turn is left, or none may begin; else begin one."""
        out, label = self.out, self.labels[version]
        zero = out.constant(I64, 0)
        goes_on = out.op("igt", I1, out.get(TURNS, I64), zero)
        left_name = ""
        if self.outermost is not None:
            left_name = f"{self.outermost.slots[0].name}.left"
            goes_on = out.op("and", I1, out.op("igt", I1, out.get(left_name, I64), zero), goes_on)
        out.end("branch", f"{label}.turn", f"{label}.leave", condition=goes_on)
        out.begin(f"{label}.leave")
        if self.begins_empty & dict(version.locals).keys():
            leaving.leave(self, version)
        else:
            leaving.give_back(self, version)
            out.end("leave")
        out.begin(f"{label}.turn")
        turns = out.get(TURNS, I64)
        out.set(TURNS, out.op("sub", I64, turns, out.constant(I64, 1)))
        if self.outermost is None:
            self.run(self.position)
            return
        iterating.begin_turn(self, Turning(ITERATOR, self.outermost.kind), left_name)
        if self.tries.gives_lists and not isinstance(self.outermost.kind, Members):
            item = self.stack.pop()
            self.stack.append(identity.turned(self, self.outermost.kind, item, ITERATOR))
        self.turn()

    def turn(self) -> None:
        """Read a turn, which begins with what the iterator gives on the stack."""
        instruction = self.own.table[self.position]
        self.run(instruction.position + instruction.size)

    def run(self, position: int) -> None:
        """Read instructions until the block ends."""
        self.next = position
        while True:
            function = self.frame.function
            self.at = instruction = function.table[self.next]
            self.memory.begin()
            if instruction.position in function.left:
                self.go_to_doubt()
                return
            name = instruction.opname
            self.next += instruction.size
            if name == "FOR_ITER":
                self._inner_turn(instruction)
                if (
                    self.out.is_open
                    and self.frame.function is self.own
                    and self.next not in self.region
                ):
                    self.go_to_doubt()  # its first turn leaves this loop, too
                if not self.out.is_open:
                    return
                continue
            if name.startswith(("POP_JUMP", "JUMP")):
                self._jump(instruction)
                return
            handler = HANDLERS.get(name)
            if handler is None:
                raise NotNativeError(refusals.why_not_instruction(name))
            stack, keywords, frame = list(self.stack), self.keywords, self.frame
            try:
                handler(self, instruction.arg or 0)
                if self.tries.gives_lists and self.frame is frame:
                    identity.note_result(self, instruction, stack)
            except NotNativeError as why:
                if not self._is_left(name, stack, why):
                    refused.note_item(self, why, stack)
                    raise
                self.go_to_doubt()
            except EitherError:
                if keywords:  # another instruction named them
                    raise NotNativeError("calls with keywords are not compiled yet") from None
                splitting.split(self, stack)
            if not self.out.is_open:
                return
            if self._ends_here(self.next):
                self.jump(self.next)
                return

    def _is_left(self, name: str, stack: list[Item], why: NotNativeError) -> bool:
        """Whether an instruction that is not followed is left to plain Python: it raises, or is on other ways."""
        if self.has_unknown:  # that is it, if nothing is appended
            if self._unknown is None:
                refused.note_item(self, why, stack)
                self._unknown = why, self.frame, self.at
            return True
        return name in OF_NUMBERS and _has_none(stack)

    def _ends_here(self, position: int) -> bool:
        """Whether what stands at a position is another block."""
        if position in self.frame.function.joins:
            return True
        return self.frame.caller is None and (
            position == self.position or position not in self.region
        )

    def _jump(self, instruction: Instruction) -> None:
        name = instruction.opname
        targets = instructions.successors(instruction)
        if len(targets) == 1:
            self.jump(targets[0])
            return
        item = given = self.stack.pop()
        if "NONE" in name:
            object_lists.doubt_dropped(self, item)
        else:
            item = operations.truth(self, item)
        known = _known_jump(name, item)
        if known is not None:
            if known and "OR_POP" in name:
                self.stack.append(given)
            self.jump(targets[known])
            return
        condition = conversions.truth(self.out, item)
        after = self.target(targets[0])
        if "OR_POP" in name:
            self.stack.append(given)
        jumped = self.target(targets[1])
        if "OR_POP" in name:
            self.stack.pop()
        order = (jumped, after) if "IF_TRUE" in name else (after, jumped)
        self.out.end("branch", *order, condition=condition)

    def _inner_turn(self, instruction: Instruction) -> None:
        """The header of an inner loop: the rest of its block is its body."""
        turning = self.stack[-1]
        if isinstance(turning, Generated):
            generators.consume_in_test(self, instruction)
            return
        assert isinstance(turning, Turning)
        if any(isinstance(one, Generated) for one in self.stack):
            raise NotNativeError("a generator is kept on the stack across a loop")
        if isinstance(turning.kind, Unrolled):
            unrolling.begin_turn(self, instruction, turning, turning.kind)
            return
        out = self.out
        left = out.get(f"{turning.name}.left", I64)
        goes_on = out.op("igt", I1, left, out.constant(I64, 0))
        if VERSION < (3, 14):
            self.stack.pop()
        exit_label = self.target(instructions.successors(instruction)[1])
        if VERSION < (3, 14):
            self.stack.append(turning)
        body, version = self.new_label(), self.version(instruction.position)
        out.end("branch", body, exit_label, condition=goes_on)
        out.begin(body)
        self.take_stack(version)
        iterating.begin_turn(self, turning, f"{turning.name}.left")
        if self.tries.gives_lists and not isinstance(turning.kind, Mapped | Members):
            identity.forget_listed(self, turning.name)
            item = self.stack.pop()
            self.stack.append(identity.turned(self, turning.kind, item, turning.name))

    # Calls ----------------------------------------------------------------------------------------------------

    def leave(self, item: Item) -> None:
        """Return from a function that is called."""
        if self.frame.function.consumer is not None:
            generators.end(self)
        else:
            inlining.leave(self, item)

    def call(self, function: Item, arguments: list[Item]) -> None:
        """Push what a call gives, or read on in it; then go on where the next instruction is."""
        dispatch.call(self, function, arguments, {}, self.next)

    def iterate(self, item: Item) -> Turning:
        """`iter(item)`."""
        if isinstance(item, Entries):
            item = fields.called_method(self, item, "keys", [])
        item = fields.members(operations.gone_over(self, item))
        if isinstance(item, Known) and type(item.value) is str:
            item = Items(tuple(map(Known, item.value)))
        name = f"{self.frame.function.prefix}turn@{self.at.position}"
        identity.forget_listed(self, name)
        return unrolling.unrolled(self, item, name) or iterating.iterate(self, item, name)


def _content(cell: types.CellType) -> Any:
    """What lies in a cell, where that is a number; NULL where it is empty, None for others."""
    try:
        content = cell.cell_contents
    except ValueError:
        return _hook.NULL
    return content if kind_of(content) is not None else None


def _has_none(stack: list[Item]) -> bool:
    """Whether one of the values that an instruction takes is None."""
    return any(map(is_none, stack[-3:]))


def _known_jump(name: str, item: Item) -> bool | None:
    """Whether a conditional jump is taken, where that is known."""
    if "NONE" in name:
        return is_none(item) is not ("NOT_NONE" in name)
    truth = known_truth(item)
    return None if truth is None else truth is ("IF_TRUE" in name)


def _slot_kind(slot: int, value: Any, *, is_written: bool) -> SlotKind | None:
    """What a nest may do with a value of the frame; None: nothing. A tuple that the loop does not write is known."""
    if type(value) is np.ndarray:
        return array_kind(slot, value)
    if is_written and (kind := carried.kind_of_tuple(value)) is not None:
        return kind
    return kind_of(value)
