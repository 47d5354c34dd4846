"""Which loops become nests, and when."""

from __future__ import annotations

import dis
from collections.abc import Iterable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, per_code
from ufuse.frame_hook.entries.journal import Journal
from ufuse.frame_hook.entries.learned import KNOWN_TURNS, CodeRecord, Visits
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.pace import items_left
from ufuse.frame_hook.nests.arrays import array_calls
from ufuse.frame_hook.nests.calls import (
    generators,
    grids,
    inlining,
    restated,
    searches,
    sorted_places,
)
from ufuse.frame_hook.nests.containers import characters, dict_methods, fields
from ufuse.frame_hook.nests.entries.entry import NestMaker, nest_entry, prepared
from ufuse.frame_hook.nests.given import generator_methods
from ufuse.frame_hook.nests.known.positions import (
    BACK,
    loop_positions,
    while_headers,
    written,
)
from ufuse.frame_hook.nests.known.refusals import why_not_instruction
from ufuse.frame_hook.nests.known.sides import read_in_loop, read_positions
from ufuse.frame_hook.nests.known.values import CALLABLE, NotNativeError, item_kind
from ufuse.frame_hook.nests.loops.outermost import all_turns, turns_left
from ufuse.frame_hook.nests.numbers import arithmetic, complexes, functions
from ufuse.frame_hook.nests.opcodes.handlers import HANDLERS
from ufuse.frame_hook.trace.symbols import (
    Array,
    Cell,
    Constant,
    Instance,
    Integer,
    Iterator,
    List,
    Number,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)
from ufuse.frame_hook.trace.trace import Trace

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
NOT_VISITED = Visits()
UNROLLED_AT_MOST = 300  # instructions of a loop: to trace more takes longer than to make a nest
LONG_TURN = 40  # instructions of a `while` loop: to trace them takes longer than to make a nest
INNER_TURNS = 8  # that an inner loop is taken to have, before its iterator is known
READ_AFTER = 3e-3  # seconds: reading takes about as long
NEVER_USED = (list, str)  # as globals of nests
MOST_ARGUMENTS = 3  # of functions of numbers
METHODS = frozenset(
    (
        "append",
        "pop",
        "insert",
        *fields.METHODS,
        *dict_methods.VIEWS,
        "get",
        "setdefault",
        *searches.METHODS,
        *characters.METHODS,
        *characters.CASES,
        *array_calls.METHODS,
        *array_calls.ATTRIBUTES,
    )
)
# Of methods of lists, dicts and strings, which objects of the program have, too.
COMMON_NAMES = frozenset("center copy count find index title update".split())
LOOP_OPCODES = frozenset(
    number for name, number in dis.opmap.items() if name == "FOR_ITER" or name.startswith(BACK)
)
JUMPS = ("FOR_ITER", "JUMP", "POP_JUMP")


def open_headers(code: CodeType, record: CodeRecord) -> frozenset[int]:
    """The headers of the loops that may become nests, or have."""
    return frozenset(
        header
        for header in written_slots(code)
        if record.visits.get(header, NOT_VISITED).refused is None and header not in record.given_up
    )


def is_left(
    function: FunctionType, trace: Trace, frame: Frame, start: int, record: CodeRecord
) -> bool:
    """Whether a trace from a position ends before the loop at which it stands: that is long, and may become a nest.

    How long `while` loops are is not known. Where a trace begins within one it is not unrolled, nor where one turn is
    long: it would be traced for a graph that the nest makes needless.
    """
    if frame.position in while_headers(frame.code):
        inside = loop_positions(frame.code, frame.position)
        is_followed = record.visits.get(frame.position, NOT_VISITED).is_followed
        is_left = start in inside or (len(inside) >= LONG_TURN and not is_followed)
        return is_left and _why_not(frame.code, frame.position, function) is None
    left, header = _turns_left(trace, frame.stack[-1]), frame.position
    if left * instructions_of_turn(frame.code)[header] < UNROLLED_AT_MOST:
        return False
    changed = written_slots(frame.code)[header]
    return all(_may_vary(frame.locals[slot]) for slot in changed) and (
        _why_not(frame.code, header, function) is None
    )


