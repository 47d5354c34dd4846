"""Tracing: from a frame at a position to an entry, in as many tries as breaks and long loops make necessary."""

from __future__ import annotations

import logging
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Protocol

from ufuse.frame_hook import _hook, rules_and_handlers
from ufuse.frame_hook.arrays import error_states
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.frame_readers import shows_its_locals
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.places import ON_STACK, in_words
from ufuse.frame_hook.entries.branches import Forks
from ufuse.frame_hook.entries.contents import known_contents
from ufuse.frame_hook.entries.endings import (
    Choose,
    Ending,
    Resume,
    Return,
    Visited,
    chosen,
    dropped,
    empty_cells,
    end_after,
    end_at,
    filled,
    forget_frames,
    goes_on,
    located,
    state_registers,
    watched,
)
from ufuse.frame_hook.entries.entry import (
    Specialisation,
    cannot_pay,
    finished_graph,
    is_idle,
    make_entry,
)
from ufuse.frame_hook.entries.journal import Journal
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.fork_refusals import CannotFork
from ufuse.frame_hook.interpreter.forks import fork
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, UsualTruth
from ufuse.frame_hook.interpreter.outcomes import LoopTooLong, LoopUnpaid, NotRebuilt, Returned
from ufuse.frame_hook.library import blind_writes
from ufuse.frame_hook.nests.entries.arrival import headers_outside, kinds_of, nests_that_take
from ufuse.frame_hook.nests.entries.left_loops import is_left, open_headers
from ufuse.frame_hook.nests.known.positions import while_headers
from ufuse.frame_hook.opcodes import calls
from ufuse.frame_hook.operations import attributes
from ufuse.frame_hook.trace.changes import Effect, described
from ufuse.frame_hook.trace.reading import Varying
from ufuse.frame_hook.trace.reasons import Break, GraphBreak
from ufuse.frame_hook.trace.symbols import NULL, Symbol, Unbound
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.node import Graph

__builtins__ = KEPT

MOST_TRIES = 24  # of one frame: each break ends the next try earlier

LOG_ERRORS = logging.getLogger("ufuse")
TABLES_ARE_FILLED_BY = rules_and_handlers.MODULES


Branch = tuple[weakref.ref[CodeType], int]


class Compile(Protocol):
    """What the session needs of a backend."""

    def __call__(self, graph: Graph) -> Callable[..., Any]:
        """The callable that computes `graph`."""


Longest = Callable[[CodeType, int], int]


class Attempt(NamedTuple):
    """What tracing a frame came to: an entry, or None.

    `passed` are the root positions that the last failed try had run; `expired`: the time that may be spent was up.
    `unpaid` are the seconds that it would take to unroll a loop, where that is more than may be spent; else 0.
    """

    entry: Any
    passed: list[int]
    expired: bool
    unpaid: float = 0.0


