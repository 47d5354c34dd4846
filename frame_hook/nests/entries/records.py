"""How the loops of a code object ran, for reports."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import CodeType
from typing import Any

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.places import over_expression
from ufuse.frame_hook.entries.journal import duration
from ufuse.frame_hook.entries.learned import CodeRecord, Visits
from ufuse.frame_hook.nests.entries.screening import why_not_instructions
from ufuse.frame_hook.nests.known.positions import loop_positions, while_headers
from ufuse.frame_hook.nests.known.refusals import refusal_of, why_not_over
from ufuse.frame_hook.nests.reading.refused import in_words
from ufuse.graph.nest import Nest
from ufuse.graph.records import record


@record
class LoopRecord:
    """A loop, as it ran.

    Attributes:
        line, last_line: where it stands.
        turns: how many of its turns ran natively.
        doubts: how often one was left to plain Python.
        why_not: why it has no native code; empty where it has some, or was not looked at.
        function, file: what it stands in.
        inside: the line of the native loop around it, of which it is a part; 0 for none.
        nests: its native code, a nest for each set of types.
        shared: how many of its turns threads shared.

    """

    line: int
    turns: int
    doubts: int
    why_not: str
    last_line: int = 0
    function: str = ""
    file: str = ""
    inside: int = 0
    nests: tuple[Nest, ...] = ()
    shared: int = 0

    def __repr__(self) -> str:
        return f"<loop of {self.function}(), line {self.line}: {self.how}>"

    @property
    def how(self) -> str:
        """How it ran, in words."""
        if self.why_not and not self.turns:
            return f"no native code, because {self.why_not} [{self.code}]"
        if self.inside:
            return f"part of the native code of the loop of line {self.inside}"
        return f"native code, {self.turns:,} turns" if self.turns else "not looked at yet"

    @property
    def code(self) -> str:
        """The name of the reason why it has no native code, a key of the table in docs/loops.md."""
        return refusal_of(self.why_not)[0] if self.why_not else ""

    @property
    def hint(self) -> str:
        """What to do about that."""
        return refusal_of(self.why_not)[1] if self.why_not else ""


def loop_records(cache: Any, record: CodeRecord) -> Iterator[LoopRecord]:
    """The loops of the code of a cache of which something is known."""
    code = cache.code
    headers = [
        one.position
        for one in instructions.instructions(code)
        if one.opname == "FOR_ITER" or one.position in while_headers(code)
    ]
    turns = {header: _turns(cache, header) for header in headers}
    for header in headers:
        around = [one for one in headers if one != header and header in loop_positions(code, one)]
        native = next((one for one in around if turns[one][0]), None)
        inside = _lines(code, native)[0] if native is not None and not turns[header][0] else 0
        why = "" if turns[header][0] or inside else _why_not(code, header, record)
        if header not in record.visits and not why:
            continue
        if why and _is_unrolled(code, header, record):
            continue
        yield LoopRecord(
            _lines(code, header)[0],
            *turns[header][:2],
            why,
            _lines(code, header)[1],
            code.co_qualname,
            code.co_filename,
            inside,
            tuple(
                one.nest
                for one in record.specialisations
                if one.nest is not None and one.position == header
            ),
            turns[header][2],
        )


def _is_unrolled(code: CodeType, header: int, record: CodeRecord) -> bool:
    """Whether a graph that begins before a `for` loop has all its turns, and goes on behind it."""
    at = instructions.by_position(code)[header]
    if at.opname != "FOR_ITER":
        return False
    behind, inside = instructions.successors(at)[1], loop_positions(code, header)
    return any(
        one.nest is None and {header, behind} <= one.ran and one.position not in inside
        for one in record.specialisations
    )


def _turns(cache: Any, header: int) -> tuple[int, int, int]:
    """How many turns were native, how many in doubt, and how many of the former shared."""
    nests = [one.artefact for one in cache.entries(header) if one.is_loop]
    counts = [(one.turns, one.doubts, one.shared_turns) for one in nests]
    turns, doubts, shared = (sum(each) for each in zip((0, 0, 0), *counts, strict=True))
    return turns, doubts, shared


def _lines(code: CodeType, header: int) -> tuple[int, int]:
    """The first and the last line of a loop."""
    table = instructions.by_position(code)
    lines = [table[one].location[0] for one in (header, *loop_positions(code, header))]
    found = [line for line in lines if line is not None] or [code.co_firstlineno]
    return min(found) if header in while_headers(code) else found[0], max(found)


def _why_not(code: CodeType, header: int, record: CodeRecord) -> str:
    visits: Visits | None = record.visits.get(header)
    if visits is not None and visits.refused is not None:
        return in_words(visits.refused)
    if record.iterators.get(header):
        return why_not_over(record.iterators[header], over_expression(code, header))
    unread = why_not_instructions(code, header)
    if unread is not None:
        return in_words(unread)
    if importlib.util.find_spec("llvmlite") is None:
        return "there is no llvmlite"
    if visits is None or not visits.begun:
        return ""
    if header in record.given_up and record.given_up[header] != "nothing could be traced":
        return record.given_up[header]
    took = visits.seconds + visits.unseen
    return f"it has taken only {duration(took)} so far" if took else ""
