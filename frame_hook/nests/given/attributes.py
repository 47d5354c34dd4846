"""Attributes of objects and classes from outside of a loop, guarded: what is read of them, and what the loop sets."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.containers import Bound, Thing
from ufuse.frame_hook.nests.known.kinds import NotNativeError, item_kind
from ufuse.frame_hook.nests.known.naming import value_in_words
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.objects.classes import (
    check_place,
    class_member,
    guarded_lookup,
    inner_function,
    is_data_descriptor,
    is_slot,
    own_attribute,
    static_lookup,
    uses_plain,
)
from ufuse.frame_hook.trace.symbols import Symbol, Unread

MADE_ANEW = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)  # when asked for


def of(outside: Outside, thing: Thing, name: str) -> Item | Unread:
    """An attribute of an object, read where no code of the program can run."""
    if not isinstance(thing.value, type) and is_compiled(static_lookup(type(thing.value), name)):
        return _compiled_method(outside, thing, name)
    found = _hook.attribute_value(thing.value, name)
    if type(found) is types.MethodType and found.__self__ is thing.value:
        return _method(outside, thing, name, found)
    if isinstance(found, MADE_ANEW):
        raise refusals.no_method(name, thing)
    if found is _hook.NULL:
        raise refusals.no_attribute(name, thing)
    text = f"{thing.source.text}.{name}"
    return Unread(outside.trace.guards.load("LOAD_ATTR", thing.source, name, text=text), found)


def _method(outside: Outside, thing: Thing, name: str, method: types.MethodType) -> Item:
    on_class, symbol = class_member(outside.trace, type(thing.value), name)
    if type(on_class) is not types.FunctionType or on_class is not method.__func__:
        raise refusals.no_method(name, thing)
    guarded_lookup(outside.trace, type(thing.value), "__getattribute__")
    outside.trace.guards.check("INSTANCE_LACKS", thing.source, name)
    outside.item(symbol)
    return Bound(on_class, thing)


def _compiled_method(outside: Outside, thing: Thing, name: str) -> Item:
    """A method that is compiled by itself, which is read as any other."""
    kind = type(thing.value)
    plain = uses_plain(outside.trace, kind, "__getattribute__", object.__getattribute__)
    if not plain or not _lacks(thing.value, name):
        raise refusals.no_attribute(name, thing)
    on_class, symbol = class_member(outside.trace, kind, name)
    outside.trace.guards.check("INSTANCE_LACKS", thing.source, name)
    return Bound(function_in(outside, on_class, symbol), thing)


def _lacks(value: object, name: str) -> bool:
    try:
        return bool(_hook.own_value(value, name) is _hook.NULL)
    except LookupError:  # the keys of its dict are the program's own objects
        return False


def is_function(value: object) -> bool:
    """Whether a value is a Python function, or one that is compiled."""
    return type(value) is types.FunctionType or is_compiled(value)


def is_compiled(value: object) -> bool:
    """Whether a value is a compiled function; the program's own objects are not asked."""
    return issubclass(type(value), _hook.Dispatcher)


def function_in(outside: Outside, value: Any, symbol: Symbol) -> types.FunctionType:
    """The Python function that a function is, or is made from; guarded."""
    outside.item(symbol)
    found: types.FunctionType = value.__ufuse_function__ if is_compiled(value) else value
    return found


def getter(outside: Outside, thing: Thing, name: str) -> types.FunctionType | None:
    """The function of a property of an object; None where the attribute is none."""
    on_class = static_lookup(type(thing.value), name)
    if type(on_class) is not property or not is_function(on_class.fget):
        return None
    if not uses_plain(
        outside.trace, type(thing.value), "__getattribute__", object.__getattribute__
    ):
        return None
    _, symbol = class_member(outside.trace, type(thing.value), name)
    inner = inner_function(outside.trace, on_class, symbol, "fget")
    return function_in(outside, on_class.fget, inner)


def call_of(outside: Outside, thing: Thing) -> types.FunctionType:
    """The function that runs when an object is called."""
    on_class, symbol = class_member(outside.trace, type(thing.value), "__call__")
    if not is_function(on_class):
        raise NotNativeError("it calls {item}, whose class has no function for that", thing)
    return function_in(outside, on_class, symbol)


def of_class(outside: Outside, owner: type, name: str) -> Item | Unread:
    """An attribute of a class."""
    thing = outside.attributes.classes.get(id(owner))
    if thing is None:
        raise NotNativeError(f"the attribute {name} of a class is not compiled yet")
    return of(outside, thing, name)


def settable(outside: Outside, thing: Thing, name: str, *, is_wide: bool) -> tuple[int, bool]:
    """The register of an attribute that the loop sets, and whether that is an array: else it is a number.

    Raises:
        NotNativeError: it is neither.

    """
    known, key = outside.attributes, (thing.source.register, name)
    if key in known.numbers:
        return known.numbers[key], False
    if key in known.arrays:
        return known.arrays[key], True
    own = _own(outside, thing, name)
    outside.trace.changes.note(known.instances[thing.source.register])
    if own is not None and item_kind(own.value) is not None:
        known.numbers[key] = outside.number(own, is_wide=is_wide)
        return known.numbers[key], False
    if own is not None and type(own.value) is np.ndarray:
        known.arrays[key] = outside.array(own.source, own.value).slot
        return known.arrays[key], True
    text = f"{thing.source.text}.{name}"
    what = "not set yet" if own is None else value_in_words(own.value)
    raise NotNativeError(
        f"it sets the attribute {text}, which is {what}, and neither a number nor an array",
        later=own is None or own.value is None,
    )


def is_set_already(outside: Outside, thing: Thing, name: str, register: int) -> bool:
    """Whether an attribute is the array in a register, so that setting it to that changes nothing."""
    found = of(outside, thing, name)
    if not isinstance(found, Unread) or found.source.register != register:
        return False
    own = _own(outside, thing, name)
    return own is not None and own.value is found.value


def _own(outside: Outside, thing: Thing, name: str) -> Unread | None:
    """What an object itself has under a name that is set there, guarded; None: nothing."""
    symbol, kind = outside.attributes.instances.get(thing.source.register), type(thing.value)
    is_plain = symbol is not None and uses_plain(
        outside.trace, kind, "__setattr__", object.__setattr__
    )
    if symbol is None or not is_plain:
        raise refusals.no_setting(name, thing)
    found, member = class_member(outside.trace, kind, name)
    check_place(outside.trace, kind, name, found, member)
    if not is_slot(found) and is_data_descriptor(outside.trace, found, member):
        raise refusals.no_setting(name, thing)
    own = own_attribute(outside.trace, symbol, name, found)
    return own if isinstance(own, Unread) else None
