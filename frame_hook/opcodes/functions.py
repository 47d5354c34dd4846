"""Handlers of calls, and of the statements that make functions."""

from __future__ import annotations

import types
from collections.abc import Sequence

from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
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

CALLABLE_FIRST = VERSION >= (3, 13)
# Of a method CPython pushes the function and `self`, of another callable a NULL and the callable: up to 3.12 in this
# order, from 3.13 on with the NULL where `self` would be.
NULL_AND_CALLABLE = "callable null" if CALLABLE_FIRST else "null callable"
KEYWORDS = "keywords" if VERSION >= (3, 14) else "keywords?1"
MADE_FROM = (
    "code" if CALLABLE_FIRST else "defaults?1 keyword_defaults?2 annotations?4 closure?8 code"
)


@handles("KW_NAMES", "--")
def kw_names(interpreter: Interpreter, arg: int) -> None:
    frame = interpreter.frame
    frame.keyword_names = frame.code.co_consts[arg]


@handles("CALL", f"{NULL_AND_CALLABLE} arguments* -- result")
def call(
    interpreter: Interpreter, _: int, lower: Symbol, upper: Symbol, *arguments: Symbol
) -> Symbol:
    frame = interpreter.frame
    names, frame.keyword_names = frame.keyword_names, ()
    return _call(interpreter, lower, upper, arguments, names)


@handles("CALL_KW", f"{NULL_AND_CALLABLE} arguments* names -- result")
def call_kw(
    interpreter: Interpreter, _: int, lower: Symbol, upper: Symbol, *arguments_and_names: Symbol
) -> Symbol:
    look = interpreter.trace.look
    *arguments, last = arguments_and_names
    names = look(last)
    assert isinstance(names, Tuple)
    items = [look(name) for name in names.items]  # read, where a break lies between them and this
    texts = tuple(n.value for n in items if isinstance(n, Constant))
    return _call(interpreter, lower, upper, arguments, texts)


def _call(
    interpreter: Interpreter,
    lower: Symbol,
    upper: Symbol,
    arguments: Sequence[Symbol],
    names: tuple[str, ...],
) -> Symbol:
    function, receiver = (upper, lower) if isinstance(lower, Null) else (lower, upper)
    given = arguments if isinstance(receiver, Null) else (receiver, *arguments)
    count = len(given) - len(names)
    keywords = dict(zip(names, given[count:], strict=True))
    return interpreter.call(function, given[:count], keywords)


@handles("CALL_FUNCTION_EX", f"{NULL_AND_CALLABLE} arguments {KEYWORDS} -- result")
def call_function_ex(
    interpreter: Interpreter,
    _: int,
    lower: Symbol,
    upper: Symbol,
    arguments: Symbol,
    keywords: Symbol = NULL,
) -> Symbol:
    named = Dict({}) if isinstance(keywords, Null) else interpreter.trace.look(keywords)
    given = iterate.items_of(interpreter, arguments)
    if not isinstance(named, Dict) or not all(type(k) is str for k in named.items):
        raise GraphBreak("call", "something with unusual keyword arguments")
    return interpreter.call(lower if CALLABLE_FIRST else upper, given, dict(named.items))


@handles("MAKE_FUNCTION", f"{MADE_FROM} -- function")
def make_function(interpreter: Interpreter, bits: int, *taken: Symbol) -> Symbol:
    *values, last = taken
    code = interpreter.trace.look(last)  # read, where a break lies between it and this
    assert isinstance(code, Constant)
    function = Function(code.value, interpreter.frame.globals)
    for bit in (8, 4, 2, 1):
        if bits & bit:
            function = _with_attribute(interpreter, function, bit, values.pop())
    return function


@handles("SET_FUNCTION_ATTRIBUTE", "value function -- function")
def set_function_attribute(
    interpreter: Interpreter, bit: int, value: Symbol, function: Symbol
) -> Symbol:
    if not isinstance(function, Function):
        raise GraphBreak("opcode", "a function that was begun before")
    return _with_attribute(interpreter, function, bit, value)


def _with_attribute(
    interpreter: Interpreter, function: Function, bit: int, value: Symbol
) -> Function:
    value = interpreter.trace.look(value)
    defaults, keyword_defaults, closure, attributes = (
        function.defaults,
        function.keyword_defaults,
        function.closure,
        dict(function.attributes),
    )
    if bit == 1 and isinstance(value, Tuple):
        defaults = value.items
    elif bit == 2 and isinstance(value, Dict):
        keyword_defaults = dict(value.items)
    elif bit == 4:
        attributes["__annotations__"] = _annotations(interpreter, value)
    elif bit == 16:
        attributes["__annotate__"] = value
    elif bit == 8 and isinstance(value, Tuple):
        cells = (_cell(interpreter, item) for item in value.items)
        closure = tuple(item for item in cells if isinstance(item, Cell))
        if len(closure) != len(value.items):
            raise GraphBreak("opcode", "a closure over unread cells")
    else:
        raise GraphBreak("opcode", "a nested function with such attributes")
    return Function(
        function.code, function.globals, defaults, keyword_defaults, closure, attributes
    )


def _annotations(interpreter: Interpreter, pairs: Symbol) -> Dict:
    """The dict that CPython makes of names and annotations in turn, where it is first asked for."""
    items = iterate.items_of(interpreter, pairs)
    names = [interpreter.trace.look(name) for name in items[::2]]
    known = [name.value for name in names if isinstance(name, Constant)]
    return Dict(dict(zip(known, items[1::2], strict=True)))


def _cell(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    if isinstance(symbol, Unread) and isinstance(symbol.value, types.CellType):
        return interpreter.trace.reader.cell(symbol.source, symbol.value)
    return symbol
