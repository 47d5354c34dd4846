"""Iterators on symbols: one rule a kind for what comes next, and how they are made.

An iterator is lazy, as Python's are: a container changed while it is gone through, a function called by `map`, an
endless `itertools.count` are met item by item, in order.
"""

from __future__ import annotations

import itertools
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import indexing
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.tables import Table
from ufuse.frame_hook.objects.classes import ABSENT, call_special, special_method, static_lookup
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import as_size, ordered_members
from ufuse.frame_hook.trace.followed import CONTAINERS, LARGEST_CONTAINER, size_of
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Deque,
    DeviceArray,
    Dict,
    Generator,
    Instance,
    Integer,
    Iterator,
    List,
    Number,
    Opaque,
    Range,
    Set,
    Symbol,
    Tuple,
    View,
)
from ufuse.graph.types import ArrayType, NumberType

Next = Callable[[Interpreter, Iterator], Symbol | None]
NEXT: Table[str, Next] = Table()
ASKED_AGAIN: set[str] = set()  # kinds that may give more items after StopIteration, as `zip` may
LONGEST_SEQUENCE = 10_000
WITH_PLAIN_ITEMS = (set, frozenset)  # a set with others is opaque: to compare them could run code
# fmt: off
BEGUN = {  # what iterators of these types go over
    "dict_itemiterator":    "the items of a dict",
    "dict_keyiterator":     "a dict",
    "dict_valueiterator":   "the values of a dict",
    "enumerate":            "enumerate(…)",
    "filter":               "filter(…)",
    "iterator":             "an array, or what else is no list, tuple or range,",
    "list_iterator":        "a list",
    "list_reverseiterator": "a reversed list",
    "longrange_iterator":   "a range",
    "map":                  "map(…)",
    "range_iterator":       "a range",
    "reversed":             "reversed(…)",
    "set_iterator":         "a set",
    "str_ascii_iterator":   "a string",
    "str_iterator":         "a string",
    "tuple_iterator":       "a tuple",
    "zip":                  "zip(…)",
}
# fmt: on


def next_of(*kinds: str, asks_again: bool = False) -> Callable[[Next], Next]:
    """Register the rule of `__next__` for one or more kinds of iterators."""

    def register(rule: Next) -> Next:
        for kind in kinds:
            NEXT[kind] = rule
            if asks_again:
                ASKED_AGAIN.add(kind)
        return rule

    return register


# Making iterators ------------------------------------------------------------------------------------------------


def new_iterator(
    interpreter: Interpreter,
    kind: str,
    parts: Sequence[Symbol],
    *,
    position: int = 0,
    length: int = -1,
    state: Any = None,
    walk: Any = None,
) -> Iterator:
    """An iterator that the trace makes now."""
    born = interpreter.root_count
    return Iterator(kind, list(parts), position, length, born=born, state=state, walk=walk)


