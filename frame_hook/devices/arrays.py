"""Arrays on a device in the trace: CuPy's, by CuPy's own rules. What has no rule here ends the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.devices import numbers as device_numbers
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    ArrayMethod,
    Constant,
    DeviceArray,
    Integer,
    List,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, size
from ufuse.graph.made import same_mask
from ufuse.graph.node import Node
from ufuse.graph.ops import Op
from ufuse.graph.types import ArrayType, NumberType, TupleType
from ufuse.graph.typing.device_calls import (
    DEVICE_FUNCTION,
    DEVICE_METHOD,
    GET,
    KERNEL,
    READ,
    REAL,
    UFUNC,
    always_fits,
)
from ufuse.graph.typing.infer import CannotInfer, operand_of
from ufuse.graph.typing.library import CUDA, cupy
from ufuse.graph.typing.shapes import is_c_like, is_f_like

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
    nodes = tuple([node_of(trace, symbol) for symbol in operands])
    if op.name == "positive" and nodes[0].type.dtype.kind == "b":  # type: ignore[union-attr]
        raise GraphBreak("eager-raises", "DeprecationWarning: + of bools")
    return trace.graph.fresh(_elementwise_node(trace, op, nodes))


def _elementwise_node(trace: Trace, op: Op, nodes: tuple[Node, ...]) -> Node:
    types = [node.type for node in nodes]
    if not [kind for kind in types if isinstance(kind, ArrayType) and kind.device]:
        return _of_numbers(trace, op, nodes)
    return trace.graph.node(op, nodes, may_raise=_may_not_fit(op, nodes))


def _may_not_fit(op: Op, nodes: tuple[Node, ...]) -> bool:
    """Whether an operand is a number that may be too large, or such an exponent."""
    numbers = {one: place for place, one in enumerate(nodes) if isinstance(one.type, NumberType)}
    computed = {one for one in numbers if one.op not in (ops.INPUT, ops.CONST)}
    if not computed:
        return arrays.may_raise(op.name, nodes)
    try:
        dtypes = cupy().routine_of(op, [operand_of(one) for one in nodes]).dtypes
    except CannotInfer:
        return True
    others = tuple(one for one in nodes if one not in computed)
    unfit = any(not always_fits(one, dtypes[numbers[one]]) for one in computed)
    return unfit or op.name == "power" or arrays.may_raise(op.name, others)


def _of_numbers(trace: Trace, op: Op, nodes: tuple[Node, ...]) -> Node:
    """An elementwise function of numbers gives an array without axes, by CuPy's own call."""
    attributes = {
        "function": UFUNC + op.name,
        "arguments": tuple(range(len(nodes))),
        "keywords": (),
        "device": CUDA,
    }
    return trace.graph.node(ops.CALL, nodes, attributes, may_raise=True)


def operator(trace: Trace, name: str, *operands: Symbol) -> Symbol:
    """The result of one of Python's operators, which is that of CuPy's function of this name."""
    if name == "power" and isinstance(operands[0], DeviceArray):
        return _power(trace, operands[0], operands[1])
    return elementwise(trace, ops.UFUNCS[name], operands)


def in_place(trace: Trace, name: str, target: DeviceArray, other: Symbol) -> Symbol:
    """`target op= other`, which is CuPy's function with `out=target`."""
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
    store(trace, target, value)
    return target


def assign(trace: Trace, target: DeviceArray, value: Symbol) -> None:
    """`target[...] = value`: an array, cast where it has another dtype, or a number."""
    if isinstance(value, DeviceArray):
        if value.buffer is target.buffer and value.path == target.path:
            if target.buffer.visible:
                trace.arrays.check_writable(target.buffer)
            return  # the store at the end of `a[i] += x`
        if value.type.dtype.kind == "c" and target.type.dtype.kind != "c":
            raise GraphBreak("numpy-call", "an assignment that discards imaginary parts")
        store(trace, target, trace.graph.value(value))
        return
    store(trace, target, filling(trace, value, target))


