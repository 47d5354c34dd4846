"""Functions of NumPy that a turn calls for several numbers, in better code: one call for all of them.

Where turns follow from each other, as steps in time do, there are no batches of turns. But what `np.exp` gives for one
number, NumPy computes for eight in the same time. So the calls of one function in a block, of which none needs what
another gives, are done where the last of them stands, and what follows from the others behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ufuse.backends.numpy.nest_passes.alike import is_alike
from ufuse.backends.numpy.nest_passes.buffers import BYTES, VECTOR
from ufuse.backends.numpy.nest_passes.keeping import is_wide
from ufuse.backends.numpy.nest_passes.versions import is_copy
from ufuse.graph.nest import Block, Instruction, Nest, numpy_function
from ufuse.graph.nest_types import SIGNATURES, Value
from ufuse.graph.records import record

MOVED = {"const", "select", "call"}  # beside arithmetic: what may be done later
NOT_MOVED = {"to_i64"}  # it may be in doubt


@record
class Group:
    """The calls of a function that are one call: its number in the nest, and for how many numbers."""

    name: str
    type: str
    number: int
    count: int


def lanes(type_: str) -> int:
    """How many numbers of a type a vector has."""
    return VECTOR // BYTES[type_]


def with_groups(nest: Nest) -> Nest:
    """The same nest, in whose copies of loops calls are done together."""
    blocks, count = [], 0
    for block in nest.blocks:
        grouped = block
        for name, type_ in dict.fromkeys(_called(block)) if is_copy(block) else ():
            if is_alike(name, type_):
                groups = _Groups(grouped, name, type_, count)
                grouped, count = groups.block(), groups.number
        blocks.append(grouped)
    return replace(nest, blocks=tuple(blocks))


def _called(block: Block) -> Iterator[tuple[str, str]]:
    """The functions of one number that a block calls."""
    for one in block.instructions:
        if one.op == "call" and one.attributes[0].startswith("numpy."):
            (name,) = one.attributes
            if numpy_function(name).nin == 1:
                yield name, one.inputs[0].type


class _Groups:
    """A block whose calls of a function are done together."""

    def __init__(self, block: Block, name: str, type_: str, number: int) -> None:
        self._block = block
        self._name, self._type = name, type_
        self.number = number
        self._made: list[Instruction] = []
        self._calls: list[Instruction] = []
        self._later: list[Instruction] = []  # what follows from the calls
        self._waiting: set[Value] = set()  # what is not there before these are done

    def block(self) -> Block:
        """The block with groups."""
        makers = {one.result: one for one in self._block.instructions}
        for one in self._block.instructions:
            is_needed = not self._waiting.isdisjoint(one.inputs)
            if self._is_one(one):
                if is_needed or len(self._calls) == lanes(self._type):
                    self._end()
                self._calls.append(one)
                self._wait(one)
            elif not is_needed:
                self._made.append(one)
            elif _may_move(one, makers.get):
                self._later.append(one)
                self._wait(one)
            else:
                self._end()
                self._made.append(one)
        self._end()
        return replace(self._block, instructions=tuple(self._made))

    def _is_one(self, one: Instruction) -> bool:
        return (
            one.op == "call"
            and one.attributes == (self._name,)
            and one.inputs[0].type == self._type
        )

    def _wait(self, one: Instruction) -> None:
        if one.result is not None:
            self._waiting.add(one.result)

    def _end(self) -> None:
        """Append the calls so far, and what follows from them."""
        if len(self._calls) > 1 or (self._calls and is_wide(self._name, self._type)):
            group = Group(self._name, self._type, self.number, len(self._calls))
            self.number += 1
            inputs = tuple(one.inputs[0] for one in self._calls)
            self._made.append(Instruction("group_run", inputs, None, (group,)))
            self._made += [
                Instruction("group_get", (), one.result, (group, place))
                for place, one in enumerate(self._calls)
            ]
        else:
            self._made += self._calls
        self._made += self._later
        self._calls, self._later, self._waiting = [], [], set()


def _may_move(one: Instruction, maker: Callable[[Value], Instruction | None]) -> bool:
    """Whether it matters to nobody that an instruction is done later: it is arithmetic, or a doubt about a divisor."""
    if one.op == "doubt_if":
        test = maker(one.inputs[0])
        return test is not None and test.op == "feq"
    is_arithmetic = bool(one.inputs) and (one.op, one.inputs[0].type) in SIGNATURES
    return (is_arithmetic or one.op in MOVED) and one.op not in NOT_MOVED
