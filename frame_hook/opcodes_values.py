"""Handlers of the opcodes that build, fill and take apart containers, strings and patterns."""

from __future__ import annotations

from typing import Any

from ufuse.frame_hook import calls, classes, iterate, operators
from ufuse.frame_hook.instructions import Instruction
from ufuse.frame_hook.interpret import Frame, Interpreter, Outcome, Raised, handles
from ufuse.frame_hook.opcodes import argument
from ufuse.frame_hook.python_calls import python_type
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
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
    made = Set(set())
    for member in frame.pop_many(argument(instruction)):
        _add(interpreter, made, member)
    frame.push(made)
    return None


def _add(interpreter: Interpreter, target: Set, member: Symbol) -> None:
    value = operators.hashable(interpreter.trace.look(member))
    target.items.add(value)
    target.made.append(("add", value))


@handles("SET_ADD")
def set_add(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    member = frame.pop()
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, Set) or target.source is not None:
        raise GraphBreak("effect", "adding to a set")
    _add(interpreter, target, member)
    return None


@handles("SET_UPDATE")
def set_update(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    more = interpreter.trace.look(frame.pop())
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, Set) or target.source is not None:
        raise GraphBreak("effect", "adding to a set")
    if isinstance(more, Constant) and isinstance(more.value, frozenset):
        target.items.update(more.value)
        target.made.append(("update", more.value))
        return None
    if isinstance(more, Set):
        raise GraphBreak("operator", "a set made of a set")
    for member in iterate.items_of(interpreter, more):
        _add(interpreter, target, member)
    return None


@handles("BUILD_MAP")
def build_map(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    flat = frame.pop_many(2 * argument(instruction))
    keys = [operators.hashable(interpreter.trace.look(key)) for key in flat[::2]]
    frame.push(Dict(dict(zip(keys, flat[1::2], strict=True))))
    return None


@handles("BUILD_CONST_KEY_MAP")
def build_const_key_map(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    keys = interpreter.trace.look(frame.pop())
    assert isinstance(keys, Tuple)
    values = frame.pop_many(argument(instruction))
    frame.push(Dict(dict(zip((operators.hashable(k) for k in keys.items), values, strict=True))))
    return None


@handles("BUILD_SLICE")
def build_slice(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    parts = frame.pop_many(argument(instruction))
    frame.push(Slice(*parts, *[Constant(None)] * (3 - len(parts))))
    return None


@handles("BUILD_STRING")
def build_string(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    parts = frame.pop_many(argument(instruction))
    if not all(isinstance(part, Constant) for part in parts):
        raise GraphBreak("opcode", "an f-string")
    frame.push(Constant("".join(part.value for part in parts if isinstance(part, Constant))))
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
    target.items.extend(iterate.items_of(interpreter, more))
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
    target.items[operators.hashable(interpreter.trace.look(key))] = value
    return None


@handles("DICT_UPDATE", "DICT_MERGE")
def dict_update(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    target = _made_dict(frame, argument(instruction) + 1)
    update = interpreter.trace.look(frame.pop())
    if not isinstance(update, Dict):
        raise GraphBreak("effect", f"updating a dict with {operators.described(update)}")
    if instruction.opname == "DICT_MERGE" and target.items.keys() & update.items.keys():
        raise GraphBreak("eager-raises", "a keyword argument is given twice")
    target.items.update(update.items)
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
            frame.push(operators.unary(interpreter, "pos", frame.pop()))
            return None
        case 6:
            return list_to_tuple(interpreter, frame, instruction)
    raise GraphBreak("opcode", "CALL_INTRINSIC_1")


@handles("UNPACK_SEQUENCE")
def unpack_sequence(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    items = iterate.items_of(interpreter, frame.pop())
    if len(items) != argument(instruction):
        raise Raised(Instance(ValueError))
    frame.stack.extend(reversed(items))
    return None


@handles("UNPACK_EX")
def unpack_ex(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    before, after = argument(instruction) & 255, argument(instruction) >> 8
    items = iterate.items_of(interpreter, frame.pop())
    if len(items) < before + after:
        raise Raised(Instance(ValueError))
    middle = items[before : len(items) - after]
    frame.stack.extend(reversed([*items[:before], List(middle), *items[len(items) - after :]]))
    return None


@handles("GET_LEN")
def get_len(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(operators.length(interpreter, frame.stack[-1]))
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
    wanted = [operators.hashable(look(key)) for key in keys.items]
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
    attributes = [operators.hashable(interpreter.trace.look(name)) for name in names.items]
    if not count:
        return [calls.attribute(interpreter, subject, name) for name in attributes]
    if (
        kind in MATCHES_ITSELF
        and count == 1
        and classes.static_lookup(kind, "__match_args__") is classes.ABSENT
    ):
        return [subject, *(calls.attribute(interpreter, subject, name) for name in attributes)]
    listed = interpreter.trace.look(classes.class_attribute(interpreter, kind, "__match_args__"))
    if not isinstance(listed, Tuple) or len(listed.items) < count:
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}() takes fewer sub-patterns")
    first = [operators.hashable(interpreter.trace.look(name)) for name in listed.items[:count]]
    if len({*first, *attributes}) != len(first) + len(attributes):
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}() got a sub-pattern twice")
    return [calls.attribute(interpreter, subject, name) for name in (*first, *attributes)]
