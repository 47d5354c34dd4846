"""Entries that run whole calls: a function that is read as a nest, in the one turn of a loop around its call.

Small calls spend most of their time between the loops of a function, and before and behind them. Where machine code
does all of a call, arguments are read once, and results made once. What is in doubt is left to entries of its parts.
"""

from __future__ import annotations

import itertools
import math
import operator
import time
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.entries.learned import READ_AGAIN, READ_AT_ONCE, READ_SHARE, CodeRecord
from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.entries.recipe_iterators import Made, Register
from ufuse.frame_hook.nests.calls import heaps, idioms, places_of_lists, recursion
from ufuse.frame_hook.nests.calls.generators import COMPREHENSIONS
from ufuse.frame_hook.nests.calls.generators import NAME as GENERATOR
from ufuse.frame_hook.nests.entries.choice import READ_AFTER
from ufuse.frame_hook.nests.entries.entry import NestMaker, guarded, repeated
from ufuse.frame_hook.nests.entries.screening import names_of
from ufuse.frame_hook.nests.entries.whole_reader import (
    VARYING,
    Form,
    Given,
    NewList,
    Placed,
    WholeReader,
)
from ufuse.frame_hook.nests.given import keyed
from ufuse.frame_hook.nests.known.kinds import NotNativeError, UnpaidError, kind_of
from ufuse.frame_hook.nests.known.numbers import ConstantKind
from ufuse.frame_hook.nests.known.tries import Tries
from ufuse.frame_hook.nests.loops.finishing import Read
from ufuse.frame_hook.nests.reading import refused
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Source
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.nest_slots import ArraySlot, ListSlot
from ufuse.graph.node import Graph
from ufuse.graph.records import record

