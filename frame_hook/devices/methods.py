"""Methods of CuPy's arrays in the trace, and CuPy's functions that call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.indexing import WHOLE_AXIS
from ufuse.frame_hook.arrays.making import check_bytes, shape_argument
from ufuse.frame_hook.arrays.reductions import axes_argument, dtype_argument
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices.rules import (
    FUNCTIONS,
    METHODS,
    array_argument,
    known,
    method,
)
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import applied
from ufuse.frame_hook.objects.values import as_size, is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    ArrayMethod,
    Constant,
    DeviceArray,
    List,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import NumberType
from ufuse.graph.typing.device_calls import DEVICE_METHOD, SCANS, STATISTICS, SUMMED
from ufuse.graph.typing.library import CREATORS, CUDA, cupy
from ufuse.graph.typing.sample import NUMBERS
from ufuse.graph.typing.shapes import is_c_like

REDUCTIONS = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "amax": "maximum", "amin": "minimum",
    "any": "logical_or", "all": "logical_and",
}  # fmt: skip
WITHOUT_IDENTITY = frozenset("max min amax amin argmax argmin".split())  # of nothing they raise
RANGES = ("arange", "linspace")
PLAIN = "?bBhHiIlLfd"  # dtypes of which nothing raises here
WAITING = frozenset("tolist tobytes".split())  # what is read is on the host
ZERO, NONE = Constant(0), Constant(None)
PARAMETERS = {
    **dict.fromkeys(("sum", "prod", "mean"), ("axis", "dtype", "out", "keepdims")),
    **dict.fromkeys(("var", "std"), ("axis", "dtype", "out", "ddof", "keepdims")),
    **dict.fromkeys(("argmax", "argmin"), ("axis", "dtype", "out", "keepdims")),
}
Given = Mapping[str, Symbol]


def call_function(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of one of CuPy's functions, by the name of the method that it calls."""
    if name in FUNCTIONS:
        return applied(FUNCTIONS[name], f"cupy.{name}", interpreter, arguments, keywords)
    if name == "where" and len(arguments) == 1 and not keywords:
        condition = array_argument(interpreter, arguments[0], "where")
        return applied(METHODS["nonzero"], "cupy.ndarray.nonzero", interpreter, (condition,), {})
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
    keywords = {key: one for key, one in keywords.items() if not is_none(trace.look(one))}
    names = (of, "fill_value", "dtype", "order") if plain == "full" else (of, "dtype", "order")
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    if "order" in given and arrays.plain(trace, given["order"]) not in ("C", *["K"] * (of == "a")):
        raise GraphBreak("layout", f"{what} in another order")
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
    value: Symbol | None = trace.look(given["fill_value"]) if "fill_value" in given else None
    if isinstance(value, DeviceArray):
        whole = new(interpreter, "empty", shape, dtype or value.type.dtype)
        devices.assign(trace, whole, value)
        return whole
    if value is None:
        return new(interpreter, plain, shape, dtype or np.dtype(float))
    dtype = dtype or _dtype_of_number(value)
    return new(interpreter, plain, shape, dtype, devices.stored_number(trace, value, dtype))


def _dtype_of_number(value: Symbol) -> np.dtype | None:
    """What NumPy makes of a number: of Python's, as no other is stored."""
    if isinstance(value, Constant):
        return np.array(value.value).dtype if type(value.value) in NUMBERS.values() else None
    kind = value.node.type if isinstance(value, Number) else None
    return np.dtype(NUMBERS[kind.kind]) if isinstance(kind, NumberType) else np.dtype(int)


def new(
    interpreter: Interpreter,
    name: str,
    shape: tuple[Size, ...],
    dtype: np.dtype | None,
    value: Node | None = None,
) -> DeviceArray:
    """A new array in C order: "empty", "zeros", "ones" or "full"."""
    if dtype is None:
        raise GraphBreak("numpy-call", f"cupy.{name} with such a value")
    check_bytes(interpreter, shape, dtype)
    attributes = {"shape": shape, "dtype": dtype, "order": None, "device": CUDA}
    inputs = () if value is None else (value,)
    graph = interpreter.trace.graph
    made = graph.fresh(graph.node(ops.OPS[name], inputs, attributes, may_raise=True))
    assert isinstance(made, DeviceArray)
    return made


