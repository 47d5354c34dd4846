"""Versions of positions: what control comes to each with, and labels of what is read for it."""

from __future__ import annotations

import types
from collections.abc import Mapping

from ufuse.frame_hook.nests.arrays import elementwise
from ufuse.frame_hook.nests.calls import generators, unrolling
from ufuse.frame_hook.nests.containers import (
    identity,
    keeping,
)
from ufuse.frame_hook.nests.known.frames import Frame, Function, Version
from ufuse.frame_hook.nests.known.kinds import (
    EITHER_KINDS,
    ArrayKind,
    EitherKind,
    MemberKind,
    NewKind,
    NotNativeError,
    NumberKind,
    TemporaryKind,
    ViewKind,
)
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.tries import RollError
from ufuse.frame_hook.nests.known.values import Generated, Item, ItemsKind, Kind, Turning
from ufuse.frame_hook.nests.known.ways import DOUBT
from ufuse.frame_hook.nests.loops import carried, leaving
from ufuse.frame_hook.nests.loops.variables import Variables
from ufuse.frame_hook.nests.numbers import either
from ufuse.frame_hook.trace import symbols
from ufuse.graph.nest_types import I1

MOST_VERSIONS = 16  # of one position


class Versions(Variables):
    """What reads a loop, as far as it keeps what control comes to a position with, and where that goes on."""

    waiting: list[Version]  # labelled, and not read yet
    mismatch: str | None  # why a turn does not come back to the header
    comes_back: bool  # to the header, from some turn
    counts: dict[str, int]  # of versions, by what their labels have in common

    def version(self, position: int) -> Version:
        """What the function being read comes to a position with; sets what its stack holds."""
        elementwise.settle(self)
        frame = self.frame
        if self.tries.widened:
            self._widen(position)
        if self.tries.gives_lists:
            self.stack[:] = [identity.moved(self, item) for item in self.stack]
        if frame.caller is None and position == self.position:  # a chunk may end here, or begin
            frame.unique, frame.listed = set(), {}
        function, live = frame.function, frame.function.live[position]
        always = self.changed if frame.caller is None else function.hidden
        kept = sorted(slot for slot in frame.slots if slot in live or slot in always or slot < 0)
        stack = tuple(
            item  # which is used once, before anything else can be
            if isinstance(item, Generated)
            else self._kept_on_stack(_stack_variable(function, place), item)
            for place, item in enumerate(frame.stack)
        )
        locals_ = tuple((slot, unrolling.settled(frame.slots[slot], frame.stack)) for slot in kept)
        unique = frozenset(frame.unique.intersection(kept))
        listed = identity.kept_listed(self, kept, self._going_on(position))
        return Version(function, position, locals_, stack, frame.caller, unique, listed)

    def _going_on(self, position: int) -> str:
        """The name of the loop whose header stands at a position; "" where none does."""
        top = self.stack[-1] if self.stack else None
        is_header = self.frame.function.table[position].opname == "FOR_ITER"
        return top.name if is_header and isinstance(top, Turning) else ""

    def _kept_on_stack(self, name: str, item: Item) -> Kind:
        kind = keeping.keep(self, name, item)
        if isinstance(item, Number) and item.is_new and isinstance(kind, NumberKind):
            return NewKind(kind)
        return kind

    def _is_header(self, version: Version) -> bool:
        if unrolling.is_unrolled(version.stack):
            return False
        return version.function.table[version.position].opname == "FOR_ITER"

    def _widen(self, position: int) -> None:
        """Where a loop begins its turns make some locals Python's or NumPy's, whichever."""
        frame = self.frame
        is_header = frame.function.table[position].opname == "FOR_ITER"
        if is_header and not unrolling.is_unrolled(frame.stack):
            for slot, kind in self.unsettled():
                name = frame.function.variable(slot)
                if frame.caller is None:
                    self.out.set(f"{name}.tag", self.out.constant(I1, kind.numpy))
                    frame.slots[slot] = EitherKind(kind.kind)
                else:
                    one = either.widened(self.out, keeping.kept(self, name, kind))
                    frame.slots[slot] = keeping.keep(self, name, one)

    def unsettled(self) -> list[tuple[int, NumberKind]]:
        """The frame's locals that are to be Python's or NumPy's numbers, and are known to be one of them."""
        function = self.frame.function
        return [
            (slot, kind)
            for slot, one in self.frame.slots.items()
            if isinstance(kind := unrolling.settled(one, self.frame.stack), NumberKind)
            and not isinstance(kind, EitherKind)
            and kind.kind in EITHER_KINDS
            and function.variable(slot) in (self.tries.widened or ())
        ]

    def resume(self, version: Version) -> None:
        """Go on from a version."""
        self.frame = Frame(
            version.function,
            dict(version.locals),
            [],
            version.caller,
            set(version.unique),
            dict(version.listed),
        )
        self.take_stack(version)

    def take_stack(self, version: Version) -> None:
        """Have on the stack what a version has in variables."""
        self.stack[:] = [
            keeping.kept(self, _stack_variable(version.function, place), kind)
            for place, kind in enumerate(version.stack)
        ]

    def function(self, which: int, called: symbols.Function) -> Function:
        """A function that is called here, of several that may be; `which` is the id of what makes it another."""
        key = f"{self.frame.function.prefix}.{called.code.co_name}@{self.at.position}.", which
        if key not in self.functions:
            self.functions[key] = Function(called.code, key[0], called)
        return self.functions[key]

    def generator(self, code: types.CodeType, consumer: generators.Consumer) -> Function:
        """A generator expression whose items are taken here."""
        prefix = f"{self.frame.function.prefix}.{code.co_name}@{self.at.position}."
        key = prefix, id(code), consumer  # which may be one of several that the call is of
        if key not in self.functions:
            called = symbols.Function(
                code, self.outside.globals_of(self.frame.function.called), (), {}, ()
            )
            self.functions[key] = Function(code, prefix, called, consumer)
        return self.functions[key]

    def label(self, version: Version) -> str:
        """The label of a version, which is read if it has not been."""
        known = self.labels.get(version)
        if known is None:
            if self.tries.widened is not None and self._is_header(version):
                known_versions = [one for one in self.labels if one.place == version.place]
                either.check_versions(known_versions, version)
            known = f"{version.function.prefix}at{version.position}{unrolling.suffix(version)}"
            count = self.counts[known] = self.counts.get(known, 0) + 1
            if count > MOST_VERSIONS:
                self.refuse_size("the types of its variables change too often")
            known = self.labels[version] = known + (f"_{count}" if count > 1 else "")
            self.waiting.append(version)
        return known

    def refuse_size(self, why: str) -> None:
        """Refuse the loop; or, where that may be why, to unroll loops in it."""
        if self.unrolls:
            raise RollError(None)
        raise NotNativeError(why)

    def target(self, position: int) -> str:
        """The label where control goes on with the variables and the stack as they are; sets what the stack holds."""
        if position in self.frame.function.left:
            self.doubts = True
            return DOUBT
        if self.frame.caller is None:
            if position not in self.region and position != self.position:
                return leaving.exit_label(self, position)
            if position == self.position and not self._may_turn():
                return leaving.exit_label(self, position)
        return self.label(self.version(position))

    def _may_turn(self) -> bool:
        """Whether the header may be gone back to: else the turn is plain Python's."""
        if self.stack:
            raise NotNativeError("its stack is not empty between turns")
        mismatch = self.changed_kind(self.slots)
        if mismatch is not None:
            self.mismatch = mismatch
            return False
        self.comes_back = True
        return True

    def changed_kind(self, slots: Mapping[int, Kind]) -> str | None:
        """What no longer has the kind with which the frame brought it."""
        for slot, nothing in self.nothing.items():
            if slots.get(slot) != nothing:
                return f"{self.own.names[slot]} gets a value"
        for slot in self.begins_empty - self.written_cells:
            if not isinstance(slots.get(slot), NumberKind | None):
                return f"{self.own.names[slot]} gets a value"
        for slot in self.changed:
            kind, now = self.kinds[slot], unrolling.settled(slots.get(slot), self.stack)
            if isinstance(kind, NumberKind):
                if not isinstance(now, NumberKind) or now.kind != kind.kind:
                    return f"{self.own.names[slot]} changes its type"
            elif isinstance(kind, MemberKind):
                if now != kind:
                    return f"{self.own.names[slot]} is no item of the list any more"
            elif isinstance(kind, ItemsKind):
                if not carried.fits(kind, now):
                    return f"{self.own.names[slot]} changes the types of its items"
            elif not isinstance(now, ArrayKind | TemporaryKind | ViewKind):
                return f"{self.own.names[slot]} is no array any more"
        return None


def _stack_variable(function: Function, place: int) -> str:
    return f"{function.prefix}.stack{place}"
