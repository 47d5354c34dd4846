"""Which loops become nests, and when."""

from __future__ import annotations

import math
import time
from types import FunctionType
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.entries.journal import Journal
from ufuse.frame_hook.entries.learned import (
    KNOWN_TURNS,
    NOT_VISITED,
    READ_AGAIN,
    READ_AT_ONCE,
    READ_SHARE,
    CodeRecord,
    Visits,
)
from ufuse.frame_hook.nests.entries.entry import NestMaker, Prepared, nest_entry, prepared
from ufuse.frame_hook.nests.entries.left_loops import has_nest
from ufuse.frame_hook.nests.entries.screening import (
    outer_headers,
    outermost_headers,
    whiles_around,
    why_not,
    written_slots,
)
from ufuse.frame_hook.nests.known.kinds import NotNativeError, UnpaidError
from ufuse.frame_hook.nests.known.positions import (
    loop_positions,
    while_headers,
)
from ufuse.frame_hook.nests.loops.outermost import all_turns, turns_left

MOST_NESTS = 12  # of one loop: as of any position
MOST_UNREAD = 8  # combinations of types with which one is not read, though it is with others
MOST_FAILURES = 4  # to read one, because its variables have not settled
ASK_AT_ONCE = 1  # nanoseconds
ASK_SOON = 30_000  # a few turns: the first is slower than those that follow
ASK_BRIEFLY = 2_000  # of a loop whose runs end before the session is asked again
ASK_LATEST = 1_900_000
RESTS = 2_000_000  # a run that is not looked at for so long is not stopped at its header
NOW = 0
MORE_TO_COME = 4  # times what a loop has taken so far
FEWEST_RUNS = 2  # that tell how long a loop takes: the first turns of all take long
MOST_SHORT_RUNS = 8  # of a loop, before it is known to take
SHORT = 2e-6  # seconds in the mean
TOO_SHORT = "it takes too little time"
LONG_INNER = 4  # times what making a nest takes: so long a loop may wait for one around it
MOST_WAITS = 3  # of a loop for one around it to begin its next turn
MOST_FIRST_TURNS = 12  # that a loop waits for, whose present run will not pay
MOST_BRIEF = 8  # runs of a loop, none of which is timed, before the session is asked earlier
MOST_UNTIMED_RUNS = 64  # of a loop that turns but once or twice
READ_AFTER = 3e-3  # seconds: reading takes about as long
FURTHER = 1.5  # times what was too little time to read a loop, of which something had come, before it is read again


def _is_open(cache: Any, header: int, record: CodeRecord) -> bool:
    """Whether a loop may get a nest, or has one."""
    if header not in written_slots(cache.code) or cache.given_up(header):
        return False
    return record.visits.get(header, NOT_VISITED).refused is None


def _is_inner(cache: Any, position: int, state: tuple[Any, ...], record: CodeRecord) -> bool:
    """Whether a `while` loop stands in a loop that may get a nest."""
    code = cache.code
    if any(_is_open(cache, one, record) for one in whiles_around(cache.code, position)):
        return True
    around = [
        one.position
        for one in instructions.instructions(code)
        if one.opname == "FOR_ITER" and position in loop_positions(code, one.position)
    ]
    nearest = sorted(around, key=lambda one: len(loop_positions(code, one)))
    return any(
        _is_open(cache, header, record) and turns_left(state[-1 - depth]) is not None
        for depth, header in enumerate(nearest)
    )


def _depends_on(position: int, state: tuple[Any, ...], record: CodeRecord) -> tuple[Any, ...]:
    """What reading a loop depends on, about: whether an entry fits, its guards decide."""
    others = (
        None
        if isinstance(one, int | float | complex | np.generic | np.ndarray)
        or hasattr(type(one), "__next__")
        else id(one)
        for one in state
    )
    return (record.arrives.get(position), *others, *_kinds(state))


