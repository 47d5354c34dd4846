"""Handlers of the opcodes that build and fill containers, slices and strings, and of those that unpack sequences."""

from __future__ import annotations

from typing import Any, TypeVar

from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.library.introspection import python_type
from ufuse.frame_hook.library.text import joined
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import described, key_of
from ufuse.frame_hook.operations import arithmetic, containers, iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Dict,
    Instance,
    List,
    Number,
    Set,
    Slice,
    Symbol,
    Tuple,
)

Container = TypeVar("Container", List, Dict, Set)
CONVERSIONS: dict[int, Any] = {1: str, 2: repr, 3: ascii}
NO_SPEC, NONE = Constant(""), Constant(None)


# Containers and slices -------------------------------------------------------------------------------------------


@handles("BUILD_TUPLE", "items* -- tuple")
def build_tuple(_: Interpreter, __: int, *items: Symbol) -> Symbol:
    return Tuple(items)


@handles("BUILD_LIST", "items* -- list")
def build_list(_: Interpreter, __: int, *items: Symbol) -> Symbol:
    return List([*items])


@handles("BUILD_SET", "members* -- set")
def build_set(interpreter: Interpreter, _: int, *members: Symbol) -> Symbol:
    made = containers.set_of(interpreter, None)
    for member in members:
        containers.add(interpreter, made, member)
    return made


@handles("BUILD_MAP", "entries*2 -- dict")
def build_map(interpreter: Interpreter, _: int, *entries: Symbol) -> Symbol:
    keys = [key_of(interpreter, key) for key in entries[::2]]
    return Dict(dict(zip(keys, entries[1::2], strict=True)))


@handles("BUILD_CONST_KEY_MAP", "values* keys -- dict")
def build_const_key_map(interpreter: Interpreter, _: int, *values_and_keys: Symbol) -> Symbol:
    *values, last = values_and_keys
    keys = interpreter.trace.look(last)
    assert isinstance(keys, Tuple)
    return Dict(dict(zip((key_of(interpreter, k) for k in keys.items), values, strict=True)))


@handles("BUILD_SLICE", "start stop step?1 -- slice")
def build_slice(
    _: Interpreter, __: int, start: Symbol, stop: Symbol, step: Symbol = NONE
) -> Symbol:
    return Slice(start, stop, step)


def _begun(
    interpreter: Interpreter, place: int, kind: type[Container], otherwise: str
) -> Container:
    """The container that a display or comprehension fills; one begun before this trace is left to plain Python."""
    target = interpreter.frame.stack[-place]
    if not isinstance(target, kind) or target.source is not None:
        raise GraphBreak("effect", otherwise)
    return target


def _begun_list(interpreter: Interpreter, place: int) -> List:
    return _begun(interpreter, place, List, "a list that was begun before")


def _begun_set(interpreter: Interpreter, place: int) -> Set:
    return _begun(interpreter, place, Set, "adding to a set")


def _begun_dict(interpreter: Interpreter, place: int) -> Dict:
    return _begun(interpreter, place, Dict, "a dict that was begun before")


@handles("LIST_APPEND", "item --")
def list_append(interpreter: Interpreter, place: int, item: Symbol) -> None:
    _begun_list(interpreter, place).items.append(item)


@handles("LIST_EXTEND", "more --")
def list_extend(interpreter: Interpreter, place: int, more: Symbol) -> None:
    containers.extend(interpreter, _begun_list(interpreter, place), more)


@handles("SET_ADD", "member --")
def set_add(interpreter: Interpreter, place: int, member: Symbol) -> None:
    containers.add(interpreter, _begun_set(interpreter, place), member)


@handles("SET_UPDATE", "more --")
def set_update(interpreter: Interpreter, place: int, more: Symbol) -> None:
    containers.update_set(interpreter, _begun_set(interpreter, place), "update", more)


@handles("MAP_ADD", "key value --")
def map_add(interpreter: Interpreter, place: int, key: Symbol, value: Symbol) -> None:
    target = _begun_dict(interpreter, place)
    target.items[key_of(interpreter, key)] = value


@handles("DICT_UPDATE", "more --")
def dict_update(interpreter: Interpreter, place: int, more: Symbol) -> None:
    target = _begun_dict(interpreter, place)
    containers.update(interpreter, target, _entries(interpreter, more))


@handles("DICT_MERGE", "keywords --")
def dict_merge(interpreter: Interpreter, place: int, keywords: Symbol) -> None:
    target, more = _begun_dict(interpreter, place), _entries(interpreter, keywords)
    if target.items.keys() & more.items.keys():
        raise GraphBreak("eager-raises", "TypeError: a keyword argument is given twice")
    containers.update(interpreter, target, more)


def _entries(interpreter: Interpreter, more: Symbol) -> Dict:
    """The dict whose entries are added to another."""
    found = interpreter.trace.look(more)
    found = unwrapped(interpreter.trace, found, "keys", "__getitem__", "__iter__")
    if not isinstance(found, Dict):
        raise GraphBreak("effect", f"updating a dict with {described(found)}")
    return found


