"""`isinstance` and `issubclass` on symbols: by bases, by the methods of a metaclass, by ABCMeta."""

from __future__ import annotations

import abc
import types
from collections.abc import Iterator
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.objects.classes import (
    ABSENT,
    PLAIN_GETATTRIBUTE,
    bound_member,
    class_member,
    guard_bases,
    guard_member,
    inherits,
    static_lookup,
    uses_plain,
)
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, Opaque, Symbol, Tuple, class_of
from ufuse.frame_hook.trace.trace import Trace

# Modules whose `__subclasshook__`s depend on nothing but the class they are given.
OWN_HOOKS = frozenset(
    {"abc", "collections.abc", "_collections_abc", "contextlib", "io", "numbers", "os", "typing"}
)
CHECKS = {"__instancecheck__": "isinstance", "__subclasscheck__": "issubclass"}
# What the metaclass of a checked class must inherit, for that to be found in ABCMeta's WeakSets without user code.
FOUND_AS_KEY = {"__getattribute__": type, "__hash__": object, "__eq__": object}
# What the metaclass of an abstract class must inherit, for ABCMeta to run none of its code.
ASKED_AS_ABC = {"__getattribute__": type, "__subclasshook__": object, "__subclasses__": type}
# Of an abstract class: its registry, positive cache, negative cache, and the cache token the last is valid for.
_dump: Any = abc._get_dump  # type: ignore[attr-defined]


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
    """What `__instancecheck__` or `__subclasscheck__` of one class says of an object or a class."""
    trace, meta = interpreter.trace, type(wanted)
    found, function = class_member(trace, meta, check)
    if found is vars(type)[check]:
        guard_member(trace, found, function)
        return _inherits(interpreter, check, wanted, symbol, kind)
    if found is vars(abc.ABCMeta)[check] and _checks_as_abstract(trace, meta):
        if check == "__instancecheck__" and isinstance(symbol, Instance | Opaque):
            _refuse_pretending(interpreter, kind)
        return _counts_as(interpreter, wanted, kind)
    if type(found) not in (types.FunctionType, classmethod, staticmethod):
        raise GraphBreak("call", f"{CHECKS[check]} of {wanted.__name__}")
    bound = bound_member(interpreter, found, function, Constant(wanted), meta)
    answer = interpreter.call(bound, (symbol,))
    truth = interpreter.call(Constant(bool), (answer,))
    assert isinstance(truth, Constant)
    return bool(truth.value)


def _inherits(
    interpreter: Interpreter, check: str, wanted: type, symbol: Symbol, kind: type
) -> bool:
    guard_bases(interpreter.trace, kind)
    if inherits(kind, wanted):
        return True
    if check == "__instancecheck__" and isinstance(symbol, Instance | Opaque):
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


def _checks_as_abstract(trace: Trace, meta: type) -> bool:
    return all(uses_plain(trace, meta, name, vars(abc.ABCMeta)[name]) for name in CHECKS)


# ABCMeta.__subclasscheck__ ---------------------------------------------------------------------------------------


def _counts_as(interpreter: Interpreter, wanted: type, kind: type) -> bool:
    """Whether an abstract class counts a class as its own, guarded as far as that can change.

    ABCMeta caches a yes for good; a no, until a class is registered somewhere, which changes the cache token.
    """
    trace = interpreter.trace
    if not _inherits_all(type(kind), FOUND_AS_KEY):
        raise GraphBreak("call", f"isinstance of {wanted.__name__} and {kind.__name__}")
    if _remembered(wanted, kind) is None:
        if trace.changes.writes_classes:
            raise GraphBreak("call", f"isinstance of {wanted.__name__} behind a changed class")
        _asked(wanted, kind)
    if issubclass(kind, wanted):  # nothing of the user's runs
        return True
    trace.guards.check("ABC_TOKEN", abc.get_cache_token(), fields=(wanted,))
    return False


def _asked(wanted: type, kind: type) -> bool:
    """What ABCMeta finds out about a class, in its order; a break where that runs code of the user's."""
    known = _remembered(wanted, kind)
    if known is not None:
        return known
    said = _said_by_hook(wanted, kind)
    if said is not NotImplemented:
        return bool(said)
    if inherits(kind, wanted):
        return True
    registered = [reference() for reference in _dump(wanted)[0]]
    answers = [one is not None and _counts_nested(one, kind) for one in registered]
    if any(answers):  # ABCMeta stops at the first yes; a set has no order, so each is asked here
        return True
    below: list[type] = type.__subclasses__(wanted)
    return any(_counts_nested(one, kind) for one in below)


def _counts_nested(wanted: type, kind: type) -> bool:
    """`issubclass` inside the check of another class, which asks its registered classes and its subclasses."""
    check = static_lookup(type(wanted), "__subclasscheck__")
    if check is vars(type)["__subclasscheck__"]:
        return inherits(kind, wanted)
    if check is vars(abc.ABCMeta)["__subclasscheck__"] or _is_own(check):
        return _asked(wanted, kind)
    raise GraphBreak("call", f"issubclass of {wanted.__name__}")


def _remembered(wanted: type, kind: type) -> bool | None:
    """What is in the caches of an abstract class; None if nothing that is still valid."""
    _, accepted, refused, version = _dump(wanted)
    if any(reference() is kind for reference in accepted):
        return True
    if version == abc.get_cache_token() and any(reference() is kind for reference in refused):
        return False
    return None


def _said_by_hook(wanted: type, kind: type) -> Any:
    """What `__subclasshook__` says, if it is none of the user's."""
    odd = f"isinstance of {wanted.__name__}, which has a __subclasshook__,"
    hook = static_lookup(wanted, "__subclasshook__")
    own = [static_lookup(wanted, name) for name in ("__subclasses__", "__subclasscheck__")]
    if not _inherits_all(type(wanted), ASKED_AS_ABC) or any(one is not ABSENT for one in own):
        raise GraphBreak("call", odd)
    if hook is vars(object)["__subclasshook__"]:
        return NotImplemented
    if not _is_own(hook.__func__ if type(hook) is classmethod else hook):
        raise GraphBreak("call", odd)
    return hook.__get__(None, wanted)(kind)


def _is_own(function: Any) -> bool:
    """Whether it is a function of one of `OWN_HOOKS`."""
    return (
        isinstance(function, types.FunctionType)
        and function.__globals__.get("__name__") in OWN_HOOKS
    )


def _inherits_all(meta: type, names: dict[str, type]) -> bool:
    """Whether a metaclass overrides none of these methods of C types."""
    return all(static_lookup(meta, name) is vars(base)[name] for name, base in names.items())


__all__ = ["is_instance", "is_subclass"]
