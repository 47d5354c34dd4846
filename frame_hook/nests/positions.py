"""Where loops stand in bytecode: the positions of each, and where ways come together."""

from __future__ import annotations

import types

from ufuse.frame_hook.code import instructions


def loop_positions(code: types.CodeType, header: int) -> frozenset[int]:
    """The positions from which control may come back to a loop's header without passing it.

    Behind a `break` a loop around this one may come to the header again, from above: that is another run of it.
    """
    known = _loops(code)
    if header not in known:
        known[header] = _loop_positions(code, header)
    return known[header]


@instructions.per_code
def _loops(_: types.CodeType) -> dict[int, frozenset[int]]:
    return {}


def _loop_positions(code: types.CodeType, header: int) -> frozenset[int]:
    table = instructions.by_position(code)
    inside = instructions.successors(table[header])[0]
    seen, waiting = {inside}, [inside]
    came_from: dict[int, list[int]] = {}
    while waiting:
        one = waiting.pop()
        for following in instructions.successors(table[one]):
            came_from.setdefault(following, []).append(one)
            if following != header and following not in seen:
                seen.add(following)
                waiting.append(following)
    found: set[int] = set()
    waiting = [one for one in came_from.get(header, ()) if one > header]
    while waiting:
        one = waiting.pop()
        if one not in found and one in seen:
            found.add(one)
            waiting += came_from.get(one, ())
    return frozenset(found)


def behind_loop(code: types.CodeType, header: int) -> int:
    """Where a frame goes on, without the iterator, when a loop has ended."""
    table = instructions.by_position(code)
    behind = table[instructions.successors(table[header])[-1]]
    return behind.position + (behind.size if behind.opname == "POP_ITER" else 0)


@instructions.per_code
def joins(code: types.CodeType) -> frozenset[int]:
    """The positions that jumps lead to, and the headers of loops."""
    found = {
        target
        for one in instructions.instructions(code)
        for target in instructions.successors(one)[1:]
    }
    for one in instructions.instructions(code):
        if one.opname in instructions.JUMPS:
            found.update(instructions.successors(one))
        if one.opname == "FOR_ITER":
            found.add(one.position)
    return frozenset(found)
