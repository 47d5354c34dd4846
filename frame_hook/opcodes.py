"""One handler for every opcode that is captured; an opcode without one is a named break."""

from __future__ import annotations

import dis
import opcode
import sys
import types
from typing import Any

from ufuse.frame_hook import calls, operators
from ufuse.frame_hook.instructions import Instruction
from ufuse.frame_hook.interpret import (
    HANDLERS,
    Frame,
    Interpreter,
    Jump,
    Outcome,
    Returned,
    handles,
)
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
    NULL,
    Cell,
    Constant,
    Dict,
    Function,
    Iterator,
    List,
    Null,
    Set,
    Slice,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)

VERSION = sys.version_info[:2]
COMPARISONS = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}


def argument(instruction: Instruction) -> int:
    """The argument of an opcode that has one."""
    assert instruction.arg is not None
    return instruction.arg


# Nothing to do ---------------------------------------------------------------------------------------------------


@handles("RESUME", "NOP", "CACHE", "PRECALL", "COPY_FREE_VARS", "NOT_TAKEN", "EXTENDED_ARG")
def nothing(_: Interpreter, __: Frame, ___: Instruction) -> Outcome:
    return None


# The stack -------------------------------------------------------------------------------------------------------


@handles("POP_TOP", "POP_ITER")
def pop_top(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    frame.pop()
    return None


@handles("END_FOR")
def end_for(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    raise GraphBreak("opcode", "END_FOR outside a loop")


@handles("PUSH_NULL")
def push_null(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    frame.push(NULL)
    return None


@handles("COPY")
def copy(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(frame.stack[-argument(instruction)])
    return None


@handles("SWAP")
def swap(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    other = -argument(instruction)
    frame.stack[-1], frame.stack[other] = frame.stack[other], frame.stack[-1]
    return None


@handles("LOAD_CONST", "LOAD_SMALL_INT")
def load_const(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    if instruction.opname == "LOAD_SMALL_INT":
        frame.push(Constant(number))
    else:
        frame.push(constant(frame.code.co_consts[number]))
    return None


def constant(value: Any) -> Symbol:
    """A constant of the code; tuples are taken apart so that items can be looked at."""
    if type(value) is tuple:
        return Tuple(tuple(constant(item) for item in value))
    return Constant(value)


# Locals and cells ------------------------------------------------------------------------------------------------


def _local(interpreter: Interpreter, frame: Frame, slot: int) -> Symbol | None:
    """What a slot holds; None where it is empty, which is guarded if the frame brought it so."""
    symbol = frame.locals[slot]
    if isinstance(symbol, Unbound):
        interpreter.trace.found_empty(symbol)
        return None
    return symbol


def _load(interpreter: Interpreter, frame: Frame, slot: int) -> None:
    symbol = _local(interpreter, frame, slot)
    if symbol is None:
        raise GraphBreak("unbound", frame.slot_name(slot))
    if isinstance(symbol, Unread):
        interpreter.trace.found_bound(symbol)
    frame.push(symbol)


@handles("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_CLOSURE")
def load_fast(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    _load(interpreter, frame, argument(instruction))
    return None


@handles("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def load_fast_load_fast(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    _load(interpreter, frame, argument(instruction) >> 4)
    _load(interpreter, frame, argument(instruction) & 15)
    return None


@handles("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    symbol = _local(interpreter, frame, argument(instruction))
    frame.push(NULL if symbol is None else symbol)
    frame.locals[argument(instruction)] = None
    return None


@handles("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def store_fast(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    symbol = frame.pop()
    frame.locals[argument(instruction)] = None if isinstance(symbol, Null) else symbol
    return None


@handles("STORE_FAST_LOAD_FAST")
def store_fast_load_fast(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    frame.locals[argument(instruction) >> 4] = frame.pop()
    _load(interpreter, frame, argument(instruction) & 15)
    return None


@handles("STORE_FAST_STORE_FAST")
def store_fast_store_fast(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.locals[argument(instruction) >> 4] = frame.pop()
    frame.locals[argument(instruction) & 15] = frame.pop()
    return None


@handles("DELETE_FAST")
def delete_fast(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if _local(interpreter, frame, argument(instruction)) is None:
        raise GraphBreak("unbound", frame.slot_name(argument(instruction)))
    frame.locals[argument(instruction)] = None
    return None


@handles("MAKE_CELL")
def make_cell(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    slot = argument(instruction)
    frame.locals[slot] = Cell(_local(interpreter, frame, slot))
    return None


def cell_of(interpreter: Interpreter, frame: Frame, slot: int) -> Cell:
    """The cell in a slot; one that the frame brought is known from now on."""
    symbol = frame.locals[slot]
    if isinstance(symbol, Unread):
        symbol = frame.locals[slot] = interpreter.trace.cell(symbol.source, symbol.value)
    if not isinstance(symbol, Cell):
        raise GraphBreak("unbound", frame.slot_name(slot))
    return symbol


@handles("LOAD_DEREF")
def load_deref(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    cell = cell_of(interpreter, frame, argument(instruction))
    if cell.content is None:
        raise GraphBreak("unbound", frame.slot_name(argument(instruction)))
    frame.push(cell.content)
    return None


@handles("STORE_DEREF")
def store_deref(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    cell = cell_of(interpreter, frame, argument(instruction))
    if cell.source is not None:
        raise GraphBreak("effect", f"assigning {frame.slot_name(argument(instruction))}")
    cell.content = frame.pop()
    return None


# Names and attributes --------------------------------------------------------------------------------------------


@handles("LOAD_GLOBAL")
def load_global(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    symbol = interpreter.trace.global_value(frame.globals, frame.code.co_names[number >> 1])
    if number & 1 and VERSION < (3, 13):
        frame.push(NULL)
    frame.push(symbol)
    if number & 1 and VERSION >= (3, 13):
        frame.push(NULL)
    return None


@handles("LOAD_COMMON_CONSTANT")
def load_common_constant(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    values = getattr(opcode, "_common_constants", ())
    frame.push(Constant(values[argument(instruction)]))
    return None


@handles("LOAD_ASSERTION_ERROR")
def load_assertion_error(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    frame.push(Constant(AssertionError))
    return None


@handles("LOAD_ATTR")
def load_attr(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    if VERSION < (3, 12):
        frame.push(calls.attribute(interpreter, frame.pop(), frame.code.co_names[number]))
        return None
    symbol = calls.attribute(interpreter, frame.pop(), frame.code.co_names[number >> 1])
    frame.push(symbol)
    if number & 1:
        _make_method_pair(frame)
    return None


@handles("LOAD_METHOD")
def load_method(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(
        calls.attribute(interpreter, frame.pop(), frame.code.co_names[argument(instruction)])
    )
    _make_method_pair(frame)
    return None


def _make_method_pair(frame: Frame) -> None:
    """What was looked up to be called, and a NULL: as CPython lays them out where the method is already bound."""
    if VERSION < (3, 13):
        frame.stack.insert(-1, NULL)
    else:
        frame.push(NULL)


# Operators -------------------------------------------------------------------------------------------------------


@handles("BINARY_OP")
def binary_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    right, left = frame.pop(), frame.pop()
    symbol = dis._nb_ops[argument(instruction)][1]  # type: ignore[attr-defined]
    if symbol == "[]":
        frame.push(operators.item(interpreter, left, right))
    else:
        frame.push(
            operators.binary(
                interpreter, symbol.rstrip("="), left, right, in_place=symbol.endswith("=")
            )
        )
    return None


@handles("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def unary(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    name = {"UNARY_NEGATIVE": "neg", "UNARY_POSITIVE": "pos", "UNARY_INVERT": "invert"}[
        instruction.opname
    ]
    frame.push(operators.unary(interpreter, name, frame.pop()))
    return None


@handles("UNARY_NOT")
def unary_not(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(Constant(not operators.truth(interpreter, frame.pop())))
    return None


@handles("TO_BOOL")
def to_bool(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(Constant(operators.truth(interpreter, frame.pop())))
    return None


@handles("COMPARE_OP")
def compare_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    shift = 0 if VERSION < (3, 12) else 4 if VERSION < (3, 13) else 5
    right, left = frame.pop(), frame.pop()
    result = operators.compare(interpreter, COMPARISONS[dis.cmp_op[number >> shift]], left, right)
    if shift == 5 and number & 16:
        result = Constant(operators.truth(interpreter, result))
    frame.push(result)
    return None


@handles("IS_OP")
def is_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    right, left = frame.pop(), frame.pop()
    frame.push(Constant(operators.same(interpreter, left, right) != bool(argument(instruction))))
    return None


@handles("CONTAINS_OP")
def contains_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    container, member = frame.pop(), frame.pop()
    frame.push(
        Constant(operators.contains(interpreter, container, member) != bool(argument(instruction)))
    )
    return None


@handles("BINARY_SUBSCR")
def binary_subscr(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    key, container = frame.pop(), frame.pop()
    frame.push(operators.item(interpreter, container, key))
    return None


@handles("BINARY_SLICE")
def binary_slice(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    container, start, stop = frame.pop_many(3)
    frame.push(operators.item(interpreter, container, Slice(start, stop, Constant(None))))
    return None


@handles("STORE_SUBSCR")
def store_subscr(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    value, container, key = frame.pop_many(3)
    operators.store_item(interpreter, container, key, value)
    return None


@handles("STORE_SLICE")
def store_slice(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    value, container, start, stop = frame.pop_many(4)
    operators.store_item(interpreter, container, Slice(start, stop, Constant(None)), value)
    return None


# Containers ------------------------------------------------------------------------------------------------------


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
    values = [interpreter.trace.look(item) for item in frame.pop_many(argument(instruction))]
    frame.push(Set({operators.hashable(item) for item in values}))
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


@handles("LIST_EXTEND")
def list_extend(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    items = operators.iterated(interpreter, frame.pop())
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, List) or target.source is not None:
        raise GraphBreak("effect", "extending a list")
    target.items.extend(items)
    return None


@handles("LIST_APPEND")
def list_append(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    item = frame.pop()
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, List) or target.source is not None:
        raise GraphBreak("effect", "appending to a list")
    target.items.append(item)
    return None


@handles("MAP_ADD")
def map_add(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    value, key = frame.pop(), interpreter.trace.look(frame.pop())
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, Dict) or target.source is not None:
        raise GraphBreak("effect", "adding to a dict")
    target.items[operators.hashable(key)] = value
    return None


@handles("DICT_UPDATE", "DICT_MERGE")
def dict_update(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    update = interpreter.trace.look(frame.pop())
    target = frame.stack[-argument(instruction)]
    if not isinstance(target, Dict) or not isinstance(update, Dict) or target.source is not None:
        raise GraphBreak("effect", "updating a dict")
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
    name = {5: "INTRINSIC_UNARY_POSITIVE", 6: "INTRINSIC_LIST_TO_TUPLE"}.get(
        argument(instruction), "intrinsic"
    )
    if name == "INTRINSIC_LIST_TO_TUPLE":
        return list_to_tuple(interpreter, frame, instruction)
    if name == "INTRINSIC_UNARY_POSITIVE":
        frame.push(operators.unary(interpreter, "pos", frame.pop()))
        return None
    raise GraphBreak("opcode", f"the instruction CALL_INTRINSIC_1 {name}")


@handles("UNPACK_SEQUENCE")
def unpack_sequence(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    items = operators.iterated(interpreter, frame.pop())
    if len(items) != argument(instruction):
        raise GraphBreak("eager-raises", "the number of values to unpack does not match")
    frame.stack.extend(reversed(items))
    return None


@handles("UNPACK_EX")
def unpack_ex(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    before, after = argument(instruction) & 255, argument(instruction) >> 8
    items = operators.iterated(interpreter, frame.pop())
    if len(items) < before + after:
        raise GraphBreak("eager-raises", "not enough values to unpack")
    middle = items[before : len(items) - after]
    frame.stack.extend(reversed([*items[:before], List(middle), *items[len(items) - after :]]))
    return None


@handles("GET_LEN")
def get_len(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(operators.length(interpreter, frame.stack[-1]))
    return None


# Jumps and loops -------------------------------------------------------------------------------------------------


def _jump(instruction: Instruction) -> Jump:
    assert instruction.target is not None
    return Jump(instruction.target)


@handles("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def jump(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if "BACKWARD" in instruction.opname:
        interpreter.refuse_kept_loop(frame, instruction)
    return _jump(instruction)


@handles(
    "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE",
)  # fmt: skip
def pop_jump_if(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if "BACKWARD" in instruction.opname:
        interpreter.refuse_kept_loop(frame, instruction)
    taken = operators.truth(interpreter, frame.pop()) == instruction.opname.endswith("TRUE")
    return _jump(instruction) if taken else None


@handles(
    "POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE",
    "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
)  # fmt: skip
def pop_jump_if_none(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if "BACKWARD" in instruction.opname:
        interpreter.refuse_kept_loop(frame, instruction)
    is_none = operators.same(interpreter, frame.pop(), Constant(None))
    return _jump(instruction) if is_none != ("NOT_NONE" in instruction.opname) else None


@handles("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def jump_if_or_pop(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    taken = operators.truth(interpreter, frame.stack[-1]) == ("TRUE" in instruction.opname)
    if taken:
        return _jump(instruction)
    frame.pop()
    return None


@handles("GET_ITER")
def get_iter(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    symbol = interpreter.trace.look(frame.stack[-1])
    if not isinstance(symbol, Iterator):
        symbol = Iterator(operators.iterated(interpreter, symbol), 0, symbol)
    frame.stack[-1] = symbol
    return None


@handles("FOR_ITER")
def for_iter(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    iterator = frame.stack[-1]
    if not isinstance(iterator, Iterator):
        raise GraphBreak("loop")
    if iterator.position < len(iterator.items):
        frame.push(iterator.items[iterator.position])
        iterator.position += 1
        return None
    assert instruction.target is not None
    if VERSION < (3, 12):
        frame.pop()
        return Jump(instruction.target)
    if VERSION == (3, 12):  # past END_FOR, which would pop the iterator and the exhausted value
        frame.pop()
        return Jump(instruction.target + 1)
    return Jump(instruction.target + 1)  # past END_FOR; POP_TOP or POP_ITER pops the iterator


@handles("RETURN_VALUE")
def return_value(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    return Returned(frame.pop())


@handles("RETURN_CONST")
def return_const(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    return Returned(constant(frame.code.co_consts[argument(instruction)]))


@handles("RAISE_VARARGS")
def raise_varargs(_: Interpreter, __: Frame, ___: Instruction) -> Outcome:
    raise GraphBreak("eager-raises", "an exception is raised here")


# Calls and functions ---------------------------------------------------------------------------------------------


@handles("KW_NAMES")
def kw_names(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.keyword_names = frame.code.co_consts[argument(instruction)]
    return None


def _called(frame: Frame) -> Symbol:
    """Pop the callable and the self or NULL beside it."""
    second, first = frame.pop(), frame.pop()
    if VERSION < (3, 13):  # NULL, callable   or   method, self
        if not isinstance(first, Null):
            raise GraphBreak("opcode", "an unusual call sequence")
        return second
    if not isinstance(second, Null):  # callable, NULL   or   method, self
        raise GraphBreak("opcode", "an unusual call sequence")
    return first


@handles("CALL")
def call(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    arguments = frame.pop_many(argument(instruction))
    names, frame.keyword_names = frame.keyword_names, ()
    return _call(interpreter, frame, arguments, names)


@handles("CALL_KW")
def call_kw(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    look = interpreter.trace.look
    names = look(frame.pop())
    assert isinstance(names, Tuple)
    items = [look(name) for name in names.items]  # read, where a break lies between them and this
    arguments = frame.pop_many(argument(instruction))
    return _call(
        interpreter,
        frame,
        arguments,
        tuple(n.value for n in items if isinstance(n, Constant)),
    )


def _call(
    interpreter: Interpreter, frame: Frame, given: list[Symbol], names: tuple[str, ...]
) -> Outcome:
    # A method call is laid out as (method, self) where a plain one is (callable, NULL): self is then one more argument.
    lower, upper = frame.stack[-2], frame.stack[-1]
    if VERSION < (3, 13) and not isinstance(lower, Null):
        frame.stack[-2:] = [NULL, lower]
        given = [upper, *given]
    elif VERSION >= (3, 13) and not isinstance(upper, Null):
        frame.stack[-1] = NULL
        given = [upper, *given]
    function = _called(frame)
    count = len(given) - len(names)
    keywords = dict(zip(names, given[count:], strict=True))
    frame.push(calls.call(interpreter, function, given[:count], keywords))
    return None


@handles("CALL_FUNCTION_EX")
def call_function_ex(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    keywords: Symbol = Dict({})
    if VERSION >= (3, 14):
        last = frame.pop()
        keywords = keywords if isinstance(last, Null) else last
    elif argument(instruction) & 1:
        keywords = frame.pop()
    keywords = interpreter.trace.look(keywords)
    arguments = operators.iterated(interpreter, frame.pop())
    if VERSION >= (3, 13):
        frame.pop()
        function = frame.pop()
    else:
        function = frame.pop()
        frame.pop()
    if not isinstance(keywords, Dict) or not all(type(k) is str for k in keywords.items):
        raise GraphBreak("call", "something with unusual keyword arguments")
    frame.push(calls.call(interpreter, function, arguments, dict(keywords.items)))
    return None


@handles("MAKE_FUNCTION")
def make_function(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    code = interpreter.trace.look(frame.pop())  # read, where a break lies between it and this
    assert isinstance(code, Constant)
    function = Function(code.value, frame.globals)
    flags = instruction.arg or 0
    if VERSION < (3, 13):
        for bit in (8, 4, 2, 1):
            if flags & bit:
                function = _with_attribute(interpreter, function, bit, frame.pop())
    frame.push(function)
    return None


@handles("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    function, value = frame.pop(), frame.pop()
    if not isinstance(function, Function):
        raise GraphBreak("opcode", "a function that was begun before")
    frame.push(_with_attribute(interpreter, function, argument(instruction), value))
    return None


def _with_attribute(
    interpreter: Interpreter, function: Function, bit: int, value: Symbol
) -> Function:
    value = interpreter.trace.look(value)
    defaults, keyword_defaults, closure = (
        function.defaults,
        function.keyword_defaults,
        function.closure,
    )
    if bit == 1 and isinstance(value, Tuple):
        defaults = value.items
    elif bit == 2 and isinstance(value, Dict):
        keyword_defaults = dict(value.items)
    elif bit == 8 and isinstance(value, Tuple):
        cells = (_cell(interpreter, item) for item in value.items)
        closure = tuple(item for item in cells if isinstance(item, Cell))
        if len(closure) != len(value.items):
            raise GraphBreak("opcode", "a closure over unread cells")
    else:
        raise GraphBreak("opcode", "a nested function with annotations")
    return Function(function.code, function.globals, defaults, keyword_defaults, closure)


def _cell(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    if isinstance(symbol, Unread) and isinstance(symbol.value, types.CellType):
        return interpreter.trace.cell(symbol.source, symbol.value)
    return symbol


__all__ = ["HANDLERS"]
