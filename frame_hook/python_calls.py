"""Rules for Python's own functions and container methods: what each gives for symbols."""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook import arrays, markers, operators
from ufuse.frame_hook.calls import BUILTINS, METHODS, Rule, attribute, rule_for
from ufuse.frame_hook.interpret import Interpreter
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
    Array,
    Constant,
    Dict,
    Function,
    Integer,
    Iterator,
    List,
    Number,
    Opaque,
    Range,
    Slice,
    Symbol,
    Tuple,
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
    if not all(operators.as_size(a) is not None for a in looked) or not 1 <= len(looked) <= 3:
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
            else Tuple(tuple(operators.iterated(interpreter, known)))
        )
    return Tuple(())


@rule_for(list)
def _list(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return List(operators.iterated(interpreter, arguments[0]) if arguments else [])


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
    first = operators.as_size(interpreter.trace.look(start))
    if first is None:
        raise GraphBreak("call", "enumerate from something other than a whole number")
    number = interpreter.trace.fixed(first)
    items = operators.iterated(interpreter, arguments[0])
    return Iterator([Tuple((Constant(number + i), item)) for i, item in enumerate(items)])


@rule_for(zip)
def _zip(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    _no_keywords(keywords, "zip")
    columns = [operators.iterated(interpreter, argument) for argument in arguments]
    return Iterator([Tuple(row) for row in zip(*columns, strict=False)])


@rule_for(reversed)
def _reversed(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return Iterator(operators.iterated(interpreter, arguments[0])[::-1])


@rule_for(isinstance)
def _isinstance(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    kind = python_type(interpreter, arguments[0])
    wanted = arrays.plain(interpreter.trace, arguments[1])
    return operators.pure(issubclass, kind, wanted)


@rule_for(issubclass)
def _issubclass(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    return operators.pure(issubclass, *[arrays.plain(interpreter.trace, a) for a in arguments])


def python_type(interpreter: Interpreter, symbol: Symbol) -> type:
    """The class of the value that a symbol stands for."""
    symbol = interpreter.trace.look(symbol)
    kinds: dict[type, type] = {
        Array: np.ndarray, Integer: int, Tuple: tuple, List: list, Dict: dict, Slice: slice, Range: range,
        Function: types.FunctionType,
    }  # fmt: skip
    match symbol:
        case Constant(value=value) | Opaque(value=value):
            return type(value)
        case Number(node=node):
            kind = node.type
            if isinstance(kind, ArrayType):
                return kind.dtype.type
            assert isinstance(kind, NumberType)
            return {"int": int, "float": float, "complex": complex, "bool": bool}[kind.kind]
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
    return attribute(interpreter, arguments[0], name)


@rule_for(hasattr)
def _hasattr(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    name = arrays.plain(interpreter.trace, arguments[1])
    kind = python_type(interpreter, arguments[0])
    if kind is np.ndarray or issubclass(kind, (np.generic, int, float, complex, str)):
        return Constant(hasattr(kind, name))
    raise GraphBreak("call", "hasattr of an object")


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
            list(arguments) if len(arguments) > 1 else operators.iterated(interpreter, arguments[0])
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
    items = operators.iterated(interpreter, arguments[0])
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


def _list_append(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    target = arguments[0]
    if not isinstance(target, List) or target.source is not None:
        raise GraphBreak("effect", "append")
    target.items.append(arguments[1])
    return Constant(None)


def _list_insert(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    target = arguments[0]
    place = arrays.plain(interpreter.trace, arguments[1])
    if not isinstance(target, List) or target.source is not None or type(place) is not int:
        raise GraphBreak("effect", "insert")
    target.items.insert(place, arguments[2])
    return Constant(None)


def _dict_view(kind: str) -> Rule:
    def view(
        interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
    ) -> Symbol:
        target = arguments[0]
        assert isinstance(target, Dict)
        if kind == "keys":
            return Tuple(tuple(Constant(key) for key in target.items))
        if kind == "values":
            return Tuple(tuple(target.items.values()))
        return Tuple(tuple(Tuple((Constant(k), v)) for k, v in target.items.items()))

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
METHODS["dict.items"] = _dict_view("items")
METHODS["dict.values"] = _dict_view("values")
METHODS["dict.keys"] = _dict_view("keys")


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
