"""Rules of Python's built-in iterators (iter, next, enumerate, zip, map, filter) and of generators' methods."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, cast

from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.interpreter.rules import method, rule_for
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.classes import ABSENT
from ufuse.frame_hook.objects.values import known_value
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.operations.iterate import (
    iterator_over,
    new_iterator,
    next_item,
    next_of,
    refuse_number,
    step,
)
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Generator,
    Instance,
    Iterator,
    Symbol,
    Tuple,
    class_of,
)

NONE = Constant(None)


def is_none(interpreter: Interpreter, symbol: Symbol | None) -> bool:
    """Whether an argument is None or was not given."""
    return symbol is None or comparisons.identical(interpreter, symbol, NONE)


# iter and next ---------------------------------------------------------------------------------------------------


@rule_for(iter)
def _iter(interpreter: Interpreter, of: Symbol, sentinel: Symbol | None = None, /) -> Symbol:
    if sentinel is None:
        refuse_number(interpreter, of)
        return iterator_over(interpreter, of)
    return new_iterator(interpreter, "call", [interpreter.trace.look(of), sentinel])


@method("iterator.__iter__", "generator.__iter__")
def _itself(_: Interpreter, iterator: Symbol, /) -> Symbol:
    return iterator


@next_of("call")
def _next_call(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    function, sentinel = iterator.parts
    try:
        item = interpreter.call(function)
    except Raised as raised:
        if iterate.is_a(raised.symbol, StopIteration):
            return None
        raise
    if iterator.is_exhausted:  # by what it has called
        return None
    sentinel = interpreter.trace.look(sentinel)
    return None if comparisons.equal_or_same(interpreter, sentinel, item) else item


@rule_for(next)
def _next(interpreter: Interpreter, iterator: Symbol, default: Symbol | None = None, /) -> Symbol:
    iterator = interpreter.trace.look(iterator)
    if not isinstance(iterator, Iterator | Generator | Instance):
        raise GraphBreak("eager-raises", "TypeError: the object is not an iterator")
    if isinstance(iterator, Instance) and default is None:
        return classes.call_special(interpreter, iterator, "__next__")
    item = next_item(interpreter, iterator)
    if item is not None:
        return item
    if default is not None:
        return default
    raise generators.stop_iteration(iterator)


@method("iterator.__next__", "generator.__next__")
def _next_by_name(interpreter: Interpreter, iterator: Symbol, /) -> Symbol:
    return _next(interpreter, iterator)


@method("generator.send")
def _send(interpreter: Interpreter, generator: Generator, value: Symbol, /) -> Symbol:
    item = generators.send(interpreter, generator, interpreter.trace.look(value))
    if item is None:
        raise generators.stop_iteration(generator)
    return item


@method("generator.throw")
def _throw(interpreter: Interpreter, generator: Generator, error: Symbol, /) -> Symbol:
    """With one argument; the older form with three is left to plain Python, which warns of it."""
    error = interpreter.trace.look(error)
    kind = class_of(error)
    if kind is not None:
        error = interpreter.call(Constant(kind))
    if not isinstance(error, Instance) or not issubclass(error.kind, BaseException):
        raise GraphBreak("eager-raises", "TypeError: exceptions must derive from BaseException")
    if error.source is not None:
        raise GraphBreak("eager-raises", "an exception that exists already is raised here")
    item = generators.throw(interpreter, generator, error)
    if item is None:
        raise generators.stop_iteration(generator)
    return item


@method("generator.close")
def _close(interpreter: Interpreter, generator: Generator, /) -> Symbol:
    return generators.close(interpreter, generator)


# The built-in tools ----------------------------------------------------------------------------------------------
#
# Behind each zip, map, itertools.chain… of the trace is a real object of that type, `walk`, that iterates over symbols:
# the order in which it asks for items, its end, and its state after an error are CPython's own.


class Walk:
    """A real iterator over the symbols that an iterator of the trace gives."""

    def __init__(self, interpreter: Interpreter, iterator: Symbol) -> None:
        self._interpreter = interpreter
        self._iterator = iterator
        self._left = iterate.LONGEST_SEQUENCE

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> Symbol:
        self._left -= 1
        if self._left < 0:
            raise GraphBreak("loop")
        item = next_item(self._interpreter, self._iterator)
        if item is None:
            raise StopIteration
        return item


def unowned(interpreter: Interpreter) -> Interpreter:
    """The interpreter, weakly referenced: its frames hold the `walk`; a cycle would keep the user's objects alive."""
    reference: Any = weakref.proxy(interpreter)
    return cast("Interpreter", reference)


