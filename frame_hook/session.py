"""A session: what one `ufuse.compile` knows. It traces when C asks, and keeps what was learned of every code object."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions, resume
from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.markers import DISABLED
from ufuse.frame_hook.code.stops import stops_after, why_not_code, why_not_resume
from ufuse.frame_hook.entries.entry import (
    Specialisation,
    is_idle,
)
from ufuse.frame_hook.entries.journal import Journal, Stats
from ufuse.frame_hook.entries.learned import CodeRecord, Places, Retrace
from ufuse.frame_hook.opcodes import calls
from ufuse.frame_hook.trace.reasons import Break, GraphBreak
from ufuse.frame_hook.tracing import Compile, Longest, Tracer, first_line
from ufuse.graph.node import Graph
from ufuse.graph.signals import is_of_signal

__builtins__ = KEPT

MOST_ENTRIES = 12  # specialisations of one position
MOST_TRACES = 48  # of one position, those whose entries died with a class or function included
MOST_SKIPPED = 48  # positions of a code object that has no graph yet, before it is given up
MOST_FAILURES = 3  # of a position where traces are cut short
MOST_REFUSALS = 32  # runs of a graph that ended in plain Python, before it is given up


class Session:
    """Traces frames for the C layer, and remembers why graphs ended and why frames were traced again.

    `longest` cuts traces short, to try every way a frame can be divided: it gives the most root instructions of a trace
    that begins at a position. A trace then ends at the first position from there where a frame can go on, entries
    without a graph are kept, and every stop stays.
    """

    notify_eager = True

    # `every_frame`: nothing is skipped for bringing no array or for having nothing to compute.
    def __init__(
        self,
        compile_graph: Compile,
        *,
        fullgraph: Callable[[Break], Exception] | None = None,
        should_trace: Callable[[CodeType], bool] = lambda _: True,
        check_arguments: Callable[[FunctionType, tuple[Any, ...]], None] | None = None,
        static_sizes: bool | frozenset[str] = False,
        every_frame: bool = False,
        longest: Longest | None = None,
    ) -> None:
        self.compile_graph = compile_graph
        self.every_frame = every_frame or longest is not None
        self.should_trace = should_trace
        self.check_arguments = check_arguments
        self.static_sizes = static_sizes
        self.longest = longest
        self.journal = Journal(fullgraph)
        self._tracer = Tracer(
            compile_graph,
            self.journal,
            every_frame=self.every_frame,
            static_sizes=static_sizes,
            longest=longest,
        )
        self._caches: ByCode[Any] = ByCode()  # of the functions that plain Python calls
        self._records: ByCode[CodeRecord] = ByCode()
        self._places = Places()

    # What C calls ----------------------------------------------------------------------------------------------

    def capture(
        self, cache: Any, position: int, function: FunctionType, state: tuple[Any, ...]
    ) -> Any:
        """Trace a frame from a position: a new entry, or None to run it in plain Python."""
        code = cache.code
        replaced = _hook.replaced_builtin()
        if replaced is not None:
            self.journal.note_break(_at_position(code, position, GraphBreak("builtins", replaced)))
            return None
        if code in DISABLED:
            self._give_up(cache, position, "marked with ufuse.disable")
            return None
        refusal = why_not_code(code) or _own_names(function)
        if refusal is not None:
            self.refuse(code, refusal)
            self._give_up(cache, position, refusal)
            return None
        if position == 0 and self.check_arguments is not None:
            self.check_arguments(function, state)
        record = self.record(code)
        entries = cache.entries(position)
        if entries:
            self._learn_from(cache, position, entries, state, record)
            if len(cache.entries(position)) >= MOST_ENTRIES:
                self._give_up(cache, position, "too many specialisations")
                return None
        traces = record.traces.get(position, 0) + 1
        record.traces[position] = traces
        if traces >= MOST_TRACES:
            self._give_up(cache, position, "traced too often")
        started = time.perf_counter()
        entry, passed = self._tracer.trace(cache, position, function, state, record)
        self.journal.stats.trace_seconds += time.perf_counter() - started
        if entry is not None and (failing := entry.first_failing(state)) is not None:
            self.journal.note_misfit(code, position, entry.data.guards[failing].text)
            entry = None
        if entry is None:
            self._note_no_entry(cache, position, record, passed)
        return entry

    def refuse(self, code: CodeType, why: str) -> None:
        """Nothing of a function can be captured: where one graph is asked for, that is an error."""
        if self.journal.fullgraph is not None:
            found = GraphBreak("call", f"{code.co_qualname}() ({why})")
            raise self.journal.fullgraph(
                found.at(code.co_filename, code.co_firstlineno, code.co_qualname)
            )

    def resume_code(self, cache: Any, position: int) -> CodeType:
        """The code that runs a frame on from a position, with the stops where capture may go on."""
        code = cache.code
        record = self.record(code)
        stops = stops_after(code, position, record.skipped)
        record.stops[position] = stops
        made = resume.resume_code(
            code, position, stops, restore=_hook.restore, suspend=_hook.suspend
        )
        self.journal.note_resume_code(code, position, stops)
        return made

    def cache_for(self, code: CodeType) -> Any:
        """The cache of a function that plain Python calls while this session runs it; None: never trace it."""
        if code in DISABLED or not self.should_trace(code) or why_not_code(code) is not None:
            return None
        known = self._caches.get(code)
        if known is None:
            if self._places.has_too_many(code):
                self.journal.remember(
                    GraphBreak("remade", code.co_qualname).at(
                        code.co_filename, code.co_firstlineno, code.co_qualname
                    )
                )
                return None
            made = _hook.CodeCache(code, self)
            made.stops_later = self.every_frame and why_not_resume(code, 0) is None
            known = self._caches.first(code, made)  # another thread may have been earlier
        return known

    @property
    def stats(self) -> Stats:
        """Counters since the session began, or forgot."""
        return self.journal.stats

    @property
    def breaks(self) -> list[Break]:
        """Why graphs ended, each place once."""
        return self.journal.breaks

    @property
    def retraces(self) -> list[Retrace]:
        """Why frames were traced again."""
        return self.journal.retraces

    @property
    def misfits(self) -> list[str]:
        """Entries that did not fit the state they were made for."""
        return self.journal.misfits

    @property
    def caches(self) -> list[Any]:
        """The caches of the functions that plain Python calls."""
        return self._caches.values()

    @property
    def specialisations(self) -> list[Specialisation]:
        """What was captured of code that lives, in that order."""
        found = [kept for record in self._records.values() for kept in record.specialisations]
        return sorted(found, key=attrgetter("number"))

    def eager_run(self, cache: Any, position: int, entry: Any) -> None:
        """Count a run in plain Python that a graph asked for; one that asks nearly always is given up."""
        self.journal.stats.eager_calls += 1
        if entry is None:
            return
        refused = entry.declined
        if entry.valid and refused >= MOST_REFUSALS and 2 * refused > entry.hits:
            entry.valid = False
            self._give_up(cache, position, "its graph warns or fails at nearly every call")
            if position != 0 and not any(other.valid for other in cache.entries(position)):
                self._no_stops(cache, {position}, self.record(cache.code))
            self.journal.note_given_up(cache.code, position)

    def internal_error(self, error: BaseException) -> None:
        """A failure of ours: said in the log; the frame runs in plain Python."""
        self.journal.note_error(error)

    def is_user_error(self, error: BaseException) -> bool:
        """Whether an exception out of `capture` is meant for the user."""
        return getattr(error, "for_user", False) is True or is_of_signal(error)

    def record(self, code: CodeType) -> CodeRecord:
        """What is known of a code object."""
        known = self._records.get(code)
        if known is None:
            known = self._records.first(code, CodeRecord())
        return known

    # Bookkeeping -----------------------------------------------------------------------------------------------

    def _give_up(self, cache: Any, position: int, why: str) -> None:
        record = self.record(cache.code)
        record.given_up[position] = why
        cache.give_up(position)
        if self.every_frame and position != 0:
            self._no_stops(cache, {position}, record)

    @staticmethod
    def _no_stops(cache: Any, positions: set[int], record: CodeRecord) -> None:
        """Let resume code pass over these positions from now on: what was made with stops there is made again."""
        record.skipped |= positions
        for place, stops in record.stops.copy().items():  # other threads make resume code meanwhile
            if not stops.isdisjoint(positions):
                cache.drop_resume(place)

    def _note_no_entry(
        self, cache: Any, position: int, record: CodeRecord, passed: list[int]
    ) -> None:
        """Stop suspending here and where the failed trace passed: each suspension would cost a trace for nothing."""
        if self.longest is not None:
            failures = record.failures[position] = record.failures.get(position, 0) + 1
            if failures >= MOST_FAILURES:
                self._give_up(cache, position, "traced in vain too often")
            return
        why = why_not_resume(cache.code, 0) or "nothing could be traced"
        self._give_up(cache, position, why)
        if self.every_frame:
            return
        self._no_stops(cache, {position, *passed}, record)
        if len(record.skipped) > MOST_SKIPPED and not record.useful:
            record.skipped.update(instructions.by_position(cache.code))
            self._give_up(cache, 0, "too many places where no graph begins")
            for entry in cache.entries(0):
                cache.remove(0, entry)

    def _learn_from(
        self,
        cache: Any,
        position: int,
        entries: list[Any],
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> None:
        """Learn from the guards that fail, and report that of the nearest entry: the one most of whose guards held."""
        self.journal.stats.retraces += 1
        nearest: tuple[int, Specialisation] | None = None
        for entry in entries:
            failed = entry.first_failing(state)
            if failed is None:
                continue
            kept: Specialisation = entry.data
            if nearest is None or failed > nearest[0]:
                nearest = failed, kept
            if record.learn(kept.guards[failed]):
                cache.remove(position, entry)
        if nearest is not None:
            self.journal.note_retrace(cache.code, nearest[1], nearest[0], state)

    def graphs(self) -> Iterator[Graph]:
        """Every graph that computes something, in the order captured."""
        return (kept.graph for kept in self.specialisations if not is_idle(kept.graph))

    def alone(self) -> Session:
        """A session with the same settings that knows nothing yet."""
        return Session(
            self.compile_graph,
            fullgraph=self.journal.fullgraph,
            should_trace=self.should_trace,
            check_arguments=self.check_arguments,
            static_sizes=self.static_sizes,
            every_frame=self.every_frame,
            longest=self.longest,
        )

    def forget(self) -> None:
        """Drop everything captured."""
        self.journal.forget()
        self._records.clear()
        self._places = Places()
        for cache in self.caches:
            cache.clear()


def _at_position(code: CodeType, position: int, graph_break: GraphBreak) -> Break:
    """A break of a frame that was not traced at all."""
    return graph_break.at(code.co_filename, first_line(code, position), code.co_qualname)


def _own_names(function: FunctionType) -> str | None:
    """Why no graph looks names up as a function does; None if one may."""
    try:
        calls.refuse_namespaces(function)
    except GraphBreak:
        return "its globals or builtins are its own"
    return None
