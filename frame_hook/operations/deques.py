"""Changes of deques: made on the symbol at once, and for a deque of the frame recorded as an effect.

The symbol holds a real deque of symbols, so `maxlen`, and errors of iterators over what has changed, are CPython's own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.classes import refuse_finalizer
from ufuse.frame_hook.objects.values import as_size, described
from ufuse.frame_hook.operations import containers, iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Deque, List, Symbol, Tuple


def record(
    interpreter: Interpreter,
    target: Deque,
    method: Callable[..., Any],
    *arguments: Symbol,
    gone: Sequence[Symbol] = (),
) -> None:
    """Record a change that was made on the symbol; `gone` are the items that it dropped."""
    changes = interpreter.trace.changes
    for dropped in gone:
        refuse_finalizer(dropped)
    if changes.note(target):
        if gone:
            changes.replaced(target)
        changes.effect("call", target, *arguments, what=method)


def add(interpreter: Interpreter, target: Deque, item: Symbol, *, left: bool) -> None:
    """`target.append(item)` or `target.appendleft(item)`; a full deque drops an item at the other end."""
    members = target.items
    gone = [item] if members.maxlen == 0 else []
    if members and len(members) == members.maxlen:
        gone = [members[-1 if left else 0]]
    if len(members) >= iterate.LONGEST_SEQUENCE:
        raise GraphBreak("loop")
    (members.appendleft if left else members.append)(item)
    method = deque.appendleft if left else deque.append
    record(interpreter, target, method, item, gone=gone)


def extend(interpreter: Interpreter, target: Deque, more: Symbol, *, left: bool = False) -> None:
    """`target.extend(more)` or `target.extendleft(more)`: item by item where taking the next may raise."""
    more = interpreter.trace.look(more)
    if more is target or isinstance(more, List | Tuple):
        assert isinstance(more, List | Tuple | Deque)
        _extend_by(interpreter, target, list(more.items), left=left)
        return
    for item in iterate.each_item(interpreter, more):
        _extend_by(interpreter, target, [item], left=left)


def _extend_by(interpreter: Interpreter, target: Deque, items: list[Symbol], *, left: bool) -> None:
    """Add items in one call; past `maxlen` they push others out."""
    if not items:
        return
    members = target.items
    before = [*members, *items]
    method = deque.extendleft if left else deque.extend
    method(members, items)
    if len(members) > iterate.LONGEST_SEQUENCE:
        raise GraphBreak("loop")
    kept = set(map(id, members))
    gone = [one for one in before if id(one) not in kept]
    record(interpreter, target, method, Tuple(tuple(items)), gone=gone)


def place(interpreter: Interpreter, target: Deque, key: Symbol) -> int:
    """The position that an index stands for."""
    expression = as_size(interpreter.trace.look(key))
    if expression is None:
        raise GraphBreak("eager-raises", f"TypeError: the index of a deque is {described(key)}")
    return containers.place_of(interpreter.trace, target.items, expression, "deque")


def store(interpreter: Interpreter, target: Deque, key: Symbol, value: Symbol) -> None:
    """`target[key] = value`."""
    number = place(interpreter, target, key)
    gone = [target.items[number]]
    target.items[number] = value
    record(interpreter, target, deque.__setitem__, Constant(number), value, gone=gone)


def delete(interpreter: Interpreter, target: Deque, number: int) -> None:
    """`del target[number]`, a valid index."""
    gone = [target.items[number]]
    del target.items[number]
    record(interpreter, target, deque.__delitem__, Constant(number), gone=gone)


@contextmanager
def unchanged(*targets: Symbol) -> Iterator[None]:
    """Break where comparing the items of a deque changes it: plain Python iterates over it, and raises."""
    walks = [iter(one.items) for one in targets if isinstance(one, Deque)]
    yield
    try:
        for walk in walks:
            next(walk, None)
    except RuntimeError as error:
        raise GraphBreak("eager-raises", f"RuntimeError: {error}") from None


def repeat(interpreter: Interpreter, target: Deque, times: int) -> None:
    """`target *= times`."""
    gone = list(target.items) if times <= 0 or target.items.maxlen is not None else []
    target.items *= times
    record(interpreter, target, deque.__imul__, Constant(times), gone=gone)


__all__ = ["add", "delete", "extend", "place", "record", "repeat", "store", "unchanged"]
