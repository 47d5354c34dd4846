"""Rules for NumPy functions that make, copy, convert, reshape or choose arrays: which nodes each becomes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.arrays.reductions import (
    array_argument,
    axes_argument,
    bound,
    dtype_argument,
    looked,
    only,
)
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import (
    BUILTINS,
    METHODS,
    Given,
    Positional,
    Rule,
    method,
    rule_for,
)
from ufuse.frame_hook.objects.values import as_size, described, is_none, pure
from ufuse.frame_hook.trace.followed import NUMERIC, is_shared
from ufuse.frame_hook.trace.layouts import MOST_BYTES
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, List, Number, Symbol, Tuple
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Op
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, c_order

# Creation --------------------------------------------------------------------------------------------------------


def shape_argument(interpreter: Interpreter, symbol: Symbol) -> tuple[Size, ...]:
    """A shape: a whole number or a sequence of them."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    parts = list(symbol.items) if isinstance(symbol, Tuple | List) else [symbol]
    shape = []
    for part in parts:
        looked_at = trace.look(part)
        expression = as_size(looked_at)
        if expression is None or arrays.is_bool(looked_at):
            raise GraphBreak("numpy-call", f"a shape with {described(part)}")
        if trace.sizes.decide("lt", expression, 0):
            raise GraphBreak("eager-raises", "ValueError: negative dimensions are not allowed")
        shape.append(expression)
    return tuple(shape)


def _order_argument(interpreter: Interpreter, symbol: Symbol | None, ndim: int) -> tuple[int, ...]:
    order = "C" if symbol is None else arrays.plain(interpreter.trace, symbol)
    if order not in ("C", "F"):
        raise GraphBreak("numpy-call", f"order={order!r}")
    return c_order(ndim) if order == "C" else tuple(reversed(range(ndim)))


