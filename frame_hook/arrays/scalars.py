"""Operators on numbers that are known only when the program runs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.objects.values import pure
from ufuse.frame_hook.trace.symbols import Constant, Integer, Number, Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.device_calls import is_read

COMPARISONS = {"lt", "le", "eq", "ne", "gt", "ge"}  # NumPy's scalars compare with every int
UFUNCS = {"pow": "power"}
FLOATS = COMPARISONS | {"add", "sub", "mul", "neg", "pos", "abs", "float"}
LARGE = 1000  # bits of an int beyond which it may be no float
NUMBER_TYPES: dict[str, Callable[..., Any]] = {"float": float, "int": int, "bool": bool}


def operator_function(name: str, *, in_place: bool) -> Callable[..., Any] | None:
    """The function of `operator` for an operator; that of the in-place one says `+=` in its errors."""
    found: Callable[..., Any] | None = getattr(
        operator, f"i{name.strip('_')}" if in_place else name, None
    )
    return found


def scalar(trace: Trace, name: str, *operands: Symbol, in_place: bool = False) -> Symbol:
    """A Python operator on numbers of which one is known only when the program runs."""
    nodes = tuple(arrays.node_of(trace, symbol) for symbol in operands)
    may_raise = _may_raise(name, nodes) and not (trace.graph.waits and _is_of_floats(name, nodes))
    node = trace.graph.node(ops.SCALAR, nodes, {"operator": name}, may_raise=may_raise)
    examples = [_example(trace, symbol) for symbol in operands]
    if not any(value is None for value in examples):
        function = operator_function(name, in_place=in_place) or NUMBER_TYPES.get(name)
        if function is not None:
            try:
                result = pure(function, *examples)
            except Raised:
                _keep_examples(trace, operands)
                raise
            assert isinstance(result, Constant)
            trace.number_examples[node] = result.value
    return Number(node)


def _keep_examples(trace: Trace, operands: tuple[Symbol, ...]) -> None:
    """Guard the operands to stay what they are: it is these values that raise."""
    for symbol in operands:
        if isinstance(symbol, Number):
            trace.specialised(symbol)
        elif isinstance(symbol, Integer):
            trace.sizes.fixed(symbol.size)


def _may_raise(name: str, nodes: tuple[Node, ...]) -> bool:
    """Whether running it could raise: Python numbers do where NumPy scalars mostly warn."""
    if name == "int":
        return True
    if name in ("bool", "not_"):
        return False
    if not any(isinstance(n.type, ArrayType) for n in nodes):
        return True
    return name not in COMPARISONS and arrays.may_raise(UFUNCS.get(name, name), nodes)


def _is_of_floats(name: str, nodes: tuple[Node, ...]) -> bool:
    """Whether it is arithmetic of Python's floats that never raises; a graph of a device raises no flags either."""
    kinds = {one.type.kind if isinstance(one.type, NumberType) else "" for one in nodes}
    if not kinds <= {"float", "bool", "int"}:
        return False
    known = [one.attributes["value"] for one in nodes if one.op is ops.CONST]
    whole = sum(isinstance(one.type, NumberType) and one.type.kind == "int" for one in nodes)
    if whole != sum(type(one) is int and one.bit_length() < LARGE for one in known):
        return name == "float" and isinstance(nodes[0].type, NumberType) and is_read(nodes[0])
    if name == "truediv":
        return nodes[1].op is ops.CONST and bool(nodes[1].attributes["value"])
    return name in FLOATS


def _example(trace: Trace, symbol: Symbol) -> Any:
    match symbol:
        case Constant(value=value):
            return value
        case Integer(size=value):
            return trace.sizes.example(value)
        case Number(node=node):
            return trace.number_examples.get(node)
    return None