def _turns_left(trace: Trace, iterator: Symbol) -> int:
    """Of an iterator that a nest may go over; 0 for others."""
    match iterator:
        case (
            Iterator(parts=[Constant(value=range())])
            | Iterator(kind="rows", parts=[Array()])
            | Iterator(kind="sequence", parts=[List() | Tuple()])
        ):
            return items_left(trace, iterator)
        case Iterator(kind="product"):
            return items_left(trace, iterator)
        case Instance(kind=kind, attributes=attributes) if kind in grids.WRAPPERS:
            inner = attributes.get(grids.WRAPPERS[kind])
            return 0 if inner is None else _turns_left(trace, inner)
        case Iterator(kind="enumerate" | "zip", parts=parts):
            return min((_turns_left(trace, one) for one in parts), default=0)
        case Unread(value=value):
            return turns_left(value) or 0
    return 0


def _has_nest(cache: Any, header: int, record: CodeRecord) -> bool:
    """Whether a loop needs no nests of those inside it."""
    visits = record.visits.get(header, NOT_VISITED)
    return bool(cache.entries(header)) and not visits.unread


def _may_vary(symbol: Symbol | None) -> bool:
    """Whether a variable that a nest changes may have this value before."""
    if isinstance(symbol, Cell):
        return symbol.content is None or _may_vary(symbol.content)
    if isinstance(symbol, Unread):
        if isinstance(symbol.value, CellType):
            return True
        return isinstance(symbol.value, int | float | np.generic | np.ndarray | tuple | None)
    return isinstance(symbol, Number | Integer | Constant | Array | Tuple | Unbound | None)