def _kinds(state: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of a frame's values, kept alive by none of this."""
    return tuple(
        (one.dtype, one.ndim, one.flags.c_contiguous, one.flags.f_contiguous)
        if type(one) is np.ndarray
        else id(type(one))
        for one in state
    )


def _is_worth_reading(cache: Any, visits: Visits) -> bool:
    """Whether a loop, or the calls in which it was seen, have taken some times as long as reading it does."""
    if visits.seconds >= READ_AFTER:
        return True
    return visits.runs >= FEWEST_RUNS and cache.run_ns / 1e9 >= 2 * READ_AFTER


def _paid(cache: Any, position: int, state: tuple[Any, ...], record: CodeRecord) -> float:
    """How many seconds a loop may be read for; those that reading took in vain for its function are among them."""
    visits = record.visits[position]
    expected = visits.inside * (turns_left(state[-1]) or 0) if visits.inside else 0.0
    took: float = visits.seconds + visits.unseen
    if position in while_headers(cache.code):  # it goes on for as long as it has gone on
        took *= 2
    took = max(took, expected, cache.run_ns / 1e9)
    return READ_AT_ONCE + READ_SHARE * took - record.read_in_vain


class Loops:
    """Which loops of a session are compiled, and when.

    A nest is made when a loop is expected to take longer than the making: its present run, by the time between two
    visits of the header, and as many more as there were.
    """

    def __init__(self, maker: NestMaker, journal: Journal, *, measures: bool) -> None:
        self.maker = maker
        self._journal = journal
        self._measures = measures

    def capture(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        *,
        waits: bool,
    ) -> Any:
        """The entry for a loop at whose header a frame is; an int to be asked at its next visit; None: no nest.

        `waits`: until the loop is known to take long enough.
        """
        visits = record.visits.setdefault(position, Visits())
        if visits.refused is not None or len(cache.entries(position)) >= MOST_NESTS:
            return None
        if not visits.begun and (why := why_not(cache.code, position, function)) is not None:
            visits.refused = why
            return None
        if visits.unread and (len(visits.unread) >= MOST_UNREAD or _kinds(state) in visits.unread):
            visits.failures += 1
            return min(ASK_SOON * visits.failures, ASK_LATEST)
        if position in while_headers(cache.code):
            return self._captured_while(cache, position, function, state, record, waits=waits)
        left = turns_left(state[-1]) or 0
        if waits and (answer := self._put_off(cache, position, state, record)) != NOW:
            if visits.is_read or cache.entries(position) or not _is_worth_reading(cache, visits):
                return answer
            if _paid(cache, position, state, record) < visits.unpaid:
                return answer
            visits.is_read = True
            visits.refused = self._prepare(cache, position, function, state, record)
            return answer if visits.refused is None else None
        if waits and visits.waits < MOST_WAITS and self._waits_for_while(cache, position, record):
            return max(ASK_AT_ONCE, int(visits.turn * left * 1e9))
        around = self._reached_soon(cache, position, state, record) if waits else {}
        for depth, outer in reversed(around.items()):
            entries = cache.entries(outer)
            if not entries:
                made = self._made(cache, outer, function, state[:-depth], record, waits=waits)
                if isinstance(made, _hook.Entry):
                    cache.add(outer, made)
                    record.left_to_nests.add(outer)
                    cache.drop_resume()
                    entries = [made]
            if entries and visits.waits < MOST_WAITS:
                visits.waits += 1
                return max(ASK_AT_ONCE, int(visits.turn * left * 1e9))
        return self._made(cache, position, function, state, record, waits=waits)

    @staticmethod
    def at_end(position: int, record: CodeRecord) -> int | None:
        """How long to leave a loop alone that has no turn left; None: what is behind it may be traced."""
        visits = record.visits.get(position, NOT_VISITED)
        if not visits.vain_ends:
            return None
        visits.vain_ends += 1
        if visits.vain_ends > MOST_UNTIMED_RUNS + 2 * visits.runs:
            visits.refused = visits.refused or TOO_SHORT
            return None
        return min(ASK_SOON * visits.vain_ends, ASK_LATEST)

    @staticmethod
    def wait(cache: Any, record: CodeRecord, made: int | None) -> bool:
        """Whether a loop that was timed has neither a nest nor a refusal: how long calls take is not known before.

        Loops inside one that has a nest, or that takes too little time, will have none. `made` is the position of one
        whose entry the cache gets next.
        """
        outer = outer_headers(cache.code)

        def is_open(position: int) -> bool:
            visits = record.visits.get(position, NOT_VISITED)
            if cache.given_up(position):
                return True
            if position == made or cache.entries(position) or visits.refused == TOO_SHORT:
                return False
            return position not in outer or is_open(outer[position])

        return any(
            visits.begun
            and visits.refused is None
            and not cache.given_up(position)
            and is_open(position)
            for position, visits in record.visits.items()
        )

    @staticmethod
    def passed_over(cache: Any, record: CodeRecord) -> set[int]:
        """Where frames are not stopped, as a loop around is left to a nest: but at headers that are needed."""
        code = cache.code
        around = {header: loop_positions(code, header) for header in record.left_to_nests}
        found = set().union(*around.values())
        for header in written_slots(code):
            outer = [
                one
                for one, inside in around.items()
                if header in inside and one != header and not cache.given_up(one)
            ]
            if not outer or (
                not any(has_nest(cache, one, record) for one in outer)
                and (cache.entries(header) or record.visits.get(header, NOT_VISITED).is_wanted)
            ):
                found.discard(header)
        return found

    @staticmethod
    def awaited(cache: Any, record: CodeRecord) -> set[int]:
        """Headers at which a frame is to be stopped wherever it comes from: how long their loops take is not known."""
        return {
            header
            for header, visits in list(record.visits.items())
            if visits.is_wanted and not cache.entries(header) and not cache.given_up(header)
        }

    def _captured_while(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        *,
        waits: bool,
    ) -> Any:
        """As `capture`, for a `while` loop: it is taken to go on as long as it has gone on so far."""
        visits = record.visits[position]
        if not waits:
            return self._made(cache, position, function, state, record, waits=waits)
        here = visits.spent(cache.calls, cache.run_ns / 1e9)
        is_first = visits.turns == 0
        before = visits.seconds - visits.counted + visits.unseen
        seconds = self.maker.nest_seconds()
        is_inner = _is_inner(cache, position, state, record)
        pays = here >= (LONG_INNER * seconds if is_inner else seconds)
        if not is_inner and here + MORE_TO_COME * before >= seconds:
            # A nest that is read before the first turn fits the next call's first turn, too.
            visits.waits += not is_first
            pays = pays or is_first or visits.waits > MOST_FIRST_TURNS
        if pays or (visits.is_due and not is_inner):
            return self._made(cache, position, function, state, record, waits=waits)
        is_short = visits.runs >= MOST_SHORT_RUNS and visits.seconds < SHORT * visits.runs
        is_unknown = visits.begun > MOST_UNTIMED_RUNS + 2 * visits.runs and visits.mean < SHORT
        if (is_short or is_unknown) and not is_inner and not cache.entries(position):
            visits.refused = TOO_SHORT
            return None
        if visits.is_wanted:
            return ASK_AT_ONCE
        return min(ASK_SOON * max(1, visits.begun), ASK_LATEST)

    def _waits_for_while(self, cache: Any, position: int, record: CodeRecord) -> bool:
        """Whether the nest of a `while` loop around one, which comes soon, makes that of the loop needless."""
        visits = record.visits[position]
        if visits.counted >= LONG_INNER * self.maker.nest_seconds():
            return False
        found = [one for one in whiles_around(cache.code, position) if _is_open(cache, one, record)]
        for one in found:
            record.visits.setdefault(one, Visits()).is_due = True
        visits.waits += bool(found)
        return bool(found)

    def _prepare(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> str | None:
        """Read a loop before it is due: why there will be no nest, whatever the variables become."""
        try:
            ready = self._read(cache, position, function, state, record, waits=True)
        except NotNativeError as why:
            return None if why.later else why.reason
        record.visits[position].prepared = _depends_on(position, state, record), ready
        return None

    def _read(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        *,
        waits: bool,
    ) -> Prepared:
        """What is read of a loop, in the time that is paid for.

        Raises:
            NotNativeError: it gets no nest.
            UnpaidError: reading it takes longer; it is tried again when twice as much is paid for.

        """
        visits, begun = record.visits[position], time.thread_time()
        paid = _paid(cache, position, state, record) if waits else math.inf
        if paid < visits.unpaid:
            raise UnpaidError
        try:
            return prepared(cache.code, position, function, state, record, paid, visits.tried)
        except NotNativeError as why:
            record.read_in_vain += time.thread_time() - begun
            if isinstance(why, UnpaidError):
                visits.unpaid = paid * (READ_AGAIN if why.tries == visits.tried else FURTHER)
                visits.tried = why.tries
            raise

    def _made(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
        *,
        waits: bool,
    ) -> Any:
        visits = record.visits.setdefault(position, Visits())
        early, visits.prepared = visits.prepared, None
        try:
            if early is not None and early[0] == _depends_on(position, state, record):
                ready = early[1]
            else:
                ready = self._read(cache, position, function, state, record, waits=waits)
            return nest_entry(self.maker, cache, position, ready, record, self._journal)
        except UnpaidError:
            return ASK_LATEST
        except NotNativeError as why:
            visits.failures += 1
            if cache.entries(position):
                visits.unread.add(_kinds(state))
                return ASK_AT_ONCE
            if why.later and visits.failures < MOST_FAILURES:
                return ASK_AT_ONCE
            visits.refused = why.reason
            return None

    def _reached_soon(
        self, cache: Any, position: int, state: tuple[Any, ...], record: CodeRecord
    ) -> dict[int, int]:
        """The headers of loops around one that come before a nest of it has paid, by how many are within each.

        A nest of the outermost makes all others needless. A loop in its last turn is none: that of the one around it
        comes next.
        """
        found = {}
        turn, wait = record.visits[position].turn, 0.0
        for depth in range(1, len(state) - len(instructions.slot_names(cache.code))):
            iterator, around = state[-depth], state[-depth - 1]
            wait += turn * (turns_left(iterator) or 0)
            turn *= all_turns(iterator)
            outer = outer_headers(cache.code).get(position)
            if outer is None or turns_left(around) is None:
                break
            if wait >= self.maker.nest_seconds():
                break
            visits = record.visits.get(outer)
            if cache.given_up(outer) or (visits is not None and visits.refused is not None):
                break
            if any(entry.artefact.doubts for entry in cache.entries(outer)):
                break
            if turns_left(around):
                found[depth] = outer
            record.visits.setdefault(outer, Visits()).inside = turn
            position = outer
        return found

    def _put_off(
        self, cache: Any, position: int, state: tuple[Any, ...], record: CodeRecord
    ) -> int | None:
        """`NOW` where a loop or one around it is to be compiled; else as `capture`."""
        rests, pays, depth, making = [], False, 1, self.maker.nest_seconds()
        is_inner = False
        inside = 0.0  # seconds that a turn takes at least, by the loop inside
        outermost, has_paid = position, False
        left_here = turns_left(state[-1]) or 0
        header: int | None = position
        while header is not None and (left := turns_left(state[-depth])) is not None:
            visits = record.visits.setdefault(header, Visits())
            passed = cache.passed(header)
            rest = visits.rest(state[-depth], left, cache.calls, cache.run_ns / 1e9, passed)
            before = visits.seconds - visits.counted + visits.unseen
            expected = inside * left if rest is None else rest
            is_known = (rest is not None and visits.is_timed) or inside > 0 or visits.mean > 0
            is_known = is_known or visits.runs >= FEWEST_RUNS or bool(cache.entries(header))
            if visits.refused is None and is_known:
                pays = pays or expected >= making
                outermost = header
                has_paid = expected + MORE_TO_COME * before >= making
            is_timed = rest is not None and visits.is_timed
            inside = visits.counted if is_timed else inside * (left + 1)
            rests.append(rest)
            is_inner = is_inner or (header != position and visits.refused is None)
            header, depth = outer_headers(cache.code).get(header), depth + 1
        visits = record.visits[position]
        if pays:
            return NOW
        rest_here = (rests[0] or 0.0) if visits.is_timed else 0.0
        if has_paid and outermost == position:
            # A nest that is read before the first turn fits the next call's first turn, too. Where it cannot be read
            # there, variables get their values in that turn.
            is_first = rests[0] is None and left_here >= visits.longest
            if is_first != bool(visits.failures):
                return NOW
            visits.waits += 1
            if visits.waits > MOST_FIRST_TURNS:
                return NOW
            return max(ASK_SOON, int(rest_here * 0.9e9))
        is_short = visits.runs >= MOST_SHORT_RUNS and visits.seconds < SHORT * visits.runs
        is_unknown = visits.begun > MOST_UNTIMED_RUNS + 2 * visits.runs and visits.mean < SHORT
        is_short = is_short or is_unknown
        if is_short and not is_inner and not cache.entries(position):
            visits.refused = TOO_SHORT
            return None
        if (
            not is_inner
            and visits.begun > MOST_BRIEF
            and visits.timed < KNOWN_TURNS <= left_here + visits.turns
        ):
            return ASK_BRIEFLY
        # What an outermost loop takes is seen by its inlining.
        if (
            position in outermost_headers(cache.code)
            and visits.timed >= KNOWN_TURNS
            and visits.turn * left_here < RESTS / 1e9
        ):
            return RESTS
        pause = min(ASK_SOON * max(1, visits.begun), ASK_LATEST)
        return pause if is_inner or not visits.is_timed else max(pause, int(rest_here * 1e9))
