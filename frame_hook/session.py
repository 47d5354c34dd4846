"""A session: what one `ufuse.compile` knows. It traces when C asks, and keeps what was learned of every code object."""

from __future__ import annotations

import logging
import sys
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, Protocol

from ufuse.frame_hook import _hook
from ufuse.frame_hook.arrays import making, reductions
from ufuse.frame_hook.code import instructions, resume
from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.code.frame_readers import shows_its_locals
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.markers import DISABLED
from ufuse.frame_hook.code.places import ON_STACK, in_words, short_file
from ufuse.frame_hook.entries.endings import (
    Visited,
    dropped,
    end_after,
    filled,
    forget_frames,
    located,
    state_registers,
    watched,
)
from ufuse.frame_hook.entries.learned import CodeRecord, Places, Retrace, retraced
from ufuse.frame_hook.entries.recipe import (
    Recipe,
    Specialisation,
    finished_graph,
    is_idle,
    make_entry,
)
from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.frame import Frame, slot_names
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import LoopTooLong, NotRebuilt, Returned
from ufuse.frame_hook.library import (
    bisection,
    blind_writes,
    container_methods,
    deque_methods,
    exception_methods,
    function_tools,
    heaps,
    introspection,
    lazy_tools,
    mapping_methods,
    numeric,
    text,
)
from ufuse.frame_hook.opcodes import (
    calls,
    control,
    displays,
    exceptions,
    functions,
    operators,
    patterns,
    variables,
)
from ufuse.frame_hook.operations import attributes
from ufuse.frame_hook.trace.reading import Varying
from ufuse.frame_hook.trace.reasons import Break, GraphBreak
from ufuse.frame_hook.trace.symbols import NULL, Symbol, Unbound
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.node import Graph
from ufuse.graph.signals import is_of_signal
from ufuse.graph.text import to_text

__builtins__ = KEPT

MOST_ENTRIES = 12  # specialisations of one position
MOST_TRACES = 48  # of one position, those whose entries died with a class or function included
MOST_TRIES = 24
MOST_DULL = 48
MOST_FAILURES = 3  # of a position where traces are cut short
MOST_TOLD = 10_000  # breaks, and retraces, that are remembered
MOST_REFUSALS = 32  # runs of a graph that ended in plain Python, before it is given up

LOG_BREAKS = logging.getLogger("ufuse.breaks")
LOG_RETRACES = logging.getLogger("ufuse.retraces")
LOG_GUARDS = logging.getLogger("ufuse.guards")
LOG_GRAPHS = logging.getLogger("ufuse.graphs")
LOG_BYTECODE = logging.getLogger("ufuse.bytecode")
LOG_TIMES = logging.getLogger("ufuse.times")
LOG_ERRORS = logging.getLogger("ufuse")

# Importing these fills the tables of handlers and rules.
TABLES_ARE_FILLED_BY = (
    exception_methods, making, reductions, variables, operators, displays, patterns, control, exceptions, functions,
    bisection, introspection, container_methods, deque_methods, function_tools, heaps, lazy_tools,
    mapping_methods, numeric, text, blind_writes,
)  # fmt: skip


class Compile(Protocol):
    """What the session needs of a backend."""

    def __call__(self, graph: Graph) -> Callable[..., Any]:
        """The callable that computes `graph`."""


Longest = Callable[[CodeType, int], int]


@dataclass(slots=True)
class Stats:
    """Counters of a compiled function; times in seconds."""

    calls: int = 0
    hits: int = 0
    traces: int = 0
    retraces: int = 0
    breaks: int = 0
    eager_calls: int = 0
    instructions: int = 0  # read by traces
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0


