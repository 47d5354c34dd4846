"""Which positions of a code object lead to a `raise` and nowhere else."""

from __future__ import annotations

from types import CodeType

from ufuse.frame_hook.code.instructions import Instruction, instructions, per_code, successors
from ufuse.frame_hook.code.kept_builtins import KEPT

__builtins__ = KEPT


@per_code
def raising_positions(code: CodeType) -> frozenset[int]:
    """The positions from which every path ends in a `raise` statement, or a failing `assert`."""
    found: set[int] = set()
    grows = True
    while grows:
        before = len(found)
        found.update(one.position for one in reversed(instructions(code)) if _raises(one, found))
        grows = len(found) > before
    return frozenset(found)


def _raises(instruction: Instruction, found: set[int]) -> bool:
    if instruction.opname == "RAISE_VARARGS":
        return True
    after = successors(instruction)
    return bool(after) and found.issuperset(after)


def raising_side(code: CodeType, behind: int, target: int) -> bool | None:
    """Of the two ways behind a jump: True, where only its target raises, False, where only what is behind it does."""
    raising = raising_positions(code)
    if (behind in raising) is (target in raising):
        return None
    return target in raising
