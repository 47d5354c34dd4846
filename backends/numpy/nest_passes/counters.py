"""Integers of a loop that a turn changes by little, or not at all: far from the limits none can overflow.

With `if a[i] > limit: count += 1` a turn may change `count` or not, so it is no polynomial (`nest_passes/integers.py`).
But after as many turns as a copy may do it is no further from what it was than these could bring it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ufuse.backends.numpy.nest_passes.integers import SMALL
from ufuse.graph.nest import Block, Instruction
from ufuse.graph.nest_types import I1, I64, INTEGERS, Value

HIGHEST = (1 << 63) - 1
FAR = 1 << 62  # from the limits, at least
Makers = Mapping[Value, Instruction]


def counters(blocks: Iterable[Block], limit: int) -> set[str]:
    """The variables that no turn of at most `limit` can make overflow, where they are no more than FAR."""
    reaches: dict[str, int | None] = {}
    for block in blocks:
        makers = _makers(block)
        for one in block.instructions:
            if one.op != "set" or one.inputs[0].type != I64:
                continue
            (name,) = one.attributes
            before, reach = reaches.get(name, 0), _reach(one.inputs[0], name, makers)
            reaches[name] = None if before is None or reach is None else before + reach
    return {
        name
        for name, reach in reaches.items()
        if reach is not None and FAR + SMALL + (limit + 1) * reach <= HIGHEST
    }


def sure_places(block: Block, names: set[str]) -> Iterator[int]:
    """Where arithmetic of a block gives what such a variable may become."""
    makers = _makers(block)
    for place, one in enumerate(block.instructions):
        if one.op in {"add", "sub"} and one.result is not None and one.result.type == I64:
            reaches = (_reach(one.result, name, makers) for name in names)
            if any(reach is not None and reach <= SMALL for reach in reaches):
                yield place


def tests(names: Iterable[str]) -> tuple[Instruction, ...]:
    """Doubts where variables are more than FAR."""
    made: list[Instruction] = []
    for name in names:
        first = 1 + len(made)
        held, most, least = (Value(first + i, I64) for i in range(3))
        above, below = (Value(first + 3 + i, I1) for i in range(2))
        made += [
            Instruction("get", (), held, (name,)),
            Instruction("const", (), most, (FAR,)),
            Instruction("const", (), least, (-FAR,)),
            Instruction("igt", (held, most), above),
            Instruction("ilt", (held, least), below),
            Instruction("doubt_if", (above,)),
            Instruction("doubt_if", (below,)),
        ]
    return tuple(made)


def _makers(block: Block) -> Makers:
    return {one.result: one for one in block.instructions if one.result is not None}


def _reach(value: Value, name: str, makers: Makers) -> int | None:
    """How far a value may be from a variable, or from zero; None where that is not known."""
    maker = makers[value]
    match maker.op:
        case "get" if maker.attributes[0] == name:
            return 0
        case "const":
            return 0 if abs(int(maker.attributes[0])) <= SMALL else None
        case "select":
            reaches = [_reach(one, name, makers) for one in maker.inputs[1:]]
            return None if None in reaches else max(one or 0 for one in reaches)
        case "add" | "sub":
            left, right = maker.inputs
            pairs = [(left, right), (right, left)][: 2 if maker.op == "add" else 1]
            for one, other in pairs:
                reach, size = _reach(one, name, makers), _size(other, makers)
                if reach is not None and size is not None:
                    return reach + size
    return None


def _size(value: Value, makers: Makers) -> int | None:
    """The largest that a value may be, with either sign, where that is known from what makes it."""
    maker = makers[value]
    match maker.op:
        case "const":
            return abs(int(maker.attributes[0]))
        case "widen":
            given = maker.inputs[0].type
            return 1 if given == I1 else 1 << int(given[1:]) if given in INTEGERS else None
        case "select":
            sizes = [_size(one, makers) for one in maker.inputs[1:]]
            return None if None in sizes else max(one or 0 for one in sizes)
    return None
