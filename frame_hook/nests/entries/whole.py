"""Entries that run whole calls: a function that is read as a nest, in the one turn of a loop around its call.

Small calls spend most of their time between the loops of a function, and before and behind them. Where machine code
does all of a call, arguments are read once, and results made once. What is in doubt is left to entries of its parts.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import types
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.entries.recipe_iterators import Made, Register
from ufuse.frame_hook.nests.arrays import elementwise, views
from ufuse.frame_hook.nests.calls import heaps, idioms, inlining, places_of_lists, recursion
from ufuse.frame_hook.nests.calls.generators import COMPREHENSIONS
from ufuse.frame_hook.nests.calls.generators import NAME as GENERATOR
from ufuse.frame_hook.nests.containers import identity, keeping, made_dicts, made_lists
from ufuse.frame_hook.nests.entries.choice import READ_AFTER, names_of
from ufuse.frame_hook.nests.entries.entry import NestMaker, guarded, repeated
from ufuse.frame_hook.nests.given import keyed
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known.positions import written
from ufuse.frame_hook.nests.known.tries import ListsError, SmallError, Tries
from ufuse.frame_hook.nests.known.values import (
    Array,
    ConstantKind,
    Item,
    Items,
    Known,
    Lazy,
    Listed,
    MadeDict,
    MadeList,
    NewDict,
    NotNativeError,
    Number,
    NumberKind,
    Part,
    TemporaryKind,
    Whole,
    constant_kind,
    kind_of,
)
from ufuse.frame_hook.nests.known.ways import ITERATOR, Outermost
from ufuse.frame_hook.nests.loops.finishing import Read, text_of
from ufuse.frame_hook.nests.loops.loop_reader import LoopReader
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.trace import symbols
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Source
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.nest import I64, ArraySlot, ListSlot, RangeSlot, ResultSlot, Slot
from ufuse.graph.node import Graph
from ufuse.graph.records import record

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
VARYING = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
ARRAY, VIEW = "array", "view"
MOST_KINDS = 4  # of a number, by the way that the call takes
MOST_FORMS = 6  # of what a call gives, by the way that it takes
FORM = ".form"  # the result that says which


@record
class Given:
    """The very object that an argument is."""

    slot: int


@record
class Placed:
    """A number or an array, by its place among the results."""

    place: int
    what: str


@record
class NewList:
    """A new list of so many things."""

    items: tuple[Any, ...]


Form = Given | Placed | ConstantKind | NewList | tuple[Any, ...]  # of what a call gives
Leaf = Number | Array | Part | MadeList | MadeDict


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
    if not may_run or expected_seconds(function, state) < maker.nest_seconds():
        return False
    _make(maker, cache, function, state, record, measures=True, at_once=True)
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
        try:
            _read(cache.code, function, state)
        except NotNativeError as why:
            _give_up(cache, record, why)
            return False
        record.is_whole_read = True
    return True


def _give_up(cache: Any, record: CodeRecord, why: NotNativeError) -> None:
    """Go on without; how calls run may be decided."""
    record.why_not_whole = str(why)
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
) -> None:
    """Begin to make an entry, or have it run calls from now on, where it is made; `at_once`: calls are that long."""
    if record.whole_waiting is None:
        try:
            record.whole_waiting = Waiting(
                maker,
                cache.code,
                function,
                state,
                at_once=at_once or not measures,
                is_never_long=not record.needs_whole,
            )
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
        record.why_not_whole = str(why)
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
    ) -> None:
        trace, reader, read = _read(code, function, state)
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
    code: types.CodeType, function: types.FunctionType, state: tuple[Any, ...]
) -> tuple[Trace, WholeReader, Read]:
    return repeated(lambda tries: _read_once(code, function, state, tries))


def _read_once(
    code: types.CodeType, function: types.FunctionType, state: tuple[Any, ...], tries: Tries
) -> tuple[Trace, WholeReader, Read]:
    trace = Trace(state, slot_names(code), _hook.NULL)
    try:
        reader = WholeReader(trace, function, state, tries)
        try:
            return trace, reader, _guarded(trace, code, reader, state)
        except NotNativeError as why:
            why.has_sums = reader.has_sums
            raise
    except GraphBreak as graph_break:
        raise NotNativeError(f"it uses {graph_break.what}") from None


class WholeReader(LoopReader):
    """Reads a call as the only turn of a loop: the function is read in the place of the call."""

    def __init__(
        self,
        trace: Trace,
        function: types.FunctionType,
        state: tuple[Any, ...],
        tries: Tries,
    ) -> None:
        code = function.__code__
        if code.co_flags & VARYING:
            raise NotNativeError("it takes any number of arguments")
        if code.co_varnames[:1] == (".0",):
            raise NotNativeError("it is a comprehension")
        count = code.co_argcount + code.co_kwonlyargcount
        around = _loop_around(code.co_name, code.co_varnames[:count])
        header = next(
            one.position for one in instructions.instructions(around) if one.opname == "FOR_ITER"
        )
        own = (*state[:count], _hook.NULL, iter(range(1)))
        outside = Outside(trace, function, state)
        super().__init__(around, header, own, _hook.NULL, outside, tries=tries)
        self.outermost = Outermost(Whole(), (RangeSlot(ITERATOR, "once"),), ())
        self._function, self._given = function, count
        outside.known(function, _called(trace, function, state))
        self.forms: dict[Form, int] = {}  # where the results of each begin
        self._kinds: list[list[str]] = []  # of each result
        self._given_lists: dict[
            tuple[int, TemporaryKind], MadeList | MadeDict
        ] = {}  # by their places among these

    def _begin_members(self) -> None:
        if self.tries.members:
            raise NotNativeError("an argument is an item of a list that is another, too")

    def turn(self) -> None:
        """Call the function."""
        code = self._function.__code__
        self.stack.pop()
        for slot in range(self._given):
            self.load(slot)
        arguments, self.stack = self.stack, []
        only = code.co_varnames[code.co_argcount : self._given]
        keywords = dict(zip(only, arguments[code.co_argcount :], strict=True))
        self.next = self.position
        inlining.enter(self, self._function, arguments[: code.co_argcount], keywords)
        if self.out.is_open:
            self.run(self.next)

    def numbers_given(self) -> list[Number]:
        """The arguments that are numbers."""
        found = (
            self._kept(self.own, slot, kind)
            for slot, kind in self.kinds.items()
            if slot < self._given and isinstance(kind, NumberKind)
        )
        return [one for one in found if isinstance(one, Number)]

    def gives_back(self) -> bool:
        """Whether the call returns what the instruction that is being read gives."""
        caller, following = self.frame.caller, self.frame.function.table.get(self.next)
        is_last = following is not None and following.opname == "RETURN_VALUE"
        return is_last and caller is not None and caller.caller is None

    def leave(self, item: Item) -> None:
        """Return from a function; from that of the whole call, give what it returns."""
        caller = self.frame.caller
        if caller is None or caller.caller is not None:
            super().leave(item)
            return
        elementwise.settle(self)
        if _has_nan(item):
            self.go_to_doubt()
            return
        leaves: list[Leaf] = []
        form = self._form(item, leaves)
        self._check_objects(leaves)
        if form not in self.forms:
            if len(self.forms) == MOST_FORMS:
                self.go_to_doubt()
                return
            self.forms[form] = len(self._kinds)
            self._kinds += [[] for _ in leaves]
        for place, leaf in enumerate(leaves, self.forms[form]):
            self._give(place, leaf)
        number = list(self.forms).index(form)
        self.out.set(f"{FORM}.int", self.out.constant(I64, number))
        self.resume(caller)
        self.jump(self.position)

    def results(self) -> list[Slot]:
        """The slots of what the call gives."""
        shared = {
            one.site
            for (_, holder), one in self._given_lists.items()
            if holder in self.shared_lists
        }
        if shared:
            if shared.isdisjoint(self.tries.small | {""}):
                raise SmallError(frozenset(shared))
            raise NotNativeError(
                "it returns a list or dict with numbers that something else may have, too"
            )
        given = {place: one for (place, _), one in self._given_lists.items()}
        found: list[Slot] = [
            ResultSlot(_name(place), tuple(kinds), *self._items_of(given.get(place)))
            for place, kinds in enumerate(self._kinds)
        ]
        return [*found, ResultSlot(FORM, ("int",))] if len(self.forms) > 1 else found

    def _items_of(self, given: MadeList | MadeDict | None) -> tuple[Any, ...]:
        """What the items of a list, or keys and what they lead to, are, as `ResultSlot` has it."""
        if given is None:
            return ("", False)
        if isinstance(given, MadeList):
            return (given.type.kind, given.type.numpy)
        origin = given.entry.origin
        return made_dicts.as_result(given, "" if origin is None else text_of(self, origin.slot))

    def _check_objects(self, leaves: list[Leaf]) -> None:
        """See that numbers that are given are no items of a list that is given, too.

        Raises:
            NotNativeError: they may be.

        """
        if any(isinstance(one, MadeList | MadeDict) for one in leaves):
            numbers = [one for one in leaves if isinstance(one, Number)]
            if not all(identity.take(self, one) for one in numbers):
                raise NotNativeError("it returns a number that a list may have, too")

    def _form(self, item: Item, leaves: list[Leaf], *, nested: bool = False) -> Form:
        """What is given, and as numbers and arrays with their places."""
        match item:
            case Items(register=int(register)):
                return Given(register)
            case Listed(items) if not nested:
                return NewList(tuple(self._form(one, leaves, nested=True) for one in items))
            case Items(site=site) if site:
                raise NotNativeError("it returns a list that is in a list which the loop makes")
            case Items(items):
                return tuple(self._form(one, leaves, nested=True) for one in items)
            case Known(value) if identity.is_one_object(item):
                leaves.append(conversions.number(self.out, item))
                return Placed(len(leaves) - 1, "number")
            case Known(value) if kind_of(value) is not None:
                return self._form(conversions.number(self.out, item), leaves, nested=nested)
            case Known():
                return constant_kind(item)
            case Number():
                slot = self._argument(item)
                return Given(slot) if slot is not None else _place(item, leaves, "number")
            case Lazy():
                return self._form(elementwise.computed(self, item), leaves, nested=nested)
            case Array() | Part():
                return _place(item, leaves, "array")
            case MadeList():
                opnames = {one.opname for one in instructions.instructions(self._function.__code__)}
                if not item.site and "FOR_ITER" not in opnames:  # NumPy has made it as fast
                    raise NotNativeError("its calls take too little time")
                if not self.tries.gives_lists:
                    raise ListsError
                made_lists.settled(item)
                return _place(item, leaves, f"list of {item.type}")
            case NewDict() | MadeDict() if (given := self.outside.keyed.known(item)) is not None:
                if given.source.register >= self._given:
                    raise NotNativeError("it returns a dict or set that is none of its arguments")
                return Given(given.source.register)
            case MadeDict():
                if not self.tries.gives_lists:
                    raise ListsError
                return _place(item, leaves, made_dicts.described(item))
        raise NotNativeError("it returns what is no number, array, list, dict or set of numbers")

    def _argument(self, item: Number) -> int | None:
        """The slot of the argument that a number is; None for others."""
        function = self.frame.function
        anew = written(function.table.values())
        for slot, kind in self.slots.items():
            if slot < self._given and slot not in anew and kind == item.type:
                kept = keeping.kept(self, function.variable(slot), kind)
                if kept == item:
                    return slot
        return None

    def _give(self, place: int, leaf: Leaf) -> None:
        out, name, kinds = self.out, _name(place), self._kinds[place]
        if isinstance(leaf, Array | Part):
            self.memory.refuse_given(leaf.holder)
        if isinstance(leaf, Number):
            kind = leaf.type.kind
            if kind not in kinds:
                kinds.append(kind)
            if len(kinds) > MOST_KINDS:
                raise NotNativeError("it returns numbers of too many types")
            first = out.constant(I64, 2 * kinds.index(kind))
            whose = out.op("widen", I64, either.tag(out, leaf))
            out.set(f"{name}.{kind}", leaf.value)
            out.set(f"{name}.kind", out.op("add", I64, first, whose))
            return
        if isinstance(leaf, MadeDict):
            kinds[:] = [ARRAY]
            number = out.op("array", I64, attributes=(self.array(leaf.keys),))
            self._given_lists[place, leaf.keys] = leaf
            for part, holder in (("values", leaf.values), ("places", leaf.places)):
                if holder is not None:
                    number_of_part = out.op("array", I64, attributes=(self.array(holder),))
                    out.set(f"{name}.{part}", number_of_part)
        elif isinstance(leaf, MadeList) or (isinstance(leaf, Array) and not leaf.indices):
            kinds[:] = kinds or [ARRAY]
            number = out.op("array", I64, attributes=(self.array(leaf.holder),))
            if isinstance(leaf, MadeList):
                self._given_lists[place, leaf.holder] = leaf
        else:
            kinds[:] = [VIEW]
            kept = views.keep(self, views.bindable(self, leaf, "what is returned"))
            view = views.give_back(self, name, kept)
            number = out.op("view", I64, attributes=(kept.number, view))
        out.set(f"{name}.array", number)


def _has_nan(item: Item) -> bool:
    """Whether it gives a NaN that is there already: `is np.nan` may be asked of it."""
    if isinstance(item, Items):
        return any(map(_has_nan, item.items))
    return isinstance(item, Known) and isinstance(item.value, float) and item.value != item.value


def _name(place: int) -> str:
    return f"result{place}"


def _place(leaf: Leaf, leaves: list[Leaf], what: str) -> Placed:
    """Its place among those before, of which one may be the same object."""
    for place, one in enumerate(leaves):
        is_one = _are_one(one, leaf)
        if is_one is None:
            raise NotNativeError("it returns what may be one object or two")
        if is_one:
            return Placed(place, what)
    leaves.append(leaf)
    return Placed(len(leaves) - 1, what)


def _are_one(one: Leaf, other: Leaf) -> bool | None:
    """Whether two that are given are one object; None: that is not known."""
    if one is other:
        return True
    if isinstance(one, MadeList) and isinstance(other, MadeList):
        return one.holder == other.holder
    if isinstance(one, MadeDict) and isinstance(other, MadeDict):
        return one.keys == other.keys
    if isinstance(one, Part) and isinstance(other, Part):
        return one.bound is not None and one.bound == other.bound
    if isinstance(one, Array) and isinstance(other, Array) and one.indices and other.indices:
        return None if one.holder == other.holder else False
    if isinstance(one, Number) and one.type.is_whole:  # computed twice, it is one value here
        return None if one == other else False
    return one == other


def _loop_around(name: str, parameters: tuple[str, ...]) -> types.CodeType:
    """A function with some parameters, all of which a loop uses."""
    turn = "turn"
    while turn in parameters:
        turn += "_"
    used = "".join(f"{one}, " for one in parameters)
    text = f"def loop({used}):\n for {turn} in loop: ({used})"
    made = compile(text, "<whole call>", "exec", dont_inherit=True)
    return next(one for one in made.co_consts if isinstance(one, types.CodeType)).replace(
        co_name=name
    )


def _called(trace: Trace, function: types.FunctionType, state: tuple[Any, ...]) -> symbols.Function:
    """What a call needs of the function, which the cache is of."""
    code = function.__code__
    names = slot_names(code)
    first = len(names) - len(code.co_freevars)
    cells = tuple(
        trace.reader.cell(Source(slot, names[slot]), state[slot])
        for slot in range(first, len(names))
    )
    return symbols.Function(code, function.__globals__, (), {}, cells)


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