def walks(interpreter: Interpreter, *iterables: Symbol) -> tuple[list[Symbol], list[Walk]]:
    """`iter` of each, and a `Walk` over each of these."""
    parts = [iterator_over(interpreter, one) for one in iterables]
    return parts, [Walk(unowned(interpreter), part) for part in parts]


def calling(interpreter: Interpreter, function: Symbol) -> Callable[..., Symbol]:
    """A Python function on symbols that calls a function of the trace."""
    asked = unowned(interpreter)
    return lambda *arguments: asked.call(function, arguments)


def asking(interpreter: Interpreter, predicate: Symbol | None) -> Callable[[Symbol], bool]:
    """A Python function: whether a predicate of the trace holds for a symbol; None: whether the symbol is true."""
    asked = unowned(interpreter)
    if predicate is None:
        return lambda item: arithmetic.truth(asked, item)
    return lambda item: arithmetic.truth(asked, asked.call(predicate, (item,)))


@next_of("zip", "zip strictly", "map", "filter", asks_again=True)
def next_of_tool(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """The next item of what gives its own items, or tuples of these; `position` counts the calls of `__next__`."""
    iterator.position += 1
    found = step(iterator)
    if found is ABSENT:
        return None
    item: Symbol = Tuple(found) if type(found) is tuple else found
    return item


@rule_for(enumerate)
def _enumerate(interpreter: Interpreter, iterable: Symbol, start: Symbol | None = None) -> Symbol:
    first = known_value(interpreter, start) if start is not None else 0
    if not isinstance(first, int):
        raise GraphBreak("eager-raises", "TypeError: the start of enumerate is no whole number")
    parts, (walk,) = walks(interpreter, iterable)
    return new_iterator(interpreter, "enumerate", parts, walk=enumerate(walk, int(first)))


@next_of("enumerate", asks_again=True)
def _next_numbered(_: Interpreter, iterator: Iterator) -> Symbol | None:
    found = step(iterator)
    return None if found is ABSENT else Tuple((Constant(found[0]), found[1]))


@rule_for(zip)
def _zip(interpreter: Interpreter, *iterables: Symbol, strict: Symbol | None = None) -> Symbol:
    is_strict = strict is not None and arithmetic.truth(interpreter, strict)
    parts, over = walks(interpreter, *iterables)
    kind = "zip strictly" if is_strict else "zip"
    return new_iterator(interpreter, kind, parts, walk=zip(*over, strict=is_strict))


@rule_for(map)
def _map(
    interpreter: Interpreter,
    function: Symbol,
    iterable: Symbol,
    /,
    *iterables: Symbol,
    strict: Symbol | None = None,
) -> Symbol:
    if strict is not None:  # since 3.14
        raise GraphBreak("call", "map with strict=")
    parts, over = walks(interpreter, iterable, *iterables)
    function = interpreter.trace.look(function)
    walk = map(calling(interpreter, function), *over)
    return new_iterator(interpreter, "map", [function, *parts], walk=walk)


FILTERS = (filter, itertools.filterfalse)  # they do not call a predicate that is None or bool


def _is_truth(predicate: Symbol) -> bool:
    return isinstance(predicate, Constant) and (predicate.value is None or predicate.value is bool)


def choosing(tool: Callable[[Callable[[Symbol], bool], Walk], Any]) -> None:
    """Register the rule of an iterator type that is made of a predicate and an iterable."""

    @rule_for(tool)
    def make(interpreter: Interpreter, predicate: Symbol, iterable: Symbol, /) -> Symbol:
        parts, (walk,) = walks(interpreter, iterable)
        predicate = interpreter.trace.look(predicate)
        asked = asking(interpreter, None if tool in FILTERS and _is_truth(predicate) else predicate)
        return new_iterator(interpreter, tool.__name__, [predicate, *parts], walk=tool(asked, walk))


choosing(filter)
