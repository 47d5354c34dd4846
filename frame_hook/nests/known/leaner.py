"""A nest's blocks without what nothing needs: variables that nobody reads, and those of steps that are one number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ufuse.graph.nest import Block, Instruction
from ufuse.graph.nest_types import Value

NEXT = ".next"
STEP = ".step"  # of iterators: these are set before they are read


def leaner(
    blocks: Sequence[Block], kept: Collection[str], unsure: Collection[str]
) -> tuple[Block, ...]:
    """The blocks with the same results; variables that are `kept` are read outside of them.

    An iterator that goes on by one is behind its end at most at what ended it, which is an integer, unless it is
    `unsure`.
    """
    steps = _known_steps(blocks, kept)
    read = {
        one.attributes[0]
        for block in blocks
        for one in block.instructions
        if one.op == "get" and one.attributes[0] not in steps
    }
    read.update(kept)
    sure = {
        f"{name}{NEXT}"
        for step, number in steps.items()
        if abs(number) == 1 and (name := step.removesuffix(STEP)) not in unsure
    }
    return tuple(_without(block, read, steps, sure) for block in blocks)


def _known_steps(blocks: Sequence[Block], kept: Collection[str]) -> dict[str, int]:
    """The steps that are never set to anything but one number."""
    found: dict[str, set[int | None]] = {}
    for block in blocks:
        numbers = {one.result: one.attributes[0] for one in block.instructions if one.op == "const"}
        for one in block.instructions:
            if one.op == "set" and one.attributes[0].endswith(STEP):
                found.setdefault(one.attributes[0], set()).add(numbers.get(one.inputs[0]))
    return {
        name: number
        for name, (number, *others) in found.items()
        if number is not None and not others and name not in kept
    }


def _without(
    block: Block, read: Collection[str], steps: dict[str, int], sure: Collection[str]
) -> Block:
    found: list[Instruction] = []
    following: dict[Value, str] = {}  # what iterators give, by the variables
    strides: dict[Value, str] = {}
    for one in block.instructions:
        name = one.attributes[0] if one.op in {"get", "set"} else ""
        if one.op == "get" and name in steps and one.result is not None:
            strides[one.result] = name.removesuffix(STEP) + NEXT
            found.append(replace(one, op="const", attributes=(steps[name],)))
            continue
        if one.op == "get" and name in sure and one.result is not None:
            following[one.result] = name
        elif one.op == "add" and one.inputs[0] in following:
            here, by = (
                followed.get(each)
                for followed, each in zip((following, strides), one.inputs, strict=True)
            )
            found.append(replace(one, is_sure=here == by))
            continue
        if one.op != "set" or name in read:
            found.append(one)
    return replace(block, instructions=tuple(found))


def variables_of(blocks: Sequence[Block]) -> dict[str, None]:
    """The names of the variables that blocks read or set, in order."""
    instructions = (one for block in blocks for one in block.instructions)
    return {one.attributes[0]: None for one in instructions if one.op in {"get", "set"}}
