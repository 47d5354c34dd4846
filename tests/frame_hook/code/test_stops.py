"""Which positions of a code object belong together."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import dis

from ufuse.frame_hook.code.stops import loop_around


def nested(rows):
    total = 0
    for row in rows:
        total += len(row)
        for value in row:
            total -= value
    return total


def lines_of(positions: set[int]) -> set[int]:
    """The lines, counted from the `def`, of instructions at these positions."""
    first = nested.__code__.co_firstlineno
    found = {i.offset // 2: i for i in dis.get_instructions(nested)}
    lines = {found[p].positions.lineno for p in positions if found[p].positions is not None}  # type: ignore[union-attr]
    return {line - first for line in lines if line is not None}


def at(line: int) -> int:
    """The position of the last instruction of a line that is no jump."""
    wanted = nested.__code__.co_firstlineno + line
    return max(
        i.offset // 2
        for i in dis.get_instructions(nested)
        if i.positions is not None and i.positions.lineno == wanted and "JUMP" not in i.opname
    )


def test_the_innermost_loop_around_positions() -> None:
    """All of its lines, and no other."""
    assert lines_of(loop_around(nested.__code__, [at(5)])) == {4, 5}
    assert lines_of(loop_around(nested.__code__, [at(3)])) == {2, 3, 4, 5}
    assert lines_of(loop_around(nested.__code__, [at(3), at(5)])) == {2, 3, 4, 5}
    assert loop_around(nested.__code__, [at(6)]) == set()
