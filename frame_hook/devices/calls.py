"""CuPy's functions that a graph calls whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.indexing import WHOLE_AXIS
from ufuse.frame_hook.arrays.making import shape_argument
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices.rules import array_argument, function, known, method
from ufuse.frame_hook.devices.views import normal_axis
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Deque,
    DeviceArray,
    Integer,
    List,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType, TupleType
from ufuse.graph.typing.calls import makes_length
from ufuse.graph.typing.device_calls import (
    DEVICE_FUNCTION,
    NONZERO,
    QUIET,
    REDUCERS,
    ROWS,
    SORT,
    TENSORDOT,
    numpys_name,
)
from ufuse.graph.typing.library import CUDA, OUTSIDE, TRANSFORMED
from ufuse.graph.typing.shapes import is_c_like

NONE = Constant(None)
# Statistics that raise of nothing, with their arguments in order.
OF_ELEMENTS = {
    **dict.fromkeys(("percentile", "quantile"), ("a", "q", "axis")),
    **dict.fromkeys(("median", "ptp"), ("a", "axis")),
}


def call_whole(
    trace: Trace,
    name: str,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
    **more: Any,
) -> Symbol:
    """A call as one node, with new memory as its result; `more` attributes say what its type follows from."""
    inputs: list[Node] = []
    given = tuple(argument(trace, symbol, inputs) for symbol in arguments)
    named = tuple((key, argument(trace, symbol, inputs)) for key, symbol in keywords.items())
    attributes: dict[str, Any] = {
        "function": name if name.startswith(OUTSIDE) else DEVICE_FUNCTION + name,
        "arguments": given,
        "keywords": named,
        "device": CUDA,
        **more,
    }
    made = _made_length(trace, name, inputs)
    if made is not None:
        attributes["sizes"] = (made,)
    fails = name not in QUIET and not _is_of_elements(trace, attributes, inputs)
    node = trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=fails)
    items = [node]
    if isinstance(node.type, TupleType):
        places = range(len(node.type.items))
        items = [trace.graph.node(ops.ITEM, (node,), {"index": place}) for place in places]
    for one in items:
        if isinstance(one.type, ArrayType) and [*map(str, one.type.shape[:1])] == [made]:
            assert made is not None
            trace.graph.long.setdefault(made, one)
    found = tuple(map(trace.graph.fresh, items))
    return Tuple(found) if isinstance(node.type, TupleType) else found[0]


def _is_of_elements(trace: Trace, attributes: Mapping[str, Any], inputs: Sequence[Node]) -> bool:
    """Whether this is a statistic of elements that there are, with parameters for which it does not raise."""
    names = OF_ELEMENTS.get(attributes["function"].removeprefix(DEVICE_FUNCTION))
    if names is None or len(attributes["arguments"]) > len(names):
        return False
    given = dict(zip(names, attributes["arguments"], strict=False)) | dict(attributes["keywords"])
    shares = given.pop("q", ("const", 0))
    if given.pop("a", None) != 0 or set(given) - {"axis", "keepdims"} or len(inputs) != 1:
        return False
    if not all(one[0] == "const" for one in (shares, *given.values())):
        return False
    several = shares[1] if isinstance(shares[1], list | tuple) else (shares[1],)
    most = 100 if attributes["function"].endswith("percentile") else 1
    if not all(type(one) in (int, float) and 0 <= one <= most for one in several):
        return False
    type_ = inputs[0].type
    return isinstance(type_, ArrayType) and trace.sizes.decide("ge", arrays.total(type_.shape), 1)


def _made_length(trace: Trace, name: str, inputs: Sequence[Node]) -> str | None:
    """The symbol of a length that values decide."""
    if name not in ROWS or not makes_length(numpys_name(name)):
        return None
    types = [node.type for node in inputs]
    shapes = [type_.shape for type_ in types if isinstance(type_, ArrayType)]
    most = arrays.total(max(shapes, key=len)) if shapes else 1
    if name != NONZERO:
        return trace.sizes.made("an array", most)
    return devices.length_picked(trace, inputs[0])


def argument(trace: Trace, symbol: Symbol, inputs: list[Node]) -> Any:
    """An argument as calls have it; nodes that it takes are added to `inputs`."""
    symbol = trace.look(symbol)
    if isinstance(symbol, Deque):
        symbol = List(list(symbol.items))
    if isinstance(symbol, DeviceArray | Number | Integer):
        inputs.append(devices.node_of(trace, symbol))
        return len(inputs) - 1
    if isinstance(symbol, Tuple | List):
        kind = "tuple" if isinstance(symbol, Tuple) else "list"
        parts = tuple(argument(trace, item, inputs) for item in symbol.items)
        if all(isinstance(part, tuple) and part[0] == "const" for part in parts):
            values = [part[1] for part in parts]
            return ("const", tuple(values) if kind == "tuple" else values)
        return (kind, parts)
    return ("const", arrays.plain(trace, symbol))


def _rule_of(name: str) -> Any:
    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        first = interpreter.trace.look(arguments[0]) if arguments else None
        if not isinstance(first, DeviceArray | Tuple | List | Constant):
            raise GraphBreak("numpy-call", f"cupy.{name} with these arguments")
        return call_whole(interpreter.trace, name, arguments, keywords)

    return rule


OTHERWISE = {
    NONZERO,
    *"arange linspace array matmul dot sort argsort".split(),
    *(f"fft.{name}" for name in TRANSFORMED),
}
for _name in (*REDUCERS, *ROWS):
    if _name not in OTHERWISE:
        function(_name)(_rule_of(_name))


def _method_of(name: str) -> Any:
    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        return call_whole(interpreter.trace, name, arguments, keywords)

    return rule


# Methods that CuPy's functions of the same name call, or are called by.
for _name in ("repeat", "argpartition", "ptp", "trace", "searchsorted"):
    if _name in ROWS:
        method(_name)(_method_of(_name))


@function("sort")
def _sort(
    interpreter: Interpreter, /, a: Symbol, axis: Symbol | None = None, kind: Symbol = NONE
) -> Symbol:
    return _ordered(interpreter, "sort", a, axis, kind)


@function("argsort")
def _argsort(
    interpreter: Interpreter, /, a: Symbol, axis: Symbol | None = None, kind: Symbol = NONE
) -> Symbol:
    return _ordered(interpreter, "argsort", a, axis, kind)


@method("argsort")
def _argsort_method(
    interpreter: Interpreter, /, a: Symbol, axis: Symbol | None = None, kind: Symbol = NONE
) -> Symbol:
    return _ordered(interpreter, "argsort", a, axis, kind)


def _ordered(
    interpreter: Interpreter, name: str, a: Symbol, axis: Symbol | None, kind: Symbol
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, name)
    place, ndim = known(trace, axis, -1), array.type.ndim
    if not ndim or known(trace, kind) not in (None, "stable"):
        raise GraphBreak("numpy-call", f"cupy.{name} of such an array, or of such a kind")
    if name == "sort" or place is None or normal_axis(place, ndim) == ndim - 1:
        return call_whole(trace, name, (array,), {"axis": Constant(place)})
    axes = [one for one in range(ndim) if one != place % ndim]
    last = trace.graph.view(array, ops.TRANSPOSE, {"axes": (*axes, place % ndim)})
    found = call_whole(trace, name, (last,), {"axis": Constant(-1)})
    back = list(range(ndim - 1))
    back.insert(place % ndim, ndim - 1)
    return _transposed(trace, found, back)


def _transposed(trace: Trace, array: Symbol, axes: Sequence[int]) -> DeviceArray:
    assert isinstance(array, DeviceArray)
    return trace.graph.view(array, ops.TRANSPOSE, {"axes": tuple(axes)})


def _transform_of(name: str) -> Any:
    """A Fourier transform along one axis, which is swapped with the last one, and back, as CuPy does it."""

    def rule(
        interpreter: Interpreter,
        /,
        a: Symbol,
        n: Symbol = NONE,
        axis: Symbol | None = None,
        norm: Symbol = NONE,
    ) -> Symbol:
        trace, array = interpreter.trace, array_argument(interpreter, a, name)
        place = normal_axis(known(trace, axis, -1), array.type.ndim)
        axes = list(range(array.type.ndim))
        axes[place], axes[-1] = axes[-1], axes[place]
        if place != axes[place]:
            array = _transposed(trace, array, axes)
        found = call_whole(trace, name, (array, n), {"axis": Constant(-1), "norm": norm})
        return found if place == axes[place] else _transposed(trace, found, axes)

    return rule


for _name in ("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft"):
    function(_name)(_transform_of(_name))


@method("sort")
def _sort_in_place(
    interpreter: Interpreter, /, a: Symbol, axis: Symbol | None = None, kind: Symbol = NONE
) -> Symbol:
    """Of all of an array: what it holds from then on."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.sort")
    place = known(trace, axis, -1)
    if array.path or not array.type.ndim or known(trace, kind) not in (None, "stable"):
        raise GraphBreak("numpy-call", "cupy.ndarray.sort of a view, or of such a kind")
    if not is_c_like(array.type):
        raise GraphBreak("eager-raises", "NotImplementedError: it sorts arrays in C order")
    normal_axis(place, array.type.ndim)
    devices.write_whole(trace, SORT, array, [], (("axis", ("const", place)),))
    return NONE


