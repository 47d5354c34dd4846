"""Iterators on symbols: one rule a kind for what comes next, and how they are made.

An iterator is lazy, as Python's are: a container changed while it is gone through, a function called by `map`, an
endless `itertools.count` are met item by item, in order.
"""

from __future__ import annotations

from collections.abc import Callable

from ufuse.frame_hook import arrays
from ufuse.frame_hook.classes import call_special, special_method
from ufuse.frame_hook.contents import stripped
from ufuse.frame_hook.interpret import Interpreter, Raised, Returned, raise_error
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
    Array,
    Constant,
    Dict,
    Generator,
    Instance,
    Integer,
    Iterator,
    List,
    Range,
    Set,
    Symbol,
    Tuple,
    View,
)
from ufuse.graph import size

Next = Callable[[Interpreter, Iterator], Symbol | None]
NEXT: dict[str, Next] = {}
LONGEST_SEQUENCE = 10_000
VIEW_KINDS = {"keys": "keys", "values": "values", "items": "pairs"}


def next_of(*kinds: str) -> Callable[[Next], Next]:
    """Register what one or more kinds of iterators do."""

    def register(rule: Next) -> Next:
        for kind in kinds:
            NEXT[kind] = rule
        return rule

    return register


def as_size(symbol: Symbol) -> size.Size | None:
    """The expression of a Python int (or bool), else None."""
    match symbol:
        case Integer(size=value):
            return value
        case Constant(value=int() as value):
            return int(value)
    return None


# Making iterators ------------------------------------------------------------------------------------------------


