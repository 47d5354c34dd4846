"""Windows in better code: what their side ways have is a doubt, and what of that a test in front of the loop tells."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ufuse.backends.numpy.nest_passes.fits import Inside
from ufuse.backends.numpy.nest_passes.integers import Integers
from ufuse.backends.numpy.nest_passes.polynomials import (
    Polynomial,
    atom,
    constant,
    difference,
    number,
    split,
    total,
)
from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_types import I1, SELDOM, Value

UNLIKE = {"ieq": "ine", "ige": "ilt", "ile": "igt"}  # what holds where another does not


def without_side_ways(nest: Nest) -> Nest:
    """The nest without the blocks to which control hardly ever comes: there it is in doubt.

    A block from which such a way would lead off is one with those behind it, as far as nothing else leads to these.
    """
    blocks = {block.label: block for block in nest.blocks}
    if not any(label.endswith(SELDOM) for label in blocks):
        return nest
    before: dict[str, int] = {nest.blocks[0].label: 1}
    for block in nest.blocks:
        for target in () if block.label.endswith(SELDOM) else block.end.targets:
            before[target] = before.get(target, 0) + 1
    made: dict[str, Block] = {}
    joined: set[str] = set()
    for block in nest.blocks:
        if not block.label.endswith(SELDOM) and _leads_aside(block) and block.label not in joined:
            chain = _Chain(block)
            while before[chain.next] == 1:
                joined.add(chain.next)
                if not chain.take(blocks[chain.next]):
                    break
            made[block.label] = chain.block()
    return replace(
        nest,
        blocks=tuple(
            made.get(block.label, block)
            for block in nest.blocks
            if block.label not in joined and not block.label.endswith(SELDOM)
        ),
    )


def _leads_aside(block: Block) -> bool:
    return any(target.endswith(SELDOM) for target in block.end.targets)


class _Chain:
    """A block with those that follow it, as it grows."""

    def __init__(self, block: Block) -> None:
        self._label = block.label
        self._instructions: list[Instruction] = []
        self._values = 0
        self._held: dict[str, Value] = {}  # what variables are that it has set
        self._end = block.end
        self.next = ""
        self.take(block)

    def take(self, block: Block) -> bool:
        """Add a block; whether it ends by a side way or goes on to another that may be added."""
        same: dict[Value, Value] = {}
        for one in block.instructions:
            inputs = tuple(same[value] for value in one.inputs)
            held = self._held.get(one.attributes[0]) if one.op == "get" else None
            if one.result is not None and held is not None:
                same[one.result] = held
                continue
            if one.op == "set":
                (self._held[one.attributes[0]],) = inputs
            result = None if one.result is None else self._new(one.result.type)
            if one.result is not None and result is not None:
                same[one.result] = result
            self._instructions.append(replace(one, inputs=inputs, result=result))
        condition = block.end.condition and same[block.end.condition]
        self._end = replace(block.end, condition=condition)
        return self._follow()

    def block(self) -> Block:
        """All of it."""
        return Block(self._label, tuple(self._instructions), self._end)

    def _new(self, type_: str) -> Value:
        self._values += 1
        return Value(self._values - 1, type_)

    def _follow(self) -> bool:
        """Make a doubt of a side way."""
        end = self._end
        if end.kind == "branch" and end.condition is not None:
            first, second = end.targets
            if second.endswith(SELDOM):
                self._doubt_unless(end.condition)
                self._end = End("jump", (first,))
            elif first.endswith(SELDOM):
                self._doubt_late(end.condition)
                self._end = End("jump", (second,))
        if self._end.kind == "jump":
            (self.next,) = self._end.targets
            return True
        return False

    def _makers(self) -> dict[Value | None, Instruction]:
        return {one.result: one for one in self._instructions if one.result is not None}

    def _doubt_unless(self, condition: Value) -> None:
        makers, waiting = self._makers(), [condition]
        while waiting:
            value = waiting.pop()
            maker = makers[value]
            if maker.op == "and":
                waiting += maker.inputs
            elif maker.op != "const" or not maker.attributes[0]:
                test = self._new(I1)
                if maker.op in UNLIKE:
                    self._instructions.append(replace(maker, op=UNLIKE[maker.op], result=test))
                else:
                    self._instructions.append(Instruction("not", (value,), test))
                self._instructions.append(Instruction("doubt_if", (test,)))

    def _doubt_late(self, condition: Value) -> None:
        """What is odd may be found later; a NaN is in doubt anyway, where floating point is plain."""
        maker = self._makers()[condition]
        if maker.op != "fne" or maker.inputs[0] != maker.inputs[1]:
            self._instructions.append(Instruction("refuse_if", (condition,)))
        found = []
        same: dict[Value, Value] = {}
        for one in self._instructions:
            inputs = tuple(same.get(value, value) for value in one.inputs)
            if one.op == "select" and one.inputs[0] == condition and one.result is not None:
                same[one.result] = inputs[2]
                continue
            found.append(replace(one, inputs=inputs))
        self._instructions = found
        self._held = {name: same.get(value, value) for name, value in self._held.items()}


# Tests in front ----------------------------------------------------------------------------------------------------


def needless(
    integers: Integers, block: Block, inside: Collection[Inside]
) -> tuple[set[int], set[Polynomial]]:
    """The doubts of a block that cannot be where indices are inside, and what must be zero for that.

    They are about bounds of windows: that they are counted from the end, or cut off, or leave another number of
    elements than is usual.
    """
    bounds = _Bounds(integers, block, inside)
    tests = [
        (place, bounds.makers[one.inputs[0]])
        for place, one in enumerate(block.instructions)
        if one.op == "doubt_if"
    ]
    found: set[int] = set()
    for place, test in tests:
        apart = bounds.apart(test) if test.op == "ine" else None
        if apart is not None and integers.always(block) and not integers.turning(apart):
            if number(apart) is None:
                bounds.zero.add(apart)
            if number(apart) in {None, 0}:
                found.add(place)
    zero = set(bounds.zero)
    found.update(place for place, test in tests if bounds.holds(test) is False)
    return found, zero


class _Bounds:
    """What the bounds of slices are in a block, where no window is cut off."""

    def __init__(self, integers: Integers, block: Block, inside: Collection[Inside]) -> None:
        self._integers, self._label, self._inside = integers, block.label, inside
        self.makers = {one.result: one for one in block.instructions if one.result is not None}
        self.zero: set[Polynomial] = set()  # what is zero
        self._known: dict[Value, Polynomial | None] = {}

    def apart(self, test: Instruction) -> Polynomial | None:
        """By how much two integers that are compared differ, as far as loops know them."""
        left, right = (self._integers.value(self._label, each) for each in test.inputs)
        return None if left is None or right is None else difference(left, right)

    def holds(self, test: Instruction) -> bool | None:
        """Whether a comparison holds; None where that is not known."""
        if test.op not in _COMPARED:
            return None
        left, right = (self._value(each) for each in test.inputs)
        if left is None or right is None:
            return None
        lefts, rights = self._same(left), self._same(right)
        if any(
            _is_covered(test.op, one, other, each)
            for each in self._inside
            for one in lefts
            for other in rights
        ):
            return False
        aparts = (difference(one, other) for one in lefts for other in rights)
        known = next(
            (at for one in aparts if one is not None and (at := number(one)) is not None), None
        )
        return None if known is None else _COMPARED[test.op](known)

    def _same(self, value: Polynomial) -> list[Polynomial]:
        """What an integer is equal to, as some others are zero."""
        ways = (way(value, zero) for zero in self.zero for way in (difference, total))
        return [value, *(one for one in ways if one is not None)]

    def _value(self, value: Value) -> Polynomial | None:
        """An integer, where what is chosen between bounds and the ends of an axis is known."""
        if value not in self._known:
            self._known[value] = self._integers.value(self._label, value) or self._chosen(value)
        return self._known[value]

    def _chosen(self, value: Value) -> Polynomial | None:
        maker = self.makers[value]
        if maker.op == "select":
            test, then, other = maker.inputs
            holds = self.holds(self.makers[test])
            return None if holds is None else self._value(then if holds else other)
        if maker.op in {"add", "sub"}:
            left, right = (self._value(each) for each in maker.inputs)
            if left is not None and right is not None:
                return total(left, right) if maker.op == "add" else difference(left, right)
        return constant(0) if self._integers.value(self._label, value) == () else None


_COMPARED: dict[str, Callable[[int], bool]] = {
    "ilt": lambda apart: apart < 0,
    "igt": lambda apart: apart > 0,
    "ige": lambda apart: apart >= 0,
    "ile": lambda apart: apart <= 0,
    "ieq": lambda apart: apart == 0,
    "ine": lambda apart: apart != 0,
}


def _is_covered(op: str, left: Polynomial, right: Polynomial, inside: Inside) -> bool:
    """Whether a comparison does not hold where indices are inside."""
    if op == "ilt" and right != constant(0):  # the other way round
        op, left, right = "igt", right, left
    base, more = split(left)
    if base != inside.base:
        return False
    if op == "ilt":
        return inside.least <= more
    length = atom("dim", inside.array, inside.axis)
    return op in {"igt", "ige"} and right == length and more <= inside.most + (op == "igt")
