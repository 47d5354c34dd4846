"""Rules for Python's functions about classes, attributes and making objects."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ufuse.frame_hook.code import markers
from ufuse.frame_hook.interpreter.frame import slot_names
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.interpreter.rules import BUILTINS, Given, Positional, rule_for
from ufuse.frame_hook.objects import attribute_stores, class_checks, classes, instances
from ufuse.frame_hook.objects.values import described, known_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.operations.attributes import attribute
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    BUILT_IN,
    Array,
    ArrayMethod,
    Cell,
    Constant,
    Deque,
    Dict,
    Function,
    Instance,
    Integer,
    Iterator,
    List,
    Method,
    Number,
    Opaque,
    Set,
    Super,
    Symbol,
    Tuple,
    Unread,
    View,
    class_of,
)
from ufuse.graph.types import ArrayType, NumberType

# Functions and types ------------------------------------------------------------------------------------------


@rule_for(isinstance)
def _isinstance(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: isinstance expected 2 arguments")
    kind = python_type(interpreter, arguments[0])
    return Constant(class_checks.is_instance(interpreter, arguments[0], kind, arguments[1]))


@rule_for(issubclass)
def _issubclass(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: issubclass expected 2 arguments")
    return Constant(class_checks.is_subclass(interpreter, arguments[0], arguments[1]))


TYPES: dict[type, type] = {
    **BUILT_IN, Array: np.ndarray, Integer: int, Function: types.FunctionType, Method: types.MethodType, Super: super,
    Cell: types.CellType,
}  # fmt: skip


def python_type(interpreter: Interpreter, symbol: Symbol) -> type:
    """The class of the value that a symbol stands for."""
    symbol = interpreter.trace.look(symbol)
    match symbol:
        case Constant(value=value) | Opaque(value=value):
            return type(value)
        case Instance(kind=kind):
            return kind
        case View(of=mapping, kind=kind):
            return type(getattr(mapping.items, kind)())
        case ArrayMethod(self=List() | Deque() | Dict() | Set() | Tuple()):
            return types.BuiltinFunctionType
        case Number(node=node):
            known = node.type
            if isinstance(known, ArrayType):
                return known.dtype.type
            assert isinstance(known, NumberType)
            return {"int": int, "float": float, "complex": complex, "bool": bool}[known.kind]
    if isinstance(symbol, Iterator) and (told := iterate.type_of(symbol)) is not None:
        return told
    if type(symbol) in TYPES:
        return TYPES[type(symbol)]
    raise GraphBreak("call", f"the type of {described(symbol)}")


@rule_for(type)
def _type(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 1 or keywords:
        raise GraphBreak("call", "type() that makes a class")
    return Constant(python_type(interpreter, arguments[0]))


@rule_for(callable)
def _callable(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 1 or keywords:
        raise GraphBreak("eager-raises", "TypeError: callable() takes exactly one argument")
    symbol = interpreter.trace.look(arguments[0])
    if isinstance(symbol, Instance):
        found, _ = classes.class_member(interpreter.trace, symbol.kind, "__call__")
        return Constant(found is not classes.ABSENT)
    if isinstance(symbol, Function | Method | ArrayMethod):
        return Constant(value=True)
    if isinstance(symbol, Constant | Opaque):
        return Constant(callable(symbol.value))
    found = classes.static_lookup(python_type(interpreter, symbol), "__call__")
    return Constant(found is not classes.ABSENT)


def _name(interpreter: Interpreter, symbol: Symbol) -> str:
    name = known_value(interpreter, symbol)
    if type(name) is not str:
        raise GraphBreak("eager-raises", "TypeError: attribute name must be string")
    return name


@rule_for(getattr)
def _getattr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or not 2 <= len(arguments) <= 3:
        raise GraphBreak("eager-raises", "TypeError: the arguments of getattr()")
    name = _name(interpreter, arguments[1])
    try:
        return attribute(interpreter, arguments[0], name)
    except Raised as raised:
        if len(arguments) > 2 and iterate.is_a(raised.symbol, AttributeError):
            return arguments[2]
        raise


@rule_for(hasattr)
def _hasattr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of hasattr()")
    name = _name(interpreter, arguments[1])
    kind = python_type(interpreter, arguments[0])
    if kind is np.ndarray or issubclass(kind, (np.generic, int, float, complex, str)):
        return Constant(classes.static_lookup(kind, name) is not classes.ABSENT)
    try:
        attribute(interpreter, arguments[0], name)
    except Raised as raised:
        if iterate.is_a(raised.symbol, AttributeError):
            return Constant(value=False)
        raise
    return Constant(value=True)


@rule_for(super)
def _super(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    look = interpreter.trace.look
    if not arguments:
        arguments = _implicit_super(interpreter)
    if len(arguments) != 2:
        raise GraphBreak("call", "super with one argument")
    start, receiver = look(arguments[0]), look(arguments[1])
    behind = class_of(start)
    if behind is None:
        raise GraphBreak("call", "super of something that is no class")
    kind = class_of(receiver)
    if kind is None or behind not in classes.mro(kind):
        kind = python_type(interpreter, receiver)
    if behind not in classes.mro(kind):
        raise GraphBreak(
            "eager-raises",
            "TypeError: super(type, obj): obj must be an instance or subtype of type",
        )
    return Super(behind, kind, receiver)


def _implicit_super(interpreter: Interpreter) -> list[Symbol]:
    """The class whose body the method stands in, and the method's first argument."""
    frame = interpreter.call_stack[-1]
    names = slot_names(frame.code)
    first = frame.locals[0] if frame.code.co_argcount else None
    if isinstance(first, Cell):
        first = first.content
    cell = frame.locals[names.index("__class__")] if "__class__" in names else None
    if isinstance(cell, Unread) and isinstance(cell.value, types.CellType):
        cell = interpreter.trace.cell(cell.source, cell.value)
    if first is None or not isinstance(cell, Cell) or cell.content is None:
        raise GraphBreak("call", "super() outside a method")
    return [cell.content, first]


