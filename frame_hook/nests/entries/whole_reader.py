"""Functions that are read as nests of one turn: what they are given, and what they give."""

from __future__ import annotations

import inspect
import types
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.nests.arrays import elementwise, views
from ufuse.frame_hook.nests.calls import inlining
from ufuse.frame_hook.nests.containers import identity, keeping, made_dicts, made_lists
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.containers import MadeDict, MadeList, NewDict
from ufuse.frame_hook.nests.known.kinds import NotNativeError, NumberKind, TemporaryKind, kind_of
from ufuse.frame_hook.nests.known.naming import kind_in_words
from ufuse.frame_hook.nests.known.numbers import ConstantKind, Known, Number, constant_kind
from ufuse.frame_hook.nests.known.positions import written
from ufuse.frame_hook.nests.known.tries import ListsError, SmallError, Tries
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, Whole
from ufuse.frame_hook.nests.known.ways import ITERATOR, Outermost
from ufuse.frame_hook.nests.loops.finishing import text_of
from ufuse.frame_hook.nests.loops.loop_reader import LoopReader
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.trace import symbols
from ufuse.frame_hook.trace.symbols import Source
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.nest_slots import RangeSlot, ResultSlot, Slot
from ufuse.graph.nest_types import I64
from ufuse.graph.records import record

VARYING = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
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


ARRAY, VIEW = "array", "view"
Form = Given | Placed | ConstantKind | NewList | tuple[Any, ...]  # of what a call gives
Leaf = Number | Array | Part | MadeList | MadeDict


class WholeReader(LoopReader):
    """Reads a call as the only turn of a loop: the function is read in the place of the call."""

    def __init__(
        self,
        trace: Trace,
        function: types.FunctionType,
        state: tuple[Any, ...],
        tries: Tries,
        until: float,
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
        super().__init__(around, header, own, _hook.NULL, outside, tries=tries, until=until)
        self.told = code
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
            self.kept(self.own, slot, kind)
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
        what = kind_in_words(item) or "a value"
        raise NotNativeError(f"it returns {what}, which is not followed")

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
