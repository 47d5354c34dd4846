"""Methods of OrderedDict and defaultdict that a dict does not have or does otherwise, and what Counter has in C."""

from __future__ import annotations

import collections
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import Given, Positional, rule_for
from ufuse.frame_hook.library.container_methods import NONE
from ufuse.frame_hook.library.lazy import bound
from ufuse.frame_hook.objects.classes import refuse_finalizer
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import described, key_of
from ufuse.frame_hook.operations import arithmetic, containers, iterate, subscripts
from ufuse.frame_hook.operations.special import OF_OTHERS
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Dict, Instance, Symbol, Tuple, class_of

Rule = Callable[[Interpreter, Instance, Positional, Given], Symbol]
READING = ("keys", "__getitem__", "__iter__")


def of_class(kind: type, *names: str, exactly: bool = True) -> Callable[[Rule], Rule]:
    """Register methods of a C class; `exactly`: not for subclasses, whose own methods they might call."""

    def register(rule: Rule) -> Rule:
        def checked(
            interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
        ) -> Symbol:
            if exactly and receiver.kind is not kind:
                raise GraphBreak("call", f"{names[0]} of a {receiver.kind.__name__}")
            return rule(interpreter, receiver, rest, keywords)

        for name in names:
            OF_OTHERS[vars(kind)[name]] = checked
        return rule

    return register


def _content(receiver: Instance) -> Dict:
    """What it holds, where that is followed."""
    if not isinstance(receiver.content, Dict):
        raise GraphBreak("effect", f"{described(receiver)} with unusual keys")
    return receiver.content


def _instance(interpreter: Interpreter, kind: type, entries: dict[Any, Symbol]) -> Instance:
    """A new mapping of one of these classes."""
    content = Dict(entries)
    made = Instance(kind, content=content)
    interpreter.trace.owners[id(content)] = made
    return made


# OrderedDict -----------------------------------------------------------------------------------------------------


@of_class(OrderedDict, "move_to_end", exactly=False)
def _move_to_end(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    key, last = bound(rest, keywords, "key", "last", least=1)
    content = _content(receiver)
    assert key is not None
    assert isinstance(content.items, OrderedDict)
    name, to_end = key_of(interpreter, key), last is None or arithmetic.truth(interpreter, last)
    if name not in content.items:
        raise raise_error(KeyError, name)
    content.items.move_to_end(name, to_end)
    changed = OrderedDict.move_to_end
    interpreter.trace.changes.note(content)
    if content.source is not None:
        row = (content, Constant(name), Constant(to_end))
        interpreter.trace.changes.effect("call", changed, row)
    return NONE


@of_class(OrderedDict, "popitem")
def _popitem(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    (last,) = bound(rest, keywords, "last")
    content = _content(receiver)
    from_end = last is None or arithmetic.truth(interpreter, last)
    if not content.items:
        raise raise_error(KeyError, "dictionary is empty")
    key = next(reversed(content.items) if from_end else iter(content.items))
    value = containers.delete_entry(interpreter.trace, content, key)
    return Tuple((Constant(key), value))


@of_class(OrderedDict, "pop")
def _pop(interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given) -> Symbol:
    key, default = bound(rest, keywords, "key", "default", least=1)
    assert key is not None
    name = key_of(interpreter, key)
    if name in _content(receiver).items:
        return containers.delete_entry(interpreter.trace, _content(receiver), name)
    if default is None:
        raise raise_error(KeyError, name)
    return default


@of_class(OrderedDict, "setdefault")
def _setdefault(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    key, default = bound(rest, keywords, "key", "default", least=1)
    assert key is not None
    known = _content(receiver).items.get(key_of(interpreter, key))
    if known is not None:
        return known
    containers.store_entry(interpreter, _content(receiver), key, default or NONE)
    return default or NONE


@of_class(OrderedDict, "clear")
def _clear(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    bound(rest, keywords)
    content = _content(receiver)
    for dropped in content.items.values():
        refuse_finalizer(dropped)
    content.items.clear()
    interpreter.trace.changes.call(OrderedDict.clear, content)
    return NONE


@of_class(OrderedDict, "copy")
def _copy(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    bound(rest, keywords)
    return _instance(interpreter, OrderedDict, OrderedDict(_content(receiver).items))


@of_class(OrderedDict, "__init__", "update", exactly=False)
def _update(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    """`self[key] = value` for what is given, which a subclass may have a method of its own for."""
    if len(rest) > 1:
        raise GraphBreak("eager-raises", "TypeError: update() takes at most 1 positional argument")
    for given in rest:
        for key, value in _pairs(interpreter, given):
            subscripts.store_item(interpreter, receiver, key, value)
    for name, value in keywords.items():
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


@rule_for(vars(OrderedDict)["fromkeys"])
def _fromkeys(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    keys, value = bound(arguments[1:], keywords, "iterable", "value", least=1)
    if class_of(arguments[0]) is not OrderedDict or keys is None:
        raise GraphBreak("call", "fromkeys")
    made = _instance(interpreter, OrderedDict, OrderedDict())
    for key in iterate.items_of(interpreter, keys):
        containers.store_entry(interpreter, _content(made), key, value or NONE)
    return made


# What both do with operators -------------------------------------------------------------------------------------


def _joined(kind: type, *, reflected: bool) -> Rule:
    """`left | right`: a new mapping of this class, of which the other operand may be any dict."""

    def join(
        interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
    ) -> Symbol:
        (given,) = bound(rest, keywords, "other", least=1)
        assert given is not None
        other = unwrapped(interpreter.trace, interpreter.trace.look(given), *READING)
        if not isinstance(other, Dict):
            raise GraphBreak("operator", f"| of {described(receiver)} and {described(other)}")
        mine = _content(receiver)
        first, second = (other, mine) if reflected else (mine, other)
        entries: dict[Any, Symbol] = OrderedDict() if kind is OrderedDict else {}
        entries.update(first.items)
        entries.update(second.items)
        made = _instance(interpreter, kind, entries)
        return made if kind is OrderedDict else _with_factory(interpreter, made, receiver)

    return join


def _with_factory(interpreter: Interpreter, made: Instance, like: Instance) -> Instance:
    """A new defaultdict with the factory of another."""
    made.attributes["default_factory"] = interpreter.attribute(like, "default_factory")
    return made


for _kind in (OrderedDict, defaultdict):
    of_class(_kind, "__or__")(_joined(_kind, reflected=False))
    of_class(_kind, "__ror__")(_joined(_kind, reflected=True))


@of_class(OrderedDict, "__ior__")
def _update_in_place(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    _update(interpreter, receiver, rest, keywords)
    return receiver


@of_class(defaultdict, "copy", "__copy__")
def _copy_with_factory(
    interpreter: Interpreter, receiver: Instance, rest: Positional, keywords: Given
) -> Symbol:
    bound(rest, keywords)
    made = _instance(interpreter, defaultdict, dict(_content(receiver).items))
    return _with_factory(interpreter, made, receiver)


# Counter ---------------------------------------------------------------------------------------------------------


@rule_for(vars(collections)["_count_elements"])
def counted(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """What `Counter` does with what it counts: a subclass's own `get` or `__setitem__` is left to plain Python."""
    target, given = bound(arguments, keywords, "mapping", "iterable", least=2)
    assert target is not None
    assert given is not None
    mapping = unwrapped(interpreter.trace, interpreter.trace.look(target), "get", "__setitem__")
    if not isinstance(mapping, Dict):
        raise GraphBreak("call", f"counting in {described(mapping)}")
    iterator = iterate.iterator_over(interpreter, given)
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


__all__ = ["counted"]