@handles("LIST_TO_TUPLE", "list -- tuple")
def list_to_tuple(interpreter: Interpreter, _: int, symbol: Symbol) -> Symbol:
    target = interpreter.trace.look(symbol)
    assert isinstance(target, List)
    return Tuple(tuple(target.items))


@handles("CALL_INTRINSIC_1", "value -- result")
def call_intrinsic(interpreter: Interpreter, function: int, value: Symbol) -> Symbol:
    match function:
        case 3:  # a StopIteration in a generator becomes a RuntimeError
            if isinstance(value, Instance) and not issubclass(value.kind, StopIteration):
                return value
        case 5:
            return arithmetic.unary(interpreter, "pos", value)
        case 6:
            return list_to_tuple(interpreter, function, value)
    raise GraphBreak("opcode", "CALL_INTRINSIC_1")


# Strings ---------------------------------------------------------------------------------------------------------


@handles("BUILD_STRING", "parts* -- text")
def build_string(_: Interpreter, __: int, *parts: Symbol) -> Symbol:
    return joined([*parts])


@handles("CONVERT_VALUE", "value -- text")
def convert_value(interpreter: Interpreter, conversion: int, value: Symbol) -> Symbol:
    return interpreter.call(Constant(CONVERSIONS[conversion]), (value,))


@handles("FORMAT_SIMPLE", "value -- text")
@handles("FORMAT_WITH_SPEC", "value spec -- text")
def format_with_spec(
    interpreter: Interpreter, _: int, value: Symbol, spec: Symbol = NO_SPEC
) -> Symbol:
    symbol, known = interpreter.trace.look(value), interpreter.trace.number_examples
    if isinstance(symbol, Array) or (isinstance(symbol, Number) and symbol.node not in known):
        raise GraphBreak("opcode", "an f-string")
    return interpreter.call(Constant(format), (value, spec))


@handles("FORMAT_VALUE", "value spec?4 -- text")
def format_value(
    interpreter: Interpreter, arg: int, value: Symbol, spec: Symbol = NO_SPEC
) -> Symbol:
    if arg & 3:
        value = convert_value(interpreter, arg & 3, value)
    return format_with_spec(interpreter, arg, value, spec)


# Unpacking -------------------------------------------------------------------------------------------------------


@handles("UNPACK_SEQUENCE", "sequence -- items*")
def unpack_sequence(interpreter: Interpreter, count: int, sequence: Symbol) -> tuple[Symbol, ...]:
    given = interpreter.trace.look(sequence)
    return tuple(reversed(_unpacked(interpreter, given, count)))


def _unpacked(interpreter: Interpreter, given: Symbol, count: int) -> list[Symbol]:
    """So many items and no more: one more is asked for than there should be."""
    if isinstance(given, List | Tuple) and len(given.items) == count:
        return list(given.items)
    _refuse_scalar(interpreter, given)
    iterator = iterate.iterator_over(interpreter, given)
    items = _first_items(interpreter, iterator, count, f"expected {count}")
    if iterate.next_item(interpreter, iterator) is not None:
        if VERSION >= (3, 14) and isinstance(given, List | Tuple | Dict):
            text = f"too many values to unpack (expected {count}, got {len(given.items)})"
            raise raise_error(ValueError, text)
        raise raise_error(ValueError, f"too many values to unpack (expected {count})")
    return items


def _first_items(
    interpreter: Interpreter, iterator: Symbol, count: int, expected: str
) -> list[Symbol]:
    items: list[Symbol] = []
    while len(items) < count:
        item = iterate.next_item(interpreter, iterator)
        if item is None:
            text = f"not enough values to unpack ({expected}, got {len(items)})"
            raise raise_error(ValueError, text)
        items.append(item)
    return items


def _refuse_scalar(interpreter: Interpreter, given: Symbol) -> None:
    kind = python_type(interpreter, given)
    if kind in (int, float, complex, bool, type(None)):
        raise raise_error(TypeError, f"cannot unpack non-iterable {kind.__name__} object")


# The argument's high byte, of those behind the starred one, is 0 in most programs: the effect leaves it out.
@handles("UNPACK_EX", "sequence -- rest items*")
def unpack_ex(interpreter: Interpreter, arg: int, sequence: Symbol) -> tuple[Symbol, ...]:
    before, after = arg & 255, arg >> 8
    given = interpreter.trace.look(sequence)
    _refuse_scalar(interpreter, given)
    iterator = iterate.iterator_over(interpreter, given)
    expected = f"expected at least {before + after}" if after else f"expected at least {before}"
    items = _first_items(interpreter, iterator, before, expected)
    rest = iterate.rest_of(interpreter, iterator)
    if len(rest) < after:
        text = f"not enough values to unpack ({expected}, got {before + len(rest)})"
        raise raise_error(ValueError, text)
    middle = List(rest[: len(rest) - after])
    return tuple(reversed([*items, middle, *rest[len(rest) - after :]]))