class Session:
    """Traces frames for the C layer, and remembers why graphs ended and why frames were traced again.

    `longest` cuts traces short, to try every way a frame can be divided: it gives the most root instructions of a trace
    that begins at a position. A trace then ends at the first position from there where a frame can go on, entries
    without a graph are kept, and no position is dull.
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
        self.fullgraph = fullgraph
        self.should_trace = should_trace
        self.check_arguments = check_arguments
        self.static_sizes = static_sizes
        self.longest = longest
        self.stats = Stats()
        self.breaks: list[Break] = []
        self._known_breaks: set[Break] = set()
        self.retraces: list[Retrace] = []
        self.misfits: list[str] = []
        self._caches: ByCode[Any] = ByCode()  # of the functions that plain Python calls
        self._records: ByCode[CodeRecord] = ByCode()
        self._places = Places()
        self._visited: list[int] = []  # positions of the last trace that broke

    # What C calls ----------------------------------------------------------------------------------------------

    def capture(
        self, cache: Any, position: int, function: FunctionType, state: tuple[Any, ...]
    ) -> Any:
        """Trace a frame from a position: a new entry, or None to run it in plain Python."""
        code = cache.code
        replaced = _hook.replaced_builtin()
        if replaced is not None:
            self._note_break(_at_position(code, position, GraphBreak("builtins", replaced)))
            return None
        if code in DISABLED:
            self._give_up(cache, position, "marked with ufuse.disable")
            return None
        refusal = resume.why_not_code(code) or _own_names(function)
        if refusal is not None:
            self.refuse(code, refusal)
            self._give_up(cache, position, refusal)
            return None
        if position == 0 and self.check_arguments is not None:
            self.check_arguments(function, state)
        record = self.record(code)
        entries = cache.entries(position)
        if entries:
            self._note_retrace(cache, position, entries, state, record)
            if len(cache.entries(position)) >= MOST_ENTRIES:
                self._give_up(cache, position, "too many specialisations")
                return None
        traces = record.traces.get(position, 0) + 1
        record.traces[position] = traces
        if traces >= MOST_TRACES:
            self._give_up(cache, position, "traced too often")
        started = time.perf_counter()
        entry = self._trace(cache, position, function, state, record)
        self.stats.trace_seconds += time.perf_counter() - started
        if entry is not None and (failing := entry.first_failing(state)) is not None:
            self._note_misfit(cache, position, entry.data.guards[failing].text)
            entry = None
        if entry is None:
            self._note_dull(cache, position, record)
        return entry

    def refuse(self, code: CodeType, why: str) -> None:
        """Nothing of a function can be captured: where one graph is asked for, that is an error."""
        if self.fullgraph is not None:
            found = GraphBreak("call", f"{code.co_qualname}() ({why})")
            raise self.fullgraph(found.at(code.co_filename, code.co_firstlineno, code.co_qualname))

    def _note_misfit(self, cache: Any, position: int, text: str) -> None:
        """Say that an entry does not fit the very state it was made for: a mistake of ours, which costs speed only."""
        self.misfits.append(f"{cache.code.co_qualname} at {position}: {text}")
        LOG_GUARDS.info(
            "a new graph is thrown away, as its guards fail at once: %s", self.misfits[-1]
        )

    def resume_code(self, cache: Any, position: int) -> CodeType:
        """The code that runs a frame on from a position, with the stops where capture may go on."""
        code = cache.code
        record = self.record(code)
        stops = resume.stops_after(code, position, record.dull)
        record.stops[position] = stops
        made = resume.resume_code(
            code, position, stops, restore=_hook.restore, suspend=_hook.suspend
        )
        if LOG_BYTECODE.isEnabledFor(logging.DEBUG):
            LOG_BYTECODE.debug(
                "%s resumes at %d, stops at %s", code.co_qualname, position, sorted(stops)
            )
        return made

    def cache_for(self, code: CodeType) -> Any:
        """The cache of a function that plain Python calls while this session runs it; None: never trace it."""
        if code in DISABLED or not self.should_trace(code) or resume.why_not_code(code) is not None:
            return None
        known = self._caches.get(code)
        if known is None:
            if self._places.has_too_many(code):
                self._remember(
                    GraphBreak("remade", code.co_qualname).at(
                        code.co_filename, code.co_firstlineno, code.co_qualname
                    )
                )
                return None
            made = _hook.CodeCache(code, self)
            made.stops_later = self.every_frame and resume.why_not_resume(code, 0) is None
            known = self._caches.first(code, made)  # another thread may have been earlier
        return known

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
        self.stats.eager_calls += 1
        if entry is None:
            return
        refused = entry.declined
        if entry.valid and refused >= MOST_REFUSALS and 2 * refused > entry.hits:
            entry.valid = False
            self._give_up(cache, position, "its graph warns or fails at nearly every call")
            if position != 0 and not any(other.valid for other in cache.entries(position)):
                self._no_stops(cache, {position}, self.record(cache.code))
            LOG_BREAKS.info(
                "%s: the graph at %d is given up, because it warns or fails at nearly every call",
                cache.code.co_qualname,
                position,
            )

    def internal_error(self, error: BaseException) -> None:
        """A failure of ours: said in the log; the frame runs in plain Python."""
        text = "".join(traceback.format_exception(error))
        LOG_ERRORS.error(
            "ufuse failed inside and runs this frame in plain Python; please report it:\n%s", text
        )

    def is_user_error(self, error: BaseException) -> bool:
        """Whether an exception out of `capture` is meant for the user."""
        return getattr(error, "for_user", False) is True or is_of_signal(error)

    # Tracing ---------------------------------------------------------------------------------------------------

    def record(self, code: CodeType) -> CodeRecord:
        """What is known of a code object."""
        known = self._records.get(code)
        if known is None:
            known = self._records.first(code, CodeRecord())
        return known

    def _trace(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> Any:
        started = time.perf_counter()
        stop_at: int | None = None
        found: Break | None = None
        handled = sys.exception()  # by the user's program, now
        for _ in range(MOST_TRIES):
            trace, interpreter, frame = self._begin(
                cache.code, position, function, state, record, stop_at
            )
            visited = Visited(interpreter)
            try:
                returned = interpreter.run_root(frame)
                generators.refuse_guarded(interpreter)
                if returned is None and record.shows_locals is None:
                    record.shows_locals = shows_its_locals(function)
                return self._finish(cache, position, trace, frame, returned, found, started, record)
            except GraphBreak as graph_break:
                count = visited.where_it_broke()
                found = located(interpreter, graph_break)
                forget_frames(graph_break, handled)
                stop_at = visited.last_resumable(cache.code, count)
            except NotRebuilt as needed:
                count = (
                    needed.count
                    if 0 < needed.count < interpreter.root_count
                    else interpreter.root_count - 1
                )
                interpreter.call_stack[0].position = interpreter.positions[count]
                found = located(interpreter, GraphBreak("opcode", needed.what))
                forget_frames(needed, handled)
                stop_at = visited.last_resumable(cache.code, count)
            except RecursionError as error:
                found = located(
                    interpreter,
                    GraphBreak("recursion", interpreter.call_stack[-1].code.co_qualname),
                )
                forget_frames(error, handled)
                stop_at = visited.last_resumable(cache.code, len(visited.positions) - 1)
            except LoopTooLong as loop:
                record.kept_loops.add(loop.position)
                continue
            finally:
                self.stats.instructions += interpreter.total
            self._note_break(found)
            self._visited = visited.positions
            if not stop_at:
                return None  # an entry that resumes at its own position would run for ever
        LOG_ERRORS.debug("%s is broken too often to be traced", cache.code.co_qualname)
        return None

    def _begin(
        self,
        code: CodeType,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        stop_at: int | None,
    ) -> tuple[Trace, Interpreter, Frame]:
        names = slot_names(code)
        depth = len(state) - len(names)
        all_names = names + tuple(ON_STACK.format(i) for i in range(depth))
        trace = Trace(
            state, all_names, _hook.NULL,
            Varying(frozenset(record.dynamic), position != 0, frozenset(record.varying), self.static_sizes),
        )  # fmt: skip
        interpreter = Interpreter(
            trace,
            call=calls.call,
            attribute=attributes.attribute,
            stop_at=stop_at,
            kept_loops=frozenset(record.kept_loops),
            watched=watched(trace, state),
            may_end=None
            if self.longest is None
            else end_after(code, position, self.longest(code, position)),
        )
        trace.changes.replay = partial(blind_writes.replay, weakref.ref(interpreter))  # no cycle
        stack: list[Symbol] = []
        for symbol in trace.state[len(names) :]:
            if isinstance(symbol, Unbound):
                trace.found_empty(symbol)
                symbol = NULL  # noqa: PLW2901  the NULL of a call sequence
            stack.append(symbol)
        frame = Frame(
            code, function.__globals__, list(trace.state[: len(names)]), stack, position=position
        )
        return trace, interpreter, frame

    def _finish(
        self,
        cache: Any,
        position: int,
        trace: Trace,
        frame: Frame,
        returned: Returned | None,
        found: Break | None,
        started: float,
        record: CodeRecord,
    ) -> Any:
        trace.arrays.guard_disjoint()
        trace.changes.guard_different()
        for symbol in dropped(trace, frame, returned):
            trace.changes.replaced(symbol)
        for symbol in filled(trace, frame, position):
            trace.changes.will_be_replaced(symbol.source)
        recipe = Recipe(trace)
        recipe.follow(trace.changes.effects)
        if returned is not None:
            ending: tuple[Any, ...] = ("return", recipe.register(returned.value))
            handled: tuple[int, ...] = ()
        else:
            registers = state_registers(frame, recipe, keeps_all=record.shows_locals is True)
            ending = ("resume", frame.position, registers)
            handled = (resume.handled_slot(cache.code, frame.position),)
        graph, inputs = finished_graph(trace, recipe, cache.code.co_name)
        idle = is_idle(graph)
        if trace.changes.effects and returned is None and frame.position == position:
            return None
        if idle and position != 0 and returned is None and not self.every_frame:
            return None
        traced = time.perf_counter() - started
        artefact = None
        if not idle or recipe.outputs:
            compiling = time.perf_counter()
            artefact = self.compile_graph(graph)
            record.useful = True
            self.stats.compile_seconds += time.perf_counter() - compiling
        ending = (*ending[:-1], recipe.numbered(ending[-1]), *handled)
        entry = make_entry(trace, recipe, inputs if artefact is not None else [], artefact, ending)
        return self._registered(
            entry, cache, position, trace, graph, found if returned is None else None, traced
        )

    def _registered(
        self,
        entry: Any,
        cache: Any,
        position: int,
        trace: Trace,
        graph: Graph,
        found: Break | None,
        seconds: float,
    ) -> Any:
        line = _line(cache.code, position)
        sources = tuple(str(node.attributes["name"]) for node in graph.inputs)
        kept = Specialisation(
            self.stats.traces, weakref.ref(cache.code), position,
            graph, trace.guards.remembered(), sources, found, line,
            tuple(in_words(one.in_words(), cache.code, position) for one in trace.changes.effects), seconds,
        )  # fmt: skip
        entry.data = kept
        self.record(cache.code).note(kept, cache.entries(position))
        self.stats.traces += 1
        if LOG_GRAPHS.isEnabledFor(logging.DEBUG):
            LOG_GRAPHS.debug("%s from line %d:\n%s", cache.code.co_qualname, line, to_text(graph))
        if LOG_GUARDS.isEnabledFor(logging.DEBUG):
            for row in trace.guards.rows:
                text = in_words(row.text, cache.code, position)
                LOG_GUARDS.debug(
                    "%s() line %d is traced again when %s", cache.code.co_qualname, line, text
                )
        LOG_TIMES.debug("%s line %d traced in %.1f ms", cache.code.co_qualname, line, seconds * 1e3)
        return entry

    # Bookkeeping -----------------------------------------------------------------------------------------------

    def _remember(self, found: Break) -> None:
        if found not in self._known_breaks and len(self.breaks) < MOST_TOLD:
            self._known_breaks.add(found)
            self.breaks.append(found)
            self.stats.breaks += 1
            LOG_BREAKS.info("%s\n  %s", found, found.hint)

    def _note_break(self, found: Break) -> None:
        self._remember(found)
        if self.fullgraph is not None:
            raise self.fullgraph(found)

    def _give_up(self, cache: Any, position: int, why: str) -> None:
        record = self.record(cache.code)
        record.given_up[position] = why
        cache.give_up(position)
        if self.every_frame and position != 0:
            self._no_stops(cache, {position}, record)

    @staticmethod
    def _no_stops(cache: Any, positions: set[int], record: CodeRecord) -> None:
        """Let resume code pass over positions from now on."""
        record.dull |= positions
        for place, stops in record.stops.copy().items():  # other threads make resume code meanwhile
            if not stops.isdisjoint(positions):
                cache.drop_resume(place)

    def _note_dull(self, cache: Any, position: int, record: CodeRecord) -> None:
        """A position where no graph begins is no longer a stop, nor are those on its way to where it broke."""
        if self.longest is not None:
            failures = record.failures[position] = record.failures.get(position, 0) + 1
            if failures >= MOST_FAILURES:
                self._give_up(cache, position, "traced in vain too often")
            return
        why = resume.why_not_resume(cache.code, 0) or "nothing could be traced"
        self._give_up(cache, position, why)
        if self.every_frame:
            return
        self._no_stops(cache, {position, *self._visited}, record)
        if len(record.dull) > MOST_DULL and not record.useful:
            record.dull.update(instructions.by_position(cache.code))
            self._give_up(cache, 0, "too many places where no graph begins")
            for entry in cache.entries(0):
                cache.remove(0, entry)

    def _note_retrace(
        self,
        cache: Any,
        position: int,
        entries: list[Any],
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> None:
        self.stats.retraces += 1
        nearest: tuple[int, Specialisation] | None = None  # the entry most of whose guards held
        for entry in entries:
            failed = entry.first_failing(state)
            if failed is None:
                continue
            kept: Specialisation = entry.data
            row = kept.guards[failed]
            if nearest is None or failed > nearest[0]:
                nearest = failed, kept
            if record.learn(row):
                cache.remove(position, entry)
        if nearest is not None:
            failed, kept = nearest
            found = retraced(cache.code, kept, kept.guards[failed], state)
            if len(self.retraces) < MOST_TOLD:
                self.retraces.append(found)
            LOG_RETRACES.info(
                "%s:%d in %s() is traced again, because %s%s",
                short_file(found.file), found.line, cache.code.co_qualname, found.guard,
                f"; now {found.now}" if found.now else "",
            )  # fmt: skip

    def graphs(self) -> Iterator[Graph]:
        """Every graph that computes something, in the order captured."""
        return (kept.graph for kept in self.specialisations if not is_idle(kept.graph))

    def alone(self) -> Session:
        """A session with the same settings that knows nothing yet."""
        return Session(
            self.compile_graph,
            fullgraph=self.fullgraph,
            should_trace=self.should_trace,
            check_arguments=self.check_arguments,
            static_sizes=self.static_sizes,
            every_frame=self.every_frame,
            longest=self.longest,
        )

    def forget(self) -> None:
        """Drop everything captured."""
        self.stats = Stats()
        self.breaks.clear()
        self._known_breaks.clear()
        self.retraces.clear()
        self._records.clear()
        self._places = Places()
        for cache in self.caches:
            cache.clear()


def _at_position(code: CodeType, position: int, graph_break: GraphBreak) -> Break:
    """A break of a frame that was not traced at all."""
    return graph_break.at(code.co_filename, _line(code, position), code.co_qualname)


def _line(code: CodeType, position: int) -> int:
    return instructions.by_position(code)[position].location[0] or code.co_firstlineno


def _own_names(function: FunctionType) -> str | None:
    """Why no graph looks names up as a function does; None if one may."""
    try:
        calls.refuse_namespaces(function)
    except GraphBreak:
        return "its globals or builtins are its own"
    return None
