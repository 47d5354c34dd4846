"""What is known of code objects, and what follows from it: where frames stop, and which positions are given up."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from operator import attrgetter
from types import CodeType
from typing import Any

from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.code.instructions import by_position, successors
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.places import in_words
from ufuse.frame_hook.code.stops import why_not_resume
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.entries.journal import Journal
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.nests.entries.choice import Loops
from ufuse.frame_hook.nests.entries.screening import written_slots
from ufuse.frame_hook.nests.known.positions import behind_loop, loop_positions
from ufuse.frame_hook.trace.reasons import Break, GraphBreak
from ufuse.frame_hook.tracing import first_line

__builtins__ = KEPT

MOST_SKIPPED = 48  # positions of a code object that has no graph yet, before it is given up
MOST_FAILURES = 3  # of a position where traces are cut short
CONSTANTS = {"FLOAT", "EQUAL", "STR"}  # guards of values that are constants in an entry
CALLS_THAT_WAIT = 64  # for a loop to become native code, after each visit of its header


class Bookkeeping:
    """A record of each code object of a session, which its methods keep in step with the caches that C reads.

    `loops`: those that may become native code; None: none may. `is_cut_short`: traces are.
    """

    def __init__(
        self, journal: Journal, loops: Loops | None, *, every_frame: bool, is_cut_short: bool
    ) -> None:
        self._journal = journal
        self._loops = loops
        self._every_frame = every_frame
        self._is_cut_short = is_cut_short
        self._records: ByCode[CodeRecord] = ByCode()

    def forget(self) -> None:
        """Drop all records."""
        self._records.clear()

    def record(self, code: CodeType) -> CodeRecord:
        """What is known of a code object."""
        known = self._records.get(code)
        if known is None:
            known = self._records.first(code, CodeRecord())
        return known

    def headers(self, code: CodeType, record: CodeRecord) -> AbstractSet[int]:
        """The headers of loops that may still become nests."""
        if self._loops is None:
            return frozenset()
        headers = written_slots(code).keys()
        return {
            one
            for one in headers
            if (visits := record.visits.get(one)) is None or visits.refused is None
        }

    def pass_over_loops(self, cache: Any, record: CodeRecord) -> None:
        """Do not stop frames within loops that are left to nests."""
        passed_over = self._loops.passed_over(cache, record) if self._loops is not None else set()
        if not passed_over >= record.within_loops:
            cache.drop_resume()
        elif passed_over != record.within_loops:
            drop_stops(cache, passed_over - record.within_loops, record)
        record.within_loops = passed_over
        awaited = self._loops.awaited(cache, record) if self._loops is not None else set()
        if awaited != record.awaited:
            record.awaited = awaited
            for position in record.put_off.copy():  # other threads may put off more
                cache.drop_resume(position)

    def give_up(self, cache: Any, position: int, why: str) -> None:
        """Leave a position to plain Python."""
        record = self.record(cache.code)
        record.given_up[position] = why
        cache.give_up(position)
        if position in record.left_to_nests:
            self.pass_over_loops(cache, record)
        if self._every_frame and position != 0:
            no_stops(cache, {position}, record)

    def note_varying(self, code: CodeType, position: int, what: str) -> None:
        """Say why a position is given up: at nearly every call it would need another graph."""
        self._journal.remember(at_position(code, position, GraphBreak("varying", what)))

    def note_no_entry(
        self, cache: Any, position: int, record: CodeRecord, passed: list[int]
    ) -> None:
        """Stop suspending here and where the failed trace passed: each suspension would cost a trace for nothing."""
        if self._is_cut_short:
            failures = record.failures[position] = record.failures.get(position, 0) + 1
            if failures >= MOST_FAILURES:
                self.give_up(cache, position, "traced in vain too often")
            return
        why = why_not_resume(cache.code, 0) or "nothing could be traced"
        self.give_up(cache, position, why)
        if self._every_frame:
            return
        strange = record.given_up.keys() & record.iterators.keys()
        hopeless = {one for one in strange if not cache.entries(one)}
        headers = self.headers(cache.code, record) - hopeless
        no_stops(cache, {position, *passed} - headers, record)
        if len(record.skipped) > MOST_SKIPPED and not record.useful:
            record.skipped.update(by_position(cache.code))
            self.give_up(cache, 0, "too many places where no graph begins")
            for entry in cache.entries(0):
                cache.remove(0, entry)

    def stop_at_loops(self, cache: Any, entry: Any, record: CodeRecord) -> None:
        """Where calls are nearly always left to plain Python at their start, look at their loops all the same."""
        headers = self.headers(cache.code, record)
        if cache.stops_later or not headers or why_not_resume(cache.code, 0) is not None:
            return
        cache.stops_later = True
        cache.loops_wait = CALLS_THAT_WAIT  # which become native code only now
        no_stops(cache, without_entries(cache, entry.data.ran) - headers, record)

    def learn_from(
        self,
        cache: Any,
        position: int,
        entries: list[Any],
        state: tuple[Any, ...],
        record: CodeRecord,
        made: Any = None,
    ) -> str:
        """Learn from the guards that fail, and report that of the nearest entry: the one most of whose guards held.

        What that one is about is returned. An entry for one of many values goes, unless the one that was `made` is for
        one, too: native code has its texts for constants.
        """
        self._journal.stats.retraces += 1
        stay = {(row.kind, row.source) for row in made.data.guards} if made is not None else set()
        nearest: tuple[int, Specialisation] | None = None
        for entry in entries:
            failed = entry.first_failing(state)
            if failed is None:
                continue
            kept: Specialisation = entry.data
            if nearest is None or failed > nearest[0]:
                nearest = failed, kept
            row = kept.guards[failed]
            is_one_of_many = row.kind in CONSTANTS and (row.kind, row.source) in stay
            if record.learn(row) and not is_one_of_many:
                cache.remove(position, entry)
        if nearest is None:
            return ""
        failed, kept = nearest
        self._journal.note_retrace(cache.code, kept, failed, state)
        return in_words(kept.guards[failed].source, cache.code, position) or "what is used here"

    def usual_truth(self, code: CodeType, position: int, otherwise: bool | None) -> bool | None:
        """What the condition of a jump nearly always is, where that has been seen."""
        record = self._records.get(code)
        return otherwise if record is None else record.usual.get(position, otherwise)

    def first_truth(self, code: CodeType, position: int, otherwise: bool | None) -> bool | None:
        """What the condition of a jump is as long as nothing is raised, unless it has been seen to be otherwise."""
        return None if self.usual_truth(code, position, otherwise) is None else otherwise

    @property
    def specialisations(self) -> list[Specialisation]:
        """What was captured of code that lives, in that order."""
        found = [kept for record in self._records.values() for kept in record.specialisations]
        return sorted(found, key=attrgetter("number"))


def no_stops(cache: Any, positions: AbstractSet[int], record: CodeRecord) -> None:
    """Let resume code pass over these positions from now on: what was made with stops there is made again."""
    record.skipped |= positions
    drop_stops(cache, positions, record)


def unroll_again(cache: Any, header: int, record: CodeRecord) -> None:
    """A loop that was not unrolled because it might become a nest, and does not, is unrolled again at the next call."""
    table = by_position(cache.code)
    if not record.visits[header].is_unrolled:
        record.visits[header].is_unrolled = True
        record.kept_loops -= {
            one for one in record.kept_loops if successors(table[one])[-1] == header
        }
        trace_to_loops_again(cache)


def trace_to_loops_again(cache: Any) -> None:
    """The next call is traced anew, if its first graph ends before a loop."""
    for entry in cache.entries(0):
        if entry.data.ends_with is not None and entry.data.ends_with.code == "loop":
            cache.remove(0, entry)


def drop_stops(cache: Any, positions: AbstractSet[int], record: CodeRecord) -> None:
    """Have resume code that stops at these positions made again."""
    for place, stops in record.stops.copy().items():  # other threads make resume code meanwhile
        if not stops.isdisjoint(positions):
            cache.drop_resume(place)


def is_held(code: CodeType, position: int, record: CodeRecord) -> bool:
    """Whether a frame stands within a loop that is left to a nest."""
    return any(
        position in loop_positions(code, header)
        for header in record.left_to_nests
        if header != position
    )


def leave_behind(cache: Any, header: int, record: CodeRecord) -> None:
    """Have frames whose loop has run as native code go on behind the loop, where an entry may end them."""
    if by_position(cache.code)[header].opname == "FOR_ITER":
        position = behind_loop(cache.code, header)
        if why_not_resume(cache.code, position) is None:
            cache.leave_at(header, position)
            record.ends.add(position)
    record.ends |= record.exits.get(header, frozenset())
    for end in record.ends:  # of a loop before this one, too: what lies between may be an entry now
        if record.given_up.pop(end, None) is not None:
            cache.reconsider(end)


def end_at_nest(cache: Any, header: int, record: CodeRecord) -> None:
    """Graphs that end in a turn of a loop that has a nest now are traced again, to end before it."""
    is_for = by_position(cache.code)[header].opname == "FOR_ITER"
    behind = {behind_loop(cache.code, header)} if is_for else record.exits.get(header, frozenset())
    for position in record.traces:
        for entry in cache.entries(position):
            ran, is_cut = entry.data.ran, entry.data.ends_with is not None
            if is_cut and position != header and header in ran and not behind & ran:
                cache.remove(position, entry)


def at_position(code: CodeType, position: int, graph_break: GraphBreak) -> Break:
    """A break of a frame that was not traced at all."""
    return graph_break.at(code.co_filename, first_line(code, position), code.co_qualname)


def without_entries(cache: Any, positions: Iterable[int]) -> set[int]:
    """Those of some positions where no entry begins that may still run."""
    return {one for one in positions if not any(entry.valid for entry in cache.entries(one))}
