"""What calls teach of a code object: which of its values vary, and why its frames were traced again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from ufuse.frame_hook._hook import program_nanoseconds
from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.places import in_words, short_file, shown
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.trace.guards import Guard
from ufuse.frame_hook.trace.symbols import Source

__builtins__ = KEPT

MOST_VALUES = 4  # values of one number before it is no longer specialised on
MOST_TEXTS = 8  # the same of one string or bytes object
MOST_EXPIRED = 3  # traces of one position that came to nothing in the time there was
MOST_DROPPED = 6  # entries of one position that reports still know though C has dropped them
MOST_REMADE = 48  # code objects that were made at one place and died
# The same of those that live: an entry may keep the namespace alive that has the function.
MOST_MADE = 256
LONG_ENOUGH = 2e-3  # seconds of a run, where there were fewer
KNOWN_TURNS = 4  # timed in one run of a loop: they tell how long it takes
FEW_RUNS = 3  # of a loop that turns but once or twice in each, before that is believed
MOST_BEGUN = 8  # runs of an inner loop that had fewer
# Nanoseconds of calls whose loops may become nests, before it is decided without.
LONGEST_WAIT = 300_000_000
READ_AT_ONCE = 20e-3  # seconds that the loops of a function may be read for in vain
READ_AGAIN = 2.0  # times what was too little time, before that is read again
READ_SHARE = 0.5  # beyond that, of what a loop, or calls, have taken
RANGE_ITERATOR = type(iter(range(0)))
MOST_PLACES = 1000  # where code was made, all of which died, before some are forgotten


@dataclass(frozen=True, slots=True)
class Retrace:
    """Why a frame was traced again.

    Attributes:
        guard: the fact that no longer held, as a sentence.
        was, now: what it was about before and in this call.
        file, line: where the trace begins.

    """

    guard: str
    was: str
    now: str
    file: str
    line: int

    def __str__(self) -> str:
        now = f"; now {self.now}" if self.now else ""
        return f"{short_file(self.file)}:{self.line}: traced again, because {self.guard}{now}"


@dataclass(slots=True)
class Visits:
    """What is known of a loop over a range: its iterator in the present run, how many turns were left and when.

    `longest` is the most turns that were left at the first visit of a run, `turns` how many of the present run were
    timed, `timed` the most of one. `runs` is how often the loop was timed, `seconds` what these took, about, `counted`
    what the present run has of it, `turn` what a turn took, `least` what one took in the shortest of the runs before,
    `inside` what the loops inside take in one, about. `begun` counts the runs that were seen, `passed` the visits at
    which the session was not to be asked yet; `calls` is how many calls of the function there were before the last of
    these, `called` how long they took. `mean` is what the loop takes in a call, about, `unseen` what it took in all
    those in which it was not timed. `vain_ends` counts visits with no turn left since a trace from there came to
    nothing, `waits` how often it waited for a loop around it, or for its first turn, `failures` tries to read it.
    `unread`: the types of the frame's values with which it is not read, though it is with others. `refused` says why it
    has none. `unpaid`: how many seconds the next reading is to be allowed to take, as one was given up that took too
    long; `tried`: what that came to.
    """

    iterator: Any = None
    left: int = 0
    longest: int = 0
    turns: int = 0
    timed: int = 0
    when: float = 0.0
    turn: float = 0.0
    least: float = math.inf
    inside: float = 0.0
    begun: int = 0
    passed: int = 0
    runs: int = 0
    seconds: float = 0.0
    counted: float = 0.0
    calls: int = 0
    called: float = 0.0
    mean: float = 0.0
    unseen: float = 0.0
    vain_ends: int = 0
    waits: int = 0
    failures: int = 0
    unread: set[tuple[Any, ...]] = field(default_factory=set)
    refused: str | None = None
    unpaid: float = 0.0
    tried: Any = None
    is_unrolled: bool = False  # since it was refused
    is_read: bool = False  # once, to see whether it can be
    prepared: tuple[Any, Any] | None = None  # what was read then, behind what it depends on
    is_due: bool = False  # a `while` loop: it is compiled for the sake of a loop inside
    is_followed: bool = False  # a `while` loop: traces from before it go on in its first turn

    @property
    def is_timed(self) -> bool:
        """Whether the present run tells how long a turn takes: the first of all take ten times as long."""
        return self.turns >= KNOWN_TURNS or self.turns * self.turn >= LONG_ENOUGH

    @property
    def is_wanted(self) -> bool:
        """Whether frames are to be stopped at the header for the time's sake, though a loop around is timed, too."""
        if self.refused is not None:
            return False
        return self.timed < KNOWN_TURNS and self.begun < MOST_BEGUN

    @property
    def turn_ns(self) -> int:
        """How many nanoseconds a turn takes plain Python, about; 0: it is not known.

        The least counts: turns that were timed while the machine did something else took a thousand times as long.
        """
        return int(min(self.turn or self.inside, self.least) * 1e9)

    def is_followed_now(self) -> bool:
        """Whether it is seen just now that a `while` loop turns at most twice: so traces may go on in it."""
        if self.is_followed or self.timed > 1 or self.begun < FEW_RUNS:
            return False
        self.is_followed = True
        return True

    def rest(
        self, iterator: Any, left: int, calls: int, called: float, passed: int
    ) -> float | None:
        """Note a visit; how many seconds the turns left will take, by those before; None for a run that begins.

        `passed`: how many visits there were at which the session was not to be asked.
        """
        now = program_nanoseconds() / 1e9
        run = _run(iterator, calls)
        unseen, self.passed = max(0, passed - self.passed - self.left), passed
        if run != self.iterator or left > self.left:
            self._note_calls(calls, called)
            if self.timed >= KNOWN_TURNS and calls <= self.calls + 1:
                self.unseen += unseen * self.turn
            self._end_run()
            self.iterator, self.left, self.when, self.counted = run, left, now, 0.0
            self.calls, self.called = calls, called
            self.begun += 1
            self.longest = max(self.longest, left)
            return None
        turns = self.left - left
        if turns <= 0:
            return None
        self.turn = max(0.0, now - self.when) / turns  # another thread's session may be between
        self.turns = turns
        self.timed = max(self.timed, turns)
        whole = self.turn * self.left
        self.runs += not self.counted
        self.seconds += whole - self.counted
        self.counted = whole
        return self.turn * left

    def spent(self, calls: int, called: float) -> float:
        """Note a visit of a `while` loop; how many seconds it has taken in this call."""
        now = program_nanoseconds() / 1e9
        if self.iterator != calls:
            self._note_calls(calls, called)
            self._end_run()
            self.iterator, self.when, self.counted = calls, now, 0.0
            self.calls, self.called = calls, called
            self.begun += 1
            return 0.0
        elapsed = max(0.0, now - self.when)
        self.turns += 1
        self.timed = max(self.timed, self.turns)
        self.runs += not self.counted
        self.seconds += elapsed - self.counted
        self.counted = elapsed
        self.turn = elapsed / self.turns
        return elapsed

    def _end_run(self) -> None:
        """Another run begins."""
        if self.turns:
            self.least = min(self.least, self.turn)
        self.turns = 0

    def _note_calls(self, calls: int, called: float) -> None:
        """A run begins: what the loop took in the calls since the last one began, about, in which it was not timed."""
        if self.runs and calls > self.calls:
            # The first turns of all take long: a loop takes no longer than the call.
            each = (called - self.called) / (calls - self.calls)
            self.mean = min(self.seconds / self.runs, each)
            self.unseen += (calls - self.calls - bool(self.counted)) * self.mean


