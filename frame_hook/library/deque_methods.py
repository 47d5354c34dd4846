"""Methods of deques, how they are made, and what is done to those of the frame at which nothing has looked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import UNSEEN, Given, Positional, Rule, rule_for
from ufuse.frame_hook.library.container_methods import NONE, method, whole
from ufuse.frame_hook.library.lazy import bound
from ufuse.frame_hook.objects.values import known_value, pure
from ufuse.frame_hook.operations import comparisons, deques
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Deque, List, Symbol, Tuple, Unread

Blind = tuple[Callable[..., Any], tuple[Symbol, ...]]


def _deque(symbol: Symbol) -> Deque:
    assert isinstance(symbol, Deque)
    return symbol


# Making them -----------------------------------------------------------------------------------------------------


@rule_for(deque)
def _make_deque(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given, limit = bound(arguments, keywords, "iterable", "maxlen")
    maxlen = None if limit is None else known_value(interpreter, limit)
    if maxlen is not None and not isinstance(maxlen, int):
        raise GraphBreak("eager-raises", "TypeError: an integer is required")
    if maxlen is not None and maxlen < 0:
        raise raise_error(ValueError, "maxlen must be non-negative")
    made = Deque(pure_deque(maxlen))
    if given is not None:
        deques.extend(interpreter, made, given)
    return made


def pure_deque(maxlen: int | None) -> deque[Symbol]:
    """An empty deque with room for so many.

    Raises:
        GraphBreak: it is more than Python counts.

    """
    try:
        return deque(maxlen=maxlen)
    except OverflowError as error:
        raise GraphBreak("eager-raises", f"OverflowError: {error}") from None


@method("deque.copy", "deque.__copy__")
def _copy(_: Interpreter, arguments: Positional, __: Given) -> Symbol:
    return Deque(_deque(arguments[0]).items.copy())


# Changing them ---------------------------------------------------------------------------------------------------


def _adding(*, left: bool) -> Rule:
    def add(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        deques.add(interpreter, _deque(arguments[0]), arguments[1], left=left)
        return NONE

    return add


def _extending(*, left: bool) -> Rule:
    def extend(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        deques.extend(interpreter, _deque(arguments[0]), arguments[1], left=left)
        return NONE

    return extend


def _taking(taken_by: Callable[..., Any], place: int) -> Rule:
    def take(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        target = _deque(arguments[0])
        if not target.items:
            raise raise_error(IndexError, "pop from an empty deque")
        interpreter.trace.changes.call(taken_by, target)
        item = target.items[place]
        taken_by(target.items)
        return item

    return take


for _left in (False, True):
    _end = "left" if _left else ""
    method(f"deque.append{_end}", least=1)(_adding(left=_left))
    method(f"deque.extend{_end}", least=1)(_extending(left=_left))
    method(f"deque.pop{_end}")(_taking(getattr(deque, f"pop{_end}"), 0 if _left else -1))


@method("deque.insert", least=2)
def _insert(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, where, item = arguments
    place, members = whole(interpreter, where), _deque(target).items
    if len(members) == members.maxlen:
        raise raise_error(IndexError, "deque already at its maximum size")
    members.insert(place, item)
    deques.record(interpreter, _deque(target), deque.insert, Constant(place), item)
    return NONE


@method("deque.rotate", most=1)
def _rotate(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    count = whole(interpreter, arguments[1]) if len(arguments) > 1 else 1
    _deque(arguments[0]).items.rotate(count)
    deques.record(interpreter, _deque(arguments[0]), deque.rotate, Constant(count))
    return NONE


@method("deque.reverse")
def _reverse(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    _deque(arguments[0]).items.reverse()
    deques.record(interpreter, _deque(arguments[0]), deque.reverse)
    return NONE


@method("deque.clear")
def _clear(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    gone = list(_deque(arguments[0]).items)
    _deque(arguments[0]).items.clear()
    deques.record(interpreter, _deque(arguments[0]), deque.clear, gone=gone)
    return NONE


# Looking for items -----------------------------------------------------------------------------------------------


def _place(
    interpreter: Interpreter, target: Deque, wanted: Symbol, start: int = 0, stop: int | None = None
) -> int | None:
    """Where a deque first holds something equal; None where nowhere."""
    begin, end, _ = slice(start, stop).indices(len(target.items))
    items = list(target.items)
    with deques.unchanged(target):
        for place in range(begin, end):
            if comparisons.equal_or_same(interpreter, items[place], wanted):
                return place
    return None


@method("deque.remove", least=1)
def _remove(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, wanted = _deque(arguments[0]), arguments[1]
    place = _place(interpreter, target, wanted)
    if place is None:
        return pure(deque().remove, known_value(interpreter, wanted))  # words the error
    deques.delete(interpreter, target, place)
    return NONE


@method("deque.index", least=1, most=3)
def _index(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, wanted, *bounds = arguments
    start = whole(interpreter, bounds[0]) if bounds else 0
    stop = whole(interpreter, bounds[1]) if len(bounds) > 1 else None
    place = _place(interpreter, _deque(target), wanted, start, stop)
    if place is None:
        return pure(deque().index, known_value(interpreter, wanted))
    return Constant(place)


@method("deque.count", least=1)
def _count(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, wanted = arguments
    with deques.unchanged(target):
        items = list(_deque(target).items)
        same = [comparisons.equal_or_same(interpreter, one, wanted) for one in items]
        return Constant(sum(same))


# Of the frame, and not looked at ---------------------------------------------------------------------------------


def _blind(
    changing: Callable[..., Any], taken: Callable[[Interpreter, Positional], Any]
) -> Callable[[Interpreter, Unread, Positional, Given], Blind | None]:
    """A change for which a deque need not be looked at; `taken` gives the arguments, None where it has to be."""

    def blind(
        interpreter: Interpreter, target: Unread, arguments: Positional, keywords: Given
    ) -> Blind | None:
        given = None if keywords else taken(interpreter, arguments)
        if given is None:
            return None
        _guard_what_dies(interpreter, target, clears=changing is deque.clear)
        return changing, given

    return blind


def _guard_what_dies(interpreter: Interpreter, target: Unread, *, clears: bool) -> None:
    """A deque without `maxlen` only lets go of items when it is cleared."""
    trace, source, value = interpreter.trace, target.source, target.value
    trace.guards.check("TYPE", source, deque)
    if value.maxlen is None and not clears:
        trace.reader.check_maxlen(source, value)
    else:
        trace.changes.replaced(target)


def _one(_: Interpreter, arguments: Positional) -> Any:
    return tuple(arguments) if len(arguments) == 1 else None


def _nothing(_: Interpreter, arguments: Positional) -> Any:
    return None if arguments else ()


def _items(interpreter: Interpreter, arguments: Positional) -> Any:
    given = interpreter.trace.look(arguments[0]) if len(arguments) == 1 else None
    return (Tuple(tuple(given.items)),) if isinstance(given, List | Tuple) else None


for _left in (False, True):
    _end = "left" if _left else ""
    UNSEEN[deque, f"append{_end}"] = _blind(getattr(deque, f"append{_end}"), _one)
    UNSEEN[deque, f"extend{_end}"] = _blind(getattr(deque, f"extend{_end}"), _items)
UNSEEN[deque, "clear"] = _blind(deque.clear, _nothing)

__all__ = ["pure_deque"]
