"""Handlers of `match`: what its patterns ask of a value."""

from __future__ import annotations

import abc

from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.library.introspection import python_type
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import key_of
from ufuse.frame_hook.operations import arithmetic
from ufuse.frame_hook.operations.attributes import attribute
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Dict, Instance, Symbol, Tuple, class_of

Pair = tuple[Symbol, Symbol]
IS_SEQUENCE, IS_MAPPING = 1 << 5, 1 << 6  # flags of types: Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING
MATCHES_ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


@handles("GET_LEN", "subject -- subject length")
def get_len(interpreter: Interpreter, _: int, subject: Symbol) -> Pair:
    return subject, arithmetic.length(interpreter, subject)


@handles("MATCH_SEQUENCE", "subject -- subject matches")
def match_sequence(interpreter: Interpreter, _: int, subject: Symbol) -> Pair:
    return subject, Constant(_has_flag(interpreter, subject, IS_SEQUENCE))


@handles("MATCH_MAPPING", "subject -- subject matches")
def match_mapping(interpreter: Interpreter, _: int, subject: Symbol) -> Pair:
    return subject, Constant(_has_flag(interpreter, subject, IS_MAPPING))


def _has_flag(interpreter: Interpreter, subject: Symbol, flag: int) -> bool:
    """Whether the class of a value has a flag, which it may yet get by being registered with an abstract class."""
    kind = python_type(interpreter, subject)
    has = bool(kind.__flags__ & flag)
    if not has and classes.is_changeable(kind):
        interpreter.trace.guards.check("ABC_TOKEN", abc.get_cache_token(), fields=(kind,))
    return has


@handles("MATCH_KEYS", "-- values")
def match_keys(interpreter: Interpreter, _: int) -> Symbol:
    look, stack = interpreter.trace.look, interpreter.frame.stack
    subject, keys = look(stack[-2]), look(stack[-1])
    if not isinstance(keys, Tuple) or not isinstance(subject, Dict):
        raise GraphBreak("opcode", "MATCH_KEYS")
    wanted = [key_of(interpreter, key) for key in keys.items]
    if len(set(wanted)) != len(wanted):
        raise GraphBreak("eager-raises", "ValueError: a mapping pattern checks a key twice")
    if not all(key in subject.items for key in wanted):
        return Constant(None)
    return Tuple(tuple(subject.items[key] for key in wanted))


@handles("MATCH_CLASS", "subject class names -- attributes")
def match_class(interpreter: Interpreter, count: int, *taken: Symbol) -> Symbol:
    look = interpreter.trace.look
    subject, wanted, names = map(look, taken)
    kind = class_of(wanted)
    if kind is None or not isinstance(names, Tuple):
        raise GraphBreak("opcode", "MATCH_CLASS")
    is_one = look(interpreter.call(Constant(isinstance), (subject, wanted)))
    if not isinstance(is_one, Constant) or not is_one.value:
        return Constant(None)
    try:
        return Tuple(tuple(_matched(interpreter, subject, kind, count, names)))
    except Raised as raised:
        symbol = raised.symbol
        if not isinstance(symbol, Instance) or not issubclass(symbol.kind, AttributeError):
            raise
        return Constant(None)


def _matched(
    interpreter: Interpreter, subject: Symbol, kind: type, count: int, names: Tuple
) -> list[Symbol]:
    """The attributes that a class pattern asks for: the first ones by `__match_args__`, then those by name."""
    attributes = [key_of(interpreter, name) for name in names.items]
    if not count:
        return [attribute(interpreter, subject, name) for name in attributes]
    if (
        kind in MATCHES_ITSELF
        and count == 1
        and classes.static_lookup(kind, "__match_args__") is classes.ABSENT
    ):
        return [subject, *(attribute(interpreter, subject, name) for name in attributes)]
    try:
        given = classes.class_attribute(interpreter, kind, "__match_args__")
    except Raised:
        given = Constant(None)
    listed = interpreter.trace.look(given)
    if not isinstance(listed, Tuple) or len(listed.items) < count:
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}() takes fewer sub-patterns")
    first = [key_of(interpreter, name) for name in listed.items[:count]]
    if any(type(name) is not str for name in first):
        raise GraphBreak("eager-raises", "TypeError: __match_args__ elements must be strings")
    if len({*first, *attributes}) != len(first) + len(attributes):
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}() got a sub-pattern twice")
    return [attribute(interpreter, subject, name) for name in (*first, *attributes)]