def iterator_over(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    """What `iter(symbol)` gives."""
    symbol = stripped(interpreter.trace, interpreter.trace.look(symbol), "__iter__")
    match symbol:
        case Iterator() | Generator():
            return symbol
        case List() | Tuple():
            return Iterator("sequence", [symbol])
        case Dict():
            return Iterator("keys", [symbol], length=len(symbol.items))
        case View(of=mapping, kind=kind):
            return Iterator(VIEW_KINDS[kind], [mapping], length=len(mapping.items))
        case Set(source=None):
            return Iterator("members", [symbol], length=len(symbol.items))
        case Set(items=members) if len(members) <= 1:
            return Iterator("members", [symbol], length=len(members))
        case Range():
            return Iterator("items", _range_items(interpreter, symbol))
        case Constant(value=range() | str() | bytes() as value):
            return Iterator("constant", [symbol], length=len(value))
        case Constant(value=tuple() as value):
            return Iterator("items", [Constant(item) for item in value])
        case Constant(value=frozenset() as value, source=None):
            return Iterator("constant", [Constant(tuple(value))], length=len(value))
        case Array(type=kind) if kind.shape:
            return Iterator("rows", [symbol])
        case Instance():
            return _iterator_of_instance(interpreter, symbol)
        case Constant(value=type() as kind) if type(kind) is not type:
            return _iterator_of_instance(interpreter, symbol)
    raise GraphBreak("operator", f"iterating over {described_kind(symbol)}")


def described_kind(symbol: Symbol) -> str:
    """What something is, in a word or two."""
    if isinstance(symbol, Constant):
        return f"a {type(symbol.value).__name__}"
    if isinstance(symbol, Instance):
        return f"a {symbol.kind.__name__}"
    return type(symbol).__name__.lower()


def _iterator_of_instance(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    method = special_method(interpreter, symbol, "__iter__")
    if method is not None:
        return interpreter.call(method)
    if special_method(interpreter, symbol, "__getitem__") is not None:
        return Iterator("getitem", [symbol])
    raise GraphBreak("operator", f"iterating over {described_kind(symbol)}")


def _range_items(interpreter: Interpreter, symbol: Range) -> list[Symbol]:
    numbers = []
    for part in (symbol.start, symbol.stop, symbol.step):
        expression = as_size(part)
        assert expression is not None
        numbers.append(interpreter.trace.fixed(expression))
    values = range(*numbers)
    if len(values) > LONGEST_SEQUENCE:
        raise GraphBreak("loop")
    return [Constant(value) for value in values]


# Going on --------------------------------------------------------------------------------------------------------


def next_item(interpreter: Interpreter, iterator: Symbol) -> Symbol | None:
    """The next item; None when there is none left."""
    match iterator:
        case Iterator(is_exhausted=True):
            return None
        case Iterator(kind=kind):
            result = NEXT[kind](interpreter, iterator)
            iterator.is_exhausted = result is None
            return result
        case Generator():
            return send(interpreter, iterator, Constant(None))
        case Instance():
            return _next_of_instance(interpreter, iterator)
    raise GraphBreak("loop")


def _next_of_instance(interpreter: Interpreter, iterator: Instance) -> Symbol | None:
    try:
        return call_special(interpreter, iterator, "__next__")
    except Raised as raised:
        if isinstance(raised.symbol, Instance) and issubclass(raised.symbol.kind, StopIteration):
            return None
        raise


def send(interpreter: Interpreter, generator: Generator, value: Symbol) -> Symbol | None:
    """Run a generator to its next `yield`; None when it returns, and `returned` of its frame then is its value."""
    if generator.state == "running":
        raise raise_error(ValueError, "generator already executing")
    if generator.state == "finished":
        return None
    frame = generator.frame
    if generator.state == "waiting":
        frame.push(value)
    elif not isinstance(value, Constant) or value.value is not None:
        raise raise_error(TypeError, "can't send non-None value to a just-started generator")
    generator.state = "running"
    try:
        outcome = interpreter.run_frame(frame)
    except Raised as raised:
        generator.state = "finished"
        _refuse_stop_iteration(raised)
        raise
    if isinstance(outcome, Returned):
        generator.state = "finished"
        frame.stack[:] = [outcome.value]
        return None
    generator.state = "waiting"
    return outcome.value


def _refuse_stop_iteration(raised: Raised) -> None:
    """Inside a generator a StopIteration becomes a RuntimeError, which plain Python words."""
    symbol = raised.symbol
    if isinstance(symbol, Instance) and issubclass(symbol.kind, StopIteration):
        raise GraphBreak("eager-raises", "RuntimeError: generator raised StopIteration")


def items_of(interpreter: Interpreter, symbol: Symbol) -> list[Symbol]:
    """Every item that iterating gives."""
    symbol = stripped(interpreter.trace, interpreter.trace.look(symbol), "__iter__")
    if isinstance(symbol, Tuple | List):
        return list(symbol.items)
    if isinstance(symbol, Array):
        return _rows(interpreter, symbol)
    if isinstance(symbol, Instance):
        for hint in ("__len__", "__length_hint__"):
            if special_method(interpreter, symbol, hint) is not None:
                raise GraphBreak("operator", f"the items of a {symbol.kind.__name__} with {hint}")
    iterator = iterator_over(interpreter, symbol)
    found: list[Symbol] = []
    while (item := next_item(interpreter, iterator)) is not None:
        found.append(item)
        if len(found) > LONGEST_SEQUENCE:
            raise GraphBreak("loop")
    return found


def _rows(interpreter: Interpreter, array: Array) -> list[Symbol]:
    if not array.type.shape:
        raise GraphBreak("eager-raises", "TypeError: iteration over a 0-d array")
    count = interpreter.trace.fixed(array.type.shape[0])
    if count > LONGEST_SEQUENCE // 10:
        raise GraphBreak("loop")
    return [arrays.item(interpreter.trace, array, Constant(i)) for i in range(count)]


# The kinds -------------------------------------------------------------------------------------------------------


@next_of("items")
def _next_of_items(_: Interpreter, iterator: Iterator) -> Symbol | None:
    if iterator.position == len(iterator.parts):
        return None
    iterator.position += 1
    return iterator.parts[iterator.position - 1]


@next_of("sequence")
def _next_in_sequence(_: Interpreter, iterator: Iterator) -> Symbol | None:
    sequence = iterator.parts[0]
    assert isinstance(sequence, List | Tuple)
    if iterator.position >= len(sequence.items):
        return None
    iterator.position += 1
    return sequence.items[iterator.position - 1]


@next_of("constant")
def _next_of_constant(_: Interpreter, iterator: Iterator) -> Symbol | None:
    constant = iterator.parts[0]
    assert isinstance(constant, Constant)
    if iterator.position == iterator.length:
        return None
    iterator.position += 1
    return Constant(constant.value[iterator.position - 1])


@next_of("keys", "values", "pairs")
def _next_in_dict(_: Interpreter, iterator: Iterator) -> Symbol | None:
    mapping = iterator.parts[0]
    assert isinstance(mapping, Dict)
    if len(mapping.items) != iterator.length:
        raise raise_error(RuntimeError, "dictionary changed size during iteration")
    if iterator.position == iterator.length:
        return None
    key = list(mapping.items)[iterator.position]
    iterator.position += 1
    if iterator.kind == "keys":
        return Constant(key)
    value = mapping.items[key]
    return value if iterator.kind == "values" else Tuple((Constant(key), value))


@next_of("members")
def _next_in_set(_: Interpreter, iterator: Iterator) -> Symbol | None:
    members = iterator.parts[0]
    assert isinstance(members, Set)
    if len(members.items) != iterator.length:
        raise raise_error(RuntimeError, "Set changed size during iteration")
    if iterator.position == iterator.length:
        return None
    iterator.position += 1
    return Constant(list(members.items)[iterator.position - 1])


@next_of("rows")
def _next_row(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    array = iterator.parts[0]
    assert isinstance(array, Array)
    count = interpreter.trace.fixed(array.type.shape[0])
    if count > LONGEST_SEQUENCE // 10:
        raise GraphBreak("loop")
    if iterator.position == count:
        return None
    iterator.position += 1
    return arrays.item(interpreter.trace, array, Constant(iterator.position - 1))


@next_of("getitem")
def _next_by_index(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    try:
        result = call_special(
            interpreter, iterator.parts[0], "__getitem__", (Constant(iterator.position),)
        )
    except Raised as raised:
        ends = (IndexError, StopIteration)
        if isinstance(raised.symbol, Instance) and issubclass(raised.symbol.kind, ends):
            return None
        raise
    iterator.position += 1
    return result


@next_of("enumerate")
def _next_numbered(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`position` is the number that comes next."""
    item = next_item(interpreter, iterator.parts[0])
    if item is None:
        return None
    iterator.position += 1
    return Tuple((Constant(iterator.position - 1), item))


@next_of("zip", "zip strictly")
def _next_of_each(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    found: list[Symbol] = []
    for part in iterator.parts:
        item = next_item(interpreter, part)
        if item is None:
            if iterator.kind == "zip strictly" and (found or _any_left(interpreter, iterator)):
                raise GraphBreak("eager-raises", "ValueError: zip() arguments differ in length")
            return None
        found.append(item)
    return Tuple(tuple(found)) if found else None


def _any_left(interpreter: Interpreter, iterator: Iterator) -> bool:
    return any(next_item(interpreter, part) is not None for part in iterator.parts[1:])


@next_of("map")
def _next_mapped(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    function, *parts = iterator.parts
    found: list[Symbol] = []
    for part in parts:
        item = next_item(interpreter, part)
        if item is None:
            return None
        found.append(item)
    return interpreter.call(function, found)


@next_of("reversed")
def _next_backwards(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """`length` counts down: what is left of the sequence when the iterator was made."""
    sequence = iterator.parts[0]
    assert isinstance(sequence, List | Tuple)
    iterator.length -= 1
    if not 0 <= iterator.length < len(sequence.items):
        return None
    return sequence.items[iterator.length]


__all__ = ["NEXT", "as_size", "items_of", "iterator_over", "next_item", "next_of", "send"]
