"""Lower bounds of a nest's integers: an index that is never negative needs no wrap, a difference of two no check."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_types import INTEGERS, Value

Bounds = dict[str, int]  # of variables; those that are missing may be anything
HIGHEST = (1 << 63) - 1
PATIENCE = 6  # so often a block's bounds may fall before they are zero or nothing
COMPARISONS = {"igt", "ige", "ilt", "ile", "ieq"}
UNBOUNDED = {
    "get",
    "load",
    "neg",
    "invert",
    "position",
    "draw",
    "peek",
    "room",
}  # in themselves, of signed integers
_AT_LEAST_ZERO = {"mul", "floordiv", "or", "xor"}


def bound(one: Instruction, inputs: Sequence[int | None], last: int | None) -> int | None:
    """A lower bound of an instruction's integer, given those of its inputs, and the last where it is a constant.

    What overflows ends in a doubt.
    """
    if one.result is None or one.result.type not in INTEGERS:
        return None
    low = None if one.op in UNBOUNDED else _bound(one, inputs, last)
    return max(low or 0, 0) if one.result.type.startswith("u") else low


def _bound(one: Instruction, inputs: Sequence[int | None], last: int | None) -> int | None:
    match one.op, inputs:
        case "const", _:
            return int(one.attributes[0])
        case (("abs" | "dim" | "widen" | "enter"), _):
            return 0
        case "find", _:
            return -1
        case [str(op), [int(low)]] if op.startswith("to_"):
            return low
        case [str(op), [_]] if op.startswith("to_") and one.inputs[0].type.startswith("u"):
            return 0
        case "add", [int(left), int(right)]:
            return min(left + right, HIGHEST)
        case "sub", [int(left), _] if last is not None:
            return min(left - last, HIGHEST)
        case "select", [_, int(left), int(right)]:
            return min(left, right)
        case (("shl" | "shr" | "rshift"), [int(left), _]):
            return 0 if left >= 0 else None
        case "mod", [_, int(right)]:
            return 0 if right >= 0 else None
        case "and", [left, right]:
            return 0 if max(_or_less(left), _or_less(right)) >= 0 else None
    if one.op in _AT_LEAST_ZERO and all(_or_less(each) >= 0 for each in inputs):
        return 0
    return None


def _or_less(known: int | None) -> int:
    return -1 if known is None else known


def bounds_at_blocks(nest: Nest) -> dict[str, Bounds]:
    """The bounds of variables where each block begins, whatever the nest is given."""
    places = {block.label: place for place, block in enumerate(nest.blocks)}
    found: dict[str, Bounds] = {nest.blocks[0].label: {}}
    visits = dict.fromkeys(places, 0)
    waiting = [0]  # a heap: blocks mostly stand behind those that lead to them
    while waiting:
        block = nest.blocks[heappop(waiting)]
        for target, bounds in _bounds_behind(block, found[block.label]):
            old = found.get(target)
            new = bounds if old is None else _both(old, bounds)
            if new == old:
                continue
            visits[target] += 1
            if old is not None and visits[target] > PATIENCE:
                new = {name: 0 if low < old[name] else low for name, low in new.items() if low >= 0}
            found[target] = new
            if places[target] not in waiting:
                heappush(waiting, places[target])
    return found


def _both(left: Bounds, right: Bounds) -> Bounds:
    return {name: min(low, right[name]) for name, low in left.items() if name in right}


class _Values:
    """What is known at the end of a block."""

    def __init__(self, block: Block, bounds: Bounds) -> None:
        self.variables: dict[str, Value] = {}
        self.bounds: dict[Value, int | None] = {}
        self.makers: dict[Value, Instruction] = {}
        for one in block.instructions:
            if one.op == "set":
                self.variables[one.attributes[0]] = one.inputs[0]
            elif one.result is not None:
                self._note(one, one.result, bounds)

    def _note(self, one: Instruction, result: Value, bounds: Bounds) -> None:
        self.makers[result] = one
        last = self.makers.get(one.inputs[-1]) if one.inputs else None
        number = last.attributes[0] if last is not None and last.op == "const" else None
        self.bounds[result] = bound(one, [self.bounds.get(value) for value in one.inputs], number)
        if one.op == "get":
            (name,) = one.attributes
            held = self.variables.setdefault(name, result)
            self.bounds[result] = bounds.get(name) if held is result else self.bounds.get(held)


def _bounds_behind(block: Block, bounds: Bounds) -> list[tuple[str, Bounds]]:
    """The blocks that follow, and the bounds with which each begins."""
    values = _Values(block, bounds)
    targets = []
    for target, raised in zip(block.end.targets, _raised(block.end, values), strict=True):
        behind = dict(bounds)
        for name, value in values.variables.items():
            known = [
                each for each in (values.bounds.get(value), raised.get(value)) if each is not None
            ]
            behind.pop(name, None)
            if known and value.type in INTEGERS:
                behind[name] = max(known)
        targets.append((target, behind))
    return targets


def _raised(end: End, values: _Values) -> list[dict[Value, int]]:
    """What a branch tells of integers on either way."""
    then: dict[Value, int] = {}
    other: dict[Value, int] = {}
    waiting = [end.condition] if end.condition is not None else []
    is_one = True  # of several conditions that all hold it is not known which fails
    while waiting:
        maker = values.makers.get(waiting.pop())
        if maker is None:
            continue
        if maker.op == "and":
            waiting += maker.inputs
            is_one = False
        elif maker.op in COMPARISONS:
            _compare(maker, values, then, other if is_one else {})
    return [then, other][: len(end.targets)]


def _compare(
    maker: Instruction, values: _Values, then: dict[Value, int], other: dict[Value, int]
) -> None:
    left, right = maker.inputs
    low, high = values.bounds.get(left), values.bounds.get(right)
    rows: list[tuple[dict[Value, int], Value, int | None, int]] = {
        "igt": [(then, left, high, 1), (other, right, low, 0)],
        "ige": [(then, left, high, 0), (other, right, low, 1)],
        "ilt": [(then, right, low, 1), (other, left, high, 0)],
        "ile": [(then, right, low, 0), (other, left, high, 1)],
        "ieq": [(then, left, high, 0), (then, right, low, 0)],
    }[maker.op]
    for where, value, known, more in rows:
        if known is not None:
            where[value] = max(known + more, where.get(value, known + more))
