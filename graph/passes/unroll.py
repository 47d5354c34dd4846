"""Sums and products over a short axis of known length, as a chain of elementwise operations.

NumPy adds fewer than 8 float32 or float64 numbers one after the other, begun from +0.0 (products: 1.0),
whatever the layout; from 8 on, sums along the fastest axis are pairwise. float16 and complex sums go
other ways and stay.

The chain's operations carry the attribute `warns_as`: a name and a number; a backend that reports floating-point
flags gives one warning for all operations of the same number, under that name. Where NaNs of different bits
meet in one sum, NumPy's vector loop and its scalar tail keep different ones of them: the result is a NaN here
too, but its sign and payload may be the other's. So this pass runs only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.semantics.effects import ERRORS, given_errors
from ufuse.graph.types import ArrayType, Span
from ufuse.graph.typing.infer import CannotInfer
from ufuse.graph.typing.shapes import normalised_axes

LONGEST = 7
STARTS = {"reduce_add": 0, "reduce_multiply": 1}


def unrolled(graph: Graph) -> Graph:
    """The graph with short reductions as chains."""
    if all(why_not(node) is not None for node in graph):
        return graph
    uses = graph.uses()
    return rewritten(graph, lambda node, builder: _chain(node, builder, uses))


def why_not(node: Node) -> str | None:
    """Why a reduction is not unrolled, or None."""
    if node.op.kind is not Kind.REDUCE or node.op.name not in STARTS:
        return "not a sum or product"
    type_ = node.inputs[0].type
    assert isinstance(type_, ArrayType)
    assert isinstance(node.type, ArrayType)
    if type_.dtype != node.type.dtype or type_.dtype.char not in "fdilqILQ":
        return "its numbers are converted, or added in another way"
    if node.type.scalar:
        return "its result is one number: NumPy's own call is as fast, and warns under its own name"
    if type_.order is None or (type_.ndim == 1 and not type_.contiguous):
        return "its axes may be walked backwards"
    axes = normalised_axes(node.attributes.get("axis"), type_.ndim)
    if len(axes) != 1:
        return "it does not go over one axis"
    length = type_.shape[axes[0]]
    if not isinstance(length, int) or not 1 <= length <= LONGEST:
        return "its axis is long, or of unknown length"
    return None


def _chain(node: Node, builder: Builder, uses: Mapping[Node, int]) -> Node | None:
    if why_not(node) is not None:
        return None
    (array,) = node.inputs
    type_ = array.type
    assert isinstance(type_, ArrayType)
    (axis,) = normalised_axes(node.attributes.get("axis"), type_.ndim)
    length = type_.shape[axis]
    assert isinstance(length, int)
    before = len(builder.nodes)
    in_parts = _is_made_in_parts(array, builder, uses)
    number = STARTS[node.op.name] if type_.dtype.kind in "iu" else float(STARTS[node.op.name])
    total = builder.constant(number, node.location)
    step = ops.OPS[node.op.name.removeprefix("reduce_")]
    attributes = {**_warns_as("reduce", before), **given_errors(node)}
    try:
        for place in range(length):
            part = _made_part if in_parts else _part
            term = part(node, array, axis, place, builder)
            total = builder.emit(step, (total, term), attributes, node.location)
    except CannotInfer:
        del builder.nodes[before:]
        return None
    if total.type != node.type:
        del builder.nodes[before:]
        return None
    if in_parts:
        builder.nodes.remove(array)
    return total


def _warns_as(name: str, number: int) -> dict[str, tuple[str, int]]:
    """The attribute by which a chain's operations warn as one; `number` is the chain's own."""
    return {"warns_as": (name, number)}


def _is_made_in_parts(array: Node, builder: Builder, uses: Mapping[Node, int]) -> bool:
    """Whether what is summed is an elementwise result of no other use: then each part is computed where it is added.

    Its inputs must be read before any store that followed it.
    """
    if array.op.ufunc is None or array.op.kind is not Kind.MAP or set(array.attributes) - {ERRORS}:
        return False
    if uses.get(builder.original(array), 0) != 1 or array not in builder.nodes:
        return False
    later = builder.nodes[builder.nodes.index(array) :]
    if any(one.op.kind is Kind.STORE or one.attributes.get("writes") for one in later):
        return False
    assert isinstance(array.type, ArrayType)
    return all(
        not isinstance(one.type, ArrayType) or one.type.shape in ((), array.type.shape)
        for one in array.inputs
    )


def _made_part(node: Node, array: Node, axis: int, place: int, builder: Builder) -> Node:
    """One place of an elementwise result, computed from the same place of its inputs."""
    inputs = tuple(
        _part(node, one, axis, place, builder)
        if isinstance(one.type, ArrayType) and one.type.shape
        else one
        for one in array.inputs
    )
    name = array.op.name
    number = builder.nodes.index(array)
    attributes = {**_warns_as(name, -1 - number), **given_errors(array)}
    return builder.emit(array.op, inputs, attributes, array.location)


def _part(node: Node, array: Node, axis: int, place: int, builder: Builder) -> Node:
    """The elements at one place of the axis."""
    assert isinstance(array.type, ArrayType)
    kept = Span(place, 1) if node.attributes.get("keepdims") else place
    index = tuple(
        kept if a == axis else Span(0, length) for a, length in enumerate(array.type.shape)
    )
    return builder.emit(ops.INDEX, (array,), {"index": index}, node.location)
