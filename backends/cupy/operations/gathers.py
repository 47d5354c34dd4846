"""Elements by arrays of places, for kernels: `x[i]`, `x[i, j]`, `x[:, i]` where what is picked is computed with.

CuPy's places wrap. Each axis of the array that has no places of its own is counted along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.backends.planning.loops import Axis, Gather, Loop
from ufuse.graph import ops
from ufuse.graph.node import Graph, Location, Node
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.types import ArrayType, NumberType, Span, Type
from ufuse.graph.typing.device_calls import PICKING, TAKE

PLACES = "places"  # the attribute of calls that kernels may do: `Gather.places`
COUNT = np.dtype("i8")
WHOLE: Any = None  # a part of a key: all of an axis


def with_places(graph: Graph) -> Graph:
    """The graph with places for each axis at calls that pick elements; such a call's own inputs stay the first."""
    return rewritten(graph, _visit)


def gather_of(node: Node) -> Gather | str:
    """How a kernel picks elements for a call that has places."""
    places = node.attributes.get(PLACES)
    if places is None:
        return "it is a call of CuPy's own"
    table, type_ = node.inputs[0].type, node.type
    assert isinstance(table, ArrayType)
    assert isinstance(type_, ArrayType)
    kinds = [_dtype_of(node.inputs[one].type) if isinstance(one, int) else COUNT for one in places]
    return Gather(Loop("gather", "take", (table.dtype, *kinds, type_.dtype)), places)


def _dtype_of(type_: Type) -> np.dtype:
    return type_.dtype if isinstance(type_, ArrayType) else COUNT


def _visit(node: Node, builder: Builder) -> Node | None:
    parts = _parts(node)
    if parts is None or not _are_places(node, parts):
        return None
    picking = [place for place, part in enumerate(parts) if part is not WHOLE]
    behind = len(parts) - picking[-1] - 1  # whole axes
    ndim = node.type.ndim  # type: ignore[union-attr]
    inputs, places = list(node.inputs), list[int | Axis]()
    for axis, part in enumerate(parts):
        if part is not WHOLE:
            places.append(_spread(part, behind, inputs, node, builder))
        elif axis < picking[0]:
            places.append((axis, ndim - axis - 1))
        else:
            places.append((axis, len(parts) - axis - 1))
    attributes = {**node.attributes, PLACES: tuple(places)}
    return builder.add(replace(node, inputs=tuple(inputs), attributes=attributes))


def _spread(number: int, behind: int, inputs: list[Node], node: Node, builder: Builder) -> int:
    """The number of the input with these places and so many axes behind."""
    source = inputs[number]
    if not behind or not isinstance(source.type, ArrayType):
        return number
    inputs.append(with_axes_behind(source, behind, builder, node.location))
    return len(inputs) - 1


def with_axes_behind(array: Node, count: int, builder: Builder, location: Location | None) -> Node:
    """A view of an array with so many axes of length 1 behind its own."""
    assert isinstance(array.type, ArrayType)
    if not count:
        return array
    spans = tuple(Span(0, length) for length in array.type.shape)
    return builder.emit(ops.INDEX, (array,), {"index": (*spans, *(None,) * count)}, location)


def _parts(node: Node) -> list[Any] | None:
    """For each axis of an array the number of the input with places, or WHOLE; None where it is no such call."""
    name = node.attributes["function"] if node.op is ops.CALL else ""
    if name not in PICKING or not isinstance(node.type, ArrayType):
        return None
    ndim = node.inputs[0].type.ndim  # type: ignore[union-attr]
    if name == TAKE:
        axis = dict(node.attributes["keywords"]).get("axis", ("const", None))[1]
        if axis is None and ndim != 1:
            return None  # of all elements in C order
        parts = [WHOLE] * ndim
        parts[axis or 0] = 1
        return parts
    _, key = node.attributes["arguments"]
    given = key[1] if isinstance(key, tuple) and key[0] == "tuple" else (key,)
    return [part if isinstance(part, int) else WHOLE for part in given]


def _are_places(node: Node, parts: list[Any]) -> bool:
    """Whether the parts are whole numbers, and arrays of them, for neighbouring axes; all values are right places."""
    picking = [place for place, part in enumerate(parts) if part is not WHOLE]
    if not picking or picking[-1] - picking[0] >= len(picking):
        return False
    types = [node.inputs[parts[place]].type for place in picking]
    shape = node.inputs[0].type.shape  # type: ignore[union-attr]
    return len(parts) == len(shape) and 0 not in shape and all(map(_has_places, types))


def _has_places(type_: Type) -> bool:
    if isinstance(type_, NumberType):
        return type_.kind == "int"
    if not isinstance(type_, ArrayType):
        return False
    return type_.dtype.kind in "iu" and type_.dtype.char not in "LQ"
