"""What has to be done of the turns of a loop so that the operands of some calls are known, and nothing else.

The loop has no loops inside. Its blocks are those of a copy without checks (`nest_passes/versions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ufuse.backends.numpy.nest_passes.integers import Integers
from ufuse.backends.numpy.nest_passes.polynomials import difference, number
from ufuse.graph.nest import Block, Instruction, Nest
from ufuse.graph.nest_types import SIGNATURES, Value

Key = tuple[str, int]  # a block, and the place of an instruction in it
# Beside arithmetic: what can be done twice.
DONE_TWICE = {"const", "get", "set", "select", "call", "load", "dim", "doubt_if"}
MOST_NEEDED = 60  # instructions of a slice: they are done a second time


class NoSliceError(Exception):
    """Operands of a call cannot be known before the turns are done."""


@dataclass
class Slice:
    """Instructions, the branches that decide which of them are done, and those that end it, as they leave the loop."""

    keys: set[Key] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    calls: set[Key] = field(
        default_factory=set
    )  # among `keys`: their operands are not, what they give is known

    def add(self, other: Slice) -> None:
        """Do this, too."""
        self.keys |= other.keys
        self.branches |= other.branches
        self.calls |= other.calls


class Slices:
    """The slices of a loop; `own` gives the name that a block has in the nest that the copy was made of."""

    def __init__(
        self, nest: Nest, integers: Integers, blocks: Sequence[Block], own: Callable[[str], str]
    ) -> None:
        self._nest = nest
        self._integers = integers
        self.own = own
        self.blocks = {block.label: block for block in blocks}
        self.header = blocks[0].label
        self._makers = {
            (block.label, one.result): (block.label, place)
            for block in blocks
            for place, one in enumerate(block.instructions)
            if one.result is not None
        }
        self._sets: dict[str, list[Key]] = {}
        self._stores: dict[int, list[Key]] = {}
        for block in blocks:
            for place, one in enumerate(block.instructions):
                if one.op == "set":
                    self._sets.setdefault(one.attributes[0], []).append((block.label, place))
                elif one.op == "store":
                    self._stores.setdefault(one.attributes[0], []).append((block.label, place))
        self._deciding: dict[str, set[str]] = {}

    @property
    def changed(self) -> set[str]:
        """The variables that the loop sets."""
        return set(self._sets)

    def instruction(self, key: Key) -> Instruction:
        """What stands at a place."""
        label, place = key
        return self.blocks[label].instructions[place]

    def inside(self, label: str) -> list[str]:
        """Where a block leads to in the loop."""
        return [each for each in self.blocks[label].end.targets if each in self.blocks]

    def of_call(self, call: Key, others: set[Key]) -> Slice:
        """What the operands of a call take, where what `others` give is known.

        Raises:
            NoSliceError: something of it cannot be done twice, or before the turns are done.

        """
        found = Slice()
        waiting = [*self._inputs(call), *self._around(call[0], found)]
        while waiting:
            key = waiting.pop()
            if key in found.keys:
                continue
            found.keys.add(key)
            waiting += self._around(key[0], found)
            if key in others:
                found.calls.add(key)
            else:
                waiting += self._needed(key, found)
            if len(found.keys) > MOST_NEEDED:
                raise NoSliceError
        if call in found.keys:
            raise NoSliceError
        return found

    def _inputs(self, key: Key) -> list[Key]:
        return [self._makers[key[0], value] for value in self.instruction(key).inputs]

    def _needed(self, key: Key, found: Slice) -> list[Key]:
        """What an instruction takes."""
        one = self.instruction(key)
        is_arithmetic = bool(one.inputs) and (one.op, one.inputs[0].type) in SIGNATURES
        if not is_arithmetic and one.op not in DONE_TWICE:
            raise NoSliceError
        if one.op == "call" and one.attributes[0].startswith("numpy."):
            raise NoSliceError  # to do it twice takes longer than is gained
        needed = self._inputs(key)
        if one.op == "get":
            needed += self._sets.get(one.attributes[0], [])
        elif one.op == "load":
            if any(
                not self._is_before(key, store) for store in self._stores.get(one.attributes[0], ())
            ):
                raise NoSliceError
            if self._is_sure(key):
                needed += self._guards(key, found)
        return needed

    # Branches

    def deciding(self, label: str) -> set[str]:
        """The branches that decide whether a turn that stays in the loop comes to a block."""
        if label not in self._deciding:
            self._deciding[label] = {each for each in self.blocks if self._decides(each, label)}
        return self._deciding[label]

    def _around(self, label: str, found: Slice) -> list[Key]:
        """The conditions of the branches that decide whether a block is done."""
        new = self.deciding(label) - found.branches
        found.branches |= new
        return [key for each in new for key in self._condition(each)]

    def _condition(self, label: str) -> list[Key]:
        value = self.blocks[label].end.condition
        return [] if value is None else [self._makers[label, value]]

    def _decides(self, branch: str, label: str) -> bool:
        """Whether all turns that a branch leads one way come to a block, and some of those on the other do not."""
        avoiding = self._avoiding(label)
        ways = [each != self.header and each not in avoiding for each in self.inside(branch)]
        return len(ways) > 1 and any(ways) and not all(ways)

    def _avoiding(self, label: str) -> set[str]:
        """The blocks from which a turn may end without coming to another."""
        found: set[str] = set()
        for each in reversed(self.blocks):  # those that a block leads to stand behind it
            if each != label and any(
                target == self.header or target in found for target in self.inside(each)
            ):
                found.add(each)
        return found

    # Elements

    def _is_sure(self, key: Key) -> bool:
        """Whether whoever wrote the loop knew that an index is inside."""
        label, own = key[0], self.own(key[0])
        result = self.instruction((label, key[1])).result
        return any(
            one.result == result and one.is_sure for one in self._integers.flow.instructions(own)
        )

    def _guards(self, key: Key, found: Slice) -> list[Key]:
        """What stands in front of an element whose index is not looked at: it may be why."""
        needed = []
        flow, turns = self._integers.flow, self._integers.turns
        for label, block in self.blocks.items():
            if not flow.is_dominated(self.own(key[0]), self.own(label)):
                continue
            before = block.instructions[: key[1]] if label == key[0] else block.instructions
            needed += [(label, at) for at, one in enumerate(before) if one.op == "doubt_if"]
            leaves = len(self.inside(label)) < len(block.end.targets)
            is_counted = turns is not None and turns.label == self.own(label)
            if leaves and not is_counted and label != key[0] and label not in found.branches:
                found.branches.add(label)
                needed += self._condition(label)
        return needed

    def _is_before(self, load: Key, store: Key) -> bool:
        """Whether no turn loads what another before it stores, nor what it has stored itself."""
        ndim = self._nest.numbered[self.instruction(load).attributes[0]].ndim
        if not (self.instruction(load).is_sure and self.instruction(store).is_sure):
            return False  # it may be counted from the end
        indices = (self._values(key)[:ndim] for key in (load, store))
        return any(self._is_apart(load, store, *both) for both in zip(*indices, strict=True))

    def _values(self, key: Key) -> list[tuple[str, Value]]:
        return [(self.own(key[0]), value) for value in self.instruction(key).inputs]

    def _is_apart(
        self, load: Key, store: Key, loaded: tuple[str, Value], stored: tuple[str, Value]
    ) -> bool:
        """Whether that is so along an axis."""
        one, other = self._integers.value(*loaded), self._integers.value(*stored)
        between = difference(one, other) if one is not None and other is not None else None
        slope = self._integers.slope(other) if other is not None else None
        way = None if between is None else number(between)
        if way is None or not slope:
            return False
        if way == 0:
            return load[0] == store[0] and load[1] < store[1]
        return way * slope > 0
