"""Subscripts and membership on symbols: `in`, `x[key]`, `x[key] = value`, `del x[key]`."""

from __future__ import annotations

import operator
from typing import Any

from ufuse.frame_hook.arrays import flags, indexing
from ufuse.frame_hook.devices import indexing as device_indexing
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.objects.classes import (
    ABSENT,
    call_special,
    refuse_finalizer,
    special_method,
    static_lookup,
)
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import as_size, described, key_of, known_value, pure
from ufuse.frame_hook.operations import containers, deques, indexes, iterate
from ufuse.frame_hook.operations.arithmetic import truth
from ufuse.frame_hook.operations.comparisons import equal_or_same
from ufuse.frame_hook.trace.changes import ABSENT_KEY
from ufuse.frame_hook.trace.followed import is_key, is_plain
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    ArrayMethod,
    Constant,
    Deque,
    DeviceArray,
    Dict,
    Generator,
    Instance,
    Integer,
    Iterator,
    List,
    Range,
    Set,
    Slice,
    Symbol,
    Tuple,
    Unread,
    View,
)
from ufuse.frame_hook.trace.trace import Trace

MISSING: Symbol = Constant(object())  # in place of an entry: the dict lacks the key


def entry_of(interpreter: Interpreter, container: Symbol, key: Symbol) -> Symbol | None:
    """The entry of an unread dict of the frame, guarded for that key alone; MISSING where the dict lacks it.

    None: it is no such dict, or has to be read as a whole.
    """
    trace = interpreter.trace
    if not isinstance(container, Unread) or type(container.value) is not dict:
        return None
    source, value = container.source, container.value
    written = trace.changes.blind_entries(value)
    if trace.changes.is_known(value) or written is None:
        return None
    name = key_of(interpreter, key)
    keys = tuple(value)  # in one step, as other threads may change it
    is_there = is_plain(name) or any(key is name for key in keys)
    if not is_there or not all(map(is_key, keys)):
        return None
    source = trace.changes.part_of(source, value)
    trace.guards.check("TYPE", source, dict)
    if name in written:
        return written[name]
    found = value.get(name, ABSENT)
    if found is not ABSENT:
        return trace.reader.entry(source, name, found)
    trace.guards.check("DICT_LACKS", source, name)
    return MISSING


def _store_unread(interpreter: Interpreter, container: Symbol, key: Symbol, value: Symbol) -> bool:
    """Record `container[key] = value` for an unread dict of the frame; False where it is no such dict."""
    trace = interpreter.trace
    if not isinstance(container, Unread) or type(container.value) is not dict:
        return False
    if trace.changes.is_known(container.value):
        return False
    key = trace.look(key)
    name = ABSENT_KEY if isinstance(key, Integer) else key_of(interpreter, key)
    if name is not ABSENT_KEY and not is_plain(name):
        return False
    refuse_finalizer(container)
    source = container.source
    key = trace.key_symbol(name) or key
    trace.guards.check("TYPE", source, dict)
    trace.changes.blind_entry(source, container.value, key, name, value)
    return True


def item(interpreter: Interpreter, container: Symbol, key: Symbol) -> Symbol:
    """What `container[key]` is."""
    trace = interpreter.trace
    entry = entry_of(interpreter, container, key)
    if entry is MISSING:
        raise raise_error(KeyError, key_of(interpreter, key))
    if entry is not None:
        return entry
    given, key = trace.look(container), trace.look(key)
    container = unwrapped(trace, given, "__getitem__")
    key = indexes.plain_key(interpreter, container, key)
    match container:
        case Array():
            return indexing.item(trace, container, key)
        case DeviceArray():
            return device_indexing.subscript(trace, container, key)
        case Tuple(items=items) if isinstance(key, Slice):
            chosen = containers.known_slice(interpreter, key)
            is_whole = chosen.indices(len(items)) == (0, len(items), 1)
            return container if is_whole and container is given else Tuple(items[chosen])
        case Tuple(items=items) | List(items=items):
            return _sequence_item(interpreter, container, items, key)
        case Deque(items=members):
            return members[deques.place(interpreter, container, key)]
        case ArrayMethod(self=Array() as array, name="flat"):
            return indexing.flat_item(trace, array, key)
        case ArrayMethod(self=Array() | DeviceArray() as array, name="flags"):
            return flags.flag_item(trace, array, known_value(interpreter, key))
        case Dict(items=entries):
            name = key_of(interpreter, key)
            if name not in entries:
                if special_method(interpreter, given, "__missing__") is not None:
                    return call_special(interpreter, given, "__missing__", (key,))
                raise raise_error(KeyError, name)
            return entries[name]
        case Instance():
            return call_special(interpreter, container, "__getitem__", (key,))
        case Constant(value=type() as kind) if (
            static_lookup(type(kind), "__getitem__") is not ABSENT
        ):
            return call_special(interpreter, container, "__getitem__", (key,))
        case Constant(value=type() as kind) if type(kind) is type:
            return interpreter.call(interpreter.attribute(container, "__class_getitem__"), (key,))
        case Constant(value=str() | bytes() | tuple() | range()) | Range():
            values = [known_value(interpreter, one) for one in (container, key)]
            return pure(operator.getitem, *values)
    raise GraphBreak("operator", f"an item of {described(container)}")


def _sequence_item(interpreter: Interpreter, container: Symbol, items: Any, key: Symbol) -> Symbol:
    trace = interpreter.trace
    if isinstance(key, Slice):
        return List(items[containers.known_slice(interpreter, key)])
    expression = as_size(key)
    if expression is None:
        raise GraphBreak("operator", f"the index {described(key)}")
    name = "tuple" if isinstance(container, Tuple) else "list"
    chosen: Symbol = items[containers.place_of(trace, items, expression, name)]
    return chosen