class Ended(NamedTuple):
    """Why a trace ended before its frame; `branch`: at which jump, whose condition the graph computes."""

    found: Break | None = None
    branch: Branch | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be traced: a frame from a position, which reading ends at a moment of `time.thread_time`.

    `usual_truth`, `may_cost`: see `Interpreter`. `forks`: of which branches both sides may be in the graph; None: of
    none.
    """

    cache: Any
    position: int
    function: FunctionType
    state: tuple[Any, ...]
    record: CodeRecord
    deadline: float | None = None
    usual_truth: UsualTruth = lambda _, __, otherwise: otherwise
    forks: Forks | None = None
    may_cost: float | None = None

    def is_late(self) -> bool:
        """Whether reading is to have ended."""
        return self.deadline is not None and time.thread_time() > self.deadline


class Tries:
    """How far the tries of one trace came: each ends earlier than the one before broke."""

    __slots__ = (
        "branch", "expired", "found", "handled", "is_refused", "passed", "started", "stop_at", "wanted",
    )  # fmt: skip

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.started = time.perf_counter()
        self.handled = sys.exception()  # by the user's program, now
        self.expired = False
        self.passed: list[int] = []
        self.stop_at: int | None = None  # root instructions of the next try
        self.found: Break | None = None
        self.branch: Branch | None = None  # that ended the try before, in a function that is called
        self.is_refused = False  # both sides of a branch, which the next try does without

    @property
    def deadline(self) -> float | None:
        """When the next try is to end; one that follows an expired try ends where that did."""
        return None if self.expired else self.wanted.deadline

    def failed(self, unpaid: float = 0.0) -> Attempt:
        """The attempt that gives no entry."""
        return Attempt(None, self.passed, self.expired, unpaid)

    def note_broken(
        self,
        broken: GraphBreak | CannotFork | NotRebuilt | RecursionError,
        interpreter: Interpreter,
        visited: Visited,
    ) -> int:
        """Learn from what broke a try where the next one ends; the root instructions before the one that broke."""
        if isinstance(broken, CannotFork):
            assert self.wanted.forks is not None
            self.found, self.is_refused = self.wanted.forks.refuse(interpreter, broken), True
            return 0
        self.branch = None
        if isinstance(broken, GraphBreak):
            self.expired = self.expired or broken.code == "slow"
            count = visited.where_it_broke()
            self.found = located(interpreter, broken)
            self.branch = _branch(interpreter, broken)
        elif isinstance(broken, NotRebuilt):
            count = interpreter.root_count - 1
            if broken.count is not None and broken.count <= count:
                count = broken.count
            interpreter.call_stack[0].position = interpreter.positions[count]
            self.found = located(interpreter, GraphBreak("opcode", broken.what))
        else:
            what = interpreter.call_stack[-1].code.co_qualname
            self.found = located(interpreter, GraphBreak("recursion", what))
            count = len(visited.positions) - 1
        self.stop_at = visited.last_resumable(self.wanted.cache.code, count)
        return count


class Tracer:
    """Traces frames with the settings of one session.

    `longest` gives the most root instructions of a trace that begins at a position; None: as many as can be traced.
    `leaves_loops`: those that may become nests are not unrolled; `ends_at_nests`: traces end where one comes.
    """

    def __init__(
        self,
        compile_graph: Compile,
        journal: Journal,
        *,
        every_frame: bool,
        measures: bool,
        static_sizes: bool | frozenset[str],
        longest: Longest | None,
        leaves_loops: bool = False,
        ends_at_nests: bool = False,
    ) -> None:
        self._ends_at_nests = ends_at_nests
        self._leaves_loops = leaves_loops
        self._compile_graph = compile_graph
        self._journal = journal
        self._every_frame = every_frame
        self._measures = measures
        self._static_sizes = static_sizes
        self._longest = longest

    def trace(self, wanted: Wanted) -> Attempt:
        """The entry for a frame from a position, in as many tries as it takes."""
        tries, count = Tries(wanted), 0
        while count < MOST_TRIES:
            attempt = self._try(tries)
            if attempt is not None:
                return attempt
            count += not tries.is_refused  # no branch is tried twice
        LOG_ERRORS.debug("%s is broken too often to be traced", wanted.cache.code.co_qualname)
        return tries.failed()

    def _try(self, tries: Tries) -> Attempt | None:
        """One try; None: another may do."""
        wanted = tries.wanted
        interpreter, frame = self._begin(wanted, tries.stop_at, tries.deadline)
        visited = Visited(interpreter)
        tries.is_refused = False
        try:
            returned = interpreter.run_root(frame)
            return self._ran(tries, interpreter, visited, returned)
        except LoopUnpaid as loop:
            return tries.failed(loop.seconds)
        except LoopTooLong as loop:
            tries.expired = tries.expired or wanted.is_late()
            wanted.record.kept_loops.add(loop.position)
            return None
        except (GraphBreak, CannotFork, NotRebuilt, RecursionError) as broken:
            count = tries.note_broken(broken, interpreter, visited)
            forget_frames(broken, tries.handled)
        finally:
            empty_cells(interpreter)
            self._journal.stats.instructions += interpreter.total
            wanted.record.arrives.update(
                (header, kinds_of(symbols)) for header, symbols in interpreter.arrived.items()
            )
        assert tries.found is not None
        self._journal.note_break(tries.found)
        if tries.is_refused:
            return None
        tries.passed = visited.positions[: count + 1]
        # an entry that resumes at its own position would run for ever
        if not tries.stop_at or self._would_be_dropped(interpreter, wanted.position):
            return tries.failed()
        return None

    def _ran(
        self,
        tries: Tries,
        interpreter: Interpreter,
        visited: Visited,
        returned: Returned | None,
    ) -> Attempt:
        """What a try comes to that nothing broke."""
        wanted, code = tries.wanted, tries.wanted.cache.code
        ended = self._ended(code, interpreter, visited, returned is not None)
        if ended is not None:
            tries.found, tries.branch = ended.found, ended.branch or tries.branch
        elif (
            returned is None
            and interpreter.root_count != tries.stop_at
            and wanted.deadline is not None
        ):
            tries.expired = True
            tries.found = located(interpreter, GraphBreak("slow", code.co_qualname))
            self._journal.note_break(tries.found)
        generators.refuse_guarded(interpreter)
        error_states.refuse_entered(interpreter)
        if returned is None and wanted.record.shows_locals is None:
            wanted.record.shows_locals = shows_its_locals(wanted.function)
        ends_with = None if returned is not None else Ended(tries.found, tries.branch)
        entry = self._finish(
            wanted.cache, wanted.position, interpreter, returned, ends_with, tries.started,
            wanted.record,
        )  # fmt: skip
        return Attempt(entry, tries.passed or visited.positions, tries.expired)

    def _would_be_dropped(self, interpreter: Interpreter, position: int) -> bool:
        """Whether no entry would be kept that ends before the break: it would compute nothing in a suspended frame."""
        if position == 0 or self._every_frame:
            return False
        nodes = interpreter.trace.graph.nodes
        return is_idle(nodes) or (self._measures and cannot_pay(nodes))

    def _ended(
        self, code: CodeType, interpreter: Interpreter, visited: Visited, has_returned: bool
    ) -> Ended | None:
        """Why a try has ended before its frame though nothing broke it, where the interpreter knows."""
        if interpreter.ends_at_nest:
            return Ended(located(interpreter, GraphBreak("loop")))
        if not has_returned and interpreter.has_left:
            ended = Ended(located(interpreter, GraphBreak("loop")))
        elif interpreter.choice is not None:
            found = located(interpreter, GraphBreak("data-branch", "a computed number"))
            ended = Ended(found, (weakref.ref(code), visited.positions[-1]))
        else:
            return None
        assert ended.found is not None
        self._journal.note_break(ended.found)
        return ended

    def _begin(
        self, wanted: Wanted, stop_at: int | None, deadline: float | None
    ) -> tuple[Interpreter, Frame]:
        cache, position, function = wanted.cache, wanted.position, wanted.function
        state, record, forks = wanted.state, wanted.record, wanted.forks
        code = cache.code
        names = slot_names(code)
        depth = len(state) - len(names)
        all_names = names + tuple(ON_STACK.format(i) for i in range(depth))
        trace = Trace(
            state, all_names, _hook.NULL,
            Varying(frozenset(record.dynamic), position != 0, frozenset(record.varying), self._static_sizes),
        )  # fmt: skip
        headers = open_headers(code, record) if self._ends_at_nests else frozenset[int]()
        interpreter = Interpreter(
            trace,
            call=calls.call,
            attribute=attributes.attribute,
            fork=fork,
            stop_at=stop_at,
            kept_loops=frozenset(record.kept_loops),
            watched=watched(trace, state),
            may_end=self._end(code, position, deadline),
            deadline=deadline,
            may_cost=wanted.may_cost,
            left_headers=headers if self._leaves_loops else headers & while_headers(code),
            open_headers=headers,
            leaves_loop=partial(self._leaves, code, position, function, trace, record),
            nests=nests_that_take(cache, position, record) if self._ends_at_nests else {},
            headers=headers_outside(code, position) if self._ends_at_nests else (),
            may_go_on=partial(goes_on, code, position),
            usual_truth=wanted.usual_truth,
            may_fork=forks.may if forks is not None else lambda _, __: False,
            function=weakref.ref(function),
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
        return interpreter, frame

    @staticmethod
    def _leaves(
        code: CodeType,
        start: int,
        function: FunctionType,
        trace: Trace,
        record: CodeRecord,
        frame: Frame,
    ) -> bool:
        """Whether a trace ends before a loop."""
        goes = goes_on(code, start, frame.position)
        return goes and is_left(function, trace, frame, start, record)

    def _end(
        self, code: CodeType, position: int, deadline: float | None
    ) -> Callable[[int, int], bool] | None:
        """What tells an interpreter where to end a trace of its own accord."""
        if self._longest is not None:
            return end_after(code, position, self._longest(code, position))
        return None if deadline is None else end_at(code, position, deadline)

    def _finish(
        self,
        cache: Any,
        position: int,
        interpreter: Interpreter,
        returned: Returned | None,
        ended: Ended | None,
        started: float,
        record: CodeRecord,
    ) -> Any:
        trace, frame = interpreter.trace, interpreter.call_stack[0]
        trace.arrays.guard_disjoint()
        trace.changes.guard_different()
        for symbol in dropped(trace, frame, returned):
            trace.changes.replaced(symbol)
        for symbol in filled(trace, frame, position):
            trace.changes.will_be_replaced(symbol.source)
        recipe = Recipe(trace)
        recipe.follow(trace.changes.effects)
        keeps_all = record.shows_locals is True
        if returned is not None:
            ending: Ending = Return(recipe.register(returned.value))
        elif interpreter.choice is not None:
            ending = chosen(interpreter, recipe, keeps_all=keeps_all)
        else:
            slots = state_registers(frame, recipe, keeps_all=keeps_all)
            ending = Resume(frame.position, slots, known_contents(recipe, slots))
        graph, inputs = finished_graph(trace, recipe, cache.code.co_name)
        idle = is_idle(graph)
        if trace.changes.effects and isinstance(ending, Resume) and ending.position == position:
            return None
        if position != 0 and not self._every_frame:
            # Where a frame is suspended anyway, as other entries pay, one that ends it or comes to a nest does, too.
            is_suspended = cache.entries(position) or position in record.ends
            goes_far = returned is not None or interpreter.ends_at_nest or interpreter.has_left
            ends_there = goes_far and is_suspended
            if not ends_there and (idle or (self._measures and cannot_pay(graph))):
                return None
        traced = time.perf_counter() - started
        artefact = None
        if not idle or recipe.outputs:
            compiling = time.perf_counter()
            artefact = self._compile_graph(graph)
            record.useful = True
            self._journal.stats.compile_seconds += time.perf_counter() - compiling
        given = inputs if artefact is not None else []
        entry = make_entry(trace, recipe, given, artefact, ending.for_c(cache.code, recipe.number))
        entry.expects = len(interpreter.expected)
        ran = frozenset(interpreter.positions)
        ran |= {place for code, place in interpreter.forked if code is cache.code}
        if isinstance(ending, Resume):
            ran -= {ending.position}
        if isinstance(ending, Choose):
            self._expect(cache, ending, record)
        return self._registered(
            entry, cache, position, ran, interpreter, graph, ended or Ended(), traced, record
        )

    @staticmethod
    def _expect(cache: Any, ending: Choose, record: CodeRecord) -> None:
        """Frames come to both sides of a choice without plain Python: entries are kept there that only return."""
        for side in (ending.if_true.position, ending.if_false.position):
            record.ends.add(side)
            if record.given_up.pop(side, None) is not None:
                cache.reconsider(side)

    def _registered(
        self,
        entry: Any,
        cache: Any,
        position: int,
        ran: frozenset[int],
        interpreter: Interpreter,
        graph: Graph,
        ended: Ended,
        seconds: float,
        record: CodeRecord,
    ) -> Any:
        trace, line = interpreter.trace, first_line(cache.code, position)
        sources = tuple(str(node.attributes["name"]) for node in graph.inputs)
        kept = Specialisation(
            self._journal.stats.traces, weakref.ref(cache.code), position, ran,
            graph, trace.guards.remembered(), sources, ended.found, line,
            _in_words(trace.changes.effects, cache.code, position), seconds,
            branch=ended.branch, expected=tuple(interpreter.expected),
        )  # fmt: skip
        entry.data = kept
        record.note(kept, cache.entries(position))
        self._journal.note_entry(cache.code, kept)
        return entry


def _in_words(effects: list[Effect], code: CodeType, position: int) -> tuple[str, ...]:
    """What a trace changes outside the graph."""
    return tuple(in_words(described(one), code, position) for one in effects if one.kind != "only")


def _branch(interpreter: Interpreter, graph_break: GraphBreak) -> Branch | None:
    """The jump that broke a graph, because the graph computes its condition."""
    if graph_break.code != "data-branch":
        return None
    frame = interpreter.call_stack[-1]
    return weakref.ref(frame.code), frame.position


def first_line(code: CodeType, position: int) -> int:
    """The line of an instruction; the function's, where it has none."""
    return instructions.by_position(code)[position].location[0] or code.co_firstlineno
