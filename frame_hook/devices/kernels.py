"""Calls of CuPy's kernels that are objects: `ElementwiseKernel`, and the reductions that its own functions use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.reductions import axes_argument
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices import launches
from ufuse.frame_hook.devices.rules import array_argument, known
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    DeviceArray,
    Instance,
    Integer,
    Number,
    Symbol,
    Unread,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.device_calls import KERNEL
from ufuse.graph.typing.device_streams import IS_LIKE, MADE_ANEW
from ufuse.graph.typing.library import CUDA, cupy

Given = Mapping[str, Symbol]
# How texts come to write through what is const.
CASTS = re.compile(r"[*&]\s*\)|\b(?:const|reinterpret)_cast\b")
OF_REDUCTION = ("a", "axis", "dtype", "out", "keepdims")


def known_kernel(trace: Trace, function: Instance) -> Any:
    """The kernel that an object is: itself, or the one that is kept where a function makes an equal one each time."""
    if function.source is None:  # it was made here
        return function.value
    kept = cupy().kept_like(function.value)
    name = None if kept is None or kept is function.value else cupy().kernel_name(kept)
    if name is None or trace.graph.in_side:
        trace.guards.check("IDENTITY", function.source, function.value)
        return function.value
    call = {"function": IS_LIKE, "arguments": (0, ("const", name)), "keywords": (), "device": CUDA}
    node = trace.graph.generator(MADE_ANEW, function.source)
    trace.graph.about_streams((node,), call, may_raise=True)
    return kept


def call_kernel(
    interpreter: Interpreter, kernel: Any, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of a kernel."""
    if isinstance(kernel, cupy().raw):
        return launches.launch(interpreter, kernel, arguments, keywords)
    if isinstance(kernel, cupy().reduction):
        return _reduced(interpreter, kernel, arguments, keywords)
    is_reduction = isinstance(kernel, cupy().own_reduction)
    if CASTS.search((kernel.map_expr if is_reduction else kernel.operation) + kernel.preamble):
        raise _writes(kernel)
    return _call_read(interpreter, kernel, arguments, keywords)


