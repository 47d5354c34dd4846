"""Rules for Python's own functions and container methods: what each gives for symbols."""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook import arrays, classes, instances, iterate, markers, operators, subclasses
from ufuse.frame_hook.calls import BUILTINS, METHODS, Rule, attribute, rule_for
from ufuse.frame_hook.interpret import Interpreter, Raised, slot_names
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
    Array,
    Cell,
    Constant,
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
    Super,
    Symbol,
    Tuple,
    Unread,
    View,
    class_of,
)
from ufuse.graph.types import ArrayType, NumberType

Given = Mapping[str, Symbol]
Positional = Sequence[Symbol]


# Functions and types ------------------------------------------------------------------------------------------


def _no_keywords(keywords: Mapping[str, Symbol], name: str) -> None:
    if keywords:
        raise GraphBreak("call", f"{name} with keyword arguments")


@rule_for(len)
def _len(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return operators.length(interpreter, arguments[0])


@rule_for(range)
def _range(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    looked = [interpreter.trace.look(a) for a in arguments]
    if not all(iterate.as_size(a) is not None for a in looked) or not 1 <= len(looked) <= 3:
        raise GraphBreak("call", "range of something other than whole numbers")
    if all(isinstance(a, Constant) for a in looked):
        return operators.pure(range, *[a.value for a in looked if isinstance(a, Constant)])
    if len(looked) == 1:
        looked.insert(0, Constant(0))
    if len(looked) == 2:
        looked.append(Constant(1))
    return Range(looked[0], looked[1], looked[2])


@rule_for(slice)
def _slice(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    none = Constant(None)
    if len(arguments) == 1:
        return Slice(none, arguments[0], none)
    return Slice(arguments[0], arguments[1], arguments[2] if len(arguments) > 2 else none)


@rule_for(tuple)
def _tuple(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    if arguments:
        known = interpreter.trace.look(arguments[0])
        return (
            known
            if isinstance(known, Tuple)
            else Tuple(tuple(iterate.items_of(interpreter, known)))
        )
    return Tuple(())


@rule_for(list)
def _list(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return List(iterate.items_of(interpreter, arguments[0]) if arguments else [])


@rule_for(dict)
def _dict(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    if not arguments:
        return Dict(dict(keywords))
    known = interpreter.trace.look(arguments[0])
    if not isinstance(known, Dict):
        raise GraphBreak("call", "dict of something other than a dict")
    return Dict({**known.items, **keywords})


@rule_for(enumerate)
def _enumerate(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    start = keywords.get("start", arguments[1] if len(arguments) > 1 else Constant(0))
    first = iterate.as_size(interpreter.trace.look(start))
    if first is None:
        raise GraphBreak("call", "enumerate from something other than a whole number")
    number = interpreter.trace.fixed(first)
    return Iterator("enumerate", [iterate.iterator_over(interpreter, arguments[0])], number)


@rule_for(zip)
def _zip(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    _no_keywords(keywords, "zip")
    return Iterator("zip", [iterate.iterator_over(interpreter, argument) for argument in arguments])


@rule_for(reversed)
def _reversed(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    symbol = interpreter.trace.look(arguments[0])
    if isinstance(symbol, List | Tuple):
        return Iterator("reversed", [symbol], length=len(symbol.items))
    if isinstance(symbol, Range | Array) or (
        isinstance(symbol, Constant) and type(symbol.value) in (range, str)
    ):
        return Iterator("items", iterate.items_of(interpreter, symbol)[::-1])
    raise GraphBreak("call", f"reversed of {operators.described(symbol)}")


@rule_for(isinstance)
def _isinstance(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    kind = python_type(interpreter, arguments[0])
    return Constant(subclasses.is_instance(interpreter, arguments[0], kind, arguments[1]))


@rule_for(issubclass)
def _issubclass(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return Constant(subclasses.is_subclass(interpreter, arguments[0], arguments[1]))


def python_type(interpreter: Interpreter, symbol: Symbol) -> type:
    """The class of the value that a symbol stands for."""
    symbol = interpreter.trace.look(symbol)
    kinds: dict[type, type] = {
        Array: np.ndarray, Integer: int, Tuple: tuple, List: list, Dict: dict, Slice: slice, Range: range,
        Function: types.FunctionType, Set: set, Generator: types.GeneratorType, Method: types.MethodType, Super: super,
    }  # fmt: skip
    match symbol:
        case Constant(value=value) | Opaque(value=value):
            return type(value)
        case Instance(kind=kind):
            return kind
        case Number(node=node):
            known = node.type
            if isinstance(known, ArrayType):
                return known.dtype.type
            assert isinstance(known, NumberType)
            return {"int": int, "float": float, "complex": complex, "bool": bool}[known.kind]
    if type(symbol) in kinds:
        return kinds[type(symbol)]
    raise GraphBreak("call", f"the type of {operators.described(symbol)}")


@rule_for(type)
def _type(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    if len(arguments) != 1:
        raise GraphBreak("call", "type() that makes a class")
    return Constant(python_type(interpreter, arguments[0]))


@rule_for(getattr)
def _getattr(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    name = arrays.plain(interpreter.trace, arguments[1])
    if len(arguments) < 3:
        return attribute(interpreter, arguments[0], name)
    try:
        return attribute(interpreter, arguments[0], name)
    except Raised as raised:
        if isinstance(raised.symbol, Instance) and issubclass(raised.symbol.kind, AttributeError):
            return arguments[2]
        raise


@rule_for(hasattr)
def _hasattr(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    name = arrays.plain(interpreter.trace, arguments[1])
    kind = python_type(interpreter, arguments[0])
    if kind is np.ndarray or issubclass(kind, (np.generic, int, float, complex, str)):
        return Constant(classes.static_lookup(kind, name) is not classes.ABSENT)
    try:
        attribute(interpreter, arguments[0], name)
    except Raised as raised:
        if isinstance(raised.symbol, Instance) and issubclass(raised.symbol.kind, AttributeError):
            return Constant(value=False)
        raise
    return Constant(value=True)


@rule_for(iter)
def _iter(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 1:
        raise GraphBreak("call", "iter with a sentinel")
    return iterate.iterator_over(interpreter, arguments[0])


@rule_for(next)
def _next(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    item = iterate.next_item(interpreter, interpreter.trace.look(arguments[0]))
    if item is not None:
        return item
    if len(arguments) > 1:
        return arguments[1]
    raise Raised(Instance(StopIteration, content=Tuple(())))


@rule_for(map)
def _map(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _no_keywords(keywords, "map")
    function, *others = arguments
    parts = [iterate.iterator_over(interpreter, other) for other in others]
    return Iterator("map", [interpreter.trace.look(function), *parts])


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
    text = operators.known_value(interpreter, name)
    classes.store_plainly(interpreter, target, text, value)
    return Constant(None)


@rule_for(setattr)
def _setattr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target, name, value = arguments
    text = operators.known_value(interpreter, name)
    classes.store_attribute(interpreter, target, text, value)
    return Constant(None)


@rule_for(delattr)
def _delattr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target, name = arguments
    classes.store_attribute(interpreter, target, operators.known_value(interpreter, name), None)
    return Constant(None)


@rule_for(format)
def _format(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    value, spec = (
        interpreter.trace.look(arguments[0]),
        arguments[1] if len(arguments) > 1 else Constant(""),
    )
    if isinstance(value, Instance):
        return classes.call_special(interpreter, value, "__format__", (spec,))
    return operators.pure(format, *[operators.known_value(interpreter, a) for a in (value, spec)])


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


@rule_for(abs)
def _abs(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return operators.unary(interpreter, "abs", arguments[0])


def _conversion(kind: type) -> Rule:
    def convert(
        interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
    ) -> Symbol:
        if len(arguments) != 1:
            return operators.pure(kind, *[arrays.plain(interpreter.trace, a) for a in arguments])
        symbol = interpreter.trace.look(arguments[0])
        if isinstance(symbol, Constant):
            return operators.pure(kind, symbol.value)
        if kind is bool:
            return Constant(operators.truth(interpreter, symbol))
        if kind is int and isinstance(symbol, Integer):
            return symbol
        if isinstance(symbol, Number | Integer):
            return operators.scalar(interpreter.trace, kind.__name__, symbol)
        raise GraphBreak("call", f"{kind.__name__} of {operators.described(symbol)}")

    return convert


for _kind in (float, int, bool, complex):
    BUILTINS[_kind] = _conversion(_kind)


def _extreme(name: str) -> Rule:
    def choose(
        interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
    ) -> Symbol:
        _no_keywords(keywords, name)
        items = (
            list(arguments) if len(arguments) > 1 else iterate.items_of(interpreter, arguments[0])
        )
        if not items:
            raise GraphBreak("eager-raises", f"ValueError: {name}() of nothing")
        best, *others = items
        for other in others:
            relation = operators.compare(interpreter, "gt" if name == "max" else "lt", other, best)
            if operators.truth(interpreter, relation):
                best = other
        return best

    return choose


BUILTINS[max] = _extreme("max")
BUILTINS[min] = _extreme("min")


@rule_for(sum)
def _sum(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    total: Symbol = keywords.get("start", arguments[1] if len(arguments) > 1 else Constant(0))
    items = iterate.items_of(interpreter, arguments[0])
    floats = [i for i in items if operators.number_type(interpreter.trace.look(i)) == "float"]
    if len(floats) > 1:
        raise GraphBreak(
            "call", "sum of Python floats"
        )  # CPython compensates their rounding since 3.12
    for entry in items:
        total = operators.binary(interpreter, "+", total, entry, in_place=False)
    return total


@rule_for(markers.graph_break)
def _graph_break(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    reason = [arrays.plain(interpreter.trace, a) for a in (*arguments, *keywords.values())]
    raise GraphBreak("requested", repr(reason[0]) if reason else "")


@rule_for(markers.is_tracing)
def _is_tracing(_: Interpreter, __: Sequence[Symbol], ___: Mapping[str, Symbol]) -> Symbol:
    return Constant(value=True)


def _list_append(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target, item = arguments
    assert isinstance(target, List)
    target.items.append(item)
    interpreter.trace.changes.call(list.append, target, item)
    return Constant(None)


def _list_insert(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target, where, item = arguments
    place = operators.known_value(interpreter, where)
    if not isinstance(target, List) or type(place) is not int:
        raise GraphBreak("effect", "insert")
    target.items.insert(place, item)
    interpreter.trace.changes.call(list.insert, target, Constant(place), item)
    return Constant(None)


def _dict_view(kind: str) -> Rule:
    def view(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        target = arguments[0]
        assert isinstance(target, Dict)
        return View(target, kind)

    return view


def _dict_get(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    target = arguments[0]
    assert isinstance(target, Dict)
    key = operators.hashable(interpreter.trace.look(arguments[1]))
    return target.items.get(key, arguments[2] if len(arguments) > 2 else Constant(None))


METHODS["list.append"] = _list_append
METHODS["list.insert"] = _list_insert
METHODS["dict.get"] = _dict_get
for _view in ("items", "values", "keys"):
    METHODS[f"dict.{_view}"] = _dict_view(_view)


# Python's math and operator modules ------------------------------------------------------------------------------


def _pure_of_constants(function: Callable[..., Any]) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        values = [interpreter.trace.look(a) for a in arguments]
        if keywords or not all(
            isinstance(v, Constant) and isinstance(v.value, operators.PURE) for v in values
        ):
            raise GraphBreak(
                "call",
                f"{function.__module__}.{function.__name__} of a value known only at run time",
            )
        return operators.pure(function, *[v.value for v in values if isinstance(v, Constant)])

    return rule


for _function in vars(math).values():
    if callable(_function):
        BUILTINS[_function] = _pure_of_constants(_function)
for _function in (
    np.dtype,
    np.result_type,
    np.promote_types,
    np.isscalar,
    np.issubdtype,
    round,
    divmod,
    hash,
    repr,
    str,
):
    BUILTINS.setdefault(_function, _pure_of_constants(_function))


@rule_for(operator.index)
def _index(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    symbol = interpreter.trace.look(arguments[0])
    if isinstance(symbol, Integer):
        return symbol
    if isinstance(symbol, Constant):
        return operators.pure(operator.index, symbol.value)
    raise GraphBreak("call", f"operator.index of {operators.described(symbol)}")


__all__ = ["METHODS", "python_type"]