def filling(trace: Trace, value: Symbol, target: DeviceArray, *, sent: bool = False) -> Node:
    """A number that fills an array: CuPy clears memory without gaps where it is a zero, of either sign.

    `sent`: it is an array of its own first, which is filled.
    """
    dtype, gaps = target.type.dtype, not (sent or is_c_like(target.type))
    if dtype.kind not in "fc" or isinstance(value, Integer) or _is_complex_number(value):
        return stored_number(trace, value, dtype)
    number = _seen(trace, value)
    if number is not None and (number != 0 or math.copysign(1.0, number) > 0):
        return stored_number(trace, value, dtype)
    if gaps and target.type.order is None:
        raise GraphBreak("layout", "a zero that fills memory with gaps, or without")
    if gaps:
        return stored_number(trace, value, dtype)
    if number is not None or (isinstance(value, Constant) and type(value.value) is complex):
        return trace.graph.constant(0.0)
    node, zero = stored_number(trace, value, dtype), trace.graph.constant(0.0)
    fails = not isinstance(node.type, NumberType) or node.type.kind != "float"
    return trace.graph.node(ops.SCALAR, (node, zero), {"operator": "add"}, may_raise=fails)


def _is_complex_number(value: Symbol) -> bool:
    """Whether it is a known complex number that is not zero."""
    return isinstance(value, Constant) and type(value.value) is complex and value.value != 0


def _seen(trace: Trace, value: Symbol) -> float | None:
    """The value of a number, or of one of the frame in this call, where it is guarded whether that is -0.0."""
    if isinstance(value, Constant) and type(value.value) in (bool, int, float):
        return float(value.value) if abs(value.value) < math.inf else value.value
    if not isinstance(value, Number) or value.source is None:
        return None
    example = trace.number_examples.get(value.node)
    if type(example) is not float:
        return None
    is_negative_zero = example == 0 and math.copysign(1.0, example) < 0
    trace.guards.check("FLOAT" if is_negative_zero else "NOT_FLOAT", value.source, -0.0)
    return example


def stored_number(trace: Trace, value: Symbol, dtype: np.dtype | None) -> Node:
    """A number that is written into an array, of the array's kind or a lower one.

    Raises:
        GraphBreak: it is another value, or one that the dtype may not hold.

    """
    if isinstance(value, Constant) and fits(value.value, dtype):
        return trace.graph.constant(value.value)
    if isinstance(value, Integer) and dtype is not None and dtype.kind in "iufc":
        if _whole_fits(trace, value, dtype):
            return trace.graph.size_node(value.size)
    node = arrays.node_of(trace, value) if isinstance(value, Number | Integer) else None
    kind = node.type if node is not None else None
    if isinstance(kind, NumberType) and dtype is not None and dtype.char in FIT_ANY[kind.kind]:
        assert node is not None
        return node
    raise GraphBreak("numpy-call", "a value that is written into an array of CuPy's")


FIT_ANY = {"bool": "?bBhHiIlLefdFD", "int": "", "float": "dD", "complex": ""}


def _whole_fits(trace: Trace, value: Integer, dtype: np.dtype) -> bool:
    """Whether a whole number goes into an array; guarded."""
    if dtype.kind in "iu":
        return indexing.fits(trace, value.size, dtype)
    most, decide = _largest_whole(dtype), trace.sizes.decide
    return decide("le", value.size, most) and decide("ge", value.size, -most)


def fits(number: Any, dtype: np.dtype | None) -> bool:
    """Whether a known number goes into an array without an error or a warning; None: into one of its own kind."""
    kinds = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}.get(type(number), "")
    if not kinds or (dtype is not None and dtype.kind not in kinds):
        return False
    if type(number) is bool:
        return True
    if type(number) is int:
        if dtype is not None and dtype.kind in "fc":
            return abs(number) <= _largest_whole(dtype)
        limits = np.iinfo(np.int64 if dtype is None else dtype)
        return bool(limits.min <= number <= limits.max)
    most = math.inf if dtype is None else LARGEST_FLOATS.get(dtype.char, math.inf)
    parts = (number.real, number.imag)
    return not any(math.isfinite(part) and abs(part) > most for part in parts)


def _largest_whole(dtype: np.dtype) -> int:
    """Up to it whole numbers become the same floats whether a double stands between or not."""
    return int(min(2**53, LARGEST_FLOATS.get(dtype.char, math.inf)))


LARGEST_FLOATS = {
    "e": 65504.0,
    "f": float(np.finfo("f4").max),
    "F": float(np.finfo("f4").max),
}  # beyond them CuPy warns of an overflow