NOT_VISITED = Visits()


def _run(iterator: Any, calls: int) -> Any:
    """What stands for a run of a loop. An iterator over a sequence is not kept alive: it holds the user's arrays."""
    return iterator if type(iterator) is RANGE_ITERATOR else (id(iterator), calls)


@dataclass(slots=True)
class CodeRecord:
    """What has been learned of one code object."""

    # Names of ints that have changed, and of lengths of arrays that have, or that no longer equal another's.
    dynamic: set[str] = field(default_factory=set)
    # Names of floats, texts and expressions of sizes of which too many values were seen, and of containers whose length
    # varies.
    varying: set[str] = field(default_factory=set)
    values: dict[str, int] = field(default_factory=dict)
    skipped: set[int] = field(
        default_factory=set
    )  # positions that resume code passes without a stop
    stops: dict[int, frozenset[int]] = field(
        default_factory=dict
    )  # of the resume code for a position
    kept_loops: set[int] = field(default_factory=set)
    traces: dict[int, int] = field(default_factory=dict)  # by position
    given_up: dict[int, str] = field(
        default_factory=dict
    )  # by position: why it is not traced again
    given_back: set[int] = field(default_factory=set)  # whose loops are faster in plain Python
    # By position: what entries run through for which plain Python had to run. It then does all of that without a stop:
    # a trace that began in the middle would come to the same.
    declined: dict[int, frozenset[int]] = field(default_factory=dict)
    # By position: what traces from there will take that unroll a loop, more than calls have paid for so far.
    unpaid: dict[int, float] = field(default_factory=dict)
    put_off: set[int] = field(
        default_factory=set
    )  # positions where a trace is to begin when there is time for one
    waits: int = 0  # how often in a row traces were put off
    waits_from: int | None = None  # how long calls had taken when they began to wait for a nest
    failures: dict[int, int] = field(default_factory=dict)  # by position: traces that gave no entry
    visits: dict[int, Visits] = field(default_factory=dict)  # of loops' headers, by position
    iterators: dict[int, str] = field(
        default_factory=dict
    )  # by position of a loop's header: the type of its iterator, where that is over no range
    read_in_vain: float = 0.0  # seconds of readings of loops that gave no nest
    whole_unpaid: float = (
        0.0  # seconds that the next reading of whole calls is to be allowed to take
    )
    left_to_nests: set[int] = field(
        default_factory=set
    )  # headers of loops whose turns are not captured one by one
    resting: set[int] = field(
        default_factory=set
    )  # headers at which a frame is not stopped again in the present run
    within_loops: set[int] = field(
        default_factory=set
    )  # where frames are not stopped for these loops' sake
    awaited: set[int] = field(
        default_factory=set
    )  # headers that are no less a stop where a trace is put off
    # By header of a loop: the kinds of numbers with which frames come to it, of those that a trace knows.
    arrives: dict[int, Mapping[int, Any]] = field(default_factory=dict)
    ends: set[int] = field(default_factory=set)  # where frames go on behind loops with nests
    # By header of a loop with a nest: the kinds of numbers with which that begins.
    begins: dict[int, tuple[Mapping[int, Any], ...]] = field(default_factory=dict)
    # By position of a jump whose condition graphs compute: what that nearly always is; None: now this, now that.
    usual: dict[int, bool | None] = field(default_factory=dict)
    # By position of a jump: why its sides are not both in a graph.
    not_forked: dict[int, str] = field(default_factory=dict)
    # How often a function was read as a whole, and why it is no nest.
    whole_tries: int = 0
    why_not_whole: str = ""
    # By order of magnitude of calls: how often this was timed against graphs; what those took, meanwhile.
    whole_tried: dict[int, int] = field(default_factory=dict)
    before_whole: Any = None
    # Whether it does what only whole calls have native code for, None: not determined yet; and whether one is awaited.
    needs_whole: bool | None = None
    waits_for_whole: bool = False
    is_whole_read: bool = False  # such a call could be read
    whole_waiting: Any = None  # the entry for whole calls whose code is being made
    # By header of a loop with a nest: where frames go on that leave it in mid-turn.
    exits: dict[int, frozenset[int]] = field(default_factory=dict)
    useful: bool = False  # some graph of it computes something
    shows_locals: bool | None = None  # what it calls may read its locals; None: not determined yet
    specialisations: list[Specialisation] = field(default_factory=list)

    def learn(self, row: Guard) -> bool:
        """Note that a guard failed; whether its entry can go, because what it checked is known to vary from now on."""
        if row.kind in ("INT", "BIG_INT") or row.says in ("RELATION equal", "SIZE few"):
            self.dynamic.add(row.source)
            return True
        if row.kind in ("LENGTH", "DICT_KEYS", "SET_IS"):
            self._count(row, MOST_VALUES)
        elif row.kind == "RELATION":
            return bool(row.source) and self._count(row, MOST_VALUES)
        elif row.kind in ("FLOAT", "EQUAL", "STR"):
            is_text = isinstance(row.operands[1], str | bytes)
            return self._count(row, MOST_TEXTS if is_text else MOST_VALUES)
        return False

    def may_wait(self, run_ns: int, made: int | None) -> bool:
        """Whether how long calls take may still be unknown because a loop may get a nest: not for ever, if none does.

        `run_ns` is how long calls have taken so far, `made` the position of a loop that gets one now.
        """
        if self.waits_from is None or made is not None:
            self.waits_from = run_ns
        return run_ns - self.waits_from < LONGEST_WAIT

    def retry_later(self, position: int) -> bool:
        """Note a trace that ran out of time before it came to anything; whether another one may."""
        failures = self.failures[position] = self.failures.get(position, 0) + 1
        return failures < MOST_EXPIRED

    def note_declined(self, position: int, ran: frozenset[int]) -> bool:
        """Plain Python runs in place of an entry; whether stops are in its way."""
        before = self.declined.get(position, frozenset())
        self.declined[position] = before | ran
        return not ran <= before

    def note_vain_end(self, header: int) -> bool:
        """A trace from a loop's header without turns left came to nothing. Whether that is new."""
        visits = self.visits.setdefault(header, Visits())
        is_new = not visits.vain_ends
        visits.vain_ends += 1
        return is_new

    def passed_over(self, position: int) -> set[int]:
        """Where a frame that plain Python takes from a position on is not stopped."""
        return self.skipped | self.declined.get(position, frozenset())

    def note(self, kept: Specialisation, entries: list[Any]) -> None:
        """Keep a new entry's record for reports; of the position's entries that were dropped only the last few."""
        living = [id(entry.data) for entry in entries if entry.valid]
        dropped = [
            one
            for one in self.specialisations
            if one.position == kept.position and id(one) not in living
        ]
        if len(dropped) > MOST_DROPPED:
            self.specialisations = [one for one in self.specialisations if one is not dropped[0]]
        self.specialisations.append(kept)

    def _count(self, row: Guard, most: int) -> bool:
        """Whether so many values were seen of what a guard is about that it varies from now on."""
        self.values[row.source] = self.values.get(row.source, 0) + 1
        varies = self.values[row.source] >= most
        if varies:
            self.varying.add(row.source)
        return varies


