"""Where loops stand in bytecode: the positions of each, and where ways come together."""

from __future__ import annotations

import types
from collections.abc import Iterable

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.stops import why_not_resume

BACK = ("JUMP_BACKWARD", "POP_JUMP_BACKWARD")
NOT_IN_TESTS = ("STORE", "DELETE", "FOR_ITER", "GET_ITER", "JUMP", "RETURN", "RAISE", "POP_TOP")


def written(rows: Iterable[instructions.Instruction]) -> frozenset[int]:
    """The slots of variables that some instructions give values, those in cells included."""
    return frozenset(slot for one in rows for use, slot in _uses(one) if use == "w")


def _uses(one: instructions.Instruction) -> Iterable[tuple[str, int]]:
    if one.opname == "STORE_DEREF" and one.arg is not None:
        return (("w", one.arg),)
    return instructions.slot_uses(one)


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
    first = _first_of_test(code, header) if table[header].opname != "FOR_ITER" else header
    waiting = [header]
    while waiting:
        for one in came_from.get(waiting.pop(), ()):
            if one not in found and one in seen and one >= first:
                found.add(one)
                waiting.append(one)
    return frozenset(found)


@instructions.per_code
def while_headers(code: types.CodeType) -> frozenset[int]:
    """The headers of `while` loops: every turn comes to one; most compilers repeat the test at the end of a turn.

    Where `continue` jumps to the test in front of the loop, what is behind that is the header.
    """
    targets = _back_targets(code)
    return targets - {first for one in targets if (first := _first_of_test(code, one)) != one}


@instructions.per_code
def _back_targets(code: types.CodeType) -> frozenset[int]:
    table = instructions.by_position(code)
    found = {
        one.position: one.target
        for one in table.values()
        if one.opname.startswith(BACK)
        and one.target is not None
        and table[one.target].opname != "FOR_ITER"
    }
    if not found:  # nothing needs to be followed
        return frozenset()
    reached = instructions.flow(code).depths
    return frozenset(target for position, target in found.items() if position in reached)


def _first_of_test(code: types.CodeType, header: int) -> int:
    """Where the test in front of a `while` loop begins, if turns come back to it; else the header itself."""
    targets = _back_targets(code)
    before = [one for one in instructions.instructions(code) if one.position < header]
    found = header
    for one in reversed(before):
        is_named = one.opname == "STORE_FAST" and one.location[0] == before[-1].location[0]
        if one.opname.startswith(NOT_IN_TESTS) and not is_named:  # `:=` is a part of the test
            break
        if one.position in targets:
            found = one.position
    return found


def exit_place(code: types.CodeType, position: int, least: int) -> int | None:
    """Where a frame goes on that leaves a loop for a position; None: it cannot.

    What only drops iterators is passed over, as long as the stack keeps its `least` values. A handler that keeps more
    of them may come back to the loop, whose iterators are not what plain Python's would be.
    """
    table, depths = instructions.by_position(code), instructions.flow(code).depths
    while True:
        one = table[position]
        if one.opname == "JUMP_FORWARD":
            position = instructions.successors(one)[0]
        elif one.opname in ("NOP", "NOT_TAKEN") or (
            one.opname in ("POP_TOP", "POP_ITER") and depths[position] > least
        ):
            position += one.size
        else:
            cannot = why_not_resume(code, position) is not None
            return None if cannot or _may_come_back(code, position, least) else position


def _may_come_back(code: types.CodeType, position: int, least: int) -> bool:
    """Whether an exception may be handled with more than `least` values on the stack, from a position on."""
    table, depths = instructions.by_position(code), instructions.flow(code).depths
    protected = instructions.protections(code)
    seen, waiting = {position}, [position]
    while waiting:
        one = waiting.pop()
        if one in protected and protected[one].depth > least:
            return True
        following = [
            next_ for next_ in instructions.successors(table[one]) if depths.get(next_, 0) > least
        ]
        waiting += [next_ for next_ in following if next_ not in seen]
        seen.update(following)
    return False


@instructions.per_code
def read_behind(code: types.CodeType) -> dict[int, frozenset[int]]:
    """For the header of each loop: the slots that may be read where it has been left, also in mid-turn."""
    table, live = instructions.by_position(code), instructions.live_locals(code)
    headers = [one.position for one in table.values() if one.opname == "FOR_ITER"]
    found = {}
    for header in (*headers, *while_headers(code)):
        inside = {header, *loop_positions(code, header)}
        behind = {to for one in inside for to in instructions.successors(table[one])} - inside
        found[header] = frozenset().union(*(live[one] for one in behind))
    return found


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
