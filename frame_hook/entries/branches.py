"""Branches at which graphs end: which side of them is nearly always taken, so that a longer graph may go on there."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.entries.endings import refused
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.interpreter.fork_refusals import CannotFork
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.reasons import Break
from ufuse.graph.ops import Kind

__builtins__ = KEPT

FIRST = 8  # runs of an entry until it is asked which side of its branch is taken
SOON = 3  # runs until it is asked once more, for a start
RARELY = 30  # times that one side is taken for each time that the other is, at least
LATEST = 1 << 20  # runs until it is asked once more, at most


def ask_first(entry: Any) -> None:
    """Have C ask for a longer entry, where one ends at a branch."""
    kept: Specialisation = entry.data
    if kept.branch is not None:
        entry.asks_after = FIRST


def ask_later(entry: Any, *, is_inlined: bool = False) -> None:
    """Have C ask again, when the entry has run three times as often; of a branch that is inlined, soon for a start.

    The function that has it is then asked first.
    """
    is_first = is_inlined and entry.hits <= FIRST
    entry.asks_after = SOON if is_first else min(3 * entry.hits, LATEST)


def learn(record: CodeRecord, jump: int, entry: Any) -> None:
    """Note which side of its branch an entry has seen taken, where that is nearly always the same."""
    most, least = max(entry.were_true, entry.were_false), min(entry.were_true, entry.were_false)
    if most + least >= FIRST - 1 and least * RARELY <= most and jump not in record.usual:
        record.usual[jump] = entry.were_true > entry.were_false


def learn_of_sides(record: CodeRecord, code: CodeType, entry: Any) -> None:
    """Note of another entry of the same code what its branch has seen: one trace may go on through several."""
    kept = entry.data
    if isinstance(kept, Specialisation) and kept.branch is not None and kept.branch[0]() is code:
        learn(record, kept.branch[1], entry)


def waits(cache: Any, entry: Any) -> bool:
    """Whether an entry behind a branch waits for the one in front of that, which may go on through both."""
    if entry.hits > FIRST or not cache.entries(0):
        return False
    entry.asks_after = 2 * FIRST
    return True


def is_mixed(entry: Any, *, is_inlined: bool) -> bool:
    """Whether the sides of an entry's branch are taken in turn; where it is inlined, whether none has been usual."""
    if is_inlined:
        return bool(entry.hits > FIRST)
    return bool(entry.were_true and entry.were_false)


class Forks:
    """The branches of which both sides may be in one graph: those that were not found to be otherwise."""

    def __init__(self, record_of: Callable[[CodeType], CodeRecord]) -> None:
        self._record_of = record_of

    def may(self, code: CodeType, position: int) -> bool:
        """Whether the sides of a jump are tried to be in one graph."""
        return position not in self._record_of(code).not_forked

    def refuse(self, interpreter: Interpreter, refusal: CannotFork) -> Break:
        """Note that those of a jump cannot be; why, for the user."""
        self._record_of(refusal.code).not_forked[refusal.position] = refusal.why
        return refused(interpreter, refusal)


def has_forks(entry: Any) -> bool:
    """Whether both sides of a branch are in an entry's graph."""
    kept: Specialisation = entry.data
    return any(node.op.kind is Kind.BRANCH for node in kept.graph)
