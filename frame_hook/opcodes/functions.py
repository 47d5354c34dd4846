"""Handlers of calls, and of the statements that make functions."""

from __future__ import annotations

import types

from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, handles
from ufuse.frame_hook.interpreter.outcomes import Outcome
from ufuse.frame_hook.opcodes.names import argument
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    NULL,
    Cell,
    Constant,
    Dict,
    Function,
    Null,
    Symbol,
    Tuple,
    Unread,
)


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
    frame.push(interpreter.call(function, given[:count], keywords))
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
    arguments = iterate.items_of(interpreter, frame.pop())
    if VERSION >= (3, 13):
        frame.pop()
        function = frame.pop()
    else:
        function = frame.pop()
        frame.pop()
    if not isinstance(keywords, Dict) or not all(type(k) is str for k in keywords.items):
        raise GraphBreak("call", "something with unusual keyword arguments")
    frame.push(interpreter.call(function, arguments, dict(keywords.items)))
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
