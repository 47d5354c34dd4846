"""Methods of CuPy's arrays in the trace, and CuPy's functions that call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, devices
from ufuse.frame_hook.arrays.making import check_bytes, shape_argument
from ufuse.frame_hook.arrays.reductions import axes_argument, dtype_argument
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import ArrayMethod, Constant, DeviceArray, List, Symbol, Tuple
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.typing.infer import DEVICE_METHOD, SCANS, STATISTICS
from ufuse.graph.typing.library import CREATORS, CUDA
from ufuse.graph.typing.shapes import is_c_like

REDUCTIONS = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "amax": "maximum", "amin": "minimum",
    "any": "logical_or", "all": "logical_and",
}  # fmt: skip
WITHOUT_IDENTITY = frozenset("max min amax amin argmax argmin".split())  # of nothing they raise
RANGES = ("arange", "linspace")
SORTED = ("sort", "argsort")
WAITING = frozenset("get item tolist tobytes".split())  # what is read is on the host
Given = Mapping[str, Symbol]


def call_function(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of one of CuPy's functions, by the name of the method that it calls."""
    if name == "where":
        return devices.where(interpreter.trace, arguments, keywords)
    if name in CREATORS:
        return _created(interpreter, name, arguments, keywords)
    if name in RANGES:
        return _range(interpreter, name, arguments, keywords)
    if name == "matmul":
        return _product(interpreter, name, arguments, keywords)
    array = interpreter.trace.look(arguments[0]) if arguments else None
    if not isinstance(array, DeviceArray):
        raise GraphBreak("numpy-call", f"cupy.{name} with these arguments")
    return _called(interpreter, name, array, arguments[1:], keywords)


