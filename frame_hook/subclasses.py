"""`isinstance` and `issubclass` on symbols: by bases, by a metaclass's own check, by abstract classes' registers."""

from __future__ import annotations

import abc
import types
from collections.abc import Iterator

from ufuse.frame_hook import operators
from ufuse.frame_hook.classes import (
    PLAIN_GETATTRIBUTE,
    class_member,
    guard_bases,
    mro,
    static_lookup,
    uses_plain,
)
from ufuse.frame_hook.interpret import Interpreter, raise_error
from ufuse.frame_hook.known import described
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import Constant, Instance, Symbol, Tuple, class_of

# Modules whose `__subclasshook__`s look at nothing but the class they are asked about.
OWN_HOOKS = frozenset(
    {"abc", "collections.abc", "_collections_abc", "contextlib", "io", "numbers", "os", "typing"}
)
CHECKS = {"__instancecheck__": "isinstance", "__subclasscheck__": "issubclass"}


def is_instance(interpreter: Interpreter, symbol: Symbol, kind: type, wanted: Symbol) -> bool:
    """What `isinstance(symbol, wanted)` is, for an object of class `kind`."""
    symbol = interpreter.trace.look(symbol)
    for one in _wanted(interpreter, wanted):
        if kind is one or _passes(interpreter, "__instancecheck__", one, symbol, kind):
            return True
    return False


def is_subclass(interpreter: Interpreter, symbol: Symbol, wanted: Symbol) -> bool:
    """What `issubclass(symbol, wanted)` is."""
    symbol = interpreter.trace.look(symbol)
    kind = class_of(symbol)
    if kind is None:
        raise raise_error(TypeError, "issubclass() arg 1 must be a class")
    return any(
        _passes(interpreter, "__subclasscheck__", one, symbol, kind)
        for one in _wanted(interpreter, wanted)
    )


def _wanted(interpreter: Interpreter, wanted: Symbol) -> Iterator[type]:
    """The classes that are asked for, in order."""
    wanted = interpreter.trace.look(wanted)
    kind = class_of(wanted)
    if kind is not None:
        yield kind
    elif isinstance(wanted, Tuple):
        for item in wanted.items:
            yield from _wanted(interpreter, item)
    elif isinstance(wanted, Constant) and isinstance(wanted.value, types.UnionType):
        for one in wanted.value.__args__:
            yield from _wanted(interpreter, Constant(one))
    else:
        raise GraphBreak("call", f"isinstance of {described(wanted)}")


def _passes(interpreter: Interpreter, check: str, wanted: type, symbol: Symbol, kind: type) -> bool:
    """Whether one class lets an object, or a class, pass."""
    trace, meta = interpreter.trace, type(wanted)
    found, function = class_member(trace, meta, check)
    if found is vars(type)[check]:
        return _inherits(interpreter, check, wanted, symbol, kind)
    if found is vars(abc.ABCMeta)[check] and _checks_as_abstract(interpreter, meta):
        return _inherits(interpreter, check, wanted, symbol, kind) or _is_registered(
            interpreter, wanted, kind
        )
    if not isinstance(found, types.FunctionType):
        raise GraphBreak("call", f"{CHECKS[check]} of {wanted.__name__}")
    return operators.truth(interpreter, interpreter.call(function, (Constant(wanted), symbol)))


def _inherits(
    interpreter: Interpreter, check: str, wanted: type, symbol: Symbol, kind: type
) -> bool:
    guard_bases(interpreter.trace, kind)
    if any(one is wanted for one in mro(kind)):
        return True
    if check == "__instancecheck__" and isinstance(symbol, Instance):
        _refuse_pretending(interpreter, kind)
    return False


def _refuse_pretending(interpreter: Interpreter, kind: type) -> None:
    """Break where `__class__` of an object may be something other than its class."""
    trace = interpreter.trace
    named, looked_up = static_lookup(kind, "__class__"), static_lookup(kind, "__getattribute__")
    honest = named is vars(object)["__class__"] and looked_up in PLAIN_GETATTRIBUTE
    if not honest or not uses_plain(trace, kind, "__class__", named):
        raise GraphBreak("attribute", f"__class__ of a {kind.__name__}")
    uses_plain(trace, kind, "__getattribute__", looked_up)


def _checks_as_abstract(interpreter: Interpreter, meta: type) -> bool:
    return all(
        class_member(interpreter.trace, meta, name)[0] is vars(abc.ABCMeta)[name] for name in CHECKS
    )


def _is_registered(interpreter: Interpreter, wanted: type, kind: type) -> bool:
    """Whether an abstract class counts a class that does not inherit from it as its own.

    `abc` itself never forgets that it said yes, and asks again after a no only when something was registered.
    """
    for one in _below(wanted, set()):
        hook = static_lookup(one, "__subclasshook__")
        module = getattr(getattr(hook, "__func__", None), "__module__", None)
        if hook is not vars(object)["__subclasshook__"] and module not in OWN_HOOKS:
            raise GraphBreak(
                "call", f"isinstance of {wanted.__name__}, which has a __subclasshook__,"
            )
    if issubclass(kind, wanted):
        return True
    trace = interpreter.trace
    text = f"a class was registered, perhaps with {wanted.__name__}"
    trace.guards.check("ABC_TOKEN", abc.get_cache_token(), text=text, source=wanted.__name__)
    return False


def _below(kind: type, seen: set[type]) -> Iterator[type]:
    """A class and all that inherit from it."""
    if kind not in seen:
        seen.add(kind)
        yield kind
        below: list[type] = type.__subclasses__(kind)
        for one in below:
            yield from _below(one, seen)


__all__ = ["is_instance", "is_subclass"]
