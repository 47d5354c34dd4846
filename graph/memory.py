"""Which memory each node's value lies in, and which version of it.

A *buffer* is memory that one node made or the caller gave: its first version. Views lie in the buffer of
what they view. A store, and an item of a call or loop that writes, is the next version of the same buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType


def is_memory(node: Node) -> bool:
    """Whether the value is an array, which others may share, and no NumPy scalar or number."""
    return isinstance(node.type, ArrayType) and not node.type.scalar


def previous_version(node: Node) -> Node | None:
    """The version that this node writes over, or None."""
    if node.op.kind is Kind.STORE:
        return node.inputs[0]
    if node.op.kind is Kind.ITEM:
        return _carried(node.inputs[0], node.attributes["index"])
    return None


def _carried(node: Node, index: int) -> Node | None:
    """The input of a call, loop or branch whose memory is that of its result `index`."""
    if node.op.kind is Kind.CALL:
        written = node.attributes.get("writes", ())
        return node.inputs[written[index - 1]] if written and index >= 1 else None
    if node.op.kind is Kind.LOOP:
        place = _given_place(node.attributes["body"], index)
        return None if place is None else node.inputs[place]
    if node.op.kind is Kind.BRANCH:
        places = {_given_place(node.attributes[side], index) for side in ("then", "otherwise")}
        place = places.pop() if len(places) == 1 else None
        return None if place is None else node.inputs[1 + place]
    return None


def _given_place(body: Graph, index: int) -> int | None:
    """Which input of a body its result `index` lies in, or None where it is fresh."""
    buffer = buffer_of(body.outputs[index])
    return body.inputs.index(buffer) if buffer in body.inputs and is_memory(buffer) else None


def version_of(node: Node) -> Node:
    """The version of a buffer that a node sees: itself, or what it is a view of."""
    while node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node


def buffer_of(node: Node) -> Node:
    """The first version of the memory that a node's value lies in."""
    while True:
        node = version_of(node)
        previous = previous_version(node)
        if previous is None:
            return node
        node = previous


def written_inputs(node: Node) -> tuple[Node, ...]:
    """The inputs whose memory a node changes."""
    match node.op.kind:
        case Kind.STORE:
            return (node.inputs[0],)
        case Kind.CALL:
            return tuple(node.inputs[place] for place in node.attributes.get("writes", ()))
        case Kind.LOOP:
            return _written_by(node.attributes, ("condition", "body"), node.inputs)
        case Kind.BRANCH:
            return _written_by(node.attributes, ("then", "otherwise"), node.inputs[1:])
    return ()


def _written_by(
    attributes: Mapping[str, Graph], names: Iterable[str], given: tuple[Node, ...]
) -> tuple[Node, ...]:
    places = {
        body.inputs.index(buffer)
        for name in names
        for body in [attributes[name]]
        for node in body.nodes
        for written in written_inputs(node)
        if (buffer := buffer_of(written)) in body.inputs
    }
    return tuple(given[place] for place in sorted(places))


def is_fresh(node: Node) -> bool:
    """Whether a buffer is made inside the graph."""
    return node.op is not ops.INPUT and node.op is not ops.CONST