@per_code
def instructions_of_turn(code: CodeType) -> dict[int, int]:
    """For the header of each of these loops: how many instructions a turn has, about."""
    headers = [one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"]
    found = {}
    for header in written_slots(code):
        inside = loop_positions(code, header)
        inner = [loop_positions(code, one) for one in headers if one in inside and one != header]
        found[header] = sum(
            INNER_TURNS ** sum(position in one for one in inner) for position in inside
        )
    return found


@per_code
def written_slots(code: CodeType) -> dict[int, frozenset[int]]:
    """For the header of each loop whose instructions a nest can have: the slots that it writes."""
    table = instructions.by_position(code)
    found = {}
    for one in instructions.instructions(code):
        if one.opname != "FOR_ITER" and one.position not in while_headers(code):
            continue
        positions = {one.position, *read_in_loop(code, one.position)}
        inside = [table[position] for position in positions]
        is_read = all(each.opname in HANDLERS or each.opname.startswith(JUMPS) for each in inside)
        if is_read and not _makes_lists_of_lists(inside):
            found[one.position] = written(inside)
    return found


def _makes_lists_of_lists(inside: Iterable[instructions.Instruction]) -> bool:
    """Whether a loop is a comprehension around another one: from 3.12 on both are of one function."""
    names = [one.opname for one in inside]
    return "LOAD_FAST_AND_CLEAR" in names and names.count("LIST_APPEND") > 1


def has_loops(code: CodeType) -> bool:
    """Whether a function has a loop whose instructions a nest can have."""
    return not LOOP_OPCODES.isdisjoint(code.co_code[::2]) and bool(written_slots(code))


def why_not_instructions(code: CodeType, header: int) -> str | None:
    """Which instruction no nest has, and in which line; None where a nest can have all."""
    table = instructions.by_position(code)
    inside = [table[position] for position in sorted({header, *read_in_loop(code, header)})]
    for one in inside:
        if one.opname not in HANDLERS and not one.opname.startswith(JUMPS):
            return f"{why_not_instruction(one.opname)}, in line {one.location[0]}"
    if _makes_lists_of_lists(inside):
        return f"a list of lists that is made in the loop is not compiled yet, in line {inside[0].location[0]}"
    return None


@per_code
def outer_headers(code: CodeType) -> dict[int, int]:
    """For the header of a loop that of the loop around it, where a nest can have all instructions of that."""
    headers = [one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"]
    found = {}
    for header in headers:
        around = [one for one in headers if one != header and header in loop_positions(code, one)]
        nearest = min(around, key=lambda one: len(loop_positions(code, one)), default=None)
        if nearest is not None and nearest in written_slots(code):
            found[header] = nearest
    return found


@per_code
def names_in_loops(code: CodeType) -> dict[int, frozenset[str]]:
    """For the header of each of those loops: the globals that it uses."""
    table = instructions.by_position(code)
    return {
        header: frozenset(
            code.co_names[(table[one].arg or 0) >> 1]
            for one in (header, *read_in_loop(code, header))
            if table[one].opname == "LOAD_GLOBAL"
        )
        for header in written_slots(code)
    }


def _why_not(code: CodeType, header: int, function: FunctionType) -> str | None:
    """What can be seen at once: instructions that no nest has, and globals."""
    names = names_in_loops(code).get(header)
    if names is None:
        return why_not_instructions(code, header)
    why = _why_not_names(function, names, [code])
    if why is not None:
        return why
    chains = attributes_in_loops(code)[header]
    reasons = (_why_not_attribute(function, chain) for chain in sorted(chains))
    return next((one for one in reasons if one is not None), None)


@per_code
def attributes_in_loops(code: CodeType) -> dict[int, frozenset[tuple[str, ...]]]:
    """For the header of each of those loops: the attributes that it uses, as in `np.linalg.norm`; "" is no global."""
    found = {header: set[tuple[str, ...]]() for header in written_slots(code)}
    inside = {header: {header, *read_in_loop(code, header)} for header in found}
    chain: tuple[str, ...] = ("",)
    for one in instructions.instructions(code):
        if one.opname == "LOAD_GLOBAL":
            chain = (code.co_names[(one.arg or 0) >> 1],)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            shift = VERSION >= (3, 12) and one.opname == "LOAD_ATTR"
            chain = (*chain, code.co_names[(one.arg or 0) >> shift])
            for header, positions in inside.items():
                if one.position in positions:
                    found[header] -= {chain[:-1]}
                    found[header].add(chain)
        else:
            chain = ("",)
    return {header: frozenset(chains) for header, chains in found.items()}


def _why_not_attribute(function: FunctionType, chain: tuple[str, ...]) -> str | None:
    """Why no nest uses an attribute of a module or of an array."""
    value: Any = function.__globals__.get(chain[0])
    for name in chain[1:]:
        if type(value) is not ModuleType:
            if chain[0] and not isinstance(value, list | dict | str):
                return None
            fits = name in METHODS or name in COMMON_NAMES
            is_other = any(hasattr(one, name) for one in (list, dict, str))
            of_object = f"{name} of a list, dict or string is not compiled yet"
            return of_object if is_other and not fits else None
        value = vars(value).get(name)
    kind = type(value)  # `isinstance` would ask the program's own objects
    if not callable(value) or issubclass(kind, FunctionType | np.ufunc | type | _hook.Dispatcher):
        return None
    if generator_methods.may_be_method(value) and generator_methods.module_of(value) is not None:
        return None
    if generator_methods.is_default_rng(value):
        return None
    if isinstance(value, CALLABLE):
        counts = range(1, MOST_ARGUMENTS + 1)
        if (
            value in array_calls.FUNCTIONS
            or value in sorted_places.FUNCTIONS
            or value in generators.CONSUMERS
            or value in restated.CALLS
            or any(
                (value, count) in arithmetic.FUNCTIONS
                or complexes.rule_of(value, count) is not None
                or functions.rule_of(value, count) is not None
                for count in counts
            )
        ):
            return None
    return f"calls of {chain[-1]} are not compiled yet"


def _why_not_names(
    function: FunctionType, names: frozenset[str], callers: list[CodeType]
) -> str | None:
    """Why no nest uses some globals of a function."""
    for name in sorted(names):
        value: Any = function.__globals__.get(name)
        if issubclass(type(value), _hook.Dispatcher):
            value = value.__ufuse_function__
        if type(value) is FunctionType:
            why = _why_not_called(value, callers)
        else:
            why = (
                f"it uses a global {type(value).__name__}"
                if isinstance(value, NEVER_USED) and not is_list_of_numbers(value)
                else None
            )
        if why is not None:
            return why
    return None


def _why_not_called(function: FunctionType, callers: list[CodeType]) -> str | None:
    """What can be seen at once of a function that may be called."""
    code = function.__code__
    why = inlining.why_not_called(code)
    if why is not None or code in callers:
        return why
    names = names_of(code)
    if names is None or len(callers) > inlining.MOST_CALLS:
        return f"calls of {code.co_name} are not compiled yet"
    return _why_not_names(function, names, [*callers, code])


def is_list_of_numbers(value: object) -> bool:
    """Whether a global may be a list that nests read, by its first item."""
    return type(value) is list and len(value) > 0 and item_kind(value[0]) is not None


@per_code
def names_of(code: CodeType) -> frozenset[str] | None:
    """The globals that a function uses; None where no nest can have some instruction of it."""
    positions = read_positions(code)
    table = [one for one in instructions.instructions(code) if one.position in positions]
    if not all(one.opname in HANDLERS or one.opname.startswith(JUMPS) for one in table):
        return None
    return frozenset(
        code.co_names[(one.arg or 0) >> 1] for one in table if one.opname == "LOAD_GLOBAL"
    )


@per_code
def outermost_headers(code: CodeType) -> frozenset[int]:
    """The headers of `for` loops that are within no other loop."""
    headers = [one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"]
    others = (*headers, *while_headers(code))
    return frozenset(
        header
        for header in headers
        if not any(header in loop_positions(code, one) for one in others if one != header)
    )


def _whiles_around(code: CodeType, position: int) -> list[int]:
    """The headers of `while` loops around a loop."""
    return [
        one
        for one in while_headers(code)
        if one != position and position in loop_positions(code, one)
    ]


def _is_open(cache: Any, header: int, record: CodeRecord) -> bool:
    """Whether a loop may get a nest, or has one."""
    if header not in written_slots(cache.code) or cache.given_up(header):
        return False
    return record.visits.get(header, NOT_VISITED).refused is None


def _is_inner(cache: Any, position: int, state: tuple[Any, ...], record: CodeRecord) -> bool:
    """Whether a `while` loop stands in a loop that may get a nest."""
    code = cache.code
    if any(_is_open(cache, one, record) for one in _whiles_around(cache.code, position)):
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
        if not visits.begun and (why := _why_not(cache.code, position, function)) is not None:
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
            visits.is_read = True
            visits.refused = self._prepare(cache.code, position, function, state, record)
            return answer if visits.refused is None else None
        if waits and visits.waits < MOST_WAITS and self._waits_for_while(cache, position, record):
            return max(ASK_AT_ONCE, int(visits.turn * left * 1e9))
        around = self._reached_soon(cache, position, state, record) if waits else {}
        for depth, outer in reversed(around.items()):
            entries = cache.entries(outer)
            if not entries:
                made = self._made(cache, outer, function, state[:-depth], record)
                if isinstance(made, _hook.Entry):
                    cache.add(outer, made)
                    record.left_to_nests.add(outer)
                    cache.drop_resume()
                    entries = [made]
            if entries and visits.waits < MOST_WAITS:
                visits.waits += 1
                return max(ASK_AT_ONCE, int(visits.turn * left * 1e9))
        return self._made(cache, position, function, state, record)

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
                not any(_has_nest(cache, one, record) for one in outer)
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
            return self._made(cache, position, function, state, record)
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
            return self._made(cache, position, function, state, record)
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
        found = [
            one for one in _whiles_around(cache.code, position) if _is_open(cache, one, record)
        ]
        for one in found:
            record.visits.setdefault(one, Visits()).is_due = True
        visits.waits += bool(found)
        return bool(found)

    @staticmethod
    def _prepare(
        code: CodeType,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> str | None:
        """Read a loop before it is due: why there will be no nest, whatever the variables become."""
        try:
            ready = prepared(code, position, function, state, record)
        except NotNativeError as why:
            return None if why.later else str(why)
        record.visits[position].prepared = _depends_on(position, state, record), ready
        return None

    def _made(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        record: CodeRecord,
    ) -> Any:
        visits = record.visits.setdefault(position, Visits())
        early, visits.prepared = visits.prepared, None
        try:
            if early is not None and early[0] == _depends_on(position, state, record):
                ready = early[1]
            else:
                ready = prepared(cache.code, position, function, state, record)
            return nest_entry(self.maker, cache, position, ready, record, self._journal)
        except NotNativeError as why:
            visits.failures += 1
            if cache.entries(position):
                visits.unread.add(_kinds(state))
                return ASK_AT_ONCE
            if why.later and visits.failures < MOST_FAILURES:
                return ASK_AT_ONCE
            visits.refused = str(why)
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
