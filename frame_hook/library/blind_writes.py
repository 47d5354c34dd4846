"""Blind writes: methods that change a container of the frame without reading what it holds.

`results.append(x)` needs no guard on what `results` holds. So containers that grow from call to call are no reason to
trace again. A rule gives the method that the entry calls and its arguments, or None where the container has to be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import ReferenceType

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import BLIND_WRITES
from ufuse.frame_hook.objects.classes import refuse_finalizer
from ufuse.frame_hook.objects.values import described, key_of
from ufuse.frame_hook.operations import containers
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    ArrayMethod,
    Constant,
    Deque,
    Dict,
    Integer,
    List,
    Set,
    Symbol,
    Tuple,
    Unread,
)

Write = tuple[Callable[..., Any], tuple[Symbol, ...]]


def _of_item(changing: Any) -> Callable[..., Write]:
    def write(interpreter: Interpreter, target: Unread, item: Symbol, /) -> Write:
        _guard_dropped(interpreter, target, changing)
        return changing, (item,)

    return write


def _of_nothing(changing: Any) -> Callable[..., Write]:
    def write(interpreter: Interpreter, target: Unread, /) -> Write:
        _guard_dropped(interpreter, target, changing)
        return changing, ()

    return write


def _of_items(changing: Any) -> Callable[..., Write | None]:
    def write(interpreter: Interpreter, target: Unread, iterable: Symbol, /) -> Write | None:
        given = interpreter.trace.look(iterable)
        if not isinstance(given, List | Tuple):
            return None
        if changing is not list.extend:
            _guard_dropped(interpreter, target, changing)
        return changing, (Tuple(tuple(given.items)),)

    return write


def _of_key(changing: Any) -> Callable[..., Write]:
    def write(interpreter: Interpreter, _: Unread, key: Symbol, /) -> Write:
        known = key_of(interpreter, key)
        return changing, (interpreter.trace.key_symbol(known) or Constant(known),)

    return write


def _guard_dropped(interpreter: Interpreter, target: Unread, changing: Any) -> None:
    """Guard that nothing which a change drops runs code when it dies; an unbounded deque drops none but in `clear`."""
    trace, source, value = interpreter.trace, target.source, target.value
    if type(value) is not deque:
        refuse_finalizer(target)
        return
    trace.guards.check("TYPE", source, deque)
    if value.maxlen is None and changing is not deque.clear:
        trace.reader.check_maxlen(source, value)
    else:
        trace.changes.replaced(target)


def _insert(
    interpreter: Interpreter, target: Unread, index: Symbol, item: Symbol, /
) -> Write | None:
    place = interpreter.trace.look(index)
    if not isinstance(place, Constant) or type(place.value) is not int:
        return None
    return list.insert, (place, item)


def _update_set(interpreter: Interpreter, target: Unread, /, *others: Symbol) -> Write | None:
    if len(others) != 1 or containers.may_run_code(interpreter, others[0]):
        return None
    return set.update, (containers.operand(interpreter, others[0])[2],)


def _update_dict(
    interpreter: Interpreter, target: Unread, iterable: Symbol | None = None, /, **entries: Symbol
) -> Write | None:
    given = Dict({}) if iterable is None else interpreter.trace.look(iterable)
    if not isinstance(given, Dict):
        return None
    refuse_finalizer(target)
    return dict.update, (Dict({**given.items, **entries}),)


def replay(
    reference: ReferenceType[Interpreter],
    target: Symbol,
    function: Any,
    arguments: tuple[Symbol, ...],
) -> None:
    """Do on a symbol what was written before the container was read."""
    interpreter = reference()
    assert interpreter is not None
    if not isinstance(target, List | Deque | Dict | Set):
        raise GraphBreak("effect", f"a change of {described(target)}, which is read afterwards,")
    if isinstance(target, Dict) and any(
        isinstance(interpreter.trace.look(key), Integer) for key in arguments[:1]
    ):
        raise GraphBreak("effect", "a change under a number that changes from call to call")
    interpreter.call(ArrayMethod(target, function.__name__), arguments)


for _rule, _methods in (
    (_of_item, (list.append, deque.append, deque.appendleft)),
    (_of_nothing, (list.clear, list.reverse, dict.clear, deque.clear)),
    (_of_items, (list.extend, deque.extend, deque.extendleft)),
    (_of_key, (set.add, set.discard)),
):
    for _method in _methods:
        BLIND_WRITES[_method.__objclass__, _method.__name__] = _rule(_method)  # type: ignore[union-attr]
BLIND_WRITES[list, "insert"] = _insert
BLIND_WRITES[set, "update"] = _update_set
BLIND_WRITES[dict, "update"] = _update_dict

__all__ = ["replay"]