def _check_bytes(interpreter: Interpreter, shape: tuple[Size, ...], dtype: np.dtype) -> None:
    """Guard that there may be room for an array: even if nothing reads it, NumPy has to say where there is none."""
    count = arrays.total([dimension for dimension in shape if dimension != 0])
    if interpreter.trace.sizes.decide("gt", count, MOST_BYTES // dtype.itemsize):
        raise GraphBreak("eager-raises", "MemoryError: no memory for an array of that size")


def _create(op: Op) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        names = (
            "shape fill_value dtype order device" if op is ops.FULL else "shape dtype order device"
        )
        given = bound(names, arguments, keywords, f"numpy.{op.name}", 1 + (op is ops.FULL))
        only(given, "shape fill_value dtype order", f"numpy.{op.name}")
        shape = shape_argument(interpreter, given["shape"])
        dtype = dtype_argument(interpreter, given.get("dtype"))
        order = _order_argument(interpreter, given.get("order"), len(shape))
        _check_bytes(interpreter, shape, np.dtype(np.float64) if dtype is None else dtype)
        inputs: tuple[Node, ...] = ()
        if op is ops.FULL:
            value = interpreter.trace.look(given["fill_value"])
            if not arrays.is_number(value):
                raise GraphBreak("numpy-call", "numpy.full with an array")
            inputs = (arrays.node_of(interpreter.trace, value),)
        elif dtype is None:
            dtype = np.dtype(np.float64)
        attributes = {"shape": shape, "dtype": dtype, "order": order}
        return interpreter.trace.graph.fresh(interpreter.trace.graph.node(op, inputs, attributes))

    return rule


def _create_like(op: Op) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        names = (
            "a fill_value dtype order subok shape"
            if op is ops.FULL
            else "a dtype order subok shape"
        )
        what = f"numpy.{op.name}_like"
        given = bound(names, arguments, keywords, what, 1 + (op is ops.FULL))
        only(given, "a fill_value dtype", what)
        like = array_argument(interpreter, given["a"], what)
        if like.type.order is None:
            raise GraphBreak("layout", f"{what} of an array with unusual strides")
        dtype = dtype_argument(interpreter, given.get("dtype")) or like.type.dtype
        inputs = (arrays.node_of(interpreter.trace, given["fill_value"]),) if op is ops.FULL else ()
        attributes = {"shape": like.type.shape, "dtype": dtype, "order": like.type.order}
        return interpreter.trace.graph.fresh(interpreter.trace.graph.node(op, inputs, attributes))

    return rule


for _op in (ops.EMPTY, ops.ZEROS, ops.ONES, ops.FULL):
    BUILTINS[getattr(np, _op.name)] = _create(_op)
    BUILTINS[getattr(np, f"{_op.name}_like")] = _create_like(_op)


@rule_for(np.arange)
def _arange(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    trace = interpreter.trace
    result = arrays.call_whole(trace, "numpy.arange", arguments, dict(keywords), may_raise=True)
    if isinstance(result, Array) and not trace.sizes.decide("ge", result.type.shape[0], 0):
        raise GraphBreak("numpy-call", "numpy.arange that ends before it begins")
    return result


# Conversion and copies -------------------------------------------------------------------------------------------


@rule_for(np.asarray, np.asanyarray)
def _asarray(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a dtype order", arguments, keywords, "numpy.asarray")
    only(given, "a dtype", "numpy.asarray")
    array = array_argument(interpreter, given["a"], "numpy.asarray")
    dtype = dtype_argument(interpreter, given.get("dtype"))
    if dtype is None:
        return array
    kinds = [node.type for node, _ in interpreter.trace.graph.inputs]
    of_own = any(isinstance(kind, ArrayType) and not is_shared(kind.dtype) for kind in kinds)
    if dtype is not array.type.dtype or of_own:  # a view, where it is equal but another object
        raise GraphBreak("numpy-call", "numpy.asarray with another dtype")
    return array


@rule_for(np.ascontiguousarray)
def _ascontiguousarray(interpreter: Interpreter, /, a: Symbol) -> Symbol:
    array = array_argument(interpreter, a, "numpy.ascontiguousarray")
    kind = array.type
    if kind.ndim == 0:
        raise GraphBreak("numpy-call", "numpy.ascontiguousarray of a 0-d array")
    if kind.order is None:
        raise GraphBreak("layout", "it is not known whether ascontiguousarray copies")
    if kind.contiguous and kind.order == c_order(kind.ndim):
        return array
    return _copied(interpreter, array, "C")


@rule_for(np.array)
def _array(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("object dtype", arguments, keywords, "numpy.array")
    value = interpreter.trace.look(given["object"])
    if isinstance(value, Array):
        if "dtype" in given:
            raise GraphBreak("numpy-call", "numpy.array of an array with dtype=")
        return _copied(interpreter, value, "K")
    constant = arrays.plain(interpreter.trace, value)
    if not _small_numbers(constant):
        raise GraphBreak("numpy-call", "numpy.array of these values")
    return arrays.call_whole(interpreter.trace, "numpy.array", arguments, dict(keywords))


def _small_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_small_numbers(item) for item in value)
    return isinstance(value, (bool, int, float, complex, np.generic))


def _copied(interpreter: Interpreter, array: Array, order: str) -> Symbol:
    node = interpreter.trace.graph.node(
        ops.COPY, (interpreter.trace.graph.value(array),), {"order": order}
    )
    return interpreter.trace.graph.fresh(node)


def _copy_method(default: str) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        given = bound("a order", arguments, keywords, "copy")
        order = arrays.plain(interpreter.trace, given["order"]) if "order" in given else default
        if order not in ("C", "K"):
            raise GraphBreak("numpy-call", f"a copy with order={order!r}")
        return _copied(interpreter, array_argument(interpreter, given["a"], "copy"), order)

    return rule


METHODS["copy"] = _copy_method("C")
BUILTINS[np.copy] = _copy_method("K")


def _astype(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a dtype order casting subok copy", arguments, keywords, "astype", 2)
    only(given, "a dtype copy", "astype")
    symbol = interpreter.trace.look(given["a"])
    dtype = dtype_argument(interpreter, given["dtype"])
    node = arrays.node_of(interpreter.trace, symbol)
    assert isinstance(node.type, ArrayType)
    copy = arrays.plain(interpreter.trace, given["copy"]) if "copy" in given else True
    if dtype is None or type(copy) not in (bool, int):
        raise GraphBreak("numpy-call", "astype with these arguments")
    if not copy and dtype == node.type.dtype:
        return symbol
    return interpreter.trace.graph.fresh(
        interpreter.trace.graph.node(ops.CAST, (node,), {"dtype": dtype})
    )


METHODS["astype"] = _astype


def _scalar_type(kind: type) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        if len(arguments) != 1 or keywords:
            raise GraphBreak("numpy-call", f"numpy.{kind.__name__} with these arguments")
        symbol = interpreter.trace.look(arguments[0])
        if isinstance(symbol, Constant):
            return pure(kind, symbol.value)
        if isinstance(symbol, Number):
            known = symbol.node.type  # a Python float is no np.float64
            if isinstance(known, ArrayType) and known.dtype == np.dtype(kind):
                return symbol
        raise GraphBreak("numpy-call", f"numpy.{kind.__name__} of {described(symbol)}")

    return rule


for _kind in {np.dtype(_char).type for _char in NUMERIC}:
    BUILTINS[_kind] = _scalar_type(_kind)


# Shape -----------------------------------------------------------------------------------------------------------


@rule_for(np.reshape)
def _reshape(
    interpreter: Interpreter, a: Symbol, /, shape: Symbol, order: Symbol | None = None
) -> Symbol:
    return _reshaped(interpreter, a, [shape], order)


@method("reshape")
def _reshape_method(
    interpreter: Interpreter, a: Symbol, /, *shape: Symbol, order: Symbol | None = None
) -> Symbol:
    return _reshaped(interpreter, a, shape, order)


def _reshaped(
    interpreter: Interpreter, a: Symbol, shape: Positional, order: Symbol | None
) -> Symbol:
    if order is not None and arrays.plain(interpreter.trace, order) != "C":
        raise GraphBreak("numpy-call", "reshape with another order")
    array = array_argument(interpreter, a, "reshape")
    sizes = [interpreter.trace.look(size) for size in shape]
    if len(sizes) == 1 and isinstance(sizes[0], Tuple | List):
        sizes = list(sizes[0].items)
    return arrays.reshape(interpreter.trace, array, sizes)


def _refuse(what: str) -> Symbol:
    raise GraphBreak("numpy-call", f"{what} with these arguments")


@rule_for(np.ravel)
@method("ravel")
def _ravel(interpreter: Interpreter, /, a: Symbol) -> Symbol:
    return arrays.ravel(interpreter.trace, array_argument(interpreter, a, "ravel"))


def _transpose_method(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords:
        raise GraphBreak("eager-raises", "TypeError: transpose() takes no keyword arguments")
    axes: Symbol = Tuple(tuple(arguments[1:])) if len(arguments) > 1 else Constant(None)
    if len(arguments) == 2:
        axes = arguments[1]
    return _transposed(interpreter, arguments[0], axes)


@rule_for(np.transpose)
def _transpose(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a axes", arguments, keywords, "numpy.transpose")
    return _transposed(interpreter, given["a"], given.get("axes", Constant(None)))


def _transposed(interpreter: Interpreter, symbol: Symbol, axes: Symbol) -> Symbol:
    array = array_argument(interpreter, symbol, "transpose")
    axes = interpreter.trace.look(axes)
    if is_none(axes):
        order = tuple(reversed(range(array.type.ndim)))
        return arrays.transpose(interpreter.trace, array, order)
    items = axes.items if isinstance(axes, Tuple | List) else (axes,)
    values = tuple(arrays.plain(interpreter.trace, item) for item in items)
    normal = axes_argument(interpreter, Constant(values), array.type.ndim)
    if normal is None or len(normal) != array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: axes don't match array")
    return arrays.transpose(interpreter.trace, array, normal)


def _swapaxes(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a axis1 axis2", arguments, keywords, "swapaxes", 3)
    array = array_argument(interpreter, given["a"], "swapaxes")
    pair = [arrays.plain(interpreter.trace, given[name]) for name in ("axis1", "axis2")]
    order = list(range(array.type.ndim))
    if not all(type(axis) is int and -len(order) <= axis < len(order) for axis in pair):
        raise GraphBreak("eager-raises", "AxisError: axis is out of bounds")
    first, second = (axis % len(order) for axis in pair)
    order[first], order[second] = order[second], order[first]
    return arrays.transpose(interpreter.trace, array, tuple(order))


METHODS["transpose"] = _transpose_method
METHODS["swapaxes"] = lambda i, a, k: _refuse("swapaxes") if k else _swapaxes(i, a, k)
BUILTINS[np.swapaxes] = _swapaxes


def _asking(name: str) -> Rule:
    def rule(interpreter: Interpreter, /, a: Symbol) -> Symbol:
        array = array_argument(interpreter, a, f"numpy.{name}")
        return arrays.array_attribute(interpreter.trace, array, name)

    return rule


rule_for(np.shape)(_asking("shape"))
rule_for(np.ndim)(_asking("ndim"))


# Choice ----------------------------------------------------------------------------------------------------------


@rule_for(np.where)
def _where(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 3 or keywords:
        raise GraphBreak("numpy-call", "numpy.where with a condition alone")
    nodes = tuple(arrays.node_of(interpreter.trace, a) for a in arguments)
    if not any(isinstance(n.type, ArrayType) and not n.type.scalar for n in nodes):
        raise GraphBreak("numpy-call", "numpy.where of numbers")
    return interpreter.trace.graph.fresh(interpreter.trace.graph.node(ops.WHERE, nodes))


CLIP_TAKES_MIN = "min" in inspect.signature(np.clip).parameters  # from NumPy 2.1 on


def _clip(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """`np.clip(a, a_min, a_max)`, where both are given, and `np.clip(a, min=, max=)`."""
    names = ("a", "a_min", "a_max")[: len(arguments)]
    limits = {"a_min", "a_max"}.intersection((*names, *keywords))
    if not {"min", "max"}.isdisjoint(keywords) and not CLIP_TAKES_MIN:
        raise GraphBreak("numpy-call", "numpy.clip with min= or max=")
    if len(limits) == 1 or (limits and not {"min", "max"}.isdisjoint(keywords)):
        raise GraphBreak("eager-raises", "numpy.clip with these bounds")
    if limits:
        given = bound("a a_min a_max", arguments, keywords, "numpy.clip")
        return _between(interpreter, given, "a_min", "a_max")
    given = bound("a min max", arguments[:1], keywords, "numpy.clip")
    return _between(interpreter, given, "min", "max")


def _clip_method(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a min max", arguments, keywords, "ndarray.clip")
    return _between(interpreter, given, "min", "max")


def _between(
    interpreter: Interpreter, given: dict[str, Symbol], lowest: str, highest: str
) -> Symbol:
    array = array_argument(interpreter, given["a"], "numpy.clip")
    given = looked(interpreter, given)
    low, high = given.get(lowest), given.get(highest)
    clip: Any = np._core.umath.clip  # type: ignore[attr-defined]
    if low is None or high is None:
        if low is None and high is None:
            raise GraphBreak("numpy-call", "numpy.clip without bounds")
        bound_, ufunc = (high, np.minimum) if low is None else (low, np.maximum)
        assert bound_ is not None
        return arrays.elementwise(interpreter.trace, ufunc, (array, bound_))
    return arrays.elementwise(interpreter.trace, clip, (array, low, high))


METHODS["clip"], BUILTINS[np.clip] = _clip_method, _clip


def _fill(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 2 or keywords:
        raise GraphBreak("numpy-call", "fill with these arguments")
    array = array_argument(interpreter, arguments[0], "fill")
    value = interpreter.trace.look(arguments[1])
    if not arrays.is_number(value):
        raise GraphBreak("numpy-call", "fill with an array")
    indexing.store_into(interpreter.trace, array, value)
    return Constant(None)


METHODS["fill"] = _fill


__all__ = ["METHODS"]
