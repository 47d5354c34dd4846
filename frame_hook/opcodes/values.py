"""Handlers of the opcodes that build, fill and take apart containers, strings and patterns."""

from __future__ import annotations

from typing import Any

from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, handles
from ufuse.frame_hook.interpreter.outcomes import Outcome, Raised, raise_error
from ufuse.frame_hook.library.introspection import python_type
from ufuse.frame_hook.library.text import joined
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import described, key_of
from ufuse.frame_hook.opcodes.names import argument
from ufuse.frame_hook.operations import arithmetic, containers, iterate
from ufuse.frame_hook.operations.attributes import attribute
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
    class_of,
)

IS_SEQUENCE, IS_MAPPING = 1 << 5, 1 << 6  # flags of types, for `match`
MATCHES_ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


@handles("BUILD_TUPLE")
def build_tuple(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(Tuple(tuple(frame.pop_many(argument(instruction)))))
    return None


@handles("BUILD_LIST")
def build_list(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(List(frame.pop_many(argument(instruction))))
    return None


@handles("BUILD_SET")
def build_set(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    made = containers.set_of(interpreter, None)
    for member in frame.pop_many(argument(instruction)):
        containers.add(interpreter, made, member)
    frame.push(made)
    return None


@handles("SET_ADD")
def set_add(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    member = frame.pop()
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, Set) or target.source is not None:
        raise GraphBreak("effect", "adding to a set")
    containers.add(interpreter, target, member)
    return None


@handles("SET_UPDATE")
def set_update(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    more = frame.pop()
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, Set) or target.source is not None:
        raise GraphBreak("effect", "adding to a set")
    containers.update_set(interpreter, target, "update", more)
    return None


@handles("BUILD_MAP")
def build_map(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    flat = frame.pop_many(2 * argument(instruction))
    keys = [key_of(interpreter, key) for key in flat[::2]]
    frame.push(Dict(dict(zip(keys, flat[1::2], strict=True))))
    return None


@handles("BUILD_CONST_KEY_MAP")
def build_const_key_map(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    keys = interpreter.trace.look(frame.pop())
    assert isinstance(keys, Tuple)
    values = frame.pop_many(argument(instruction))
    frame.push(Dict(dict(zip((key_of(interpreter, k) for k in keys.items), values, strict=True))))
    return None


@handles("BUILD_SLICE")
def build_slice(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    parts = frame.pop_many(argument(instruction))
    frame.push(Slice(*parts, *[Constant(None)] * (3 - len(parts))))
    return None


@handles("BUILD_STRING")
def build_string(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    parts = frame.pop_many(argument(instruction))
    frame.push(joined(parts))
    return None


CONVERSIONS: dict[int, Any] = {1: str, 2: repr, 3: ascii}


@handles("FORMAT_VALUE")
def format_value(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    spec: Symbol = frame.pop() if number & 4 else Constant("")
    _format(interpreter, frame, number & 3, spec)
    return None


@handles("CONVERT_VALUE")
def convert_value(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(interpreter.call(Constant(CONVERSIONS[argument(instruction)]), (frame.pop(),)))
    return None


@handles("FORMAT_SIMPLE")
def format_simple(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    _format(interpreter, frame, 0, Constant(""))
    return None


@handles("FORMAT_WITH_SPEC")
def format_with_spec(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    spec = frame.pop()
    _format(interpreter, frame, 0, spec)
    return None


def _format(interpreter: Interpreter, frame: Frame, conversion: int, spec: Symbol) -> None:
    value = frame.pop()
    if conversion:
        value = interpreter.call(Constant(CONVERSIONS[conversion]), (value,))
    symbol, known = interpreter.trace.look(value), interpreter.trace.number_examples
    if isinstance(symbol, Array) or (isinstance(symbol, Number) and symbol.node not in known):
        raise GraphBreak("opcode", "an f-string")
    frame.push(interpreter.call(Constant(format), (value, spec)))


@handles("LIST_EXTEND")
def list_extend(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    target = _made_list(frame, argument(instruction) + 1)
    more = frame.pop()
    containers.extend(interpreter, target, more)
    return None


@handles("LIST_APPEND")
def list_append(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    target = _made_list(frame, argument(instruction) + 1)
    target.items.append(frame.pop())
    return None


def _made_list(frame: Frame, place: int) -> List:
    """The list that a display or comprehension fills; one begun before this trace is left to plain Python."""
    target = frame.stack[-place]
    if not isinstance(target, List) or target.source is not None:
        raise GraphBreak("effect", "a list that was begun before")
    return target


def _made_dict(frame: Frame, place: int) -> Dict:
    target = frame.stack[-place]
    if not isinstance(target, Dict) or target.source is not None:
        raise GraphBreak("effect", "a dict that was begun before")
    return target


@handles("MAP_ADD")
def map_add(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    target = _made_dict(frame, argument(instruction) + 2)
    key, value = frame.pop_many(2)
    target.items[key_of(interpreter, key)] = value
    return None


@handles("DICT_UPDATE", "DICT_MERGE")
def dict_update(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    target = _made_dict(frame, argument(instruction) + 1)
    update = interpreter.trace.look(frame.pop())
    update = unwrapped(interpreter.trace, update, "keys", "__getitem__", "__iter__")
    if not isinstance(update, Dict):
        raise GraphBreak("effect", f"updating a dict with {described(update)}")
    if instruction.opname == "DICT_MERGE" and target.items.keys() & update.items.keys():
        raise GraphBreak("eager-raises", "TypeError: a keyword argument is given twice")
    containers.update(interpreter, target, update)
    return None


@handles("LIST_TO_TUPLE")
def list_to_tuple(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    target = interpreter.trace.look(frame.pop())
    assert isinstance(target, List)
    frame.push(Tuple(tuple(target.items)))
    return None


@handles("CALL_INTRINSIC_1")
def call_intrinsic(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    match argument(instruction):
        case 3:  # a StopIteration in a generator becomes a RuntimeError
            symbol = frame.stack[-1]
            if isinstance(symbol, Instance) and not issubclass(symbol.kind, StopIteration):
                return None
        case 5:
            frame.push(arithmetic.unary(interpreter, "pos", frame.pop()))
            return None
        case 6:
            return list_to_tuple(interpreter, frame, instruction)
    raise GraphBreak("opcode", "CALL_INTRINSIC_1")


@handles("UNPACK_SEQUENCE")
def unpack_sequence(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    given = interpreter.trace.look(frame.pop())
    frame.stack.extend(reversed(_unpacked(interpreter, given, argument(instruction))))
    return None


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


@handles("UNPACK_EX")
def unpack_ex(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    before, after = argument(instruction) & 255, argument(instruction) >> 8
    given = interpreter.trace.look(frame.pop())
    _refuse_scalar(interpreter, given)
    iterator = iterate.iterator_over(interpreter, given)
    expected = f"expected at least {before + after}" if after else f"expected at least {before}"
    items = _first_items(interpreter, iterator, before, expected)
    rest = iterate.rest_of(interpreter, iterator)
    if len(rest) < after:
        text = f"not enough values to unpack ({expected}, got {before + len(rest)})"
        raise raise_error(ValueError, text)
    middle = List(rest[: len(rest) - after])
    frame.stack.extend(reversed([*items, middle, *rest[len(rest) - after :]]))
    return None


@handles("GET_LEN")
def get_len(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(arithmetic.length(interpreter, frame.stack[-1]))
    return None


# Patterns --------------------------------------------------------------------------------------------------------


@handles("MATCH_SEQUENCE")
def match_sequence(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    kind = python_type(interpreter, frame.stack[-1])
    frame.push(Constant(bool(kind.__flags__ & IS_SEQUENCE)))
    return None


@handles("MATCH_MAPPING")
def match_mapping(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    kind = python_type(interpreter, frame.stack[-1])
    frame.push(Constant(bool(kind.__flags__ & IS_MAPPING)))
    return None


@handles("MATCH_KEYS")
def match_keys(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    look = interpreter.trace.look
    keys, subject = look(frame.stack[-1]), look(frame.stack[-2])
    if not isinstance(keys, Tuple) or not isinstance(subject, Dict):
        raise GraphBreak("opcode", "MATCH_KEYS")
    wanted = [key_of(interpreter, key) for key in keys.items]
    if len(set(wanted)) != len(wanted):
        raise GraphBreak("eager-raises", "ValueError: a mapping pattern checks a key twice")
    if all(key in subject.items for key in wanted):
        frame.push(Tuple(tuple(subject.items[key] for key in wanted)))
    else:
        frame.push(Constant(None))
    return None


@handles("MATCH_CLASS")
def match_class(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    look = interpreter.trace.look
    subject, wanted, names = (look(symbol) for symbol in frame.pop_many(3))
    kind = class_of(wanted)
    if kind is None or not isinstance(names, Tuple):
        raise GraphBreak("opcode", "MATCH_CLASS")
    is_one = look(interpreter.call(Constant(isinstance), (subject, wanted)))
    if not isinstance(is_one, Constant) or not is_one.value:
        frame.push(Constant(None))
        return None
    try:
        found = _matched(interpreter, subject, kind, argument(instruction), names)
    except Raised as raised:
        symbol = raised.symbol
        if not isinstance(symbol, Instance) or not issubclass(symbol.kind, AttributeError):
            raise
        found = None
    frame.push(Constant(None) if found is None else Tuple(tuple(found)))
    return None


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