def iterator_over(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    """What `iter(symbol)` gives."""
    symbol = unwrapped(interpreter.trace, interpreter.trace.look(symbol), "__iter__")
    match symbol:
        case Iterator() | Generator():
            return symbol
        case List() | Tuple():
            return new_iterator(interpreter, "sequence", [symbol])
        case Deque():
            return over_deque(interpreter, symbol)
        case Dict():
            return over_mapping(interpreter, symbol, "keys")
        case View(of=mapping, kind=kind):
            return over_mapping(interpreter, mapping, kind)
        case Set():
            members = ordered_members(symbol)
            return new_iterator(
                interpreter, "members", [symbol], length=len(members), state=members
            )
        case Range():
            symbol = Constant(fixed_range(interpreter, symbol))
            return new_iterator(interpreter, "constant", [symbol], length=length_of(symbol.value))
        case Constant(value=range() | str() | bytes() | tuple() as value):
            return new_iterator(interpreter, "constant", [symbol], length=length_of(value))
        case Constant(value=frozenset() as value, source=source):
            if source is None or len(value) <= 1:
                length = len(value)
                return new_iterator(
                    interpreter, "constant", [symbol], length=length, state=tuple(value)
                )
        case Array(type=kind) if kind.shape:
            return new_iterator(interpreter, "rows", [symbol])
        case DeviceArray(type=kind) if kind.shape:
            return new_iterator(interpreter, "rows on a device", [symbol])
        case Array() | DeviceArray():
            raise raise_error(TypeError, "iteration over a 0-d array")
        case Instance():
            return _iterator_of_instance(interpreter, symbol)
        case Constant(value=type() as kind) if type(kind) is not type:
            return _iterator_of_instance(interpreter, symbol)
    raise GraphBreak("operator", f"iterating over {described_kind(symbol)}")


def refuse_number(interpreter: Interpreter, symbol: Symbol) -> None:
    """Raise what `iter` and loops do for a number or None; where Python unpacks one it says something else."""
    match interpreter.trace.look(symbol):
        case Integer():
            name = "int"
        case Constant(value=None | bool() | int() | float() | complex() as value) if not isinstance(
            value, np.generic
        ):
            name = type(value).__name__
        case Number(node=node) if isinstance(node.type, NumberType):
            name = node.type.kind
        case Number(node=node) if isinstance(node.type, ArrayType):
            name = f"numpy.{node.type.dtype.type.__name__}"
        case _:
            return
    raise raise_error(TypeError, f"'{name}' object is not iterable")


def length_of(value: Any) -> int:
    """The number of items of a value; ranges may have more than Python counts."""
    try:
        return len(value)
    except OverflowError:
        raise GraphBreak("operator", "iterating over a range of very many numbers") from None


def over_mapping(
    interpreter: Interpreter, mapping: Dict, kind: str, *, backwards: bool = False
) -> Iterator:
    """An iterator over a dict's keys, values or items; a real one goes along, and notices changes."""
    over: Any = mapping.items
    length = len(over)
    state: Any = backwards
    if isinstance(over, OrderedDict):
        kind, over = f"ordered {kind}", getattr(over, kind)()
    else:
        kind = f"{kind} backwards" if backwards else kind
        state = tuple(reversed(over) if backwards else over)
    walk = reversed(over) if backwards else iter(over)
    return new_iterator(interpreter, kind, [mapping], length=length, state=state, walk=walk)


def over_deque(interpreter: Interpreter, symbol: Deque, *, backwards: bool = False) -> Iterator:
    """An iterator over a deque; a real one behind it notices changes."""
    kind = "deque backwards" if backwards else "deque"
    walk = reversed(symbol.items) if backwards else iter(symbol.items)
    return new_iterator(interpreter, kind, [symbol], length=len(symbol.items), walk=walk)


def described_kind(symbol: Symbol) -> str:
    """What something is, in a word or two."""
    if isinstance(symbol, Constant):
        return f"a {type(symbol.value).__name__}"
    if isinstance(symbol, Instance):
        return f"a {symbol.kind.__name__}"
    if isinstance(symbol, Opaque):
        kind = type(symbol.value)
        is_large = issubclass(kind, CONTAINERS) and size_of(symbol.value) > LARGEST_CONTAINER
        return f"a {'large ' if is_large else ''}{kind.__name__}"
    return type(symbol).__name__.lower()


def _iterator_of_instance(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    method = special_method(interpreter, symbol, "__iter__")
    if method is not None:
        result = interpreter.call(method)
        if not _has_next(interpreter.trace.look(result)):
            raise GraphBreak("operator", f"__iter__ that gives {described_kind(result)}")
        return result
    if special_method(interpreter, symbol, "__getitem__") is not None:
        return new_iterator(interpreter, "getitem", [symbol])
    raise GraphBreak("operator", f"iterating over {described_kind(symbol)}")


def _has_next(symbol: Symbol) -> bool:
    """Whether something is an iterator."""
    match symbol:
        case Iterator() | Generator():
            return True
        case Instance(kind=kind):
            return static_lookup(kind, "__next__") is not ABSENT
        case Constant(value=value) | Opaque(value=value):
            return hasattr(type(value), "__next__")
    return False


def fixed_range(interpreter: Interpreter, symbol: Range) -> range:
    """A range whose bounds are guarded to stay what they are."""
    numbers = []
    for part in (symbol.start, symbol.stop, symbol.step):
        expression = as_size(interpreter.trace.look(part))
        assert expression is not None
        numbers.append(interpreter.trace.sizes.fixed(expression))
    return range(*numbers)


def type_of(iterator: Iterator) -> type | None:
    """The type that the iterator has in the program; None where it is not known here."""
    over = iterator.parts[0] if iterator.parts else None
    empty: Any = {List: [], Tuple: (), Set: set()}.get(type(over))
    kind, *backwards = iterator.kind.split()
    match kind, over:
        case "sequence" | "members", _ if empty is not None:
            return type(iter(empty))
        case "constant", Constant(value=value) if not backwards:
            return type(iter(value))
        case "reversed", _:
            return type(reversed([])) if isinstance(over, List) else reversed
        case "keys" | "values" | "items", _:
            view = getattr({}, kind)()
            return type(reversed(view) if backwards else iter(view))
        case _ if iterator.walk is not None:
            return type(iterator.walk)
    return getattr(itertools, iterator.kind, None)


# Going on --------------------------------------------------------------------------------------------------------


def next_item(interpreter: Interpreter, iterator: Symbol) -> Symbol | None:
    """The next item; None when there is none left."""
    match iterator:
        case Iterator(is_exhausted=True):
            return None
        case Iterator(kind=kind):
            interpreter.note_item(iterator)
            iterator.asked += 1
            result = NEXT[kind](interpreter, iterator)
            if result is None and kind not in ASKED_AGAIN:
                iterator.is_exhausted = True  # it may be so already, if what it calls has asked it
            return result
        case Generator():
            return generators.send(interpreter, iterator, Constant(None))
        case Instance():
            return _next_of_instance(interpreter, iterator)
    raise GraphBreak("loop")


def step(iterator: Iterator) -> Any:
    """What the real iterator `walk` gives next; `ABSENT` at its end."""
    try:
        return next(iterator.walk, ABSENT)
    except (ValueError, RuntimeError) as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # by Python code that it has called
        raise raise_error(type(error), *error.args) from None


def _next_of_instance(interpreter: Interpreter, iterator: Instance) -> Symbol | None:
    if isinstance(static_lookup(iterator.kind, "__next__"), types.WrapperDescriptorType):
        name = iterator.kind.__name__
        words = BEGUN.get(name, f"a {name.replace('_', ' ')}")
        raise GraphBreak("operator", f"a loop over {words} that began before the graph")
    try:
        return call_special(interpreter, iterator, "__next__")
    except Raised as raised:
        if is_a(raised.symbol, StopIteration):
            return None
        raise


def is_a(symbol: Symbol, *kinds: type[BaseException]) -> bool:
    """Whether what was raised is an exception of one of these classes."""
    return isinstance(symbol, Instance) and issubclass(symbol.kind, kinds)


def items_of(interpreter: Interpreter, symbol: Symbol) -> list[Symbol]:
    """Every item that iterating gives."""
    symbol = unwrapped(interpreter.trace, interpreter.trace.look(symbol), "__iter__")
    if isinstance(symbol, Tuple | List):
        return list(symbol.items)
    refuse_length_hint(interpreter, symbol)
    return rest_of(interpreter, iterator_over(interpreter, symbol))


def refuse_length_hint(interpreter: Interpreter, symbol: Symbol) -> None:
    """Break where a list that is filled from an object asks that for its length first."""
    if not isinstance(symbol, Instance) or (
        unwrapped(interpreter.trace, symbol, "__len__", "__iter__") is not symbol
    ):
        return
    for hint in ("__len__", "__length_hint__"):
        if special_method(interpreter, symbol, hint) is not None:
            raise GraphBreak("operator", _in_words(symbol, hint))


def _in_words(symbol: Instance, hint: str) -> str:
    """What is not followed where the items of an object are taken."""
    if symbol.kind in WITH_PLAIN_ITEMS:
        name = symbol.kind.__name__
        return (
            f"going over a {name} whose items are not all Python's own numbers, strings and tuples"
        )
    return f"a list of the items of a {symbol.kind.__name__}, whose {hint} is called first,"


def each_item(interpreter: Interpreter, symbol: Symbol) -> Iterable[Symbol]:
    """The items that iterating gives, each when it is asked for."""
    iterator = iterator_over(interpreter, symbol)
    for _ in range(LONGEST_SEQUENCE):
        item = next_item(interpreter, iterator)
        if item is None:
            return
        yield item
    raise GraphBreak("loop")


def rest_of(interpreter: Interpreter, iterator: Symbol) -> list[Symbol]:
    """Every item that an iterator still gives."""
    found: list[Symbol] = []
    while (item := next_item(interpreter, iterator)) is not None:
        found.append(item)
        if len(found) > LONGEST_SEQUENCE:
            raise GraphBreak("loop")
    return found


# The kinds -------------------------------------------------------------------------------------------------------


@next_of("sequence")
def _next_in_sequence(_: Interpreter, iterator: Iterator) -> Symbol | None:
    sequence = iterator.parts[0]
    assert isinstance(sequence, List | Tuple)
    if iterator.position >= len(sequence.items):
        return None
    iterator.position += 1
    return sequence.items[iterator.position - 1]


@next_of("ordered keys", "ordered values", "ordered items")
def _next_in_ordered(_: Interpreter, iterator: Iterator) -> Symbol | None:
    found = step(iterator)
    if found is ABSENT:
        return None
    iterator.position += 1
    if iterator.kind == "ordered items":
        return Tuple((Constant(found[0]), found[1]))
    result: Symbol = Constant(found) if iterator.kind == "ordered keys" else found
    return result


@next_of("deque", "deque backwards", asks_again=True)
def _next_in_deque(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """It notices a changed deque even after its end."""
    found: Symbol = step(iterator)
    if found is ABSENT:
        return None
    iterator.position += 1
    return found


@next_of("constant", "constant backwards")
def _next_of_constant(_: Interpreter, iterator: Iterator) -> Symbol | None:
    constant = iterator.parts[0]
    assert isinstance(constant, Constant)
    if iterator.position == iterator.length:
        return None
    iterator.position += 1
    members = constant.value if iterator.state is None else iterator.state
    return Constant(members[iterator.position - 1])


@next_of("keys", "values", "items", "keys backwards", "values backwards", "items backwards")
def _next_in_dict(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` has the keys in the order in which they come."""
    mapping = iterator.parts[0]
    assert isinstance(mapping, Dict)
    kind, *backwards = iterator.kind.split()
    if len(mapping.items) != iterator.length:
        iterator.length = -1  # once it has failed it goes on failing
        raise raise_error(RuntimeError, "dictionary changed size during iteration")
    is_last = iterator.position == iterator.length
    key = ABSENT if is_last else iterator.state[iterator.position]
    keys = tuple(reversed(mapping.items) if backwards else mapping.items)
    if not _walks_on(iterator, key) or (not is_last and keys != iterator.state):
        raise GraphBreak("operator", "going through a dict whose keys change")
    if is_last:
        return None
    iterator.position += 1
    if kind == "keys":
        return Constant(key)
    value = mapping.items[key]
    return value if kind == "values" else Tuple((Constant(key), value))


def _walks_on(iterator: Iterator, key: Any) -> bool:
    """Whether the real iterator comes to this key too: a key removed and inserted again has another place."""
    try:
        return next(iterator.walk, ABSENT) is key
    except RuntimeError:
        return False


def keys_left(iterator: Iterator) -> tuple[Any, ...] | None:
    """The keys that a dict's iterator still gives; None where it would raise, as the dict has changed."""
    try:
        left: list[Any] = iterator.walk.__reduce__()[1][0]
    except RuntimeError:
        return None
    return tuple(left)


@next_of("members")
def _next_in_set(_: Interpreter, iterator: Iterator) -> Symbol | None:
    members = iterator.parts[0]
    assert isinstance(members, Set)
    if len(members.items) != iterator.length:
        iterator.length = -1
        raise raise_error(RuntimeError, "Set changed size during iteration")
    if members.items != set(iterator.state):
        raise GraphBreak("operator", "going through a set whose members change")
    if iterator.position == iterator.length:
        return None
    iterator.position += 1
    return Constant(iterator.state[iterator.position - 1])


@next_of("rows", "rows on a device")
def _next_row(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    array = iterator.parts[0]
    assert isinstance(array, Array | DeviceArray)
    count = interpreter.trace.sizes.fixed(array.type.shape[0])
    if count > LONGEST_SEQUENCE // 10:
        raise GraphBreak("loop")
    if iterator.position >= count:
        return None
    iterator.position += 1
    place = Constant(iterator.position - 1)
    if isinstance(array, DeviceArray):
        return devices.item(interpreter.trace, array, place)
    return indexing.item(interpreter.trace, array, place)


@next_of("rows backwards")
def _next_row_backwards(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    array = iterator.parts[0]
    assert isinstance(array, Array)
    if iterator.position == iterator.length:
        return None
    iterator.position += 1
    place = Constant(iterator.length - iterator.position)
    return indexing.item(interpreter.trace, array, place)


@next_of("getitem")
def _next_by_index(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    try:
        result = call_special(
            interpreter, iterator.parts[0], "__getitem__", (Constant(iterator.position),)
        )
    except Raised as raised:
        if is_a(raised.symbol, IndexError, StopIteration):
            return None
        raise
    iterator.position += 1
    return result


@next_of("reversed")
def _next_backwards(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """`length` counts down: what is left of the sequence when the iterator was made."""
    sequence = iterator.parts[0]
    assert isinstance(sequence, List | Tuple)
    iterator.length -= 1
    if not 0 <= iterator.length < len(sequence.items):
        return None
    return sequence.items[iterator.length]


__all__ = [
    "NEXT", "each_item", "fixed_range", "is_a", "items_of", "iterator_over", "keys_left", "length_of",
    "new_iterator", "next_item", "next_of", "refuse_length_hint", "refuse_number",
    "rest_of", "type_of",
]  # fmt: skip
