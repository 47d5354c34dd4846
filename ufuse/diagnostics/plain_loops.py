"""Loops that plain Python has got back: a report says why of them, and leaves out what was captured in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from ufuse.frame_hook.entries.journal import Decision, duration
from ufuse.frame_hook.nests.entries.records import LoopRecord
from ufuse.frame_hook.trace.reasons import Break

PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+)( in |$)")


class Placed(Protocol):
    """What has a place in the program: a break, a retrace, a decision."""

    @property
    def file(self) -> str:
        """The file."""

    @property
    def line(self) -> int:
        """The line."""


def is_refused(loop: LoopRecord) -> bool:
    """Whether a loop has no native code, and a reason."""
    return bool(loop.why_not) and not loop.turns


def is_inside(place: Placed, loops: Iterable[LoopRecord]) -> bool:
    """Whether a place is in one of some loops, or in what is called there."""
    file, line = place.file, place.line
    if isinstance(place, Break) and (caller := PLACE.match(place.called_from)):
        file, line = caller["file"], int(caller["line"])
    return any(one.file == file and one.line <= line <= one.last_line for one in loops)


def decision_of(loop: LoopRecord, decisions: Iterable[Decision]) -> Decision | None:
    """What timing has found of a loop that has no native code: the last that was found."""
    if not is_refused(loop):
        return None
    return next(
        (one for one in reversed([*decisions]) if one.line and is_inside(one, [loop])), None
    )


def plain(
    loops: Iterable[LoopRecord],
    decisions: Iterable[Decision],
    captured: Callable[[LoopRecord], bool],
) -> list[LoopRecord]:
    """The loops that run as plain Python: graphs for their turns were slower, or nothing was `captured` in them."""
    found = [(one, decision_of(one, decisions)) for one in loops if is_refused(one)]
    return [
        one
        for one, decision in found
        if (not captured(one) if decision is None else decision.way == "plain")
    ]


def turns_in_words(decision: Decision) -> str:
    """What a turn takes, and how it runs therefore."""
    compiled, plain = duration(decision.compiled / 1e9), duration(decision.plain / 1e9)
    if decision.way == "plain":
        return f"it runs as plain Python, {plain} a turn; as graphs a turn took {compiled}"
    more = "more than " * decision.is_cut
    return f"its turns run as graphs, {compiled} each; in plain Python {more}{plain}"