def store_item(interpreter: Interpreter, container: Symbol, key: Symbol, value: Symbol) -> None:
    """Carry out `container[key] = value`."""
    if _store_unread(interpreter, container, key, value):
        return
    trace = interpreter.trace
    container, key = unwrapped(trace, trace.look(container), "__setitem__"), trace.look(key)
    key = indexes.plain_key(interpreter, container, key)
    match container:
        case Array():
            indexing.store_item(trace, container, key, value)
            return
        case DeviceArray():
            device_indexing.store_item(trace, container, key, value)
            return
        case ArrayMethod(name="flat"):
            indexing.store_flat(trace, container, key, value)
            return
        case List() if isinstance(key, Slice):
            containers.store_slice(interpreter, container, key, value)
            return
        case List():
            _store_in_list(trace, container, key, value)
            return
        case Deque():
            deques.store(interpreter, container, key, value)
            return
        case Dict():
            containers.store_entry(interpreter, container, key, value)
            return
        case Instance():
            call_special(interpreter, container, "__setitem__", (key, value))
            return
    raise GraphBreak("effect", f"storing an item of {described(container)}")


def _store_in_list(trace: Trace, target: List, key: Symbol, value: Symbol) -> None:
    expression = as_size(key)
    if expression is None:
        raise GraphBreak("effect", f"storing into a list at {described(key)}")
    number = containers.place_of(trace, target.items, expression, "list assignment")
    if trace.changes.note(target):
        trace.changes.replaced(target.items[number])
    target.items[number] = value
    if target.source is not None:
        trace.changes.effect("list_set", target, value, what=number % len(target.items))


def delete_item(interpreter: Interpreter, container: Symbol, key: Symbol) -> None:
    """Carry out `del container[key]`."""
    trace = interpreter.trace
    container, key = unwrapped(trace, trace.look(container), "__delitem__"), trace.look(key)
    key = indexes.plain_key(interpreter, container, key)
    match container:
        case List(items=items) if (expression := as_size(key)) is not None:
            number = containers.place_of(trace, items, expression, "list assignment")
            del items[number]
            trace.changes.call(list.__delitem__, container, Constant(number))
            return
        case List() if isinstance(key, Slice):
            containers.delete_slice(interpreter, container, key)
            return
        case Deque():
            deques.delete(interpreter, container, deques.place(interpreter, container, key))
            return
        case Dict(items=entries):
            name = key_of(interpreter, key)
            if name not in entries:
                raise raise_error(KeyError, name)
            containers.delete_entry(trace, container, name)
            return
        case Instance():
            call_special(interpreter, container, "__delitem__", (key,))
            return
    raise GraphBreak("effect", f"deleting an item of {described(container)}")


def contains(interpreter: Interpreter, container: Symbol, member: Symbol) -> bool:
    """What `member in container` is."""
    trace = interpreter.trace
    entry = entry_of(interpreter, container, member)
    if entry is not None:
        return entry is not MISSING
    container = unwrapped(trace, trace.look(container), "__contains__")
    unread, member = member, trace.look(member)
    match container:
        case Tuple(items=items) | List(items=items):
            return any(equal_or_same(interpreter, item, unread) for item in items)
        case Deque(items=items):
            with deques.unchanged(container):
                return any(equal_or_same(interpreter, item, unread) for item in tuple(items))
        case Dict(items=entries) | View(of=Dict(items=entries), kind="keys"):
            return key_of(interpreter, member) in entries
        case View(of=Dict(items=entries), kind="items"):
            return _contains_pair(interpreter, entries, member)
        case View():
            return contains(interpreter, iterate.iterator_over(interpreter, container), member)
        case Set(items=members):
            return key_of(interpreter, member) in members
        case Constant(value=frozenset() as members):
            return key_of(interpreter, member) in members
        case Constant(value=range() | bytes() | str() | tuple()) | Range():
            values = [known_value(interpreter, one) for one in (container, member)]
            found = pure(operator.contains, *values)
            assert isinstance(found, Constant)
            return bool(found.value)
        case Instance():
            return _contains_by_method(interpreter, container, member)
        case Constant(value=type() as kind) if type(kind) is not type:
            return _contains_by_method(interpreter, container, member)
        case Iterator() | Generator():
            while (item := iterate.next_item(interpreter, container)) is not None:
                if equal_or_same(interpreter, item, member):
                    return True
            return False
    raise GraphBreak("operator", f"membership in {described(container)}")


def _contains_pair(interpreter: Interpreter, entries: dict[Any, Symbol], member: Symbol) -> bool:
    """`pair in entries.items()`: the first part is looked up, the second compared."""
    match member:
        case Tuple(items=[key, value]):
            pass
        case Constant(value=tuple() as pair) if len(pair) == 2:
            key, value = map(Constant, pair)
        case Tuple() | Constant():
            return False
        case Instance(kind=kind) if issubclass(kind, tuple):
            raise GraphBreak("operator", f"whether {described(member)} is an item of a dict")
        case _:
            return False
    found = entries.get(key_of(interpreter, key))
    return found is not None and equal_or_same(interpreter, found, value)


def _contains_by_method(interpreter: Interpreter, container: Symbol, member: Symbol) -> bool:
    if special_method(interpreter, container, "__contains__") is not None:
        return truth(interpreter, call_special(interpreter, container, "__contains__", (member,)))
    iterator = iterate.iterator_over(interpreter, container)
    return contains(interpreter, iterator, member)


__all__ = ["MISSING", "contains", "delete_item", "entry_of", "item", "store_item"]
