"""Which positions of a code object lead to a `raise`, or to a warning, and nowhere else."""

from __future__ import annotations

from itertools import pairwise
from types import CodeType

from ufuse.frame_hook.code.instructions import (
    VERSION,
    Instruction,
    instructions,
    per_code,
    successors,
)
from ufuse.frame_hook.code.kept_builtins import KEPT

__builtins__ = KEPT


@per_code
def raising_positions(code: CodeType) -> frozenset[int]:
    """The positions from which every path ends in a `raise` statement, or a failing `assert`."""
    return frozenset(_all_leading_to(code, set()))


@per_code
def unusual_positions(code: CodeType) -> frozenset[int]:
    """The same, of paths that call `warnings.warn`, too."""
    table = instructions(code)
    warned = {
        one.position
        for one, then in pairwise(table)
        if one.opname == "LOAD_GLOBAL" and _name(code, one) == "warnings"
        if then.opname in ("LOAD_ATTR", "LOAD_METHOD") and _name(code, then) == "warn"
    }
    return frozenset(_all_leading_to(code, warned))


def _name(code: CodeType, instruction: Instruction) -> str:
    """The name of a global, or of an attribute that is called."""
    is_shifted = instruction.opname == "LOAD_GLOBAL" or (
        instruction.opname == "LOAD_ATTR" and VERSION >= (3, 12)
    )
    return code.co_names[(instruction.arg or 0) >> is_shifted]


def _all_leading_to(code: CodeType, found: set[int]) -> set[int]:
    """The positions that are found, and those from which every path leads there, or to a `raise`."""
    grows = True
    while grows:
        before = len(found)
        found.update(one.position for one in reversed(instructions(code)) if _raises(one, found))
        grows = len(found) > before
    return found


def _raises(instruction: Instruction, found: set[int]) -> bool:
    if instruction.opname == "RAISE_VARARGS":
        return True
    after = successors(instruction)
    return bool(after) and found.issuperset(after)


def raising_side(code: CodeType, behind: int, target: int) -> bool | None:
    """Of the two ways behind a jump: True, where only its target raises or warns, False, where only the other does."""
    raising = unusual_positions(code)
    if (behind in raising) is (target in raising):
        return None
    return target in raising
