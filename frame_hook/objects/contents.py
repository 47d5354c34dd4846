"""Instances of subclasses of built-in types: their content, and which of their methods are the built-in type's.

The content of an instance (what `list.__iter__` and its like see) is a symbol of the built-in type; of an object of the
frame it has the same source. Where the class inherits a method from C, that is applied to the content.
"""

from __future__ import annotations

import builtins
import enum
from collections import OrderedDict, defaultdict
from typing import Any

from ufuse.frame_hook.objects.classes import ABSENT, mro, static_lookup, uses_plain
from ufuse.frame_hook.trace.symbols import Dict, Instance, List, Set, Symbol
from ufuse.frame_hook.trace.trace import Trace

# Built-in types whose subclasses are traced.
WITH_CONTENT = (tuple, list, dict, set, int, float, complex, str, bytes)
IMMUTABLE = (int, float, complex, str, bytes)
# Built-in exceptions whose instances have no fields besides `args`.
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
# Methods of OrderedDict and defaultdict that do what those of dict do (but that `__getitem__` asks `__missing__`).
AS_DICT = ("__iter__", "__setitem__", "__delitem__", "keys", "values", "items", "__contains__", "__len__", "get",
           "__getitem__", "__reversed__", "__init__", "__eq__", "__ne__")  # fmt: skip


def built_in_base(kind: type) -> type | None:
    """The one of `WITH_CONTENT` that a class inherits from, or None."""
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
    """Whether a class inherits a method from its built-in type, or has none of that name."""
    base = built_in_base(kind)
    found = static_lookup(kind, name)
    if found is ABSENT or base is None:
        return found is ABSENT
    if found is static_lookup(base, name):
        return True
    return name in AS_DICT and any(found is vars(one).get(name, ABSENT) for one in ORDERED)


def unwrapped(trace: Trace, symbol: Symbol, *methods: str) -> Symbol:
    """The content of an instance whose class overrides none of these methods, guarded; else the symbol itself."""
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