def _created(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A new array in C order: of a shape, or (`…_like`) of an array's."""
    trace, what = interpreter.trace, f"cupy.{name}"
    plain, of = name.removesuffix("_like"), "a" if name.endswith("_like") else "shape"
    names = (of, "fill_value", "dtype") if plain == "full" else (of, "dtype")
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    if len(given) != len(arguments) + len(keywords) or set(given) - set(names) or of not in given:
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    dtype = dtype_argument(interpreter, given.get("dtype"))
    if of == "a":
        like = trace.look(given["a"])
        if not isinstance(like, DeviceArray) or not (like.type.ndim < 2 or is_c_like(like.type)):
            raise GraphBreak("layout", f"{what} of an array that is not in C order")
        shape, dtype = like.type.shape, dtype or like.type.dtype
    else:
        shape = shape_argument(interpreter, given["shape"])
    value = trace.look(given["fill_value"]) if "fill_value" in given else None
    inputs: tuple[Node, ...] = ()
    if value is not None:
        number = devices.stored_number(value, dtype)
        dtype, inputs = dtype or np.array(number).dtype, (trace.graph.constant(number),)
    dtype = dtype or np.dtype(float)
    check_bytes(interpreter, shape, dtype)
    attributes = {"shape": shape, "dtype": dtype, "order": None, "device": CUDA}
    return trace.graph.fresh(trace.graph.node(ops.OPS[plain], inputs, attributes, may_raise=True))


def call_method(
    interpreter: Interpreter, method: ArrayMethod, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of a method of an array."""
    assert isinstance(method.self, DeviceArray)
    if method.name == "sort":
        raise GraphBreak("numpy-call", "cupy.ndarray.sort in place")
    return _called(interpreter, method.name, method.self, arguments, keywords)


def _called(
    interpreter: Interpreter,
    name: str,
    array: DeviceArray,
    arguments: Sequence[Symbol],
    keywords: Given,
) -> Symbol:
    if name in REDUCTIONS or name in STATISTICS:
        return _reduced(interpreter, name, array, arguments, keywords)
    if name == "take":
        return _taken(interpreter, array, arguments, keywords)
    if name in SCANS:
        return _scanned(interpreter, name, array, arguments, keywords)
    if name == "dot":
        return _product(interpreter, name, (array, *arguments), keywords)
    if name in SORTED:
        return _sorted(interpreter, name, array, arguments, keywords)
    rule = RULES.get(name)
    if rule is not None and not keywords:
        return rule(interpreter, array, arguments)
    if name in WAITING:
        raise GraphBreak(
            "numpy-call", f"cupy.ndarray.{name}, at which the host waits for the device,"
        )
    raise GraphBreak("numpy-call", f"cupy.ndarray.{name} with these arguments")


def _reduced(
    interpreter: Interpreter,
    name: str,
    array: DeviceArray,
    arguments: Sequence[Symbol],
    keywords: Given,
) -> Symbol:
    """One number for each part of an array, by CuPy's own function."""
    trace, what = interpreter.trace, f"cupy.ndarray.{name}"
    given = dict(zip(("axis",), arguments, strict=False)) | dict(keywords)
    known = {"axis", "keepdims", "ddof"} if name in ("var", "std") else {"axis", "keepdims"}
    if len(arguments) > 1 or set(given) - known or (arguments and "axis" in keywords):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    plain = {key: arrays.plain(trace, symbol) for key, symbol in given.items()}
    axis = None if plain.get("axis") is None else given["axis"]
    axes = axes_argument(interpreter, axis, array.type.ndim)
    keepdims, ddof = plain.get("keepdims", False), plain.get("ddof", 0)
    if type(keepdims) is not bool or type(ddof) is not int:
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    _refuse_nothing(interpreter, name, array, axes)
    value = trace.graph.value(array)
    if name in REDUCTIONS:
        op = ops.OPS[f"reduce_{REDUCTIONS[name]}"]
        attributes = {"axis": axes, "keepdims": keepdims, "dtype": None}
        return trace.graph.fresh(trace.graph.node(op, (value,), attributes))
    if name.startswith("arg") and axes is not None:
        if len(axes) != 1 or type(plain["axis"]) is not int:
            raise GraphBreak("numpy-call", f"{what} with such an axis")
    named: list[tuple[str, Any]] = [("axis", plain.get("axis")), ("keepdims", keepdims)]
    if name in ("var", "std"):
        named.append(("ddof", ddof))
    call = {
        "function": DEVICE_METHOD + name,
        "arguments": (0,),
        "keywords": tuple((key, ("const", one)) for key, one in named),
    }
    return trace.graph.fresh(trace.graph.node(ops.CALL, (value,), call, may_raise=True))


def _refuse_nothing(
    interpreter: Interpreter, name: str, array: DeviceArray, axes: tuple[int, ...] | None
) -> None:
    """Break where the largest of no elements is asked for, which raises."""
    if name not in WITHOUT_IDENTITY:
        return
    for axis in range(array.type.ndim) if axes is None else axes:
        if interpreter.trace.sizes.decide("eq", array.type.shape[axis], 0):
            raise GraphBreak("eager-raises", "ValueError: zero-size array to reduction operation")


def _axis_given(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Given
) -> int | None:
    """The axis of a method that takes nothing more."""
    given = [*arguments, *keywords.values()]
    axis = arrays.plain(interpreter.trace, given[0]) if given else None
    if len(given) > 1 or set(keywords) - {"axis"} or (axis is not None and type(axis) is not int):
        raise GraphBreak("numpy-call", f"cupy.ndarray.{name} with these arguments")
    return axis


def _taken(
    interpreter: Interpreter, array: DeviceArray, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """Elements by their places along an axis, or (None) among all."""
    trace = interpreter.trace
    places = trace.look(arguments[0]) if arguments else None
    if not isinstance(places, DeviceArray):
        raise GraphBreak("numpy-call", "cupy.ndarray.take with these arguments")
    return devices.take(
        trace, array, places, _axis_given(interpreter, "take", arguments[1:], keywords)
    )


def _scanned(
    interpreter: Interpreter,
    name: str,
    array: DeviceArray,
    arguments: Sequence[Symbol],
    keywords: Given,
) -> Symbol:
    """Sums or products of all elements up to each."""
    if not is_c_like(array.type):
        raise GraphBreak("layout", f"cupy.ndarray.{name} of an array that is not in C order")
    axis = _axis_given(interpreter, name, arguments, keywords)
    return devices.method_call(interpreter.trace, name, (array,), axis)


def _range(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """Numbers at equal distances, by CuPy's own function."""
    trace, keywords = interpreter.trace, dict(keywords)
    if name == "linspace" and "num" in keywords and len(arguments) == 2:
        arguments = (*arguments, keywords.pop("num"))
    if set(keywords) - {"dtype", "endpoint"} or not all(
        arrays.is_number(trace.look(one)) for one in arguments
    ):
        raise GraphBreak("numpy-call", f"cupy.{name} with these arguments")
    plain = {key: arrays.plain(trace, one) for key, one in keywords.items()}
    if plain.get("dtype") is not None:
        plain["dtype"] = dtype_argument(interpreter, keywords["dtype"])
    made = devices.function_call(trace, name, arguments, plain)
    if not trace.sizes.decide("ge", made.type.shape[0], 0):
        raise GraphBreak("numpy-call", f"cupy.{name} that ends before it begins")
    check_bytes(interpreter, made.type.shape, made.type.dtype)
    return made


def _product(
    interpreter: Interpreter, name: str, operands: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A product of matrices, by CuPy's own function."""
    looked = [interpreter.trace.look(one) for one in operands]
    if keywords or len(looked) != 2 or not all(isinstance(one, DeviceArray) for one in looked):
        raise GraphBreak("numpy-call", f"cupy.{name} with these arguments")
    return devices.function_call(interpreter.trace, name, looked)


def _sorted(
    interpreter: Interpreter,
    name: str,
    array: DeviceArray,
    arguments: Sequence[Symbol],
    keywords: Given,
) -> Symbol:
    """What is sorted along the last axis, or its places, by CuPy's own function."""
    given = [*arguments, *keywords.values()]
    axis = -1 if not given else arrays.plain(interpreter.trace, given[0])
    ndim = array.type.ndim
    if len(given) > 1 or set(keywords) - {"axis"} or axis not in (-1, ndim - 1) or not ndim:
        raise GraphBreak("numpy-call", f"cupy.{name} with these arguments")
    if not is_c_like(array.type) or type(axis) is not int:
        raise GraphBreak("layout", f"cupy.{name} of an array that is not in C order")
    return devices.function_call(interpreter.trace, name, (array,), {"axis": axis})


def _astype(interpreter: Interpreter, array: DeviceArray, arguments: Sequence[Symbol]) -> Symbol:
    dtype = dtype_argument(interpreter, arguments[0]) if len(arguments) == 1 else None
    if dtype is None:
        raise GraphBreak("numpy-call", "cupy.ndarray.astype with these arguments")
    return devices.cast(interpreter.trace, array, dtype)


def _copy(interpreter: Interpreter, array: DeviceArray, arguments: Sequence[Symbol]) -> Symbol:
    if arguments:
        raise GraphBreak("numpy-call", "cupy.ndarray.copy with an order")
    graph = interpreter.trace.graph
    return graph.fresh(graph.node(ops.COPY, (graph.value(array),), {"order": "C"}))


def _reshape(interpreter: Interpreter, array: DeviceArray, shape: Sequence[Symbol]) -> Symbol:
    sizes = [interpreter.trace.look(size) for size in shape]
    if len(sizes) == 1 and isinstance(sizes[0], Tuple | List):
        sizes = list(sizes[0].items)
    return arrays.reshape(interpreter.trace, array, sizes)


def _ravel(interpreter: Interpreter, array: DeviceArray, arguments: Sequence[Symbol]) -> Symbol:
    if arguments or not is_c_like(array.type):
        raise GraphBreak("layout", "cupy.ndarray.ravel that may copy")
    return _reshape(interpreter, array, (Constant(-1),))


def _transpose(interpreter: Interpreter, array: DeviceArray, axes: Sequence[Symbol]) -> Symbol:
    items = [interpreter.trace.look(axis) for axis in axes]
    if len(items) == 1 and isinstance(items[0], Tuple | List):
        items = list(items[0].items)
    if not items:
        turned = tuple(range(array.type.ndim - 1, -1, -1))
        return interpreter.trace.graph.view(array, ops.TRANSPOSE, {"axes": turned})
    values = Constant(tuple(arrays.plain(interpreter.trace, item) for item in items))
    order = axes_argument(interpreter, values, array.type.ndim)
    if order is None or len(order) != array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: axes don't match array")
    return interpreter.trace.graph.view(array, ops.TRANSPOSE, {"axes": order})


Rule = Callable[[Interpreter, DeviceArray, Sequence[Symbol]], Symbol]
# fmt: off
RULES: dict[str, Rule] = {
    "astype":    _astype,
    "copy":      _copy,
    "ravel":     _ravel,
    "reshape":   _reshape,
    "transpose": _transpose,
}
# fmt: on
