"""A session: what one `ufuse.compile` knows. It traces when C asks, and keeps what was learned of every code object."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from ufuse.frame_hook import _hook, device_clock
from ufuse.frame_hook.bookkeeping import (
    CALLS_THAT_WAIT,
    Bookkeeping,
    at_position,
    end_at_nest,
    is_held,
    leave_behind,
    no_stops,
    trace_to_loops_again,
    unroll_again,
    without_entries,
)
from ufuse.frame_hook.code import resume
from ufuse.frame_hook.code.by_code import ByCode, ByFunction
from ufuse.frame_hook.code.instructions import by_position
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.markers import DISABLED
from ufuse.frame_hook.code.stops import loop_around, stops_after, why_not_code, why_not_resume
from ufuse.frame_hook.entries import branches
from ufuse.frame_hook.entries.entry import (
    Specialisation,
    is_idle,
)
from ufuse.frame_hook.entries.journal import Decision, Journal, Stats
from ufuse.frame_hook.entries.learned import CodeRecord, Places, Retrace
from ufuse.frame_hook.nests.entries import whole, whole_trial
from ufuse.frame_hook.nests.entries.choice import ASK_LATEST, ASK_SOON, RESTS, TOO_SHORT, Loops
from ufuse.frame_hook.nests.entries.entry import NestMaker, begins_loop, goes_to_loop, has_turns
from ufuse.frame_hook.nests.entries.records import LoopRecord, loop_records
from ufuse.frame_hook.nests.entries.screening import has_loops, written_slots
from ufuse.frame_hook.nests.known.positions import while_headers
from ufuse.frame_hook.nests.loops.outermost import over_in_words
from ufuse.frame_hook.opcodes import calls
from ufuse.frame_hook.paid_traces import PaidTraces
from ufuse.frame_hook.trace.reasons import Break, GraphBreak
from ufuse.frame_hook.tracing import Compile, Longest, Tracer, first_line
from ufuse.graph.node import Graph
from ufuse.graph.signals import is_of_signal

__builtins__ = KEPT

MOST_ENTRIES = 12  # specialisations of one position
MOST_TRACES = 48  # of one position, those whose entries died with a class or function included
FEW_REFUSALS = (
    3  # of a graph at the start of a frame, until that is suspended at loops all the same
)
REFUSING = "plain Python does nearly every call: it warns, fails or prints, or a library gives what was not expected"
COSTLY = "copying what it reads or writes takes longer than its turns are faster: they are faster in plain Python"
MOST_REFUSALS = 32  # runs of a graph that ended in plain Python, before it is given up


class Session:
    """Traces frames for the C layer, and remembers why graphs ended and why frames were traced again.

    `longest` cuts traces short, to try every way a frame can be divided: it gives the most root instructions of a trace
    that begins at a position. A trace then ends at the first position from there where a frame can go on, entries
    without a graph are kept, and every stop stays.

    `measures`: calls are timed compiled and plain, and what does not pay is given back to plain Python
    (csrc/run/trial.h). Without it, everything that can be captured stays captured. `unhurried`: traces may take what
    they need all the same, and have both sides of branches at once, as they have once these were taken in turn.

    `cache`, that of the code of functions that share a session, is kept here where the session is to outlive them.
    `remade` compiles another function with the same options.
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
        measures: bool = False,
        nests: NestMaker | None = None,
    ) -> None:
        self.compile_graph = compile_graph
        self.every_frame = every_frame or longest is not None
        self.should_trace = should_trace
        self.check_arguments = check_arguments
        self.static_sizes = static_sizes
        self.longest = longest
        self.measures = measures and not self.every_frame and fullgraph is None
        self.journal = Journal(fullgraph)
        tracer = Tracer(
            compile_graph,
            self.journal,
            every_frame=self.every_frame,
            measures=self.measures,
            static_sizes=static_sizes,
            longest=longest,
            leaves_loops=self.measures and nests is not None,
            ends_at_nests=nests is not None and fullgraph is None,
        )
        self.loops = None if nests is None else Loops(nests, self.journal, measures=self.measures)
        self._book = Bookkeeping(
            self.journal,
            self.loops,
            every_frame=self.every_frame,
            is_cut_short=longest is not None,
        )
        self._traces = PaidTraces(tracer, self._book, self.journal, measures=self.measures)
        self._caches: ByCode[Any] = ByCode()  # of the functions that plain Python calls
        self._places = Places()
        self.cache: Any = None
        self.remade: Callable[[Any], Any] | None = None
        self._captured: ByFunction[int] = ByFunction()

    # What C calls ----------------------------------------------------------------------------------------------

    def capture(
        self, cache: Any, position: int, function: FunctionType, state: tuple[Any, ...]
    ) -> Any:
        """Trace a frame from a position: a new entry, or None to run it in plain Python."""
        code = cache.code
        replaced = _hook.replaced_builtin()
        if replaced is not None:
            self.journal.note_break(at_position(code, position, GraphBreak("builtins", replaced)))
            return None
        if code in DISABLED:
            self._book.give_up(cache, position, "marked with ufuse.disable")
            return None
        refusal = why_not_code(code) or _own_names(function)
        if refusal is not None:
            self.refuse(code, refusal)
            self._book.give_up(cache, position, refusal)
            return None
        if position == 0 and self.check_arguments is not None:
            self.check_arguments(function, state)
        return self._captured_at(cache, position, function, state, self.record(code))

    def _captured_at(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> Any:
        """As `capture`, where nothing forbids it: native code of the loop that comes, or a graph."""
        code = cache.code
        if self.loops is not None and record.needs_whole is None and not self.every_frame:
            may_run = self._traces.is_bounded and self.journal.fullgraph is None
            maker = self.loops.maker
            if whole.begin(maker, cache, function, state, record, may_run=may_run):
                return ASK_SOON
        if self._traces.is_bounded and whole.is_recursion_awaited(cache, function, record):
            return self._traces.put_off(cache, position, record)
        headers = self._book.headers(code, record)
        if self.loops is not None and goes_to_loop(code, position, state, headers):
            self._book.give_up(cache, position, "a loop's header comes next")
            no_stops(cache, {position}, record)
            return None
        at_loop = self.loops is not None and begins_loop(code, position, state)
        at_end = at_loop and not has_turns(code, position, state)
        if not at_loop and by_position(code)[position].opname == "FOR_ITER":
            record.iterators[position] = over_in_words(state[-1])
        if self.loops is not None and at_loop and not at_end:
            found = self._captured_loop(self.loops, cache, position, function, state, record)
            if found is not None:
                return found
        if position != 0 and self._is_loop_alone(code) and not record.begins:
            return ASK_LATEST if at_end else self._leave_comprehension(cache, position)
        if self.loops is not None and at_end and (pause := self.loops.at_end(position, record)):
            return pause
        if at_loop and cache.stops_later and not self.every_frame:
            self._book.give_up(
                cache, position, "its calls are looked at for the sake of native loops"
            )
            no_stops(cache, {position}, record)
            return None
        if self.loops is not None and position != 0 and is_held(code, position, record):
            return ASK_LATEST
        return self._captured_graph(cache, position, function, state, record, at_end=at_end)

    def _captured_loop(
        self,
        loops: Loops,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> Any:
        """The entry for a loop at whose header a frame is, as `Loops.capture` says; what else changes with it."""
        waits, known = self._traces.is_bounded, record.begins.copy()
        found = loops.capture(cache, position, function, state, record, waits=waits)
        for header in record.begins.keys() - known.keys():
            end_at_nest(cache, header, record)
            leave_behind(cache, header, record)
            if not record.whole_tries and not self.every_frame and not record.waits_for_whole:
                whole.put_off(cache, measures=self.measures)
        if found is None:
            unroll_again(cache, position, record)
        elif position in while_headers(cache.code) and record.visits[position].is_followed_now():
            trace_to_loops_again(cache)
        made = position if isinstance(found, _hook.Entry) else None
        waits = loops.wait(cache, record, made) and record.may_wait(cache.run_ns, made)
        cache.loops_wait = CALLS_THAT_WAIT * waits
        if (found is not None) != (position in record.left_to_nests):
            record.left_to_nests ^= {position}
        if (type(found) is int and found >= RESTS) != (position in record.resting):
            record.resting ^= {position}
            cache.drop_resume(position)
        self._book.pass_over_loops(cache, record)
        if made is not None and cache.entries(position):
            self._book.learn_from(cache, position, cache.entries(position), state, record, found)
        return found

    def _captured_graph(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        *,
        at_end: bool,
    ) -> Any:
        """The entry that a trace gives, if there is time for one; `at_end`: of a loop that has no turn left."""
        code = cache.code
        seconds = self._traces.seconds_for(cache, state)
        if seconds is not None and (seconds <= 0 or self._traces.is_unpaid(cache, position, state)):
            return self._traces.put_off(cache, position, record)
        entries = cache.entries(position)
        if entries:
            changed = self._book.learn_from(cache, position, entries, state, record)
            if len(cache.entries(position)) >= MOST_ENTRIES:
                self._book.give_up(cache, position, "too many specialisations")
                self._book.note_varying(code, position, changed)
                return None
        if position in record.put_off:
            record.put_off.discard(position)
            cache.drop_resume(position)
        record.waits = 0
        traces = record.traces.get(position, 0) + 1
        record.traces[position] = traces
        if traces >= MOST_TRACES:
            self._book.give_up(cache, position, "traced too often")
            self._book.note_varying(code, position, "a function or class that is used here")
        at_once = self.journal.fullgraph is not None or self.unhurried
        forks = branches.Forks(self.record) if at_once else None
        entry, passed, expired, unpaid = self._traces.traced(
            cache, position, function, state, seconds, self._book.first_truth, forks
        )
        if unpaid:
            record.unpaid[position] = unpaid
            record.traces[position] -= 1
            return self._traces.put_off(cache, position, record)
        if entry is not None and (failing := entry.first_failing(state)) is not None:
            self.journal.note_misfit(code, position, entry.data.guards[failing].text)
            entry = None
        if entry is None and expired and record.retry_later(position):
            return self._traces.put_off(cache, position, record)
        if entry is None and at_end and record.note_vain_end(position):
            return ASK_SOON  # what begins turns here is another matter
        if entry is None:
            self._book.note_no_entry(cache, position, record, passed)
        elif self.longest is None:
            branches.ask_first(entry)
        if entry is not None and position == 0:
            self._captured.keep(function, self.captured_for(function) + 1)
        return entry

    def grow(
        self, cache: Any, position: int, function: FunctionType, state: tuple[Any, ...], entry: Any
    ) -> Any:
        """An entry that goes on where one ends at a branch of which nearly always one side is taken; or None."""
        kept: Specialisation = entry.data
        code = kept.branch[0]() if kept.branch is not None else None
        if code is None or kept.branch is None or cache.code in DISABLED:
            return None
        if _hook.replaced_builtin() is not None:
            branches.ask_later(entry)
            return None
        record = self.record(code)
        jump = kept.branch[1]
        branches.learn(record, jump, entry)
        own = self.record(cache.code)
        for place in list(own.traces) if position == 0 else ():
            for other in cache.entries(place):
                branches.learn_of_sides(own, cache.code, other)
        if position != 0 and branches.waits(cache, entry):
            return None
        is_inlined = code is not cache.code
        is_mixed = record.usual.get(jump) is None and branches.is_mixed(
            entry, is_inlined=is_inlined
        )
        if record.usual.get(jump) is None and not (is_mixed and jump not in record.not_forked):
            if jump not in record.usual:
                branches.ask_later(entry, is_inlined=is_inlined)
            return None
        seconds = self._traces.seconds_for(cache, state)
        if seconds is not None and seconds <= 0:
            branches.ask_later(entry)
            return None
        forks = branches.Forks(self.record) if is_mixed else None
        longer, *_ = self._traces.traced(
            cache, position, function, state, seconds, self._book.usual_truth, forks
        )
        if longer is None or longer.first_failing(state) is not None:
            return None
        if not longer.expects and not branches.has_forks(longer):
            return None
        branches.ask_first(longer)
        if entry.expects or not longer.expects:
            cache.remove(position, entry)
        return longer

    def _is_loop_alone(self, code: CodeType) -> bool:
        """Whether a frame is a comprehension's own (up to 3.11), of which nothing but native code is wanted."""
        return code.co_name == "<listcomp>" and not self.every_frame

    def _leave_comprehension(self, cache: Any, position: int) -> None:
        """Run a comprehension whose loop has no native code as plain Python, from its start on."""
        is_loop = by_position(cache.code)[position].opname == "FOR_ITER"
        for entry in cache.entries(0) if is_loop else ():
            cache.remove(0, entry)
        for one in {0, position} if is_loop else {position}:
            self._book.give_up(cache, one, "a comprehension without native code is plain Python's")

    def other_sides(self, cache: Any, position: int, entry: Any) -> None:
        """Give an entry up that takes sides of branches for granted that are often not taken."""
        entry.valid = False
        for one in entry.data.expected:
            code = one.code()
            if code is not None:
                self.record(code).usual[one.position] = None
        why = "it takes sides of branches for granted that are often not taken"
        self.journal.note_given_up(cache.code, position, why)

    def whole_call(self, cache: Any, function: FunctionType, state: tuple[Any, ...]) -> bool:
        """Have an entry run whole calls of a function that has loops with native code, or may be faster so.

        Whether this very call is to run so, as it is long.
        """
        record = self.record(cache.code)
        if self.loops is None:
            return False
        if _hook.replaced_builtin() is not None:
            whole.ask_soon(cache)
            return False
        is_plain = record.needs_whole or whole_trial.is_plain(function, state)
        if record.before_whole is not None and not is_plain:
            record.why_not_whole = "what it uses may be code of the program's"
            return False
        measures = self._traces.is_bounded
        return whole.capture(self.loops.maker, cache, function, state, record, measures=measures)

    def captured_for(self, function: FunctionType) -> int:
        """For how many calls of a function the frame was traced from its start."""
        return self._captured.get(function) or 0

    def refuse(self, code: CodeType, why: str) -> None:
        """Nothing of a function can be captured: where one graph is asked for, that is an error."""
        if self.journal.fullgraph is not None:
            found = GraphBreak("call", f"{code.co_qualname}() ({why})")
            raise self.journal.fullgraph(
                found.at(code.co_filename, code.co_firstlineno, code.co_qualname)
            )

    def resume_code(self, cache: Any, position: int) -> CodeType:
        """The code that runs a frame on from a position, with the stops where capture may go on."""
        begun = time.thread_time()
        code = cache.code
        record = self.record(code)
        passed_over = record.passed_over(position)
        headers = self._book.headers(code, record)
        if self.measures and position != 0 and position not in record.given_up:
            for entry in cache.entries(position):  # plain Python runs in its place, to be timed
                passed_over |= without_entries(cache, entry.data.ran - headers)
            if position not in record.traces and position not in headers:
                record.put_off.add(position)  # by a turn that is timed: nothing begins in that
        passed_over |= record.within_loops | ({position} & record.resting)
        if position in record.put_off:
            others = by_position(code).keys() - record.awaited - {position}
            passed_over |= without_entries(cache, others)
        stops = stops_after(code, position, passed_over)
        record.stops[position] = stops
        made = resume.resume_code(
            code, position, stops, restore=_hook.restore, suspend=_hook.suspend
        )
        self.journal.note_resume_code(code, position, stops)
        self._traces.spend(time.thread_time() - begun)
        return made

    @property
    def takes_loops(self) -> bool:
        """Whether functions that bring no array are asked about for the sake of their loops."""
        return self.loops is not None and not self.every_frame

    def cache_for_loops(self, code: CodeType) -> Any:
        """As `cache_for`, of a call that brings no array: only loops that may become native code are a reason.

        What is installed is left alone: imports, for instance, run such loops.
        """
        if "site-packages" in code.co_filename or not self.should_trace(code):
            return None
        return self.cache_for(code) if has_loops(code) else None

    def cache_for(self, code: CodeType) -> Any:
        """The cache of a function that plain Python calls while this session runs it; None: never trace it."""
        if code in DISABLED or not self.should_trace(code) or why_not_code(code) is not None:
            return None
        if self.loops is None and self._is_loop_alone(code):
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
    def decisions(self) -> list[Decision]:
        """What timing has found."""
        return self.journal.decisions

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
        return self._book.specialisations

    @property
    def unhurried(self) -> bool:
        """Whether traces may take what they need, though calls are measured."""
        return self._traces.unhurried

    @unhurried.setter
    def unhurried(self, value: bool) -> None:
        self._traces.unhurried = value

    def eager_run(self, cache: Any, position: int, entry: Any) -> None:
        """Count a run in plain Python that a graph asked for; one that asks nearly always is given up."""
        self.journal.stats.eager_calls += 1
        if entry is None:
            return
        why = getattr(getattr(entry.artefact, "refused", None), "reason", "")
        if why and cache.code is entry.data.code_reference():
            self.journal.note_unfit(at_position(cache.code, position, GraphBreak("unfit", why)))
        record = self.record(cache.code)
        if position != 0 and record.note_declined(position, entry.data.ran):
            cache.drop_resume(position)
        refused = entry.declined
        if position == 0 and refused >= FEW_REFUSALS and 2 * refused > entry.hits:
            self._book.stop_at_loops(cache, entry, record)
        if entry.valid and refused >= MOST_REFUSALS and 2 * refused > entry.hits:
            entry.valid = False
            why = REFUSING
            if entry.is_loop and 2 * getattr(entry.artefact, "costly", 0) > refused:
                why = COSTLY
                record.given_back.add(position)
                cache.give_back()
            self._book.give_up(cache, position, why)
            if position != 0:
                no_stops(cache, without_entries(cache, entry.data.ran | {position}), record)
            self.journal.note_given_up(cache.code, position, why)

    def decided(
        self,
        cache: Any,
        positions: list[int] | None,
        way: str,
        compiled: int,
        plain: int,
        is_cut: bool,
        trial: int,
    ) -> bool:
        """A trial ended: how calls run from now on, or turns of the loop through these positions; times in ns.

        `is_cut`: the plain run was cut short; `trial`: a number of it, among those that the code has. Whether it is to
        be held again.
        """
        code = cache.code
        if positions is None:
            told = "native" if way == "compiled" and whole_trial.is_in_use(cache) else way
            self.journal.note_decision(code, 0, told, compiled, plain, is_cut=is_cut)
            if self.loops is None or is_cut:
                return False
            taken = plain if way == "plain" else compiled
            return whole_trial.decided(cache, self.record(code), way, taken, trial)
        line = min(first_line(code, position) for position in positions)
        self.journal.note_decision(code, line, way, compiled, plain, is_cut=is_cut)
        if way == "plain":
            for position in positions:
                self._book.give_up(cache, position, "turns of its loop are faster in plain Python")
                for entry in cache.entries(position):
                    cache.remove(position, entry)
            record = self.record(code)
            around = {one for one in loop_around(code, positions) if not cache.entries(one)}
            around -= self._book.headers(code, record)
            record.given_back |= around.difference(record.skipped) | set(positions)
            no_stops(cache, around | set(positions), record)
        return False

    device_mark = staticmethod(device_clock.mark)
    device_took = staticmethod(device_clock.took)

    def larger(self, cache: Any) -> None:
        """Calls have arguments of another order of magnitude, or time has passed: loops given back may pay now."""
        record = self.record(cache.code)
        for visits in record.visits.values():
            if visits.refused == TOO_SHORT:
                visits.refused = None
        given_back, record.given_back = record.given_back, set()  # other threads may give back more
        for position in given_back:
            record.given_up.pop(position, None)
            cache.reconsider(position)
            if position in written_slots(cache.code):
                end_at_nest(cache, position, record)
        record.skipped -= given_back
        cache.drop_resume()

    def internal_error(self, error: BaseException) -> None:
        """A failure of ours: said in the log; the frame runs in plain Python."""
        self.journal.note_error(error)

    def is_user_error(self, error: BaseException) -> bool:
        """Whether an exception out of `capture` is meant for the user."""
        return getattr(error, "for_user", False) is True or is_of_signal(error)

    def record(self, code: CodeType) -> CodeRecord:
        """What is known of a code object."""
        return self._book.record(code)

    def loop_records(self, caches: Iterable[Any]) -> Iterator[LoopRecord]:
        """The loops of the code of some caches of which something is known."""
        for cache in caches:
            yield from loop_records(cache, self.record(cache.code))

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
            measures=self.measures,
            nests=self.loops.maker if self.loops is not None else None,
        )

    def forget(self) -> None:
        """Drop everything captured."""
        self.journal.forget()
        self._traces.forget()
        self._book.forget()
        self._places = Places()
        for cache in self.caches:
            cache.clear()


def _own_names(function: FunctionType) -> str | None:
    """Why no graph looks names up as a function does; None if one may."""
    try:
        calls.refuse_namespaces(function)
    except GraphBreak:
        return "its globals or builtins are its own"
    return None
