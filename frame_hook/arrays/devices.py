"""Arrays on a device in the trace: CuPy's, by CuPy's own rules. What has no rule here ends the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    ArrayMethod,
    Constant,
    DeviceArray,
    Integer,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, size
from ufuse.graph.node import Node
from ufuse.graph.ops import Op
from ufuse.graph.types import ArrayType, NumberType, Span
from ufuse.graph.typing.infer import DEVICE_FUNCTION, DEVICE_METHOD
from ufuse.graph.typing.library import CUDA, cupy

# The functions that CuPy's `**` calls for some exponents, which are Python's numbers.
FAST_POWERS = {
    (int, 2): "square",
    (float, 2.0): "square",
    (float, -1.0): "reciprocal",
    (float, 0.5): "sqrt",
}


def node_of(trace: Trace, symbol: Symbol) -> Node:
    """The node of an operand: an array on a device, or a number.

    Raises:
        GraphBreak: it is neither.

    """
    symbol = trace.look(symbol)
    if isinstance(symbol, DeviceArray):
        return trace.graph.value(symbol)
    if not arrays.is_number(symbol):
        raise GraphBreak(
            "operator", "arithmetic of CuPy's with what is neither its array nor a number"
        )
    return arrays.node_of(trace, symbol)


def elementwise(trace: Trace, op: Op, operands: Sequence[Symbol]) -> Symbol:
    """The result of an elementwise function, a new array on the device."""
    nodes = tuple(node_of(trace, symbol) for symbol in operands)
    if op.name == "positive" and nodes[0].type.dtype.kind == "b":  # type: ignore[union-attr]
        raise GraphBreak("eager-raises", "DeprecationWarning: + of bools")
    return trace.graph.fresh(_elementwise_node(trace, op, nodes))


def _elementwise_node(trace: Trace, op: Op, nodes: tuple[Node, ...]) -> Node:
    assert op is ops.WHERE or op.ufunc is not None
    may_raise = op.ufunc is None or arrays.may_raise(op.ufunc.__name__, nodes)
    return trace.graph.node(op, nodes, may_raise=may_raise)


def operator(trace: Trace, name: str, *operands: Symbol) -> Symbol:
    """The result of one of Python's operators, which is that of CuPy's function of this name."""
    if name == "power" and isinstance(operands[0], DeviceArray):
        return _power(trace, operands[0], operands[1])
    return elementwise(trace, ops.UFUNCS[name], operands)


def in_place(trace: Trace, name: str, target: DeviceArray, other: Symbol) -> Symbol:
    """`target op= other`, which is CuPy's function with `out=target`."""
    if name == "power":
        raise GraphBreak("operator", "**= of CuPy's arrays")
    return store_result(trace, ops.UFUNCS[name], (target, other), target)


def store_result(trace: Trace, op: Op, operands: Sequence[Symbol], target: DeviceArray) -> Symbol:
    """An elementwise function with `out=target`; what overlaps with it is read first, as CuPy copies it."""
    value = _elementwise_node(trace, op, tuple(node_of(trace, one) for one in operands))
    kind = value.type
    assert isinstance(kind, ArrayType)
    if not np.can_cast(kind.dtype, target.type.dtype, "same_kind"):
        raise GraphBreak("eager-raises", f"a result of {kind.dtype} for {target.type.dtype}")
    if len(kind.shape) > target.type.ndim:
        raise GraphBreak("eager-raises", "the result does not fit the output array")
    _store(trace, target, value)
    return target


def store_item(trace: Trace, array: DeviceArray, key: Symbol, value: Symbol) -> None:
    """`array[key] = value`, with slices, whole numbers, new axes and an ellipsis."""
    mask = trace.look(key)
    if isinstance(mask, DeviceArray) and mask.type.dtype.kind == "b":
        _store_where(trace, array, mask, trace.look(value))
        return
    target, value = item(trace, array, key), trace.look(value)
    if isinstance(value, DeviceArray):
        if value.buffer is target.buffer and value.path == target.path:
            if target.buffer.visible:
                trace.arrays.check_writable(target.buffer)
            return  # the store at the end of `a[i] += x`
        if not np.can_cast(value.type.dtype, target.type.dtype, "same_kind"):
            raise GraphBreak("numpy-call", "an assignment to an array of CuPy's that casts")
        _store(trace, target, trace.graph.value(value))
        return
    _store(trace, target, trace.graph.constant(stored_number(value, target.type.dtype)))


