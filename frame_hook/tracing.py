"""Tracing: from a frame at a position to an entry, in as many tries as breaks and long loops make necessary."""

from __future__ import annotations

import logging
import sys
import time
import weakref
from collections.abc import Callable
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
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, UsualTruth
from ufuse.frame_hook.interpreter.outcomes import LoopTooLong, LoopUnpaid, NotRebuilt, Returned
from ufuse.frame_hook.library import blind_writes
from ufuse.frame_hook.nests.arrival import headers_outside, kinds_of, nests_that_take
from ufuse.frame_hook.nests.choice import is_left, open_headers
from ufuse.frame_hook.nests.positions import while_headers
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

    def trace(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        deadline: float | None = None,
        usual_truth: UsualTruth = lambda _, __, otherwise: otherwise,
        forks: Forks | None = None,
        may_cost: float | None = None,
    ) -> Attempt:
        """The entry for a frame from a position, which reading ends at a moment of `time.thread_time`.

        `usual_truth`, `may_cost`: see `Interpreter`. `forks`: of which branches both sides may be in the graph; None:
        of none.
        """
        expired = False
        started = time.perf_counter()
        passed: list[int] = []
        stop_at: int | None = None
        found: Break | None = None
        branch: Branch | None = None  # that ended the try before, in a function that is called
        handled = sys.exception()  # by the user's program, now
        tries = 0
        while tries < MOST_TRIES:
            tries += 1
            interpreter, frame = self._begin(
                cache,
                position,
                function,
                state,
                record,
                stop_at,
                None if expired else deadline,
                usual_truth,
                forks,
                may_cost,
            )
            visited = Visited(interpreter)
            is_refused = False  # both sides of a branch, which the next try does without
            count = 0  # of root instructions before the one that breaks
            try:
                returned = interpreter.run_root(frame)
                ended = self._ended(cache.code, interpreter, visited, returned is not None)
                if ended is not None:
                    found, branch = ended.found, ended.branch or branch
                elif (
                    returned is None and interpreter.root_count != stop_at and deadline is not None
                ):
                    expired = True
                    found = located(interpreter, GraphBreak("slow", cache.code.co_qualname))
                    self._journal.note_break(found)
                generators.refuse_guarded(interpreter)
                error_states.refuse_entered(interpreter)
                if returned is None and record.shows_locals is None:
                    record.shows_locals = shows_its_locals(function)
                ends_with = None if returned is not None else Ended(found, branch)
                entry = self._finish(
                    cache, position, interpreter, returned, ends_with, started, record
                )
                return Attempt(entry, passed or visited.positions, expired)
            except CannotFork as refusal:
                assert forks is not None
                found, is_refused = forks.refuse(interpreter, refusal), True
                forget_frames(refusal, handled)
            except GraphBreak as graph_break:
                expired = expired or graph_break.code == "slow"
                count = visited.where_it_broke()
                found = located(interpreter, graph_break)
                forget_frames(graph_break, handled)
                branch = _branch(interpreter, graph_break)
                stop_at = visited.last_resumable(cache.code, count)
            except NotRebuilt as needed:
                count = interpreter.root_count - 1
                if needed.count is not None and needed.count <= count:
                    count = needed.count
                interpreter.call_stack[0].position = interpreter.positions[count]
                found = located(interpreter, GraphBreak("opcode", needed.what))
                forget_frames(needed, handled)
                branch = None
                stop_at = visited.last_resumable(cache.code, count)
            except RecursionError as error:
                found = located(
                    interpreter,
                    GraphBreak("recursion", interpreter.call_stack[-1].code.co_qualname),
                )
                forget_frames(error, handled)
                branch, count = None, len(visited.positions) - 1
                stop_at = visited.last_resumable(cache.code, count)
            except LoopUnpaid as loop:
                return Attempt(None, passed, expired, loop.seconds)
            except LoopTooLong as loop:
                expired = expired or (deadline is not None and time.thread_time() > deadline)
                record.kept_loops.add(loop.position)
                continue
            finally:
                empty_cells(interpreter)
                self._journal.stats.instructions += interpreter.total
                record.arrives.update(
                    (header, kinds_of(symbols)) for header, symbols in interpreter.arrived.items()
                )
            self._journal.note_break(found)
            if is_refused:
                tries -= 1  # no branch is tried twice
                continue
            passed = visited.positions[: count + 1]
            # an entry that resumes at its own position would run for ever
            if not stop_at or self._would_be_dropped(interpreter, position):
                return Attempt(None, passed, expired)
        LOG_ERRORS.debug("%s is broken too often to be traced", cache.code.co_qualname)
        return Attempt(None, passed, expired)

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
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        stop_at: int | None,
        deadline: float | None,
        usual_truth: UsualTruth,
        forks: Forks | None,
        may_cost: float | None,
    ) -> tuple[Interpreter, Frame]:
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
            stop_at=stop_at,
            kept_loops=frozenset(record.kept_loops),
            watched=watched(trace, state),
            may_end=self._end(code, position, deadline),
            deadline=deadline,
            may_cost=may_cost,
            left_headers=headers if self._leaves_loops else headers & while_headers(code),
            open_headers=headers,
            leaves_loop=partial(self._leaves, code, position, function, trace, record),
            nests=nests_that_take(cache, position, record) if self._ends_at_nests else {},
            headers=headers_outside(code, position) if self._ends_at_nests else (),
            may_go_on=partial(goes_on, code, position),
            usual_truth=usual_truth,
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
