"""Arguments with an `__array_function__` of their own, which NumPy calls in place of its function."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.followed import CONTAINERS, is_plain
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Deque,
    Dict,
    Generator,
    Instance,
    Iterator,
    List,
    Opaque,
    Set,
    Symbol,
    Tuple,
    View,
)
from ufuse.frame_hook.trace.trace import Trace

PROTOCOL = "__array_function__"
NDARRAYS_OWN = vars(np.ndarray)[PROTOCOL]


def refuse_overriders(trace: Trace, name: str, arguments: Iterable[Symbol]) -> None:
    """Break where an argument, or an item of one, may have an `__array_function__` of its own.

    NumPy does not say which of its arguments a function dispatches on: all are read, and their classes guarded.
    """
    _refuse(trace, name, arguments, set())


def _refuse(trace: Trace, name: str, symbols: Iterable[Symbol], above: set[int]) -> None:
    for symbol in map(trace.look, symbols):
        kind = _class_to_ask(symbol)
        if kind is not None and _overrides(trace, kind):
            raise GraphBreak("numpy-call", f"{name} of a {kind.__name__}, which has {PROTOCOL},")
        items = _items(symbol)
        if items is None:
            raise GraphBreak("numpy-call", f"{name} of {described(symbol)}")
        if items and id(symbol) not in above:
            _refuse(trace, name, items, {*above, id(symbol)})


def _class_to_ask(symbol: Symbol) -> type | None:
    """The class of a value that may be a class of the user's; None of those that have symbols of their own."""
    if isinstance(symbol, Instance):
        return symbol.kind
    return type(symbol.value) if isinstance(symbol, Opaque | Constant) else None


def _overrides(trace: Trace, kind: type) -> bool:
    """Whether a class or its metaclass has an `__array_function__` other than ndarray's; guarded."""
    for one in (kind,) if type(kind) is type else (kind, type(kind)):
        found, member = classes.class_member(trace, one, PROTOCOL)
        if found is not classes.ABSENT:
            trace.look(member)
            return found is not NDARRAYS_OWN
    return False


def _items(symbol: Symbol) -> Iterable[Symbol] | None:
    """The items of a container; None where they are not known, or iterating over them would have effects."""
    match symbol:
        case Instance(content=content):
            return () if content is None else (content,)
        case Tuple() | List() | Deque():
            return symbol.items
        case Dict() | Set():
            return () if all(map(is_plain, symbol.items)) else None
        case Opaque(value=value):
            return None if issubclass(type(value), CONTAINERS) else ()
        case Iterator() | Generator() | View():
            return None
    return ()
