"""What a device does not notice: it is computed beside the results, and read when all is done.

Where it is true plain Python runs, as if nothing had been done: arguments are copies on a device. So places that lie
outside, which CuPy wraps, raise as NumPy says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ufuse.backends.cupy.operations.nodes import made, number
from ufuse.backends.cupy.sending.functions import COUNTERPART
from ufuse.backends.cupy.sending.kinds import in_places, is_sent
from ufuse.backends.cupy.sending.places import ALONG_AXIS
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.device_calls import AT, GETITEM, SETITEM, TAKE
from ufuse.graph.typing.shapes import count

# CuPy's functions that put NaN among the numbers, where the result of NumPy's is NaN.
IN_ORDER = frozenset(("median", "percentile", "quantile"))


def doubts(node: Node) -> Iterator[Node]:
    """What says of an operation on the device that plain Python is to do it: arrays of one boolean."""
    yield from _outside(node)
    if node.attributes.get(COUNTERPART) in IN_ORDER:
        for array in filter(is_sent, node.inputs):
            if _array(array).dtype.kind in "fc":
                found = made(ops.UFUNCS["not_equal"], array, array, location=node.location)
                yield _any(found)


def _outside(node: Node) -> Iterator[Node]:
    """Whether any place of a call on the device lies outside, for each of its arrays of them."""
    for places, length in _looked_up(node):
        location = node.location
        signed, whole = in_places(places, location), _array(places)
        found = made(
            ops.UFUNCS["greater_equal"], signed, number(length, location), location=location
        )
        if whole.dtype.kind == "i":
            low = made(ops.UFUNCS["less"], signed, number(-1 * length, location), location=location)
            found = made(ops.UFUNCS["logical_or"], found, low, location=location)
        yield _any(found)


def _any(found: Node) -> Node:
    """Whether one of many is true."""
    given = {"axis": None, "keepdims": False, "dtype": None}
    return made(ops.OPS["reduce_logical_or"], found, location=found.location, **given)


def _looked_up(node: Node) -> Iterator[tuple[Node, Any]]:
    """The arrays of places of a call, each with the length of its axis."""
    name = node.attributes["function"] if node.op is ops.CALL else ""
    if name == TAKE:
        type_, axis = _array(node.inputs[0]), dict(node.attributes["keywords"])["axis"][1]
        yield node.inputs[1], count(type_.shape) if axis is None else type_.shape[axis]
    if name == ALONG_AXIS:
        axis = dict(node.attributes["keywords"]).get("axis", node.attributes["arguments"][2:])
        yield (
            node.inputs[1],
            _array(node.inputs[0]).shape[(axis[0] if axis[0] != "const" else axis)[1]],
        )
    if name.startswith(AT):
        yield node.inputs[1], _array(node.inputs[0]).shape[0]
    if name in (GETITEM, SETITEM):
        _, key, *_ = node.attributes["arguments"]
        if isinstance(key, tuple):
            for part, length in zip(key[1], _array(node.inputs[0]).shape, strict=True):
                if isinstance(part, int):
                    yield node.inputs[part], length


def _array(node: Node) -> ArrayType:
    assert isinstance(node.type, ArrayType)
    return node.type