def call_method(
    interpreter: Interpreter, method: ArrayMethod, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of a method of an array."""
    assert isinstance(method.self, DeviceArray)
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
    if name in METHODS:
        given = (array, *arguments)
        return applied(METHODS[name], f"cupy.ndarray.{name}", interpreter, given, keywords)
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
    names = PARAMETERS.get(name, ("axis", "out", "keepdims"))
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    if len(given) != len(arguments) + len(keywords) or set(given) - set(names):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    out = given.pop("out", NONE)
    dtype = dtype_argument(interpreter, given.pop("dtype", None))
    if not is_none(trace.look(out)) or (dtype is not None and name not in SUMMED):
        raise GraphBreak("numpy-call", f"{what} with out= or dtype=")
    plain = {key: arrays.plain(trace, symbol) for key, symbol in given.items()}
    axis = None if plain.get("axis") is None else given["axis"]
    axes = axes_argument(interpreter, axis, array.type.ndim)
    keepdims, ddof = plain.get("keepdims", False), plain.get("ddof", 0)
    if type(keepdims) is not bool or type(ddof) is not int:
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    _refuse_nothing(interpreter, name, array, axes)
    value = trace.graph.value(array)
    if name in REDUCTIONS and dtype is None:
        op = ops.OPS[f"reduce_{REDUCTIONS[name]}"]
        attributes = {"axis": axes, "keepdims": keepdims, "dtype": None}
        return trace.graph.fresh(trace.graph.node(op, (value,), attributes))
    if name.startswith("arg") and axes is not None:
        if len(axes) != 1 or type(plain["axis"]) is not int:
            raise GraphBreak("numpy-call", f"{what} with such an axis")
    named: list[tuple[str, Any]] = [("axis", plain.get("axis")), ("keepdims", keepdims)]
    if name in ("var", "std"):
        named.append(("ddof", ddof))
    if dtype is not None:
        named.append(("dtype", dtype))
    call = {
        "function": DEVICE_METHOD + name,
        "arguments": (0,),
        "keywords": tuple((key, ("const", one)) for key, one in named),
    }
    is_plain = name in STATISTICS and array.type.dtype.char in PLAIN
    fails = dtype is not None or not is_plain
    return trace.graph.fresh(trace.graph.node(ops.CALL, (value,), call, may_raise=fails))


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
    keywords = dict(keywords)
    given = arguments[0] if arguments else keywords.pop("indices", NONE)
    places, axis = (
        trace.look(given),
        _axis_given(interpreter, "take", arguments[1:], keywords),
    )
    if isinstance(places, DeviceArray):
        return devices.take(trace, array, places, axis)
    if as_size(places) is None or arrays.is_bool(places) or (axis is None and array.type.ndim != 1):
        raise GraphBreak("numpy-call", "cupy.ndarray.take with these arguments")
    place = axis or 0
    if not -array.type.ndim <= place < array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: there is no such axis")
    key = [WHOLE_AXIS] * (place % array.type.ndim)
    return copied(trace, devices.item(trace, array, Tuple((*key, places))))


def _scanned(
    interpreter: Interpreter,
    name: str,
    array: DeviceArray,
    arguments: Sequence[Symbol],
    keywords: Given,
) -> Symbol:
    """Sums or products of all elements up to each."""
    keywords = {
        key: one for key, one in keywords.items() if not is_none(interpreter.trace.look(one))
    }
    axis = _axis_given(interpreter, name, arguments, keywords)
    fails = array.type.dtype.char not in PLAIN
    return devices.method_call(interpreter.trace, name, (array,), axis, may_raise=fails)


def _range(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """Numbers at equal distances, by CuPy's own function."""
    trace, keywords = interpreter.trace, dict(keywords)
    for key, default in (("retstep", False), ("axis", 0), ("dtype", None)):
        if key in keywords and _is_default(trace, keywords[key], default):
            del keywords[key]
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


def _is_default(trace: Trace, symbol: Symbol, default: Any) -> bool:
    read = trace.look(symbol)
    return (
        isinstance(read, Constant) and type(read.value) is type(default) and read.value == default
    )


def _product(
    interpreter: Interpreter, name: str, operands: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A product of matrices, by CuPy's own function."""
    looked = [interpreter.trace.look(one) for one in operands]
    if len(looked) == 3 and is_none(looked[-1]):
        looked.pop()  # no `out`
    if keywords or len(looked) != 2 or not all(isinstance(one, DeviceArray) for one in looked):
        raise GraphBreak("numpy-call", f"cupy.{name} with these arguments")
    return devices.function_call(interpreter.trace, name, looked)


@method("item")
def _item(interpreter: Interpreter, a: Symbol, /) -> Symbol:
    return devices.read(interpreter.trace, array_argument(interpreter, a, "ndarray.item"))


@method("get")
def _get(
    interpreter: Interpreter,
    a: Symbol,
    /,
    stream: Symbol = NONE,
    order: Symbol = Constant("C"),  # noqa: B008  it is immutable
    out: Symbol = NONE,
    *,
    blocking: Symbol = Constant(True),  # noqa: B008
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.get")
    given = [arrays.plain(trace, one) for one in (stream, order, out, blocking)]
    if given != [None, "C", None, True]:
        raise GraphBreak("numpy-call", "cupy.ndarray.get with these arguments")
    return devices.fetch(trace, array)


@method("astype")
def _astype(
    interpreter: Interpreter,
    a: Symbol,
    /,
    dtype: Symbol,
    order: Symbol | None = None,
    *,
    copy: Symbol | None = None,
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.astype")
    wanted = dtype_argument(interpreter, dtype)
    if wanted is None or known(trace, order, "K") not in ("K", "C"):
        raise GraphBreak("numpy-call", "cupy.ndarray.astype with these arguments")
    if known(trace, order, "K") == "C" and not is_c_like(array.type):
        raise GraphBreak("layout", "cupy.ndarray.astype to another order")
    if wanted == array.type.dtype and not known(trace, copy, default=True):
        return array
    return devices.cast(trace, array, wanted)


@method("copy")
def _copy(interpreter: Interpreter, a: Symbol, /, order: Symbol | None = None) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.copy")
    if known(trace, order, "C") not in ("C", *["K"] * is_c_like(array.type)):
        raise GraphBreak("numpy-call", "cupy.ndarray.copy in another order")
    return copied(trace, array)


def copied(trace: Trace, array: DeviceArray) -> DeviceArray:
    """New memory in C order."""
    node = trace.graph.node(ops.COPY, (trace.graph.value(array),), {"order": "C"})
    made = trace.graph.fresh(node)
    assert isinstance(made, DeviceArray)
    return made


@method("reshape")
def _reshape(
    interpreter: Interpreter, a: Symbol, /, *shape: Symbol, order: Symbol | None = None
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.reshape")
    if known(trace, order, "C") != "C":
        raise GraphBreak("layout", "cupy.ndarray.reshape in another order")
    sizes = [trace.look(size) for size in shape]
    if len(sizes) == 1 and isinstance(sizes[0], Tuple | List):
        sizes = list(sizes[0].items)
    return arrays.reshape(trace, array, sizes)


@method("fill")
def _fill(interpreter: Interpreter, a: Symbol, /, value: Symbol) -> Symbol:
    array = array_argument(interpreter, a, "ndarray.fill")
    read = interpreter.trace.look(value)
    if isinstance(read, DeviceArray):
        raise GraphBreak("numpy-call", "cupy.ndarray.fill with what the host looks at")
    devices.assign(interpreter.trace, array, read)
    return Constant(None)


@method("conj", "conjugate")
def _conjugate(interpreter: Interpreter, a: Symbol, /) -> Symbol:
    array = array_argument(interpreter, a, "ndarray.conj")
    if array.type.dtype.kind != "c":
        return array
    return devices.elementwise(interpreter.trace, ops.UFUNCS["conjugate"], (array,))


@method("clip")
def _clip(
    interpreter: Interpreter,
    a: Symbol,
    /,
    min: Symbol | None = None,  # noqa: A002  CuPy's names
    max: Symbol | None = None,  # noqa: A002
    out: Symbol | None = None,
) -> Symbol:
    """`a.clip(min, max)`: a bound that is not given is the least, or the largest of the dtype, or infinite."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.clip")
    dtype = array.type.dtype
    given: list[Symbol] = [array]
    for symbol, name in ((min, "min"), (max, "max")):
        if symbol is not None and not is_none(trace.look(symbol)):
            given.append(symbol)
        elif dtype.kind == "f":
            given.append(Constant(dtype.type("-inf" if name == "min" else "inf")))
        elif dtype.kind in "iu":
            given.append(Constant(int(getattr(np.iinfo(dtype), name))))
        else:
            raise GraphBreak("numpy-call", "cupy.ndarray.clip of such an array")
    named = {} if out is None else {"out": out}
    return devices.call_function(trace, cupy().clip, given, named)


@method("round")
def _round(
    interpreter: Interpreter, a: Symbol, /, decimals: Symbol = ZERO, out: Symbol | None = None
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.round")
    places = known(trace, decimals)
    if type(places) is not int or (places < 0 and array.type.dtype.kind in "iu"):
        raise GraphBreak("numpy-call", "cupy.ndarray.round with these arguments")
    named = {} if out is None else {"out": out}
    return devices.call_function(trace, cupy().round, (array, decimals), named)
