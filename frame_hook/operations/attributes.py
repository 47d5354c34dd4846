"""Reading attributes of symbols; those of instances and classes: `objects/classes.py`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.arrays import arrays, flags, indexing
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices import numbers as device_numbers
from ufuse.frame_hook.devices import views as device_views
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import blind_write_of
from ufuse.frame_hook.objects import attribute_stores, classes
from ufuse.frame_hook.objects.values import PURE, described
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.trace.followed import ERROR_STATE
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    BUILT_IN,
    Array,
    ArrayMethod,
    Constant,
    Deque,
    DeviceArray,
    Dict,
    Function,
    Generator,
    Instance,
    Integer,
    Iterator,
    List,
    Method,
    Number,
    Opaque,
    Range,
    Set,
    Slice,
    Source,
    Super,
    Symbol,
    Tuple,
    Unread,
    View,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.node import Node
from ufuse.graph.typing.library import is_device_function

# Attributes of Python's numbers that are the very object.
ITSELF: dict[type, tuple[str, ...]] = {int: ("real", "numerator"), float: ("real",)}


def attribute(interpreter: Interpreter, symbol: Symbol, name: str) -> Symbol:
    """What `symbol.name` is."""
    trace = interpreter.trace
    if isinstance(symbol, Unread):
        kind = type(symbol.value)
        if blind_write_of(kind, name) is not None or (kind is dict and name == "get"):
            return ArrayMethod(symbol, name)
    given, symbol = symbol, trace.look(symbol)
    match symbol:
        case Array():
            return arrays.array_attribute(trace, symbol, name)
        case DeviceArray():
            return devices.attribute(trace, symbol, name)
        case Number():
            return arrays.number_attribute(trace, symbol, name)
        case Constant(value=types.ModuleType() as module):
            text = symbol.source.text if symbol.source is not None else module.__name__
            return trace.module_attribute(module, name, text)
        case Constant(value=value) if name in ITSELF.get(type(value), ()):
            return given  # the object of this call, where that is unread
        case Constant(value=value):
            return _constant_attribute(interpreter, symbol, value, name)
        case Deque(items=items) if name == "maxlen":
            return Constant(items.maxlen)
        case Range() | Slice() if name in ("start", "stop", "step"):
            return {"start": symbol.start, "stop": symbol.stop, "step": symbol.step}[name]
        case (
            List()
            | Deque()
            | Dict()
            | Tuple()
            | Set()
            | Generator()
            | Iterator()
            | View()
            | Range()
            | Slice()
        ):
            return _container_attribute(trace, symbol, name)
        case Instance(node=Node()) if not callable(classes.static_lookup(symbol.kind, name)):
            raise GraphBreak(
                "attribute", f"{name} of a {symbol.kind.__name__} that is made in the graph"
            )
        case Instance() if name == "id" and device_numbers.is_device(symbol):
            return Constant(device_numbers.number_of(trace, symbol))
        case Instance() if name in device_views.OF_BROADCAST and device_views.is_broadcast(symbol):
            return device_views.broadcast_attribute(trace, symbol, name)
        case Instance():
            return classes.instance_attribute(interpreter, symbol, name)
        case Function() if name in symbol.attributes:
            return symbol.attributes[name]
        case Opaque(source=source, value=value) if (
            type(value) is types.FunctionType and name in FUNCTION_TEXTS
        ):
            return _read_of_function(trace, source, value, name)
        case Function() if name in NAMES_OF_CODE:
            return Constant(getattr(symbol.code, NAMES_OF_CODE[name]))
        case Function() if classes.static_lookup(types.FunctionType, name) is classes.ABSENT:
            raise classes.missing(trace, types.FunctionType, name)
        case Super():
            return classes.super_attribute(interpreter, symbol, name)
        case Method() if name in ("__self__", "__func__"):
            return symbol.self if name == "__self__" else symbol.function
        case ArrayMethod(self=Array() | DeviceArray() as array, name="flags"):
            return flags.flag(trace, array, name)
        case Integer():
            return _integer_attribute(trace, symbol, name)
    raise GraphBreak("attribute", f"{name} of {described(symbol)}")


def store_attribute(interpreter: Interpreter, owner: Symbol, name: str, value: Symbol) -> None:
    """Carry out `owner.name = value`."""
    trace = interpreter.trace
    if name in ("real", "imag"):
        array, value = trace.look(owner), trace.look(value)
        if isinstance(array, Array) and _is_stored_as_an_item(array, value):
            indexing.store_into(trace, arrays.part(trace, array, name), value)
            return
    attribute_stores.store_attribute(interpreter, owner, name, value)


def _is_stored_as_an_item(array: Array, value: Symbol) -> bool:
    """Whether `array.real = value` is `array.real[...] = value`: NumPy makes an array of a number first."""
    is_float = isinstance(value, Constant) and type(value.value) is float
    return array.type.dtype.kind == "c" and (
        isinstance(value, Array) or (is_float and array.type.dtype.char == "D")
    )


def _integer_attribute(trace: Trace, symbol: Integer, name: str) -> Symbol:
    """An attribute of a whole number that is known only when the program runs."""
    if name in ("real", "numerator"):
        return symbol
    if name in ("imag", "denominator"):
        return Constant(0 if name == "imag" else 1)
    if classes.static_lookup(int, name) is classes.ABSENT:
        raise classes.missing(trace, int, name)
    raise GraphBreak("attribute", f"{name} of {described(symbol)}")


def _container_attribute(trace: Trace, symbol: Symbol, name: str) -> Symbol:
    """A method of a built-in container or iterator, bound."""
    kind = BUILT_IN.get(type(symbol))
    if isinstance(symbol, View):
        kind = type(getattr(symbol.of.items, symbol.kind)())
    if isinstance(symbol, Iterator):
        kind = iterate.type_of(symbol)
    if kind is None and name not in ("__iter__", "__next__"):
        raise GraphBreak("attribute", f"{name} of {described(symbol)}")
    if kind is not None and not hasattr(kind, name):
        raise classes.missing(trace, kind, name)
    if name == "__class__" and kind is not None:
        return Constant(kind)
    if kind is not None and not callable(getattr(kind, name)):
        raise GraphBreak("attribute", f"{name} of {described(symbol)}")
    return ArrayMethod(symbol, name)


def _constant_attribute(
    interpreter: Interpreter, symbol: Constant, value: Any, name: str
) -> Symbol:
    if isinstance(value, type):
        return classes.class_attribute(interpreter, value, name)
    if isinstance(value, np.ufunc) and name in ("reduce", "accumulate", "outer", "at", "reduceat"):
        return ArrayMethod(symbol, name)
    if value is ERROR_STATE and name in ("set", "reset"):
        return ArrayMethod(symbol, name)
    if name == "at" and is_device_function(type(value)):
        return ArrayMethod(symbol, name)
    if isinstance(value, (*PURE, np.dtype, np.ufunc)) and value is not None:
        found = getattr(value, name, symbol)  # the symbol: there is none
        if found is symbol:
            raise classes.missing(interpreter.trace, type(value), name)
        if isinstance(found, (*PURE, type, np.dtype, tuple)):
            return Constant(found)
        if isinstance(found, types.BuiltinFunctionType | types.MethodWrapperType):
            return ArrayMethod(symbol, name)
    if value is None and classes.static_lookup(type(None), name) is classes.ABSENT:
        raise classes.missing(interpreter.trace, type(None), name)
    if isinstance(value, range | frozenset | tuple):
        return _attribute_of_known(interpreter.trace, symbol, value, name)
    if isinstance(value, types.FunctionType):
        return _function_attribute(interpreter, symbol, value, name)
    raise GraphBreak("attribute", f"{name} of {described(symbol)}")


NAMES_OF_CODE = {"__name__": "co_name", "__qualname__": "co_qualname"}
FUNCTION_TEXTS = ("__doc__", "__name__", "__qualname__", "__module__")


def _function_attribute(
    interpreter: Interpreter, symbol: Constant, function: types.FunctionType, name: str
) -> Symbol:
    """One of a function's names, or an attribute that the program has given it."""
    guards = interpreter.trace.guards
    on_class = classes.static_lookup(types.FunctionType, name)
    if name not in FUNCTION_TEXTS and (
        on_class is not classes.ABSENT or _hook.own_value(function, name) is _hook.NULL
    ):
        raise GraphBreak("attribute", f"{name} of {described(symbol)}")
    source = symbol.source or guards.load("LOAD_CONST", function, text=function.__name__)
    return _read_of_function(interpreter.trace, source, function, name)


def _read_of_function(
    trace: Trace, source: Source, function: types.FunctionType, name: str
) -> Unread:
    """An attribute of a function as each call finds it."""
    loaded = trace.guards.load("LOAD_ATTR", source, name, text=f"{source.text}.{name}")
    return Unread(loaded, getattr(function, name))


def _attribute_of_known(trace: Trace, symbol: Constant, value: Any, name: str) -> Symbol:
    found = getattr(value, name, symbol)
    if found is symbol:
        raise classes.missing(trace, type(value), name)
    return Constant(found) if isinstance(found, int) else ArrayMethod(symbol, name)
