"""Array statements without repetition: operands that are the same become one, and so do steps."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from ufuse.graph.nest import Block, Instruction, Map, Nest, Scalar, Step, View
from ufuse.graph.nest_types import SIGNATURES, Value

PURE = {op for op, _ in SIGNATURES} | {"select"}


def without_repetition(nest: Nest) -> Nest:
    """The nest with smaller array statements."""
    return replace(nest, blocks=tuple(_block(nest, block) for block in nest.blocks))


def _block(nest: Nest, block: Block) -> Block:
    if all(one.op != "map" for one in block.instructions):
        return block
    same = _Same()
    made = []
    for one in block.instructions:
        made.append(_smaller(nest, one, same) if one.op == "map" else one)
        same.note(one)
    return replace(block, instructions=tuple(made))


class _Same:
    """Which values of a block are equal: those of one number."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._of: dict[Value, int] = {}
        self._changes: dict[Any, int] = {}  # of variables and of arrays' lengths, so far

    def number(self, value: Value) -> int:
        """What equal values have in common."""
        return self._of[value]

    def note(self, one: Instruction) -> None:
        """Go on behind an instruction."""
        if one.op in {"set", "alloc", "append", "trim", "push", "drop", "enter"}:
            for name in one.attributes:
                self._changes[name] = self._changes.get(name, 0) + 1
        if one.result is None:
            return
        key: Hashable = one.result
        if one.op == "const":
            (number,) = one.attributes
            bits = struct.pack("<d", number) if isinstance(number, float) else number
            key = (one.op, one.result.type, bits)
        elif one.op in {"get", "dim"}:
            key = (one.op, one.attributes, self._changes.get(one.attributes[0], 0))
        elif one.op in PURE:
            key = (one.op, one.result.type, *(self._of[value] for value in one.inputs))
        self._of[one.result] = self._numbers.setdefault(key, len(self._numbers))


def _smaller(nest: Nest, one: Instruction, same: _Same) -> Instruction:
    (what,) = one.attributes
    given, target = _taken(nest, what, one.inputs)
    operands: list[View | Scalar] = []
    inputs = list(one.inputs[: what.ndim])
    places: dict[Hashable, int] = {}
    numbers: dict[int, int] = {}  # of values: what they were, what they are
    for place, (operand, values) in enumerate(zip(what.operands, given, strict=True)):
        key = (operand, *(same.number(value) for value in values))
        if key not in places:
            places[key] = len(operands)
            operands.append(operand)
            inputs += values
        numbers[place] = places[key]
    steps = _steps(what, numbers, len(operands))
    smaller = Map(what.ndim, tuple(operands), steps, what.target)
    return replace(one, inputs=(*inputs, *target), attributes=(smaller,))


def _taken(
    nest: Nest, what: Map, inputs: Sequence[Value]
) -> tuple[list[Sequence[Value]], Sequence[Value]]:
    """The inputs of each operand, and those of the target."""
    at, given = what.ndim, []
    for operand in what.operands:
        count = 1
        if isinstance(operand, View):
            count = nest.numbered[operand.array].ndim + operand.computed_steps
        given.append(inputs[at : at + count])
        at += count
    return given, inputs[at:]


def _steps(what: Map, numbers: dict[int, int], count: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    known: dict[Step, int] = {}
    for place, one in enumerate(what.steps):
        step = replace(one, inputs=tuple(numbers[value] for value in one.inputs))
        is_last = place == len(what.steps) - 1
        if step not in known or is_last:
            known[step] = count + len(steps)
            steps.append(step)
        numbers[len(what.operands) + place] = known[step]
    return tuple(steps)
