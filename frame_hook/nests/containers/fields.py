"""What loops read of objects and dicts from outside, and the attributes that they set.

A number there lies in a slot of the nest, as a local of the frame does: the next call may bring another. Where the loop
sets it, it keeps the type with which the loop begins, and the ending puts it back into its object. Whole numbers and
bools that no loop sets are constants, as a program often decides by them, until they were seen to change.

An attribute that is bound to other arrays, as in `self.old, self.new = self.new, self.old`, is one more variable of
whichever function is being read, in a slot below zero; there is none while it is the array with which the loop began.
"""

from __future__ import annotations

import numpy as np

from ufuse.frame_hook.nests.arrays import views
from ufuse.frame_hook.nests.containers import characters, keeping, object_lists, tuples
from ufuse.frame_hook.nests.given import attributes, keyed
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Member, Part
from ufuse.frame_hook.nests.known.containers import Entries, Thing
from ufuse.frame_hook.nests.known.kinds import (
    EITHER_KINDS,
    TYPES,
    ArrayKind,
    NotNativeError,
    TemporaryKind,
    ViewKind,
    item_kind,
)
from ufuse.frame_hook.nests.known.numbers import Character, Known, Number
from ufuse.frame_hook.nests.known.tries import FieldError
from ufuse.frame_hook.nests.known.values import MOST_MEMBERS, EntriesView, Item, Items, Method
from ufuse.frame_hook.nests.numbers import arithmetic, conversions, either
from ufuse.frame_hook.nests.reading.operations import (
    ATTRIBUTE,
    CONTAINS,
    ELEMENT,
    LENGTH,
    STORE,
    method_of,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.trace.followed import is_key
from ufuse.frame_hook.trace.symbols import Symbol, Unread
from ufuse.graph.nest_types import I1, I64

METHODS = ("get", "items", "keys", "values")
NOT_KEYED = "it changes a dict that is not known to have ints, or pairs of them, as keys of numbers of one type"
MOST_ENTRIES = 64  # of a dict that is gone over


@ATTRIBUTE.of(Thing, Member)
def attribute(reader: Reader, owner: Thing | Member, name: str) -> Item:
    """`owner.name`."""
    if isinstance(owner, Member):
        return taken(reader, object_lists.attribute(reader, owner, name))
    text = f"{owner.source.text}.{name}"
    if text not in reader.tries.fields:
        return taken(reader, attributes.of(reader.outside, owner, name))
    register, is_array = _field(reader, owner, name)
    if not is_array:
        return around(reader, register)
    reader.used.add(register)
    kind = reader.slots.get(array_slot(register), ArrayKind(register))
    return keeping.kept(reader, text, kind)


@ELEMENT.of(Entries)
def entry(reader: Reader, container: Entries, key: Item) -> Item:
    """`container[key]`."""
    key = characters.known(reader, key)
    if not isinstance(key, Known):
        return _chosen(reader, container, key)
    found = _found(container, key)
    if found is None:
        reader.go_to_doubt()
        return Known(None)
    return taken(reader, found)


def _chosen(reader: Reader, container: Entries, key: Item) -> Item:
    """What a dict has under a computed whole number, or a character: each of its keys is compared; a doubt without."""
    out, found = reader.out, container.found
    if isinstance(key, Number | Items):
        keyed.ask_for(container)
    if not 1 <= len(found) <= MOST_MEMBERS:
        raise NotNativeError("it looks up a computed key in a dict that is empty or large")
    place = out.constant(I64, -1)
    for i, one in enumerate(found):
        if isinstance(key, Character):
            same = characters.compare(out, "eq", key, Known(one))
        elif type(one) is int and isinstance(key, Number) and key.type.is_whole:
            same = arithmetic.compare_truth(out, "eq", key, Known(one))
        else:
            raise NotNativeError("it looks up a computed key in a dict of other keys")
        if isinstance(same, Number):
            place = out.op("select", I64, same.value, out.constant(I64, i), place)
    out.doubt_if(out.op("ilt", I1, place, out.constant(I64, 0)))
    return tuples.chosen(reader, tuple(taken(reader, one) for one in found.values()), place)


@CONTAINS.of(Entries)
def contains(_: Reader, container: Entries, key: Item) -> Known:
    """`key in container`."""
    if not isinstance(key, Known):
        keyed.ask_for(container)
    return Known(_found(container, key) is not None)


@method_of(Entries)
def called_method(reader: Reader, container: Entries, name: str, arguments: list[Item]) -> Item:
    """The result of a method of a dict."""
    arguments = [characters.known(reader, one) for one in arguments]
    entries = container.found
    if name not in METHODS or (arguments and not isinstance(arguments[0], Known)):
        keyed.ask_for(container)
    if name == "get" and 1 <= len(arguments) <= 2:
        found = _found(container, arguments[0])
        return taken(reader, found) if found is not None else [*arguments, Known(None)][1]
    if arguments or name not in METHODS:
        raise refusals.no_method(name, container)
    if len(entries) > MOST_ENTRIES:
        raise NotNativeError("it goes over a dict of many entries")
    keys = [Known(key) for key in entries]
    if name == "keys":
        return EntriesView(Items(tuple(keys)))
    values = [taken(reader, one) for one in entries.values()]
    if name == "values":
        return EntriesView(Items(tuple(values)))
    pairs = (Items(pair) for pair in zip(keys, values, strict=True))
    return EntriesView(Items(tuple(pairs)))


@ATTRIBUTE.of(Entries)
def _method(_: Reader, owner: Entries, name: str) -> Method:
    return Method(owner, name)


@LENGTH.of(Entries)
def length(_: Reader, container: Entries) -> Known:
    """`len(container)`."""
    return Known(len(container.found))


@STORE.of(Entries, Thing)
def refuse_entry(_: Reader, container: Entries | Thing, __: Item, ___: Item) -> None:
    """Refuse to change a dict of known entries; one of computed keys is read anew.

    Raises:
        NotNativeError: it is no dict of computed keys.
        KeyedError: it may be one.

    """
    if isinstance(container, Entries):
        keyed.ask_for(container)
    is_dict = isinstance(container.value, dict)
    raise NotNativeError(NOT_KEYED if is_dict else "it stores into {item}", container)


def members(item: Item) -> Item:
    """What a view of a dict goes over; anything else as it is."""
    return item.members if isinstance(item, EntriesView) else item


def store(reader: Reader, owner: Item, name: str, item: Item) -> None:
    """`owner.name = item`."""
    if isinstance(owner, Member):
        object_lists.store(reader, owner, name, item)
        return
    if not isinstance(owner, Thing):
        raise NotNativeError(f"it sets the attribute {name} of what is not followed")
    text = f"{owner.source.text}.{name}"
    if text not in reader.tries.fields:
        if isinstance(item, Array) and not item.indices and isinstance(item.holder, ArrayKind):
            if attributes.is_set_already(reader.outside, owner, name, item.holder.slot):
                return  # as by `o.u += x`
        raise FieldError(text, is_wide=False)
    register, is_array = _field(reader, owner, name)
    reader.used.add(register)
    if is_array is not isinstance(item, Array | Part | Lazy):
        raise NotNativeError(f"{text} changes its type", later=True)
    if is_array:
        _bind(reader, register, text, item)
    else:
        _set(reader, register, text, item)


def array_slot(register: int) -> int:
    """Where the function that is being read has an attribute that is an array."""
    return -1 - register


def _field(reader: Reader, owner: Thing, name: str) -> tuple[int, bool]:
    is_wide = f"{owner.source.text}.{name}" in reader.tries.wide
    return attributes.settable(reader.outside, owner, name, is_wide=is_wide)


def _bind(reader: Reader, register: int, text: str, item: Item) -> None:
    """Give an attribute another array."""
    slot = array_slot(register)
    if isinstance(item, Part) or (isinstance(item, Array) and item.indices):
        item = views.bindable(reader, item, text)
        reader.viewed.add(register)
    reader.memory.overwritten = slot, item
    kind = keeping.keep(reader, text, item)
    assert isinstance(kind, ArrayKind | TemporaryKind | ViewKind)
    reader.memory.overwritten = None
    views.give_back_array(reader, reader.outside.text(register), kind)
    if kind == ArrayKind(register):
        reader.slots.pop(slot, None)
    else:
        reader.slots[slot] = kind


def _set(reader: Reader, register: int, text: str, item: Item) -> None:
    """Give an attribute another number."""
    variable, kind = reader.outside.numbers_around[register]
    out, one = reader.out, conversions.number(reader.out, item)
    if one.type.kind != kind.kind:
        raise NotNativeError(f"{text} changes its type", later=True)
    if either.is_either(kind):
        out.set(f"{variable}.numpy", either.tag(out, one))
    elif either.is_either(one) or one.type != kind:
        if kind.kind not in EITHER_KINDS:
            raise NotNativeError(f"{text} changes its type", later=True)
        raise FieldError(text, is_wide=True)
    out.set(variable, one.value)


def taken(reader: Reader, found: Item | Symbol) -> Item:
    """What was found outside."""
    if isinstance(found, Item):
        return found
    if isinstance(found, Unread) and _is_slot(found, reader.tries.dynamic):
        return around(reader, reader.outside.number(found))
    return reader.outside.item(found)


def around(reader: Reader, register: int) -> Number:
    """A number from outside that lies in a slot."""
    reader.used.add(register)
    name, kind = reader.outside.numbers_around[register]
    tag = reader.out.get(f"{name}.numpy", I1) if either.is_either(kind) else None
    return Number(kind, reader.out.get(name, TYPES[kind.kind]), tag)


def _is_slot(symbol: Unread, dynamic: frozenset[str]) -> bool:
    """Whether a number from outside is no constant."""
    if item_kind(symbol.value) is None:
        return False
    return symbol.source.text in dynamic or isinstance(symbol.value, float | np.generic)


def _found(container: Entries, key: Item) -> Symbol | None:
    if not isinstance(key, Known) or not is_key(key.value):
        raise NotNativeError("it looks up a computed key in a dict")
    return container.found.get(key.value)
