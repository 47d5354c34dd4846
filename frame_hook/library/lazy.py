"""Python's own iterator tools: iter, next, enumerate, zip, map, filter; methods of generators. All are lazy."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any, cast

from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.interpreter.rules import METHODS, Given, Positional, rule_for
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.classes import ABSENT
from ufuse.frame_hook.objects.values import known_value
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.operations.iterate import (
    iterator_over,
    new_iterator,
    next_item,
    next_of,
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


def bound(
    arguments: Positional, keywords: Given, *names: str, least: int = 0
) -> list[Symbol | None]:
    """Arguments by their names; None for those not given.

    Raises:
        GraphBreak: they do not fit, which plain Python will say.

    """
    found: dict[str, Symbol] = dict(zip(names, arguments, strict=False))
    fits = len(arguments) <= len(names) and not (found.keys() & keywords.keys())
    found |= keywords
    if not fits or not found.keys() <= set(names) or not all(n in found for n in names[:least]):
        raise GraphBreak("eager-raises", "TypeError: the arguments do not fit")
    return [found.get(name) for name in names]


def only_positional(keywords: Given, name: str) -> None:
    """Break where a function that takes no keyword arguments is given some."""
    if keywords:
        raise GraphBreak("eager-raises", f"TypeError: {name}() takes no keyword arguments")


def is_none(interpreter: Interpreter, symbol: Symbol | None) -> bool:
    """Whether an argument is None or was not given."""
    return symbol is None or comparisons.identical(interpreter, symbol, NONE)


# iter and next ---------------------------------------------------------------------------------------------------


@rule_for(iter)
def _iter(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "iter")
    if len(arguments) == 2:
        return new_iterator(
            interpreter, "call", [interpreter.trace.look(arguments[0]), arguments[1]]
        )
    if len(arguments) != 1:
        raise GraphBreak("eager-raises", "TypeError: iter expected 1 or 2 arguments")
    return iterator_over(interpreter, arguments[0])


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


def _next(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "next")
    if not 1 <= len(arguments) <= 2:
        raise GraphBreak("eager-raises", "TypeError: next expected 1 or 2 arguments")
    iterator = interpreter.trace.look(arguments[0])
    if not isinstance(iterator, Iterator | Generator | Instance):
        raise GraphBreak("eager-raises", "TypeError: the object is not an iterator")
    if isinstance(iterator, Instance) and len(arguments) == 1:
        return classes.call_special(interpreter, iterator, "__next__")
    item = next_item(interpreter, iterator)
    if item is not None:
        return item
    if len(arguments) > 1:
        return arguments[1]
    raise generators.stop_iteration(iterator)


rule_for(next)(_next)
for _name in ("iterator.__next__", "generator.__next__"):
    METHODS[_name] = _next
for _name in ("iterator.__iter__", "generator.__iter__"):
    METHODS[_name] = _iter


def _generator(arguments: Positional) -> Generator:
    assert isinstance(arguments[0], Generator)
    return arguments[0]


def _send(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (value,) = bound(arguments[1:], keywords, "value", least=1)
    assert value is not None
    item = generators.send(interpreter, _generator(arguments), interpreter.trace.look(value))
    if item is None:
        raise generators.stop_iteration(arguments[0])
    return item


def _throw(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """With one argument; the older form with three is left to plain Python, which warns of it."""
    (error,) = bound(arguments[1:], keywords, "error", least=1)
    error = interpreter.trace.look(error) if error is not None else None
    kind = class_of(error) if error is not None else None
    if kind is not None:
        error = interpreter.call(Constant(kind))
    if not isinstance(error, Instance) or not issubclass(error.kind, BaseException):
        raise GraphBreak("eager-raises", "TypeError: exceptions must derive from BaseException")
    if error.source is not None:
        raise GraphBreak("eager-raises", "an exception that exists already is raised here")
    item = generators.throw(interpreter, _generator(arguments), error)
    if item is None:
        raise generators.stop_iteration(arguments[0])
    return item


def _close(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    bound(arguments[1:], keywords)
    return generators.close(interpreter, _generator(arguments))


METHODS["generator.send"] = _send
METHODS["generator.throw"] = _throw
METHODS["generator.close"] = _close


# The built-in tools ----------------------------------------------------------------------------------------------
#
# A tool of the trace is stepped by a real one of the same type, which goes over symbols: what it asks in which order,
# when it ends and what it does after an error are CPython's own.


class Walk:
    """A real iterator over the symbols of one of the trace."""

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
    """The interpreter without a reference to it: a tool that it holds would keep it, and the user's objects, alive."""
    reference: Any = weakref.proxy(interpreter)
    return cast("Interpreter", reference)


