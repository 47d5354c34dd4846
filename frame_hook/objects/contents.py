"""Subclasses of built-in types: what their instances hold besides attributes, and which of their methods are built in.

The content of an instance is a symbol of the built-in type, for an object of the frame with the same source. Where the
class has the built-in type's own method, that does to the content what it would do to the instance.
"""

from __future__ import annotations

import builtins
import enum
from collections import OrderedDict, defaultdict
from typing import Any

from ufuse.frame_hook.objects.classes import ABSENT, mro, static_lookup, uses_plain
from ufuse.frame_hook.trace.symbols import Dict, Instance, List, Set, Symbol
from ufuse.frame_hook.trace.trace import Trace

WITH_CONTENT = (tuple, list, dict, set, int, float, complex, str, bytes)
IMMUTABLE = (int, float, complex, str, bytes)
# Built-in exceptions whose instances are made of their arguments alone.
PLAIN_EXCEPTIONS = (
    *(
        one
        for one in vars(builtins).values()
        if isinstance(one, type)
        and issubclass(one, BaseException)
        and one.__basicsize__ == BaseException.__basicsize__
    ),
    AttributeError,
    NameError,
    StopIteration,
)
ORDERED = (OrderedDict, defaultdict)
# Methods of an OrderedDict and a defaultdict that do what a dict's do, but for where `__missing__` comes in.
AS_DICT = ("__iter__", "__setitem__", "__delitem__", "keys", "values", "items", "__contains__", "__len__", "get",
           "__getitem__", "__reversed__", "__init__", "__eq__", "__ne__")  # fmt: skip


def built_in_base(kind: type) -> type | None:
    """The built-in type that a class is a subclass of, if its instances' content is followed."""
    for one in mro(kind):
        if one in WITH_CONTENT:
            return one
    return None


def has_content(symbol: Symbol) -> bool:
    """Whether it is an instance with content."""
    return (
        isinstance(symbol, Instance)
        and symbol.content is not None
        and not issubclass(symbol.kind, BaseException)
    )


def is_built_in(kind: type, name: str) -> bool:
    """Whether a class has its built-in type's own method, or none."""
    base = built_in_base(kind)
    found = static_lookup(kind, name)
    if found is ABSENT or base is None:
        return found is ABSENT
    if found is static_lookup(base, name):
        return True
    return name in AS_DICT and any(found is vars(one).get(name, ABSENT) for one in ORDERED)


def unwrapped(trace: Trace, symbol: Symbol, *methods: str) -> Symbol:
    """The content of an instance whose class has the built-in type's own of these methods; else the symbol itself."""
    if not isinstance(symbol, Instance) or symbol.content is None or not has_content(symbol):
        return symbol
    if not all(is_built_in(symbol.kind, name) for name in methods):
        return symbol
    for name in methods:
        uses_plain(trace, symbol.kind, name, static_lookup(symbol.kind, name))
    return symbol.content


def empty(base: type, kind: type) -> Symbol | None:
    """The content of a new instance of a subclass, which `__init__` fills."""
    entries: dict[Any, Symbol] = OrderedDict() if issubclass(kind, OrderedDict) else {}
    made: dict[type, Symbol] = {list: List([]), dict: Dict(entries), set: Set(set())}
    return made.get(base)


def is_member(value: Any) -> bool:
    """Whether it is a member of an enumeration, of which there is one only."""
    return isinstance(value, enum.Enum)


__all__ = [
    "IMMUTABLE",
    "ORDERED",
    "PLAIN_EXCEPTIONS",
    "WITH_CONTENT",
    "built_in_base",
    "empty",
    "has_content",
    "is_built_in",
    "is_member",
    "unwrapped",
]