def _call_read(
    interpreter: Interpreter, kernel: Any, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of a kernel whose text writes nothing but its results."""
    if not all(one.is_const for one in kernel.in_params):
        raise _writes(kernel)
    if isinstance(kernel, cupy().own_reduction):
        return _reduced_by_own(interpreter.trace, kernel, arguments, keywords)
    return _elementwise(interpreter.trace, kernel, arguments, keywords)


def call_fused(
    interpreter: Interpreter, function: Instance, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A call of what `cupy.fuse` has made: of the kernel that CuPy has made of it for such arguments."""
    trace, fused = interpreter.trace, function.value
    given = [trace.look(one) for one in arguments]
    kernels = trace.look(_own(trace, function, "new_fusion"))
    if keywords or not any(isinstance(one, DeviceArray) for one in given):
        raise GraphBreak("call", f"the fused function {fused.name} with these arguments")
    if not isinstance(kernels, Constant) or kernels.value is not None:
        raise GraphBreak("call", f"the fused function {fused.name}, which is no single kernel,")
    key = tuple(part for one in given for part in _kind_of(fused, one))
    memo = _own(trace, function, "_memo")
    # Nothing is taken out of it: `clear_cache` makes another one.
    trace.guards.check("IDENTITY", memo.source, memo.value)
    made = memo.value.get(key)
    if made is None:  # CuPy calls the function for that, which is the program's own
        trace.guards.check("LENGTH", memo.source, len(memo.value))
        raise GraphBreak(
            "call", f"the fused function {fused.name}, not called with such arguments before,"
        )
    kernel, named = made
    if set(named) - {"axis"}:
        raise GraphBreak("call", f"the fused function {fused.name} with out=")
    taken = [one for one in given if not (isinstance(one, Constant) and one.value is None)]
    return _call_read(
        interpreter, kernel, taken, {key: Constant(one) for key, one in named.items()}
    )


def _own(trace: Trace, owner: Instance, name: str) -> Unread:
    """What an object has under a name itself."""
    assert owner.source is not None
    loaded = trace.guards.load("LOAD_OWN", owner.source, name, text=f"{owner.source.text}.{name}")
    return Unread(loaded, vars(owner.value)[name])


def _kind_of(fused: Any, symbol: Symbol) -> tuple[Any, ...]:
    """What of an argument decides which kernel a fused function is, as CuPy writes it down."""
    match symbol:
        case DeviceArray(type=type_):
            return type_.dtype.char, type_.ndim
        case Constant(value=np.generic() as value):
            return (value.dtype.char,)
        case Constant(value=None):
            return (None,)
        case Constant(value=int() | float() | complex() as value):
            kind = int if isinstance(value, int) else type(value)
            return np.dtype(kind).char, kind
        case Integer():
            return np.dtype(int).char, int
        case Number(node=node) if isinstance(node.type, ArrayType):
            return (node.type.dtype.char,)
        case Number(node=node) if isinstance(node.type, NumberType):
            kind = {"bool": int, "int": int, "float": float, "complex": complex}[node.type.kind]
            return np.dtype(kind).char, kind
    raise GraphBreak("call", f"the fused function {fused.name} of {described(symbol)}")


def _writes(kernel: Any) -> GraphBreak:
    return GraphBreak("numpy-call", f"{kernel.name}, which may write what it is given to read,")


def _reduced(
    interpreter: Interpreter, kernel: Any, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """One number for each part of an array."""
    trace, what = interpreter.trace, kernel.name
    given = dict(zip(OF_REDUCTION, arguments, strict=False)) | dict(keywords)
    if len(given) != len(arguments) + len(keywords) or set(given) - set(OF_REDUCTION):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    array = array_argument(interpreter, given.pop("a", Constant(None)), what)
    plain = {key: arrays.plain(trace, one) for key, one in given.items()}
    if plain.get("dtype") is not None or plain.get("out") is not None:
        raise GraphBreak("numpy-call", f"{what} with dtype= or out=")
    axis = None if plain.get("axis") is None else given["axis"]
    axes = axes_argument(interpreter, axis, array.type.ndim)
    keepdims, row = plain.get("keepdims", False), cupy().reduction_row(kernel)
    if row is None or type(keepdims) is not bool:
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    if not kernel.identity:
        for one in range(array.type.ndim) if axes is None else axes:
            if trace.sizes.decide("eq", array.type.shape[one], 0):
                raise GraphBreak("eager-raises", "ValueError: zero-size array to reduction")
    attributes = {"axis": axes, "keepdims": keepdims, "dtype": None}
    return trace.graph.fresh(trace.graph.node(row, (trace.graph.value(array),), attributes))


def _reduced_by_own(
    trace: Trace, kernel: Any, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """A `ReductionKernel` by its own call, whose result is new memory."""
    name, looked = cupy().kernel_name(kernel), [trace.look(one) for one in arguments]
    axis, keepdims = (
        known(trace, keywords.get("axis")),
        known(trace, keywords.get("keepdims"), False),
    )
    given = [one for one in looked if isinstance(one, DeviceArray)]
    if name is None or kernel.nout != 1 or not len(looked) == len(given) == kernel.nin:
        raise GraphBreak("numpy-call", f"{kernel.name} with these arguments")
    is_plain = type(axis) in (int, tuple, type(None)) and type(keepdims) is bool
    if not is_plain or set(keywords) - {"axis", "keepdims"}:
        raise GraphBreak("numpy-call", f"{kernel.name} with these arguments")
    attributes: dict[str, Any] = {
        "function": KERNEL + name,
        "arguments": tuple(range(len(given))),
        "keywords": (("axis", ("const", axis)), ("keepdims", ("const", keepdims))),
        "device": CUDA,
    }
    nodes = tuple(map(trace.graph.value, given))
    return trace.graph.fresh(trace.graph.node(ops.CALL, nodes, attributes, may_raise=True))


def _elementwise(trace: Trace, kernel: Any, arguments: Sequence[Symbol], keywords: Given) -> Symbol:
    """An elementwise kernel by its own call, with new results or one that is given and written."""
    name, looked = cupy().kernel_name(kernel), [trace.look(one) for one in arguments]
    size = known(trace, keywords.get("size"), -1)
    if name is None or set(keywords) - {"size"} or type(size) is not int or not kernel.nout:
        raise GraphBreak("numpy-call", f"{kernel.name} with these arguments")
    inputs: list[Node] = []
    given: list[Any] = []
    for symbol in looked:
        if not isinstance(symbol, DeviceArray) and not arrays.is_number(symbol):
            raise GraphBreak("numpy-call", f"{kernel.name} of what is no array of CuPy's")
        given.append(len(inputs))
        inputs.append(devices.node_of(trace, symbol))
    named = () if size == -1 else (("size", ("const", size)),)
    attributes: dict[str, Any] = {
        "function": KERNEL + name,
        "arguments": tuple(given),
        "keywords": named,
        "device": CUDA,
    }
    if len(given) == kernel.nin:
        node = trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=True)
        return devices.results_of(trace, node)
    target = looked[-1]
    if len(given) != kernel.nargs or kernel.nout != 1 or not isinstance(target, DeviceArray):
        raise GraphBreak("numpy-call", f"{kernel.name} with these results")
    if target.path or any(node is inputs[-1] for node in inputs[:-1]):
        raise GraphBreak("numpy-call", f"{kernel.name} into a view, or over what it reads")
    devices.check_writable(trace, target)
    node = trace.graph.node(ops.CALL, tuple(inputs), {**attributes, "writes": (len(inputs) - 1,)})
    trace.graph.note_write(target.buffer)
    trace.graph.replace(target.buffer, trace.graph.node(ops.ITEM, (node,), {"index": 1}))
    return target
