"""What a session tells people: counters, breaks, retraces and log lines, each fact once."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import CodeType
from typing import Any

from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.places import in_words, short_file
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.entries.learned import Retrace, retraced
from ufuse.frame_hook.trace.reasons import Break
from ufuse.graph.records import record
from ufuse.graph.text import to_text

__builtins__ = KEPT
MOST_TOLD = 10_000  # breaks, and retraces, that are remembered

LOG_BREAKS = logging.getLogger("ufuse.breaks")
LOG_RETRACES = logging.getLogger("ufuse.retraces")
LOG_GUARDS = logging.getLogger("ufuse.guards")
LOG_GRAPHS = logging.getLogger("ufuse.graphs")
LOG_BYTECODE = logging.getLogger("ufuse.bytecode")
LOG_TIMES = logging.getLogger("ufuse.times")
LOG_ERRORS = logging.getLogger("ufuse")

WAYS = {
    "compiled": "compiled",
    "native": "as one piece of machine code",
    "callees": "as plain Python, and what it calls compiled,",
    "plain": "as plain Python",
}


def duration(seconds: float) -> str:
    """A time in the unit that people would use."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.{2 if seconds < 1e-5 else 0}f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


@dataclass(slots=True)
class Stats:
    """Counters of a compiled function.

    Attributes:
        calls: of the function, compiled or not.
        hits: calls that found a graph for their arguments.
        traces: how often a frame was read to capture a graph.
        retraces: those among them where a graph was there, for other arguments.
        breaks: places where a graph ended before its function did.
        eager_calls: runs that graphs left to plain Python, because they may warn or fail.
        given_back: functions and loops found to be faster in plain Python.
        instructions: how many traces have read.
        trace_seconds: how long traces took, with compiling.
        compile_seconds: how long compiling took.

    """

    calls: int = 0
    hits: int = 0
    traces: int = 0
    retraces: int = 0
    breaks: int = 0
    eager_calls: int = 0
    given_back: int = 0
    instructions: int = 0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0

    def __repr__(self) -> str:
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        shown = (f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in values)
        return f"Stats({', '.join(shown)})"


@record
class Decision:
    """What timing has found.

    Attributes:
        function: the name of the function.
        file, line: where its loop is; line is 0 for whole calls.
        way: how it runs from now on: "compiled", "native" (as one piece of machine code), "callees" (only what it
            calls is compiled) or "plain".
        compiled, plain: nanoseconds of a call or of a turn of the loop.
        is_cut: whether plain Python takes longer than that: its run was cut short.

    """

    function: str
    file: str
    line: int
    way: str
    compiled: int
    plain: int
    is_cut: bool = False

    def __str__(self) -> str:
        compiled, plain = duration(self.compiled / 1e9), duration(self.plain / 1e9)
        times = f"{compiled} compiled, {'more than ' * self.is_cut}{plain} in plain Python"
        if not self.line:
            return f"{self.function}() runs {WAYS[self.way]} from now on: {times}"
        what = "is given back" if self.way == "plain" else "stays compiled"
        return (
            f"the loop through line {self.line} of {self.function}() {what}: a turn takes {times}"
        )