def walks(interpreter: Interpreter, iterables: Iterable[Symbol]) -> tuple[list[Symbol], list[Walk]]:
    """What `iter` gives for each, and real iterators over these."""
    parts = [iterator_over(interpreter, one) for one in iterables]
    return parts, [Walk(unowned(interpreter), part) for part in parts]


def calling(interpreter: Interpreter, function: Symbol) -> Callable[..., Symbol]:
    """A real function that calls one of the trace."""
    asked = unowned(interpreter)
    return lambda *arguments: asked.call(function, arguments)


def asking(interpreter: Interpreter, predicate: Symbol | None) -> Callable[[Symbol], bool]:
    """A real function that tells whether a predicate of the trace holds; None: whether the item itself is true."""
    asked = unowned(interpreter)
    if predicate is None:
        return lambda item: arithmetic.truth(asked, item)
    return lambda item: arithmetic.truth(asked, asked.call(predicate, (item,)))


@next_of("zip", "zip strictly", "map", "filter", asks_again=True)
def next_of_tool(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """The next item of a tool that gives what it is given, or tuples of it. `position` is how often it was asked."""
    iterator.position += 1
    found = step(iterator)
    if found is ABSENT:
        return None
    item: Symbol = Tuple(found) if type(found) is tuple else found
    return item


@rule_for(enumerate)
def _enumerate(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, start = bound(arguments, keywords, "iterable", "start", least=1)
    assert over is not None
    first = known_value(interpreter, start) if start is not None else 0
    if not isinstance(first, int):
        raise GraphBreak("eager-raises", "TypeError: the start of enumerate is no whole number")
    parts, (walk,) = walks(interpreter, [over])
    return new_iterator(interpreter, "enumerate", parts, walk=enumerate(walk, int(first)))


@next_of("enumerate", asks_again=True)
def _next_numbered(_: Interpreter, iterator: Iterator) -> Symbol | None:
    found = step(iterator)
    return None if found is ABSENT else Tuple((Constant(found[0]), found[1]))


@rule_for(zip)
def _zip(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (strict,) = bound((), keywords, "strict")
    is_strict = strict is not None and arithmetic.truth(interpreter, strict)
    parts, over = walks(interpreter, arguments)
    kind = "zip strictly" if is_strict else "zip"
    return new_iterator(interpreter, kind, parts, walk=zip(*over, strict=is_strict))


@rule_for(map)
def _map(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) < 2:  # strict=, since 3.14, is left to plain Python
        raise GraphBreak("call", "map with such arguments")
    parts, over = walks(interpreter, arguments[1:])
    function = interpreter.trace.look(arguments[0])
    walk = map(calling(interpreter, function), *over)
    return new_iterator(interpreter, "map", [function, *parts], walk=walk)


FILTERS = (filter, itertools.filterfalse)  # these call no predicate that is None or bool


def _is_truth(predicate: Symbol) -> bool:
    return isinstance(predicate, Constant) and (predicate.value is None or predicate.value is bool)


def choosing(
    tool: Callable[[Callable[[Symbol], bool], Walk], Any],
) -> Callable[[Interpreter, Positional, Given], Symbol]:
    """The rule of a tool that takes a predicate and an iterable."""
    name = tool.__name__

    def make(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        only_positional(keywords, name)
        predicate, over = bound(arguments, {}, "predicate", "iterable", least=2)
        assert predicate is not None
        assert over is not None
        parts, (walk,) = walks(interpreter, [over])
        predicate = interpreter.trace.look(predicate)
        asked = asking(interpreter, None if tool in FILTERS and _is_truth(predicate) else predicate)
        return new_iterator(interpreter, name, [predicate, *parts], walk=tool(asked, walk))

    return make


rule_for(filter)(choosing(filter))
