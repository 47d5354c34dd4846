"""Rules for Python's functions about classes, attributes and making objects."""

from __future__ import annotations

import types

import numpy as np

from ufuse.frame_hook.code import markers
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.objects import attribute_stores, class_checks, classes, instances
from ufuse.frame_hook.objects.values import described, known_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.operations.attributes import attribute
from ufuse.frame_hook.trace.followed import IDENTIFIED
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    BUILT_IN,
    Array,
    ArrayMethod,
    Cell,
    Constant,
    Deque,
    DeviceArray,
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
from ufuse.graph.typing.library import cupy

NONE = Constant(None)

# Functions and types ------------------------------------------------------------------------------------------


@rule_for(isinstance)
def _isinstance(interpreter: Interpreter, obj: Symbol, class_or_tuple: Symbol, /) -> Symbol:
    kind = python_type(interpreter, obj)
    return Constant(class_checks.is_instance(interpreter, obj, kind, class_or_tuple))


@rule_for(issubclass)
def _issubclass(interpreter: Interpreter, cls: Symbol, class_or_tuple: Symbol, /) -> Symbol:
    return Constant(class_checks.is_subclass(interpreter, cls, class_or_tuple))


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
        case DeviceArray():
            return cupy().array  # type: ignore[no-any-return]
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
def _type(interpreter: Interpreter, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    if len(arguments) != 1 or keywords:
        raise GraphBreak("call", "type() that makes a class")
    return Constant(python_type(interpreter, arguments[0]))


@rule_for(callable)
def _callable(interpreter: Interpreter, obj: Symbol, /) -> Symbol:
    symbol = interpreter.trace.look(obj)
    if isinstance(symbol, Function | Method | ArrayMethod):
        return Constant(value=True)
    found, _ = classes.class_member(interpreter.trace, python_type(interpreter, symbol), "__call__")
    return Constant(found is not classes.ABSENT)


def _name(interpreter: Interpreter, symbol: Symbol) -> str:
    name = known_value(interpreter, symbol)
    if type(name) is not str:
        raise GraphBreak("eager-raises", "TypeError: attribute name must be string")
    return name


@rule_for(getattr)
def _getattr(
    interpreter: Interpreter, obj: Symbol, name: Symbol, default: Symbol | None = None, /
) -> Symbol:
    text = _name(interpreter, name)
    try:
        return attribute(interpreter, obj, text)
    except Raised as raised:
        if default is not None and iterate.is_a(raised.symbol, AttributeError):
            return default
        raise


# Types whose instances have the attributes of their class, and no others.
ALL_ON_CLASS = frozenset({np.ndarray, int, float, complex, bool, str, *np.sctypeDict.values()})


@rule_for(hasattr)
def _hasattr(interpreter: Interpreter, obj: Symbol, name: Symbol, /) -> Symbol:
    text = _name(interpreter, name)
    kind = python_type(interpreter, obj)
    # of NumPy's own attributes `mT` alone raises, where an array has less than two axes
    if text != "mT" and kind in ALL_ON_CLASS:
        return Constant(classes.static_lookup(kind, text) is not classes.ABSENT)
    try:
        attribute(interpreter, obj, text)
    except Raised as raised:
        if iterate.is_a(raised.symbol, AttributeError):
            return Constant(value=False)
        raise
    return Constant(value=True)


@rule_for(id)
def _id(interpreter: Interpreter, obj: Symbol, /) -> Symbol:
    """The address of an object that is guarded to be that very one."""
    symbol = interpreter.trace.look(obj)
    if isinstance(symbol, Constant) and (
        symbol.value is None or isinstance(symbol.value, (bool, *IDENTIFIED))
    ):
        return Constant(id(symbol.value))
    raise GraphBreak("call", f"id of {described(symbol)}")


@rule_for(super)
def _super(
    interpreter: Interpreter, start: Symbol | None = None, receiver: Symbol | None = None, /
) -> Symbol:
    if start is None:
        start, receiver = _implicit_super(interpreter)
    if receiver is None:
        raise GraphBreak("call", "super with one argument")
    start, receiver = interpreter.trace.look(start), interpreter.trace.look(receiver)
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


def _implicit_super(interpreter: Interpreter) -> tuple[Symbol, Symbol]:
    """The class whose body the method stands in, and the method's first argument."""
    frame = interpreter.call_stack[-1]
    names = slot_names(frame.code)
    first = frame.locals[0] if frame.code.co_argcount else None
    if isinstance(first, Cell):
        first = first.content
    cell = frame.locals[names.index("__class__")] if "__class__" in names else None
    if isinstance(cell, Unread) and isinstance(cell.value, types.CellType):
        cell = interpreter.trace.reader.cell(cell.source, cell.value)
    if first is None or not isinstance(cell, Cell) or cell.content is None:
        raise GraphBreak("call", "super() outside a method")
    return cell.content, first


@rule_for(setattr)
def _setattr(interpreter: Interpreter, obj: Symbol, name: Symbol, value: Symbol, /) -> Symbol:
    attribute_stores.store_attribute(interpreter, obj, _name(interpreter, name), value)
    return NONE


@rule_for(delattr)
def _delattr(interpreter: Interpreter, obj: Symbol, name: Symbol, /) -> Symbol:
    attribute_stores.store_attribute(interpreter, obj, _name(interpreter, name), None)
    return NONE


@rule_for(object.__new__)
def _object_new(
    interpreter: Interpreter, cls: Symbol, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    if arguments or keywords:
        raise GraphBreak("call", "object.__new__ with more arguments")
    return instances.new_instance(interpreter, object.__new__, _made(interpreter, cls), (), {})


@rule_for(tuple.__new__)
def _tuple_new(interpreter: Interpreter, cls: Symbol, iterable: Symbol | None = None, /) -> Symbol:
    given = () if iterable is None else (iterable,)
    return instances.new_instance(interpreter, tuple.__new__, _made(interpreter, cls), given, {})


def _made(interpreter: Interpreter, cls: Symbol) -> type:
    """The class of which a `__new__` is to make an instance."""
    kind = class_of(interpreter.trace.look(cls))
    if kind is None:
        raise GraphBreak("call", "__new__ of something that is no class")
    return kind


@rule_for(object.__init__)
def _object_init(interpreter: Interpreter, instance: Symbol, /) -> Symbol:
    return NONE


@rule_for(*instances.PLAIN_INITS[1:])
def _exception_init(interpreter: Interpreter, error: Symbol, /, *arguments: Symbol) -> Symbol:
    error = interpreter.trace.look(error)
    if not isinstance(error, Instance) or error.source is not None:
        raise GraphBreak("call", "the __init__ of an exception")
    error.content = Tuple(arguments)
    return NONE


@rule_for(markers.graph_break)
def _graph_break(interpreter: Interpreter, /, reason: Symbol | None = None) -> Symbol:
    text = "" if reason is None else repr(known_value(interpreter, reason))
    raise GraphBreak("requested", text)


@rule_for(markers.is_tracing)
def _is_tracing(interpreter: Interpreter) -> Symbol:
    return Constant(value=True)


__all__ = ["python_type"]