@dataclass(slots=True)
class Made:
    """The code objects that were made at one place of a program: by each `eval` of a text, for example."""

    count: int = 0
    living: ByCode[bool] = field(default_factory=ByCode)


class Places:
    """Where the code objects came from that a session has met, and how many of each place have died."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, int], Made] = {}
        self._most = MOST_PLACES

    def has_too_many(self, code: CodeType) -> bool:
        """Whether code objects of this one's place come and go, so that no graph of theirs is of any use; notes it."""
        place = code.co_filename, code.co_qualname, code.co_firstlineno
        made = self._places.get(place)
        if made is None:
            self._forget_some()
            made = self._places[place] = Made()
        if code not in made.living:
            if made.count - len(made.living) >= MOST_REMADE or len(made.living) >= MOST_MADE:
                return True
            made.count += 1
            made.living.keep(code, True)
        return False

    def _forget_some(self) -> None:
        if len(self._places) >= self._most:
            self._places = {
                place: made for place, made in self._places.copy().items() if made.living
            }
            self._most = 2 * len(self._places) + MOST_PLACES


# Guards whose sentence says what a value was, and not what it is.
COMPARED = frozenset(
    "ARRAY BIG_INT DEVICE_ARRAY DEVICE_LAYOUT EITHER_TYPE EQUAL FLOAT IDENTITY INT LENGTH SIZE STR TYPE".split()
)


