"""Python's own iterator tools: iter, next, enumerate, zip, map, filter; methods of generators. All are lazy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import METHODS, Given, Positional, rule_for
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import known_value
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.operations.iterate import iterator_over, new_iterator, next_item, next_of
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


# The built-in ones -----------------------------------------------------------------------------------------------


@rule_for(enumerate)
def _enumerate(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, start = bound(arguments, keywords, "iterable", "start", least=1)
    assert over is not None
    first = known_value(interpreter, start) if start is not None else 0
    if not isinstance(first, int):
        raise GraphBreak("eager-raises", "TypeError: the start of enumerate is no whole number")
    part = iterator_over(interpreter, over)
    return new_iterator(interpreter, "enumerate", [part], position=int(first))


@next_of("enumerate", asks_again=True)
def _next_numbered(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`position` is the number that comes next."""
    item = next_item(interpreter, iterator.parts[0])
    if item is None:
        return None
    iterator.position += 1
    return Tuple((Constant(iterator.position - 1), item))


@rule_for(zip)
def _zip(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (strict,) = bound((), keywords, "strict")
    is_strict = strict is not None and arithmetic.truth(interpreter, strict)
    parts = [iterator_over(interpreter, argument) for argument in arguments]
    return new_iterator(interpreter, "zip strictly" if is_strict else "zip", parts)


@next_of("zip", "zip strictly", asks_again=True)
def _next_of_each(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    found: list[Symbol] = []
    for place, part in enumerate(iterator.parts):
        item = next_item(interpreter, part)
        if item is None:
            if iterator.kind == "zip strictly":
                _check_lengths(interpreter, "zip", iterator.parts, place)
            return None
        found.append(item)
    return Tuple(tuple(found)) if found else None


def _check_lengths(
    interpreter: Interpreter, name: str, parts: Sequence[Symbol], place: int
) -> None:
    """What a strict zip does when the iterator at `place` has ended."""
    if place:
        raise _of_other_length(name, place, "shorter")
    for other, part in enumerate(parts[1:], 1):
        if next_item(interpreter, part) is not None:
            raise _of_other_length(name, other, "longer")


def _of_other_length(name: str, place: int, how: str) -> Raised:
    others = "argument 1" if place == 1 else f"arguments 1-{place}"
    return raise_error(ValueError, f"{name}() argument {place + 1} is {how} than {others}")


@rule_for(map)
def _map(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) < 2:  # strict=, since 3.14, is left to plain Python
        raise GraphBreak("call", "map with such arguments")
    function, *others = arguments
    parts = [iterator_over(interpreter, other) for other in others]
    return new_iterator(interpreter, "map", [interpreter.trace.look(function), *parts])


@next_of("map", asks_again=True)
def _next_mapped(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    function, *parts = iterator.parts
    found: list[Symbol] = []
    for part in parts:
        item = next_item(interpreter, part)
        if item is None:
            return None
        found.append(item)
    return interpreter.call(function, found)


def choosing(kind: str) -> Callable[[Interpreter, Positional, Given], Symbol]:
    """The makers of what takes a predicate and an iterable."""

    def make(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        only_positional(keywords, kind)
        predicate, over = bound(arguments, {}, "predicate", "iterable", least=2)
        assert predicate is not None
        assert over is not None
        part = iterator_over(interpreter, over)
        return new_iterator(interpreter, kind, [interpreter.trace.look(predicate), part])

    return make


rule_for(filter)(choosing("filter"))


def _holds(interpreter: Interpreter, predicate: Symbol, item: Symbol) -> bool:
    predicate = interpreter.trace.look(predicate)
    if isinstance(predicate, Constant) and (predicate.value is None or predicate.value is bool):
        return arithmetic.truth(interpreter, item)
    return arithmetic.truth(interpreter, interpreter.call(predicate, (item,)))


@next_of("filter", asks_again=True)
def next_chosen(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """The next item of which the predicate holds; of other kinds than filter, one of which it does not."""
    predicate, part = iterator.parts
    wanted = iterator.kind == "filter"
    for _ in range(iterate.LONGEST_SEQUENCE):
        item = next_item(interpreter, part)
        if item is None or _holds(interpreter, predicate, item) == wanted:
            return item
    raise GraphBreak("loop")
