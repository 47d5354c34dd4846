"""Containers of the frame that are changed, or asked for one entry, without looking at all they hold.

`results.append(x)` and `cache[key] = x` need no guard on what is in there, and `key in cache` one guard on that key. So
lists and dicts that grow from call to call are no reason to trace again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ReferenceType

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import UNSEEN, Given, Positional
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

Blind = tuple[Callable[..., Any], tuple[Symbol, ...]]


def _with(*methods: Callable[..., Any], count: int) -> None:
    """Methods that take so many arguments, whatever these are."""
    for method in methods:

        def blind(
            _: Interpreter,
            target: Unread,
            arguments: Positional,
            keywords: Given,
            method: Callable[..., Any] = method,
        ) -> Blind | None:
            if keywords or len(arguments) != count:
                return None
            refuse_finalizer(target)
            return method, tuple(arguments)

        UNSEEN[method.__objclass__, method.__name__] = blind  # type: ignore[attr-defined]


_with(list.append, count=1)
_with(list.clear, list.reverse, dict.clear, count=0)


def _insert(
    interpreter: Interpreter, _: Unread, arguments: Positional, keywords: Given
) -> Blind | None:
    if keywords or len(arguments) != 2:
        return None
    place = interpreter.trace.look(arguments[0])
    if not isinstance(place, Constant) or type(place.value) is not int:
        return None
    return list.insert, (place, arguments[1])


def _extend(method: Callable[..., Any]) -> Any:
    def blind(
        interpreter: Interpreter, _: Unread, arguments: Positional, keywords: Given
    ) -> Blind | None:
        given = interpreter.trace.look(arguments[0]) if len(arguments) == 1 else None
        if keywords or not isinstance(given, List | Tuple):
            return None
        return method, (Tuple(tuple(given.items)),)

    return blind


def _member(method: Callable[..., Any]) -> Any:
    def blind(
        interpreter: Interpreter, _: Unread, arguments: Positional, keywords: Given
    ) -> Blind | None:
        if keywords or len(arguments) != 1:
            return None
        return method, (Constant(key_of(interpreter, arguments[0])),)

    return blind


def _set_update(
    interpreter: Interpreter, _: Unread, arguments: Positional, keywords: Given
) -> Blind | None:
    if keywords or len(arguments) != 1:
        return None
    if containers.may_run_code(interpreter, arguments[0]):
        return None
    return set.update, (containers.operand(interpreter, arguments[0])[2],)


def _dict_update(
    interpreter: Interpreter, target: Unread, arguments: Positional, keywords: Given
) -> Blind | None:
    given = [interpreter.trace.look(argument) for argument in arguments]
    if len(given) > 1 or not all(isinstance(one, Dict) for one in given):
        return None
    refuse_finalizer(target)
    entries = {k: v for one in given if isinstance(one, Dict) for k, v in one.items.items()}
    return dict.update, (Dict({**entries, **keywords}),)


def replay(
    reference: ReferenceType[Interpreter],
    target: Symbol,
    function: Any,
    arguments: tuple[Symbol, ...],
) -> None:
    """Do on a symbol what was done before anything had looked at it."""
    interpreter = reference()
    assert interpreter is not None
    if not isinstance(target, List | Deque | Dict | Set):
        raise GraphBreak("effect", f"a change of {described(target)}, which is read afterwards,")
    if isinstance(target, Dict) and any(
        isinstance(interpreter.trace.look(key), Integer) for key in arguments[:1]
    ):
        raise GraphBreak("effect", "a change under a number that changes from call to call")
    method = ArrayMethod(target, function.__name__)
    interpreter.call(method, arguments)


UNSEEN[list, "insert"] = _insert
UNSEEN[list, "extend"] = _extend(list.extend)
UNSEEN[set, "add"] = _member(set.add)
UNSEEN[set, "discard"] = _member(set.discard)
UNSEEN[set, "update"] = _set_update
UNSEEN[dict, "update"] = _dict_update