def nonzero(trace: Trace, array: DeviceArray) -> DeviceArray:
    """The places of what is not zero, a row for each: as long as the host finds, as in eager CuPy."""
    if not array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: nonzero of an array without axes")
    found = call_whole(trace, NONZERO, (array,), {})
    assert isinstance(found, DeviceArray)
    return found


@function(NONZERO)
def _argwhere(interpreter: Interpreter, /, a: Symbol) -> Symbol:
    return nonzero(interpreter.trace, array_argument(interpreter, a, "argwhere"))


@method("nonzero")
def _nonzero(interpreter: Interpreter, /, a: Symbol) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.nonzero")
    places = nonzero(trace, array)
    whole = WHOLE_AXIS
    keys = [Tuple((whole, Constant(axis))) for axis in range(array.type.ndim)]
    return Tuple(tuple(devices.item(trace, places, key) for key in keys))


@function("_util.check_array")
def _check_array(interpreter: Interpreter, /, array: Symbol, *, arg_name: Symbol) -> Symbol:
    array_argument(interpreter, array, "nonzero")
    return NONE


@method("compress")
def _compress(
    interpreter: Interpreter,
    /,
    a: Symbol,
    condition: Symbol,
    axis: Symbol = NONE,
    out: Symbol = NONE,
) -> Symbol:
    """What `take` gives for the places of a condition that are not zero."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.compress")
    mask = array_argument(interpreter, condition, "ndarray.compress")
    place = known(trace, axis)
    if (
        known(trace, out) is not None
        or mask.type.ndim != 1
        or not array.type.ndim
        or type(place) not in (int, type(None))
    ):
        raise GraphBreak("numpy-call", "cupy.ndarray.compress with these arguments")
    column = devices.item(trace, nonzero(trace, mask), Tuple((WHOLE_AXIS, Constant(0))))
    return devices.take(trace, array, column, place)


@function(TENSORDOT)
def _tensordot_core(
    interpreter: Interpreter,
    /,
    a: Symbol,
    b: Symbol,
    out: Symbol,
    n: Symbol,
    m: Symbol,
    k: Symbol,
    ret_shape: Symbol,
) -> Symbol:
    """The product that `tensordot`, `inner`, `vdot` and `dot` come to."""
    trace = interpreter.trace
    if known(trace, out) is not None:
        raise GraphBreak("numpy-call", "cupy.tensordot with out=")
    shape = shape_argument(interpreter, ret_shape)
    sizes = Tuple(tuple(arrays.integer(trace, one) for one in shape))
    return call_whole(trace, TENSORDOT, (a, b, NONE, n, m, k, sizes), {}, shape=shape)