@rule_for(object.__setattr__)
def _setattr_plainly(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target, name, value = arguments
    target = interpreter.trace.look(target)
    if not isinstance(target, Instance):
        raise GraphBreak("effect", "object.__setattr__")
    text = known_value(interpreter, name)
    attribute_stores.object_setattr(interpreter, target, text, value)
    return Constant(None)


@rule_for(setattr)
def _setattr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 3:
        raise GraphBreak("eager-raises", "TypeError: the arguments of setattr()")
    target, name, value = arguments
    attribute_stores.store_attribute(interpreter, target, _name(interpreter, name), value)
    return Constant(None)


@rule_for(delattr)
def _delattr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of delattr()")
    attribute_stores.store_attribute(
        interpreter, arguments[0], _name(interpreter, arguments[1]), None
    )
    return Constant(None)


def _new(interpreter: Interpreter, arguments: Positional, keywords: Given, function: Any) -> Symbol:
    kind = class_of(interpreter.trace.look(arguments[0]))
    if kind is None:
        raise GraphBreak("call", "__new__ of something that is no class")
    return instances.new_instance(interpreter, function, kind, arguments[1:], keywords)


@rule_for(object.__new__)
def _object_new(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return _new(interpreter, arguments[:1], {}, object.__new__)


@rule_for(tuple.__new__)
def _tuple_new(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return _new(interpreter, arguments, keywords, tuple.__new__)


@rule_for(object.__init__)
def _object_init(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 1 or keywords:
        raise GraphBreak("eager-raises", "TypeError: object.__init__() takes exactly one argument")
    return Constant(None)


def _exception_init(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target = interpreter.trace.look(arguments[0])
    if not isinstance(target, Instance) or target.source is not None or keywords:
        raise GraphBreak("call", "the __init__ of an exception")
    target.content = Tuple(tuple(arguments[1:]))
    return Constant(None)


for _wrapper in instances.PLAIN_INITS[1:]:
    BUILTINS[_wrapper] = _exception_init


@rule_for(markers.graph_break)
def _graph_break(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = (*arguments, *keywords.values())
    reason = [known_value(interpreter, a) for a in given]
    raise GraphBreak("requested", repr(reason[0]) if reason else "")


@rule_for(markers.is_tracing)
def _is_tracing(_: Interpreter, __: Positional, ___: Given) -> Symbol:
    return Constant(value=True)


__all__ = ["python_type"]