def _store_where(trace: Trace, target: DeviceArray, mask: DeviceArray, value: Symbol) -> None:
    """`target[mask] = number`: one pass in which the other elements keep what they have; CuPy counts the mask first."""
    dtype, missing = target.type.dtype, target.type.ndim - mask.type.ndim
    number = value.value if isinstance(value, Constant) else 0
    if not arrays.is_number(value) or isinstance(number, complex | np.generic):
        raise GraphBreak("index", "with a mask, to assign such values,")
    largest = LARGEST_STORED if dtype.kind in "iu" else LARGEST_FLOATS.get(dtype.char, math.inf)
    least = 0 if dtype.kind in "iu" else -largest
    if math.isfinite(number) and not least <= number <= largest:
        raise GraphBreak("index", "with a mask, to assign a number that may not fit,")
    lengths = zip(mask.type.shape, target.type.shape, strict=False)
    if missing < 0 or not mask.type.ndim or not all(trace.sizes.equal(*one) for one in lengths):
        raise GraphBreak("eager-raises", "IndexError: the mask has another shape")
    if missing:
        spans = tuple(Span(0, length) for length in mask.type.shape)
        entries = (*spans, *(None,) * missing)
        mask = trace.graph.view(mask, ops.INDEX, {"index": entries})
    nodes = (trace.graph.value(mask), node_of(trace, value), trace.graph.value(target))
    chosen = trace.graph.node(ops.WHERE, nodes)
    if chosen.type.dtype != dtype:  # type: ignore[union-attr]
        raise GraphBreak("index", "with a mask, to assign values of another dtype,")
    _store(trace, target, chosen)


def stored_number(value: Symbol, dtype: np.dtype | None) -> Any:
    """A number that is written into an array as it is.

    Raises:
        GraphBreak: it is another value, or one that the dtype may not hold.

    """
    number = value.value if isinstance(value, Constant) else None
    kinds = {bool: "biuf", int: "iuf", float: "f"}.get(type(number), "")
    fits = dtype is None or dtype.kind in kinds
    if not kinds or not fits or not 0 <= number <= LARGEST_STORED:  # type: ignore[operator]
        raise GraphBreak("numpy-call", "a value that is written into an array of CuPy's")
    return number


LARGEST_STORED = 100  # a number that every dtype can hold
LARGEST_FLOATS = {
    "e": 65504.0,
    "f": float(np.finfo("f4").max),
}  # beyond them CuPy warns of an overflow


def _store(trace: Trace, target: DeviceArray, value: Node) -> None:
    if target.type.dtype.kind not in "biuf":
        raise GraphBreak("numpy-call", "a store into an array of complex numbers of CuPy's")
    trace.store(target, value, "unsafe")


def _power(trace: Trace, base: DeviceArray, exponent: Symbol) -> Symbol:
    """`base ** exponent`, which CuPy looks at."""
    fast, kind = None, base.type.dtype.kind
    match exponent:
        case Constant(value=float()) | Number() if kind not in "fc":
            raise GraphBreak("operator", "a power of CuPy's of integers with such an exponent")
        case Constant(value=int() | float() as value):
            fast = FAST_POWERS.get((type(value), value))
        case Integer(size=whole) if trace.sizes.decide("eq", whole, 2):
            fast = "square"
        case Number(node=node) if node.type == NumberType("float"):
            fast = _fast_power(trace, exponent)
    if fast is not None and kind != "b":
        return elementwise(trace, ops.UFUNCS[fast], (base,))
    if fast is not None:
        raise GraphBreak("operator", "a square of CuPy's of bools")
    return elementwise(trace, ops.UFUNCS["power"], (base, exponent))


def _fast_power(trace: Trace, exponent: Number) -> str | None:
    """The function for a float of the frame; that it is one, or none, of the fast exponents is guarded."""
    if exponent.source is None or exponent.node not in trace.number_examples:
        raise GraphBreak("operator", "a power of CuPy's with a computed exponent")
    value = trace.number_examples[exponent.node]
    found = FAST_POWERS.get((float, value))
    if found is not None:
        trace.guards.check("FLOAT", exponent.source, value)
        return found
    for kind, fast in FAST_POWERS:
        if kind is float:
            trace.guards.check("NOT_FLOAT", exponent.source, fast)
    return None