def store(trace: Trace, target: DeviceArray, value: Node) -> None:
    """Write a value into an array."""
    if any(name == "broadcast" for name, _ in target.path):
        raise GraphBreak("layout", "a store into elements that stand for several")
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
    """A call of one of CuPy's elementwise functions."""
    op, given = cupy().op_of(function), dict(keywords)
    looked = [trace.look(one) for one in arguments]
    if function is cupy().copy:
        return _copy_into(trace, looked, given)
    if len(looked) == function.nin + 1 and function.nout == 1:
        given["out"] = looked.pop()
    given = {key: symbol for key, symbol in given.items() if not _is_none(trace.look(symbol))}
    if len(looked) == function.nin and (function.nout > 1 or set(given) == {"dtype"}):
        return _whole(trace, function, looked, given)
    out = trace.look(given["out"]) if set(given) == {"out"} else None
    known = not given or isinstance(out, DeviceArray)
    if op is None or not known or len(looked) != function.nin:
        raise GraphBreak("numpy-call", f"{function.name} with these arguments")
    if isinstance(out, DeviceArray):
        return store_result(trace, op, looked, out)
    return elementwise(trace, op, looked)


def _whole(
    trace: Trace, function: Any, operands: Sequence[Symbol], given: Mapping[str, Symbol]
) -> Symbol:
    """An elementwise function with several results, or in a dtype that is asked for: by CuPy's own call."""
    name, keywords = cupy().kernel_name(function), {}
    if "dtype" in given:
        keywords["dtype"] = arrays.dtype_of(arrays.plain(trace, given["dtype"]))
    if name is None or set(given) - {"dtype"}:
        raise GraphBreak("numpy-call", f"{function.name} with these arguments")
    nodes = tuple(node_of(trace, one) for one in operands)
    attributes = {
        "function": KERNEL + name,
        "arguments": tuple(range(len(nodes))),
        "keywords": tuple((key, ("const", value)) for key, value in keywords.items()),
        "device": CUDA,
    }
    node = trace.graph.node(ops.CALL, nodes, attributes, may_raise=True)
    return results_of(trace, node)


def results_of(trace: Trace, node: Node) -> Symbol:
    """The result of a call, or a tuple of its results."""
    if not isinstance(node.type, TupleType):
        return trace.graph.fresh(node)
    places = range(len(node.type.items))
    items = [trace.graph.node(ops.ITEM, (node,), {"index": place}) for place in places]
    return Tuple(tuple(map(trace.graph.fresh, items)))


def _is_none(symbol: Symbol) -> bool:
    return isinstance(symbol, Constant) and symbol.value is None


def _copy_into(trace: Trace, given: Sequence[Symbol], keywords: dict[str, Symbol]) -> Symbol:
    """`elementwise_copy(source, target)`, perhaps where a mask says so."""
    mask = trace.look(keywords.pop("_where")) if "_where" in keywords else None
    keywords.pop("casting", None)
    source, target = given if len(given) == 2 else (None, None)
    if source is None or keywords or not isinstance(target, DeviceArray):
        raise GraphBreak("numpy-call", "cupy_copy with these arguments")
    dtype = target.type.dtype
    if isinstance(source, DeviceArray):
        if source.type.dtype.kind == "c" and dtype.kind != "c":
            raise GraphBreak("numpy-call", "a copy that discards imaginary parts")
        value = trace.graph.value(source)
    else:
        value = stored_number(trace, source, dtype)
    if mask is not None:
        if not isinstance(mask, DeviceArray) or mask.type.dtype.kind != "b":
            raise GraphBreak("numpy-call", "cupy_copy with such a mask")
        nodes = (trace.graph.value(mask), value, trace.graph.value(target))
        value = trace.graph.node(ops.WHERE, nodes)
        if value.type.dtype != dtype or value.type.shape != target.type.shape:  # type: ignore[union-attr]
            raise GraphBreak("numpy-call", "a copy by a mask to another dtype or shape")
    store(trace, target, value)
    return target


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
        case "device":
            return device_numbers.device_of(device_numbers.current(trace))
        case "itemsize":
            return Constant(kind.dtype.itemsize)
        case "nbytes":
            return arrays.integer(
                trace, size.multiply(arrays.total(kind.shape), kind.dtype.itemsize)
            )
        case "T" if kind.ndim < 2:
            return array  # itself; `transpose()` is a view
        case "real" | "imag":
            return _part(trace, array, name)
        case "strides":
            return arrays.strides(trace, array)
        case "flags":
            return ArrayMethod(array, name)
        case "T":
            axes = tuple(reversed(range(kind.ndim)))
            return trace.graph.view(array, ops.TRANSPOSE, {"axes": axes})
    if callable(getattr(cupy().array, name, None)):
        return ArrayMethod(array, name)
    raise GraphBreak("attribute", f"{name} of an array of CuPy's")