def retraced(code: CodeType, kept: Specialisation, row: Guard, state: tuple[Any, ...]) -> Retrace:
    """Why a frame in this state is traced again where `kept` was the nearest, of which the guard `row` failed."""
    text = in_words(row.text, code, kept.position)
    return Retrace(
        text, _described_was(row), _described_now(row, state), code.co_filename, kept.line
    )


def _described_now(row: Guard, state: tuple[Any, ...]) -> str:
    if row.kind not in COMPARED:
        return ""
    source = row.operands[0] if row.operands else None
    if isinstance(source, Source) and source.register < len(state):
        value = state[source.register]
        is_array = issubclass(type(value), np.ndarray)  # `isinstance` may ask code of the user's
        if row.kind in ("TYPE", "EITHER_TYPE") and not is_array:
            return f"a {type(value).__name__}"
        if row.kind == "SIZE":
            return f"{value.shape[row.operands[1]]}"
        if row.kind == "LENGTH":
            return _items(len(value))
        if is_array:
            return f"a {value.ndim}-d {value.dtype} array"
        return shown(value)
    return ""


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


def _described_was(row: Guard) -> str:
    match row.kind, row.operands:
        case "ARRAY", (_, dtype, ndim):
            return f"a {ndim}-d {dtype} array"
        case "TYPE" | "EITHER_TYPE", (_, kind, *_):
            return f"a {kind}"
        case "LENGTH", (_, length):
            return _items(length)
        case "IDENTITY" | "INT" | "BIG_INT" | "FLOAT" | "STR" | "EQUAL" | "SIZE", (*_, value):
            return shown(value)
    return ""