def call_function(
    trace: Trace, function: Any, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    """A call of one of CuPy's elementwise functions, with its operands alone."""
    op = cupy().op_of(function)
    looked = [trace.look(one) for one in arguments]
    on_device = any(isinstance(one, DeviceArray) for one in looked)
    out = trace.look(keywords["out"]) if set(keywords) == {"out"} else None
    known = not keywords or isinstance(out, DeviceArray)
    if op is None or not known or len(looked) != function.nin or not on_device:
        raise GraphBreak("numpy-call", f"{function.name} with these arguments")
    if isinstance(out, DeviceArray):
        return store_result(trace, op, looked, out)
    return elementwise(trace, op, looked)


def attribute(trace: Trace, array: DeviceArray, name: str) -> Symbol:
    """An attribute of an array, or a method to be called."""
    kind = array.type
    match name:
        case "shape":
            return Tuple(tuple(arrays.integer(trace, length) for length in kind.shape))
        case "ndim":
            return Constant(kind.ndim)
        case "size":
            return arrays.integer(trace, arrays.total(kind.shape))
        case "dtype":
            return Constant(kind.dtype)
        case "itemsize":
            return Constant(kind.dtype.itemsize)
        case "nbytes":
            return arrays.integer(
                trace, size.multiply(arrays.total(kind.shape), kind.dtype.itemsize)
            )
        case "T" if kind.ndim < 2:
            return array  # itself; `transpose()` is a view
        case "T":
            axes = tuple(reversed(range(kind.ndim)))
            return trace.graph.view(array, ops.TRANSPOSE, {"axes": axes})
    if callable(getattr(cupy().array, name, None)):
        return ArrayMethod(array, name)
    raise GraphBreak("attribute", f"{name} of an array of CuPy's")


def length(trace: Trace, array: DeviceArray) -> Symbol:
    """What `len(array)` is."""
    if not array.type.shape:
        raise GraphBreak("eager-raises", "TypeError: len() of unsized object")
    return arrays.integer(trace, array.type.shape[0])


def item(trace: Trace, array: DeviceArray, key: Symbol) -> DeviceArray:
    """`array[key]` with slices, whole numbers, new axes and an ellipsis: always a view."""
    entries = indexing.basic_index(trace, array, trace.look(key))
    return trace.graph.view(array, ops.INDEX, {"index": entries})


def subscript(trace: Trace, array: DeviceArray, key: Symbol) -> DeviceArray:
    """`array[key]`: a view, or a new array of what an array of whole numbers names along the first axis."""
    looked = trace.look(key)
    if isinstance(looked, DeviceArray) and array.type.ndim:
        return take(trace, array, looked, 0)
    return item(trace, array, key)


def take(trace: Trace, array: DeviceArray, places: DeviceArray, axis: int | None) -> DeviceArray:
    """`array.take(places, axis)` by CuPy's own call; places out of range wrap."""
    return method_call(trace, "take", (array, places), axis)


def method_call(
    trace: Trace, name: str, operands: Sequence[DeviceArray], axis: int | None
) -> DeviceArray:
    """A new array, by a method of CuPy's with an axis."""
    attributes = {
        "function": DEVICE_METHOD + name,
        "arguments": tuple(range(len(operands))),
        "keywords": (("axis", ("const", axis)),),
    }
    nodes = tuple(map(trace.graph.value, operands))
    found = trace.graph.fresh(trace.graph.node(ops.CALL, nodes, attributes, may_raise=True))
    assert isinstance(found, DeviceArray)
    return found


def function_call(
    trace: Trace,
    name: str,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Any] | None = None,
) -> DeviceArray:
    """A new array, by a function of CuPy's of arrays and numbers; keywords are Python values."""
    inputs: list[Node] = []
    given: list[Any] = []
    for symbol in map(trace.look, arguments):
        if isinstance(symbol, Constant):
            given.append(("const", symbol.value))
        else:
            given.append(len(inputs))
            inputs.append(node_of(trace, symbol))
    attributes = {
        "function": DEVICE_FUNCTION + name,
        "arguments": tuple(given),
        "keywords": tuple((key, ("const", value)) for key, value in (keywords or {}).items()),
        "device": CUDA,
    }
    found = trace.graph.fresh(trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=True))
    assert isinstance(found, DeviceArray)
    return found


def where(trace: Trace, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """`cupy.where(condition, x, y)`, which makes bools of the condition first."""
    looked = [trace.look(one) for one in arguments]
    if keywords or len(looked) != 3 or not isinstance(looked[0], DeviceArray):
        raise GraphBreak("numpy-call", "cupy.where with these arguments")
    condition = looked[0]
    if condition.type.dtype.kind != "b":
        return elementwise(trace, ops.WHERE, (cast(trace, condition, np.dtype(bool)), *looked[1:]))
    return elementwise(trace, ops.WHERE, looked)


def cast(trace: Trace, array: DeviceArray, dtype: np.dtype) -> Symbol:
    """`array.astype(dtype)`."""
    node = trace.graph.node(ops.CAST, (trace.graph.value(array),), {"dtype": dtype})
    return trace.graph.fresh(node)