class Journal:
    """Counters, breaks and retraces of one session; `fullgraph` makes the error that a break is, where it is one."""

    def __init__(self, fullgraph: Callable[[Break], Exception] | None) -> None:
        self.fullgraph = fullgraph
        self.stats = Stats()
        self.breaks: list[Break] = []
        self.retraces: list[Retrace] = []
        self.misfits: list[str] = []
        self.decisions: list[Decision] = []
        self._known_breaks: set[Break] = set()
        self._known_errors: set[str] = set()

    def forget(self) -> None:
        """Begin anew."""
        self.stats = Stats()
        self.breaks.clear()
        self.retraces.clear()
        self.decisions.clear()
        self._known_breaks.clear()

    def remember(self, found: Break) -> None:
        """A break: listed once, and in the log."""
        if found not in self._known_breaks and len(self.breaks) < MOST_TOLD:
            self._known_breaks.add(found)
            self.breaks.append(found)
            self.stats.breaks += 1
            LOG_BREAKS.info("%s\n  %s", found, found.hint)

    def note_break(self, found: Break) -> None:
        """A break; where one graph is asked for, that is an error."""
        self.remember(found)
        if self.fullgraph is not None:
            raise self.fullgraph(found)

    def note_unfit(self, found: Break) -> None:
        """A graph was not run to its end, because what it was made for was otherwise."""
        if found not in self.breaks:
            self.remember(found)

    def note_retrace(
        self, code: CodeType, kept: Specialisation, failed: int, state: tuple[Any, ...]
    ) -> None:
        """A frame in this state is traced again, because the guard `failed` of the nearest entry does not hold."""
        found = retraced(code, kept, kept.guards[failed], state)
        if len(self.retraces) < MOST_TOLD:
            self.retraces.append(found)
        LOG_RETRACES.info(
            "%s:%d in %s() is traced again, because %s%s",
            short_file(found.file), found.line, code.co_qualname, found.guard,
            f"; now {found.now}" if found.now else "",
        )  # fmt: skip

    def note_misfit(self, code: CodeType, position: int, text: str) -> None:
        """An entry does not fit the very state it was made for: a mistake of ours, which costs speed only."""
        self.misfits.append(f"{code.co_qualname} at {position}: {text}")
        LOG_GUARDS.info(
            "a new graph is thrown away, as its guards fail at once: %s", self.misfits[-1]
        )

    def note_entry(self, code: CodeType, kept: Specialisation) -> None:
        """A new entry, with its graph and its guards in the log."""
        self.stats.traces += 1
        if LOG_GRAPHS.isEnabledFor(logging.DEBUG):
            text = to_text(kept.graph) if kept.nest is None else str(kept.nest)
            LOG_GRAPHS.debug("%s from line %d:\n%s", code.co_qualname, kept.line, text)
        if LOG_GUARDS.isEnabledFor(logging.DEBUG):
            for row in kept.guards:
                text = in_words(row.text, code, kept.position)
                LOG_GUARDS.debug(
                    "%s() line %d is traced again when %s", code.co_qualname, kept.line, text
                )
        LOG_TIMES.debug(
            "%s line %d traced in %.1f ms", code.co_qualname, kept.line, kept.trace_seconds * 1e3
        )

    def note_given_up(self, code: CodeType, position: int, why: str) -> None:
        """A graph is no longer used, because its kernels or steps refuse nearly every call."""
        LOG_BREAKS.info(
            "%s: the graph at %d is given up, because %s",
            code.co_qualname,
            position,
            why,
        )

    def note_decision(
        self,
        code: CodeType,
        line: int,
        way: str,
        compiled: int,
        plain: int,
        *,
        is_cut: bool = False,
    ) -> None:
        """Calls, or turns of the loop through a line, were timed: which way they run from now on."""
        found = Decision(code.co_qualname, code.co_filename, line, way, compiled, plain, is_cut)
        self.stats.given_back += way == "plain"
        if len(self.decisions) < MOST_TOLD:
            self.decisions.append(found)
        LOG_TIMES.info("%s", found)

    @staticmethod
    def note_resume_code(code: CodeType, position: int, stops: frozenset[int]) -> None:
        """Code that resumes a frame was made."""
        if LOG_BYTECODE.isEnabledFor(logging.DEBUG):
            LOG_BYTECODE.debug(
                "%s resumes at %d, stops at %s", code.co_qualname, position, sorted(stops)
            )

    def note_error(self, error: BaseException) -> None:
        """A failure of ours, while a frame was traced or run; the same one is told once."""
        text = "".join(traceback.format_exception(error))
        if text in self._known_errors:
            return
        if len(self._known_errors) < MOST_TOLD:
            self._known_errors.add(text)
        LOG_ERRORS.error(
            "ufuse failed inside and runs this frame in plain Python; please report it:\n%s", text
        )