def _part(trace: Trace, array: DeviceArray, name: str) -> Symbol:
    """`array.real` or `array.imag`: a view of complex numbers, else the array or new zeros."""
    if array.type.dtype.kind == "c":
        return trace.graph.view(array, ops.PART, {"of": name})
    if name == "real":
        return array
    kind = array.type
    attributes = {"shape": kind.shape, "dtype": kind.dtype, "order": None, "device": CUDA}
    return trace.graph.fresh(trace.graph.node(ops.ZEROS, (), attributes, may_raise=True))


def length(trace: Trace, array: DeviceArray) -> Symbol:
    """What `len(array)` is."""
    if not array.type.shape:
        raise GraphBreak("eager-raises", "TypeError: len() of unsized object")
    return arrays.integer(trace, array.type.shape[0])


def read(trace: Trace, array: DeviceArray) -> Number:
    """The only element as Python's number, for which the host waits."""
    if not trace.sizes.decide("eq", arrays.total(array.type.shape), 1):
        raise GraphBreak("eager-raises", "ValueError: a number of an array of several elements")
    found = trace.graph.fresh(_waiting(trace, READ, array))
    assert isinstance(found, Number)
    return found


def fetch(trace: Trace, array: DeviceArray) -> Array:
    """The elements as an array of NumPy's, in C order, for which the host waits."""
    found = trace.graph.fresh(_waiting(trace, GET, array))
    assert isinstance(found, Array)
    return found


def _waiting(trace: Trace, name: str, array: DeviceArray) -> Node:
    call = {"function": name, "arguments": (0,), "keywords": ()}
    return trace.graph.node(ops.CALL, (trace.graph.value(array),), call)


def item(trace: Trace, array: DeviceArray, key: Symbol) -> DeviceArray:
    """`array[key]` with slices, whole numbers, new axes and an ellipsis: always a view."""
    entries = indexing.basic_index(trace, array, trace.look(key))
    return trace.graph.view(array, ops.INDEX, {"index": entries})


def take(trace: Trace, array: DeviceArray, places: DeviceArray, axis: int | None) -> DeviceArray:
    """`array.take(places, axis)` by CuPy's own call; places out of range wrap, there is none in nothing."""
    fails = may_be_empty(trace, array)
    return method_call(trace, "take", (array, places), axis, may_raise=fails)


def may_be_empty(trace: Trace, array: DeviceArray) -> bool:
    """Whether an array has no elements; guarded."""
    return any(trace.sizes.decide("eq", length, 0) for length in array.type.shape)


def method_call(
    trace: Trace,
    name: str,
    operands: Sequence[DeviceArray],
    axis: int | None,
    *,
    may_raise: bool = True,
) -> DeviceArray:
    """A new array, by a method of CuPy's with an axis."""
    attributes = {
        "function": DEVICE_METHOD + name,
        "arguments": tuple(range(len(operands))),
        "keywords": (("axis", ("const", axis)),),
    }
    nodes = tuple(map(trace.graph.value, operands))
    node = trace.graph.node(ops.CALL, nodes, attributes, may_raise=may_raise)
    found = trace.graph.fresh(node)
    assert isinstance(found, DeviceArray)
    return found


def sent(trace: Trace, value: Symbol, dtype: np.dtype | None, least: int) -> DeviceArray:
    """`cupy.array` of numbers, in nested lists or alone, or of NumPy's array: new memory in C order, sent anew."""
    inputs: list[Node] = []
    given = _host_argument(trace, value, inputs)
    keywords: list[tuple[str, Any]] = []
    if dtype is not None:
        keywords.append(("dtype", ("const", dtype)))
    if least:
        keywords.append(("ndmin", ("const", least)))
    attributes = {
        "function": DEVICE_FUNCTION + "array",
        "arguments": (given,),
        "keywords": tuple(keywords),
        "device": CUDA,
    }
    found = trace.graph.fresh(trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=True))
    assert isinstance(found, DeviceArray)
    return found


