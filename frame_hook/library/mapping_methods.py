"""Methods of OrderedDict and defaultdict that a dict lacks or has otherwise, and what Counter has in C."""

from __future__ import annotations

import collections
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.library.container_methods import NONE
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import described, key_of
from ufuse.frame_hook.operations import arithmetic, containers, iterate, subscripts
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Dict, Instance, Symbol

READING = ("keys", "__getitem__", "__iter__")


def _content(interpreter: Interpreter, receiver: Symbol, kind: type) -> Dict:
    """The entries of an instance of exactly this C class: a subclass may override methods that its base calls."""
    symbol = interpreter.trace.look(receiver)
    if not isinstance(symbol, Instance) or symbol.kind is not kind:
        raise GraphBreak("call", f"a method of {kind.__name__}, of {described(symbol)}")
    if not isinstance(symbol.content, Dict):
        raise GraphBreak("effect", f"{described(symbol)} with unusual keys")
    return symbol.content


def _instance(interpreter: Interpreter, kind: type, entries: dict[Any, Symbol]) -> Instance:
    """A new mapping of one of these classes."""
    content = Dict(entries)
    made = Instance(kind, content=content)
    interpreter.trace.owners[id(content)] = made
    return made


# OrderedDict; move_to_end, popitem and | end the graph: numeric programs hardly use them -----------------------------


@rule_for(OrderedDict.pop)
def _pop(
    interpreter: Interpreter, receiver: Symbol, /, key: Symbol, default: Symbol | None = None
) -> Symbol:
    content, name = _content(interpreter, receiver, OrderedDict), key_of(interpreter, key)
    if name in content.items:
        return containers.delete_entry(interpreter.trace, content, name)
    if default is None:
        raise raise_error(KeyError, name)
    return default


@rule_for(OrderedDict.setdefault)
def _setdefault(
    interpreter: Interpreter, receiver: Symbol, /, key: Symbol, default: Symbol = NONE
) -> Symbol:
    content = _content(interpreter, receiver, OrderedDict)
    known = content.items.get(key_of(interpreter, key))
    if known is None:
        containers.store_entry(interpreter, content, key, default)
    return default if known is None else known


@rule_for(OrderedDict.copy)
def _copy(interpreter: Interpreter, receiver: Symbol, /) -> Symbol:
    entries = OrderedDict(_content(interpreter, receiver, OrderedDict).items)
    return _instance(interpreter, OrderedDict, entries)


@rule_for(OrderedDict.__init__, OrderedDict.update)
def _update(
    interpreter: Interpreter, receiver: Symbol, other: Symbol | None = None, /, **entries: Symbol
) -> Symbol:
    """`self[key] = value` for each entry, by the `__setitem__` of a subclass too."""
    for key, value in () if other is None else _pairs(interpreter, other):
        subscripts.store_item(interpreter, receiver, key, value)
    for name, value in entries.items():
        subscripts.store_item(interpreter, receiver, Constant(name), value)
    return NONE


def _pairs(interpreter: Interpreter, given: Symbol) -> Iterator[tuple[Symbol, Symbol]]:
    """The keys and values of a mapping, or the pairs that something else gives, one by one."""
    given = unwrapped(interpreter.trace, interpreter.trace.look(given), *READING)
    if isinstance(given, Dict):
        for key, value in list(given.items.items()):
            yield Constant(key), value
        return
    if isinstance(given, Instance):
        raise GraphBreak("call", f"updating an OrderedDict with {described(given)}")
    iterator = iterate.iterator_over(interpreter, given)
    while (pair := iterate.next_item(interpreter, iterator)) is not None:
        parts = iterate.items_of(interpreter, pair)
        if len(parts) != 2:
            raise GraphBreak("eager-raises", "ValueError: an OrderedDict is made of pairs")
        yield parts[0], parts[1]


# defaultdict and Counter -----------------------------------------------------------------------------------------


@rule_for(defaultdict.copy, defaultdict.__copy__)
def _copy_with_factory(interpreter: Interpreter, receiver: Symbol, /) -> Symbol:
    entries = dict(_content(interpreter, receiver, defaultdict).items)
    made = _instance(interpreter, defaultdict, entries)
    made.attributes["default_factory"] = interpreter.attribute(receiver, "default_factory")
    return made


@rule_for(vars(collections)["_count_elements"])
def _count(interpreter: Interpreter, target: Symbol, iterable: Symbol, /) -> Symbol:
    """What `Counter` does with what it counts: a subclass's own `get` or `__setitem__` is left to plain Python."""
    mapping = unwrapped(interpreter.trace, interpreter.trace.look(target), "get", "__setitem__")
    if not isinstance(mapping, Dict):
        raise GraphBreak("call", f"counting in {described(mapping)}")
    iterator = iterate.iterator_over(interpreter, iterable)
    count = 0
    while (key := iterate.next_item(interpreter, iterator)) is not None:
        before = mapping.items.get(key_of(interpreter, key))
        now: Symbol = Constant(1)
        if before is not None:
            now = arithmetic.binary(interpreter, "+", before, now, in_place=False)
        containers.store_entry(interpreter, mapping, key, now)
        count += 1
        if count > iterate.LONGEST_SEQUENCE:
            raise GraphBreak("loop")
    return NONE
