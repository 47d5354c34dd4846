"""Which nests have turns that do not depend on each other, so that threads may share them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ufuse.backends.numpy.llvm.nest_flow import Flow
from ufuse.backends.numpy.llvm.nest_integers import Integers
from ufuse.backends.numpy.llvm.polynomials import atom, constant, split
from ufuse.graph.nest import (
    SIGNATURES,
    TURNS,
    ArraySlot,
    Instruction,
    Nest,
    NumberSlot,
    RangeSlot,
    Value,
)

# What a turn may consist of beside arithmetic: no array statements, whose memory all turns have in common.
OPS = {op for op, _ in SIGNATURES} | {
    "const", "get", "set", "select", "call", "load", "store", "dim", "doubt_if",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OwnPart:
    """What each turn has of an array that is written: along an axis the place of an iterator, and `more`."""

    array: int
    axis: int
    iterator: int  # the number of its slot
    more: int


def own_parts(nest: Nest) -> tuple[OwnPart, ...] | None:
    """The parts of all arrays that are written, where turns touch no others'; None where turns depend on each other.

    Where an array that is written shares memory with another one, or an index wraps, they may depend all the same.
    """
    if nest.temporaries or nest.exits or not all(_is_plain(slot) for slot in nest.slots):
        return None
    turn = _outermost(Flow(nest))
    if turn is None:
        return None
    iterators = {
        slot.name: number for number, slot in enumerate(nest.slots) if isinstance(slot, RangeSlot)
    }
    if not iterators or not turn.carries_nothing(nest, iterators):
        return None
    return turn.own_parts(nest, iterators)


def _is_plain(slot: object) -> bool:
    """Whether a slot is a number, an iterator, or an array that stays what it is."""
    match slot:
        case ArraySlot():
            return not (slot.is_rebound or (slot.is_written and slot.items))
        case RangeSlot():
            return slot.kind != "once"
    return isinstance(slot, NumberSlot)


def _outermost(flow: Flow) -> _Turn | None:
    """A turn of the outermost loop; None where that is several, or more than numbers stand around it."""
    loops: dict[str, set[str]] = {}
    for header, labels in flow.loops_by_header():
        loops.setdefault(header, set()).update(labels)
    headers = loops.keys() - flow.inner_headers()
    if len(headers) != 1:
        return None
    (header,) = headers
    labels = loops.pop(header)
    inside = [one for label in labels for one in flow.instructions(label)]
    outside = [one for label in flow.blocks.keys() - labels for one in flow.instructions(label)]
    if any(one.op not in OPS for one in inside) or any(
        one.op not in OPS - {"load", "store"} for one in outside
    ):
        return None
    for other, blocks in ((header, labels), *loops.items()):
        if not all(label in labels and flow.is_dominated(label, other) for label in blocks):
            return None
    inner = {other: _changed(flow, inside) for other, inside in loops.items()}
    return _Turn(flow, header, labels, Integers(flow, header, labels, {}, inner))


def _changed(flow: Flow, labels: set[str]) -> set[str]:
    """The variables that blocks set."""
    instructions = (one for label in labels for one in flow.instructions(label))
    return {one.attributes[0] for one in instructions if one.op == "set"}


class _Turn:
    """The blocks of a turn, and what is known of its integers."""

    def __init__(self, flow: Flow, header: str, labels: set[str], integers: Integers) -> None:
        self._flow = flow
        self._header = header
        self._labels = labels
        self._integers = integers

    def carries_nothing(self, nest: Nest, iterators: Mapping[str, int]) -> bool:
        """Whether no turn reads what another has set, but for how far the loop is; the last one sets all results."""
        counted = {TURNS} | {f"{name}.{part}" for name in iterators for part in ("next", "left")}
        steps = {TURNS: constant(-1)}
        for name in iterators:
            steps[f"{name}.next"] = atom("get", f"{name}.step")
            steps[f"{name}.left"] = constant(-1)
        changed = _changed(self._flow, self._labels) - counted
        if any(self._integers.steps.get(name) != step for name, step in steps.items()):
            return False
        results = changed & ({cell.name for cell in nest.cells} | self._read_behind())
        behind: dict[str, set[str]] = {}
        # Blocks stand behind those that lead to them: a way back leads to a block that was seen, and more is set there.
        for label in (each for each in self._flow.order if each in self._labels):
            before = [behind[each] for each in self._flow.before[label] if each in behind]
            known = set.intersection(*before) if before and label != self._header else set()
            for one in self._flow.instructions(label):
                if one.op == "get" and one.attributes[0] in changed - known:
                    return False
                if one.op == "set":
                    known.add(one.attributes[0])
            behind[label] = known
            if self._header in self._flow.blocks[label].end.targets and not results <= known:
                return False
        return True

    def _read_behind(self) -> set[str]:
        """The variables that are read behind the loop; before it, a thread finds what there was before all turns."""
        blocks = [
            label
            for label in self._flow.order
            if label not in self._labels and not self._flow.is_dominated(self._header, label)
        ]
        instructions = (one for label in blocks for one in self._flow.instructions(label))
        return {one.attributes[0] for one in instructions if one.op == "get"}

    def own_parts(self, nest: Nest, iterators: Mapping[str, int]) -> tuple[OwnPart, ...] | None:
        """The parts of the arrays that are written, if every turn has its own."""
        accesses = [
            (one.attributes[0], label, one)
            for label in self._labels
            for one in self._flow.instructions(label)
            if one.op in {"load", "store"}
        ]
        written = {array for array, _, one in accesses if one.op == "store"}
        if written != {number for number, one in enumerate(nest.arrays) if one.is_written}:
            return None  # something is stored that changes nothing
        found = []
        for array in sorted(written):
            parts = [
                set(self._parts(nest, label, one, iterators))
                for number, label, one in accesses
                if number == array
            ]
            common = set.intersection(*parts)
            if not common:
                return None
            axis, iterator, more = min(common)
            found.append(OwnPart(array, axis, iterator, more))
        return tuple(found)

    def _parts(
        self, nest: Nest, label: str, one: Instruction, iterators: Mapping[str, int]
    ) -> Iterator[tuple[int, int, int]]:
        """Along which axes an access has an index that is its turn's own: the axis, the iterator, and what is more."""
        axes = nest.numbered[one.attributes[0]].ndim
        for axis, index in enumerate(one.inputs[:axes]):
            place = self._place(label, index)
            for name, number in iterators.items():
                if place is not None and place[0] == atom("get", f"{name}.next"):
                    yield axis, number, place[1]

    def _place(self, label: str, index: Value) -> tuple[object, int] | None:
        value = self._integers.value(label, index)
        return None if value is None else split(value)