def _host_argument(trace: Trace, symbol: Symbol, inputs: list[Node]) -> Any:
    """What is sent, as calls have it: numbers, lists of them, or an array of the frame."""
    symbol = trace.look(symbol)
    match symbol:
        case Tuple(items=items) | List(items=items):
            kind = "tuple" if isinstance(symbol, Tuple) else "list"
            parts = tuple(_host_argument(trace, one, inputs) for one in items)
            if all(isinstance(part, tuple) and part[0] == "const" for part in parts):
                values = [part[1] for part in parts]
                return ("const", tuple(values) if kind == "tuple" else values)
            return (kind, parts)
        case Constant(value=bool() | int() | float() | complex() | np.generic() as value):
            return ("const", value)
        case Number(node=node) if isinstance(node.type, NumberType) and node.type.kind == "float":
            inputs.append(node)
            return len(inputs) - 1
        case Integer(size=value):
            inputs.append(trace.graph.size_node(value))
            return len(inputs) - 1
        case Array() if not symbol.path and symbol.buffer.version.op is ops.INPUT:
            inputs.append(trace.graph.value(symbol))
            return len(inputs) - 1
    raise GraphBreak("numpy-call", f"cupy.array of {described(symbol)}")


def length_picked(trace: Trace, mask: Node) -> str:
    """The symbol of how many elements of a mask are not zero: one for all that it picks."""
    graph, key = trace.graph, same_mask(mask)
    if key not in graph.picked:
        assert isinstance(mask.type, ArrayType)
        most = arrays.total(mask.type.shape)
        graph.picked[key] = trace.sizes.made("what a mask picks", most, is_bound=True)
    return graph.picked[key]


def check_writable(trace: Trace, array: DeviceArray) -> None:
    """Guard that an array may be written by a call: no other argument lies in its memory."""
    if array.buffer.frozen is not None:
        raise array.buffer.frozen
    if array.buffer.visible:
        trace.arrays.check_writable(array.buffer)


def write_whole(
    trace: Trace,
    name: str,
    array: DeviceArray,
    given: Sequence[Any],
    keywords: tuple[Any, ...] = (),
    inputs: Sequence[Node] = (),
    **more: Any,
) -> None:
    """A call of CuPy's that writes all of an array, its first argument."""
    check_writable(trace, array)
    attributes = {
        "function": name,
        "arguments": (0, *given),
        "keywords": keywords,
        "writes": (0,),
        **more,
    }
    nodes = (trace.graph.value(array), *inputs)
    node = trace.graph.node(ops.CALL, nodes, attributes)
    trace.graph.note_write(array.buffer)
    trace.graph.replace(array.buffer, trace.graph.node(ops.ITEM, (node,), {"index": 1}))


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
    fails = name not in PRODUCTS or not _is_plain(inputs)
    node = trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=fails)
    found = trace.graph.fresh(node)
    assert isinstance(found, DeviceArray)
    return found


PRODUCTS = ("matmul", "dot")


def _is_plain(inputs: Sequence[Node]) -> bool:
    """Whether operands are matrices or vectors of real numbers, whose product raises for no values."""
    types = [one.type for one in inputs]
    plain = all(isinstance(one, ArrayType) and one.ndim in (1, 2) for one in types)
    return plain and all(one.dtype.char in REAL for one in types)  # type: ignore[union-attr]


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
    """`array.astype(dtype)`, which keeps the order of memory."""
    if is_f_like(array.type) and not is_c_like(array.type):
        attributes = {
            "function": DEVICE_METHOD + "astype",
            "arguments": (0,),
            "keywords": (("dtype", ("const", dtype)),),
        }
        value = trace.graph.value(array)
        return trace.graph.fresh(trace.graph.node(ops.CALL, (value,), attributes, may_raise=True))
    node = trace.graph.node(ops.CAST, (trace.graph.value(array),), {"dtype": dtype})
    return trace.graph.fresh(node)
