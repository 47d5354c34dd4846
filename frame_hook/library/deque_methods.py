"""Deques: how they are made, and their methods."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import Rule, method, rule_for
from ufuse.frame_hook.library.container_methods import NONE
from ufuse.frame_hook.objects.values import known_value
from ufuse.frame_hook.operations import deques
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Deque, Symbol

# Making them -----------------------------------------------------------------------------------------------------


@rule_for(deque)
def _make_deque(
    interpreter: Interpreter,
    /,
    iterable: Symbol | None = None,
    maxlen: Symbol | None = None,
) -> Symbol:
    limit = None if maxlen is None else known_value(interpreter, maxlen)
    if limit is not None and not isinstance(limit, int):
        raise GraphBreak("eager-raises", "TypeError: an integer is required")
    if limit is not None and limit < 0:
        raise raise_error(ValueError, "maxlen must be non-negative")
    made = Deque(pure_deque(limit))
    if iterable is not None:
        deques.extend(interpreter, made, iterable)
    return made


def pure_deque(maxlen: int | None) -> deque[Symbol]:
    """An empty deque of this `maxlen`.

    Raises:
        GraphBreak: it is more than Python counts.

    """
    try:
        return deque(maxlen=maxlen)
    except OverflowError as error:
        raise GraphBreak("eager-raises", f"OverflowError: {error}") from None


@method("deque.copy", "deque.__copy__")
def _copy(_: Interpreter, target: Deque, /) -> Symbol:
    return Deque(target.items.copy())


# Changing them; rotate, insert, remove … end the graph: numeric programs hardly use them ------------------------------


def _adding(*, left: bool) -> Rule:
    def add(interpreter: Interpreter, target: Deque, item: Symbol, /) -> Symbol:
        deques.add(interpreter, target, item, left=left)
        return NONE

    return add


def _extending(*, left: bool) -> Rule:
    def extend(interpreter: Interpreter, target: Deque, iterable: Symbol, /) -> Symbol:
        deques.extend(interpreter, target, iterable, left=left)
        return NONE

    return extend


def _taking(taken_by: Callable[..., Any], place: int) -> Rule:
    def take(interpreter: Interpreter, target: Deque, /) -> Symbol:
        if not target.items:
            raise raise_error(IndexError, "pop from an empty deque")
        interpreter.trace.changes.call(taken_by, target)
        item = target.items[place]
        taken_by(target.items)
        return item

    return take


for _left in (False, True):
    _end = "left" if _left else ""
    method(f"deque.append{_end}")(_adding(left=_left))
    method(f"deque.extend{_end}")(_extending(left=_left))
    method(f"deque.pop{_end}")(_taking(getattr(deque, f"pop{_end}"), 0 if _left else -1))


@method("deque.clear")
def _clear(interpreter: Interpreter, target: Deque, /) -> Symbol:
    gone = list(target.items)
    target.items.clear()
    deques.record(interpreter, target, deque.clear, gone=gone)
    return NONE


__all__ = ["pure_deque"]
