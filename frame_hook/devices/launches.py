"""Launches of the program's own kernels, each in its place (`graph/typing/device_launches.py`).

Law: arguments are such that no launch raises, as nothing can be taken back behind one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices.rules import known
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import as_size, described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Buffer,
    Constant,
    DeviceArray,
    Integer,
    List,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, signals
from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import NumberType
from ufuse.graph.typing.device_launches import LAUNCH
from ufuse.graph.typing.library import CUDA, cupy

NAMES = ("grid", "block", "args", "shared_mem")
MOST_BLOCKS = (2**31 - 1, 2**16 - 1, 2**16 - 1)  # along the axes of a grid
MOST_THREADS = (1024, 1024, 64)
MOST_SHARED = 48 << 10  # bytes that a kernel has without being allowed more
LARGEST_INT = 2**63


def launch(
    interpreter: Interpreter,
    kernel: Any,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """A call of a `RawKernel`."""
    trace, graph = interpreter.trace, interpreter.trace.graph
    given = dict(zip(NAMES, arguments, strict=False)) | dict(keywords)
    is_odd = len(given) != len(arguments) + len(keywords) or not set(NAMES[:3]) <= set(given)
    name = cupy().kernel_name(kernel)
    if is_odd or set(given) - set(NAMES) or len(arguments) > len(NAMES) - 1 or name is None:
        raise _refused(kernel, "these arguments")
    if graph.in_side:
        raise _refused(kernel, "a place on one side of a branch")
    _check_threads(trace, kernel, given)
    inputs: list[Node] = []
    blocks = tuple(_size(trace, length, inputs) for length in _grid(trace, kernel, given["grid"]))
    taken: dict[Buffer, None] = {}
    values = tuple(
        _argument(trace, kernel, one, inputs, taken) for one in _items(trace, kernel, given["args"])
    )
    graph.given.update(taken)
    written = list(dict.fromkeys((*graph.given, *(one.buffer for one in trace.arrays.on_device()))))
    for buffer in written:
        if buffer.frozen is not None:
            raise buffer.frozen
    first = len(inputs)
    inputs += [buffer.version for buffer in written]
    attributes: dict[str, Any] = {
        "function": LAUNCH + name,
        "arguments": (
            ("tuple", blocks),
            ("const", arrays.plain(trace, given["block"])),
            ("tuple", values),
        ),
        "keywords": tuple(
            ("shared_mem", ("const", arrays.plain(trace, given[key])))
            for key in given
            if key == "shared_mem"
        ),
        "device": CUDA,
        "writes": tuple(range(first, len(inputs))),
    }
    node = graph.draw(tuple(inputs), attributes)
    for place, buffer in enumerate(written, 1):
        graph.replace(buffer, graph.node(ops.ITEM, (node,), {"index": place}))
    return Constant(None)


def _refused(kernel: Any, what: str) -> GraphBreak:
    return GraphBreak("call", f"the RawKernel {kernel.name} with {what}")


def _items(trace: Trace, kernel: Any, symbol: Symbol) -> tuple[Symbol, ...]:
    read = trace.look(symbol)
    if not isinstance(read, Tuple | List):
        raise _refused(kernel, f"{described(read)} for a tuple or list")
    return tuple(map(trace.look, read.items))


def _check_threads(trace: Trace, kernel: Any, given: Mapping[str, Symbol]) -> None:
    """Break where the device may refuse to launch so many threads, or to give so much memory to a block."""
    block, shared = arrays.plain(trace, given["block"]), known(trace, given.get("shared_mem"), 0)
    is_known = type(block) is tuple and 0 < len(block) <= len(MOST_THREADS)
    if not is_known or not all(
        type(one) is int and 0 < one <= most for one, most in zip(block, MOST_THREADS, strict=False)
    ):
        raise _refused(kernel, "such a block")
    if kernel.enable_cooperative_groups:
        raise _refused(kernel, "cooperative groups")
    try:  # it is compiled for that, as it would be here
        most, own = kernel.max_threads_per_block, kernel.shared_size_bytes
        allowed = max(MOST_SHARED - own, kernel.max_dynamic_shared_size_bytes)
    except Exception as error:  # noqa: BLE001  plain Python says so
        signals.pass_on(error)
        raise _refused(kernel, "a text that does not compile, or without a device,") from None
    if math.prod(block) > most or type(shared) is not int or not 0 <= shared <= allowed:
        raise _refused(kernel, "more threads or shared memory than a block has")


def _grid(trace: Trace, kernel: Any, symbol: Symbol) -> list[Size]:
    """The blocks along each axis."""
    if not isinstance(trace.look(symbol), Tuple):
        raise _refused(kernel, "a grid that is no tuple")
    grid = [as_size(one) for one in _items(trace, kernel, symbol)]
    if not 0 < len(grid) <= len(MOST_BLOCKS):
        raise _refused(kernel, "such a grid")
    found: list[Size] = []
    for length, most in zip(grid, MOST_BLOCKS, strict=False):
        if length is None or not trace.sizes.decide("le", length, most):
            raise _refused(kernel, "such a grid")
        found.append(length)
    return found


def _argument(
    trace: Trace, kernel: Any, symbol: Symbol, inputs: list[Node], taken: dict[Buffer, None]
) -> Any:
    """An argument of the kernel's: an array, a number that always fits, or None."""
    match symbol:
        case DeviceArray():
            taken[symbol.buffer] = None
        case Constant(value=None | bool() | float() | complex() | np.generic() as value):
            return ("const", value)
        case Constant(value=int() as value) if -LARGEST_INT <= value < LARGEST_INT:
            return ("const", value)
        case Integer(size=length):
            return _size(trace, length, inputs)
        case Number(node=node) if node.type != NumberType("int"):
            pass
        case _:
            raise _refused(kernel, f"{described(symbol)} among its arguments")
    inputs.append(devices.node_of(trace, symbol))
    return len(inputs) - 1


def _size(trace: Trace, length: Size, inputs: list[Node]) -> Any:
    """A whole number as an argument."""
    if isinstance(length, int):
        return ("const", length)
    inputs.append(trace.graph.size_node(length))
    return len(inputs) - 1