T = TypeVar("T")
MOST_TRIES = 3  # to read a function, for other types
CALLS = 4000  # until it is: reading and compiling take some tens of milliseconds
MORE_CALLS = 256  # in parts, until it is looked whether the code has been made
MORE_SECONDS = 2e-3  # or as many as take so long
WAY = 2e-4  # seconds that the thread which makes it is then given
CALLS_BETWEEN = 32  # at most, for each compiled one
FEWEST_CALLS = 8  # until it is known how long they take, about
ITEM = 5e-8  # seconds that an item takes in plain Python, at least
MAKERS = frozenset(("dict", "set", "defaultdict", "deque", "Counter"))
CHANGING = frozenset(("append", "pop")) | heaps.NAMES | places_of_lists.NAMES
DISPLAYS = frozenset(("BUILD_MAP", "BUILD_SET", "BUILD_CONST_KEY_MAP"))
LOOPS = frozenset(
    ("FOR_ITER", "JUMP_BACKWARD", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE")
)
LOADS = frozenset(("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"))
SHORT = 5e-6  # seconds: a call that takes less gains little, if its generators are long in none


def put_off(cache: Any, *, measures: bool) -> None:
    """Have C ask for an entry of whole calls after some calls more that none takes."""
    cache.whole_call_after = CALLS if measures else 1


def ask_soon(cache: Any) -> None:
    """The same at the next call, for a function that goes over generators, which no entry of its parts takes.

    Until it has paid nothing is decided on how its calls run.
    """
    _ask_after(cache, 1)


def is_needed(function: types.FunctionType) -> bool:
    """Whether a function does what only whole calls have native code for, and nothing that no nest can do.

    It goes over generator expressions, has functions called for each item, or makes lists, dicts or sets of numbers, of
    which the objects are never made then.
    """
    code = function.__code__
    inside = {one.co_name for one in code.co_consts if isinstance(one, types.CodeType)}
    opnames = {one.opname for one in instructions.instructions(code)}
    makes_lists = "LIST_APPEND" in opnames or (
        ("BUILD_LIST" in opnames or "list" in code.co_names)
        and not CHANGING.isdisjoint(code.co_names)
    )
    has_dicts = not DISPLAYS.isdisjoint(opnames) or bool(MAKERS.intersection(code.co_names))
    # Without loops they have known keys.
    makes_dicts = has_dicts and not LOOPS.isdisjoint(opnames)
    if code.co_varnames[:1] == (".0",):
        return False
    is_one = (
        recursion.calls_itself(function)
        or recursion.makes_one(code)
        or makes_lists
        or makes_dicts
        or bool(inside & {GENERATOR, *COMPREHENSIONS})
        or idioms.has_some(function)
    )
    return is_one and can_be(code)


def goes_over_keys(code: types.CodeType, state: tuple[Any, ...]) -> bool:
    """Whether a function may go over a dict or set that it is given, as the loop of no nest does, and changes none."""
    opnames = {one.opname for one in instructions.instructions(code)}
    given = state[: code.co_argcount + code.co_kwonlyargcount]
    return (
        any(type(one) in keyed.KINDS for one in given)
        and "FOR_ITER" in opnames
        and "STORE_SUBSCR" not in opnames
        and can_be(code)
    )


def can_be(code: types.CodeType) -> bool:
    """Whether a function does nothing that no nest can do, as far as its instructions tell."""
    return not code.co_flags & VARYING and names_of(code) is not None


def begin(
    maker: NestMaker,
    cache: Any,
    function: types.FunctionType,
    state: tuple[Any, ...],
    record: CodeRecord,
    *,
    may_run: bool,
) -> bool:
    """Look at a function whose frame begins with a state, before its first trace; whether this call will run whole.

    One that needs such an entry gets it soon: at once, if it may run, and this call takes longer than to make it.
    """
    is_one = is_needed(function) or goes_over_keys(function.__code__, state)
    record.needs_whole = record.waits_for_whole = is_one
    if not record.needs_whole:
        return False
    ask_soon(cache)
    expected = expected_seconds(function, state)
    if not may_run or expected < maker.nest_seconds():
        return False
    _make(maker, cache, function, state, record, measures=True, at_once=True, expected=expected)
    return cache.whole_call is not None


def expected_seconds(function: types.FunctionType, state: tuple[Any, ...]) -> float:
    """How long a call takes in plain Python, by the longest argument that it seems to go over item by item."""
    rows = instructions.instructions(function.__code__)
    gone_over = {
        one.arg
        for one, following in itertools.pairwise(rows)
        if following.opname == "GET_ITER" and one.opname in LOADS
    }
    if idioms.has_some(function):
        gone_over.update(range(function.__code__.co_argcount))
    lengths = [
        len(value)
        for slot, value in enumerate(state)
        if slot in gone_over
        and (type(value) in (list, tuple) or (type(value) is np.ndarray and value.ndim))
    ]
    return ITEM * max(lengths, default=0)


def is_awaited(cache: Any, record: CodeRecord) -> bool:
    """Whether such an entry is waited for; it is asked for at the next call that is not plain."""
    if not record.waits_for_whole or not cache.whole_call_after or record.whole_tries:
        return False
    ask_soon(cache)
    return True


def is_recursion_awaited(cache: Any, function: types.FunctionType, record: CodeRecord) -> bool:
    """The same of a function that calls itself: a graph would have a few of its calls within one another."""
    return (
        record.waits_for_whole
        and record.whole_tries == 0
        and bool(cache.whole_call_after)
        and recursion.calls_itself(function)
    )


def _wait(cache: Any, function: types.FunctionType, record: CodeRecord) -> None:
    """Go on without, until calls have taken longer than reading and compiling does."""
    seconds, calls = cache.run_ns / 1e9, max(cache.calls, 1)
    is_short = calls >= FEWEST_CALLS and seconds < SHORT * calls
    if is_short and not recursion.calls_itself(function):
        record.waits_for_whole = False
        put_off(cache, measures=True)
        return
    _ask_after(cache, min(calls, MORE_CALLS))


def _can_be_read(
    cache: Any, function: types.FunctionType, state: tuple[Any, ...], record: CodeRecord
) -> bool:
    """Whether there is anything to wait for: what cannot be read is soon timed as it is."""
    if not record.is_whole_read:
        paid = _paid(cache, record)
        try:
            _read_for(record, paid, lambda until: _read(cache.code, function, state, until))
        except UnpaidError:
            return True
        except NotNativeError as why:
            _give_up(cache, record, why)
            return False
        record.is_whole_read = True
    return True


def _paid(cache: Any, record: CodeRecord, expected: float = 0.0) -> float:
    """How many seconds a function may be read for, a call of which is expected to take some."""
    took: float = max(cache.run_ns / 1e9, expected)
    return READ_AT_ONCE + READ_SHARE * took - record.read_in_vain


def _read_for(record: CodeRecord, paid: float, read: Callable[[float], T]) -> T:
    """What reading gives, which may go on until this thread has taken so much processor time.

    Raises:
        UnpaidError: it takes longer; no more is paid than half of what was too little before: nothing is read then.
        NotNativeError: there is no whole call.

    """
    if paid < record.whole_unpaid:
        raise UnpaidError
    begun = time.thread_time()
    try:
        return read(begun + paid)
    except NotNativeError as why:
        record.read_in_vain += time.thread_time() - begun
        if isinstance(why, UnpaidError):
            record.whole_unpaid = READ_AGAIN * paid
        raise


def _give_up(cache: Any, record: CodeRecord, why: NotNativeError) -> None:
    """Go on without; how calls run may be decided."""
    record.why_not_whole = why.reason
    record.needs_whole = False
    if record.waits_for_whole:
        record.waits_for_whole, cache.loops_wait = False, 0


def _ask_after(cache: Any, calls: int) -> None:
    """Ask again after so many compiled calls, before which nothing is decided: some calls between are plain."""
    cache.whole_call_after = calls
    cache.loops_wait = CALLS_BETWEEN * (calls + 1)


def _calls_for(cache: Any, seconds: float) -> int:
    """How many calls take so long, about."""
    each = cache.run_ns / 1e9 / max(cache.calls, 1)
    return max(1, min(MORE_CALLS, int(seconds / each))) if each else MORE_CALLS


def capture(
    maker: NestMaker,
    cache: Any,
    function: types.FunctionType,
    state: tuple[Any, ...],
    record: CodeRecord,
    *,
    measures: bool,
) -> bool:
    """Have an entry run whole calls of a function, if it can be read: once its code is made, by another thread.

    Calls of another size or type than those for which the last was made come here again. Whether calls are so long that
    this one waits for it.
    """
    calls, seconds = max(cache.calls - 1, 1), cache.run_ns / 1e9  # this one has not run
    at_once = measures and bool(record.needs_whole) and seconds >= maker.nest_seconds() * calls
    is_open = record.whole_waiting is None and record.waits_for_whole
    if measures and is_open and not at_once and seconds < 2 * maker.nest_seconds():
        if seconds < READ_AFTER or _can_be_read(cache, function, state, record):
            _wait(cache, function, record)
        return False
    _make(maker, cache, function, state, record, measures=measures, at_once=at_once)
    return at_once


def _make(
    maker: NestMaker,
    cache: Any,
    function: types.FunctionType,
    state: tuple[Any, ...],
    record: CodeRecord,
    *,
    measures: bool,
    at_once: bool,
    expected: float = 0.0,
) -> None:
    """Begin to make an entry, or have it run calls from now on, where it is made; `at_once`: calls are that long."""
    if record.whole_waiting is None:
        paid = _paid(cache, record, expected) if measures else math.inf
        make = partial(
            Waiting,
            maker,
            cache.code,
            function,
            state,
            at_once=at_once or not measures,
            is_never_long=not record.needs_whole,
        )
        try:
            record.whole_waiting = _read_for(record, paid, lambda until: make(until=until))
        except UnpaidError:
            _wait(cache, function, record)
            return
        except NotNativeError as why:
            _give_up(cache, record, why)
            return
    waiting = record.whole_waiting
    if not waiting.has_ended(maker.nest_seconds() if at_once else WAY):
        _ask_after(cache, _calls_for(cache, MORE_SECONDS))
        return
    record.whole_waiting = None
    record.whole_tries += 1
    cache.loops_wait = 0
    try:
        cache.set_whole_call(waiting.entry())
    except NotNativeError as why:
        record.why_not_whole = why.reason
        return
    if record.whole_tries < MOST_TRIES and record.before_whole is None:
        put_off(cache, measures=measures)
        if measures and record.waits_for_whole:
            cache.whole_call_after = MORE_CALLS


@record
class _Made:
    """What was made at once."""

    what: Any

    def wait(self, _: float) -> bool:
        """Whether it is made."""
        return True

    def result(self) -> Any:
        """What was made."""
        return self.what


class Waiting:
    """The entry that will run whole calls of a function, whose frame begins with a state; it keeps no object of that.

    `at_once`: it is waited for. `is_never_long`: long calls run in parts, which have native code of their own.
    `until`: reading ends then, of this thread's processor time.

    Raises:
        NotNativeError: there is none.

    """

    def __init__(
        self,
        maker: NestMaker,
        code: types.CodeType,
        function: types.FunctionType,
        state: tuple[Any, ...],
        *,
        at_once: bool,
        is_never_long: bool,
        until: float,
    ) -> None:
        trace, reader, read = _read(code, function, state, until)
        self._guards, self._slots = trace.guards.for_c(), read.slots
        self._ending = _ending(trace, reader.forms, read)
        self._data = Specialisation(
            0, weakref.ref(code), 0, frozenset(), Graph((), (), (), code.co_name),
            trace.guards.remembered(), (), None, code.co_firstlineno, nest=read.nest,
        )  # fmt: skip
        self._is_never_long = is_never_long
        self._making = (
            _Made(maker.compile_nest(read.nest)) if at_once else maker.begin_nest(read.nest)
        )

    def has_ended(self, seconds: float) -> bool:
        """Whether its code is made; that gets so many seconds to go on.

        A thread that waits for the GIL asks for it when nobody has left it for some milliseconds: where NumPy's calls
        leave it for a moment each, it never does.
        """
        return self._making.wait(seconds)

    def entry(self) -> Any:
        """The entry, whose code is waited for.

        Raises:
            NotNativeError: there is none.

        """
        try:
            artefact = self._making.result()
        except TimeoutError:
            artefact = None
        if artefact is None:
            raise NotNativeError("LLVM fails at it, or takes seconds")
        artefact.is_never_long = self._is_never_long
        entry = _hook.Entry(self._guards, self._slots, artefact, *self._ending)
        entry.data = self._data
        return entry


def _read(
    code: types.CodeType,
    function: types.FunctionType,
    state: tuple[Any, ...],
    until: float = math.inf,
) -> tuple[Trace, WholeReader, Read]:
    return repeated(lambda tries: _read_once(code, function, state, tries, until), (), until)


def _read_once(
    code: types.CodeType,
    function: types.FunctionType,
    state: tuple[Any, ...],
    tries: Tries,
    until: float,
) -> tuple[Trace, WholeReader, Read]:
    trace = Trace(state, slot_names(code), _hook.NULL)
    try:
        reader = WholeReader(trace, function, state, tries, until)
    except GraphBreak as graph_break:
        raise NotNativeError(f"it uses {graph_break.what}") from None
    read = refused.told(reader, lambda: _guarded(trace, code, reader, state))
    return trace, reader, read


def _guarded(
    trace: Trace, code: types.CodeType, reader: WholeReader, state: tuple[Any, ...]
) -> Read:
    read = replace(reader.read(), empty=frozenset())
    if any(
        isinstance(slot, ListSlot)
        or (isinstance(slot, ArraySlot) and slot.items and slot.is_written)
        for slot in read.nest.slots
    ):
        raise NotNativeError("it changes a list")
    if any(one.is_written for one in read.nest.keyed):
        raise NotNativeError("it changes a dict or set")
    if read.fields:
        raise NotNativeError("it sets an attribute")
    names = slot_names(code)
    for slot in read.slots:
        if slot < len(names) and kind_of(state[slot]) is not None:
            trace.guards.check("TYPE", Source(slot, names[slot]), type(state[slot]))
    return guarded(trace, code, read, reader.outside)


def _ending(
    trace: Trace, forms: Mapping[Form, int], read: Read
) -> tuple[int, Any, tuple[Any, ...]]:
    """How many outputs the nest has, the recipe of what the call gives, and its register."""
    count = len(read.nest.slots) - len(read.nest.given) - 1
    recipe = Recipe(trace, others=count)
    if len(forms) > 1:  # the last output says which
        ways = recipe.row("tuple", *(_register(recipe, *one) for one in forms.items()))
        chosen = recipe.call(operator.getitem, ways, Made("output", count - 1))
        return count, recipe.for_c(), ("return", recipe.number(chosen))
    (form,) = forms
    if isinstance(form, tuple) and count > 1:
        places = [one.place if isinstance(one, Placed) else -1 for one in form]
        if places == [*range(count)]:  # the nest's own tuple
            return 1, recipe.for_c(), ("return", recipe.number(Made("output", 0)))
    register = recipe.number(_register(recipe, form, 0))
    return count, recipe.for_c(), ("return", register)


def _register(recipe: Recipe, form: Form, first: int) -> Register:
    """The register of what is given; `first`: the place where its results begin."""
    match form:
        case Given(slot):
            return slot
        case Placed(place):
            return Made("output", first + place)
        case ConstantKind(item=item):
            return recipe.constant(item.value)
        case NewList(items):
            return recipe.row("list", *(_register(recipe, one, first) for one in items))
    return recipe.row("tuple", *(_register(recipe, one, first) for one in form))
