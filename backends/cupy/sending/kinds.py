"""What can be on a device of NumPy's values, and why something stays on the host."""

from __future__ import annotations

import numpy as np

from ufuse.backends.cupy.operations.nodes import made
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.types import ArrayType, NumberType, TupleType, Type, c_order
from ufuse.graph.typing.device_calls import PYTHONS, READ
from ufuse.graph.typing.library import CUDA

DTYPES = frozenset("?bBhHiIlLqQfdFD")


class StaysOnHost(Exception):  # noqa: N818  the reason for which a graph is compiled for the CPU
    """An operation has no counterpart on the device."""


def is_sent(node: Node) -> bool:
    """Whether a value is on the device."""
    return isinstance(node.type, ArrayType) and bool(node.type.device)


def device_type(type_: Type) -> ArrayType:
    """The type on the device of a NumPy array or scalar.

    Raises:
        StaysOnHost: it is none, or of a dtype that is not for devices.

    """
    if not isinstance(type_, ArrayType):
        raise StaysOnHost("a value is no array of numbers")
    if type_.dtype.char not in DTYPES or not type_.dtype.isnative:
        raise StaysOnHost(f"an array is of {type_.dtype}")
    return ArrayType(type_.dtype, type_.shape, c_order(type_.ndim), device=CUDA)


def result_on_device(type_: Type) -> Type:
    """The same of what a function gives, which may be several arrays."""
    if isinstance(type_, TupleType):
        return TupleType(tuple(map(device_type, type_.items)))
    return device_type(type_)


def read(source: Node) -> Node:
    """The only element as a number of Python's, for which the host waits."""
    assert isinstance(source.type, ArrayType)
    attributes = {"function": READ, "arguments": (0,), "keywords": ()}
    kind = PYTHONS[source.type.dtype.kind]
    return Node(ops.CALL, (source,), NumberType(kind), attributes, source.location)


def in_places(array: Node, location: Location | None) -> Node:
    """Whole numbers in 64 bits, as places are compared with lengths."""
    assert isinstance(array.type, ArrayType)
    wanted = np.dtype("i8")
    return (
        array
        if array.type.dtype == wanted
        else made(ops.CAST, array, location=location, dtype=wanted)
    )
