"""Common subexpressions: what is computed twice is computed once.

Version nodes make this safe for memory: equal inputs are equal versions. Fresh arrays are merged only where
nobody can tell: neither is written, and not both leave the graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ufuse.graph.memory.buffers import is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import CONST, Kind
from ufuse.graph.passes.rewrite import Builder, Observed, observed, rewritten
from ufuse.graph.semantics.effects import why_not_pure
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.device_streams import is_switch
from ufuse.graph.typing.draws import is_draw

MERGED = (Kind.SIZE, Kind.MAP, Kind.REDUCE, Kind.VIEW, Kind.SCALAR, Kind.CALL)


def merged(graph: Graph, *, replayed: bool = False) -> Graph:
    """The graph without repeated computations; ops that may warn stay, unless the graph is `replayed`."""
    seen = observed(graph)
    found: dict[Hashable, Node] = {}
    streams = 0  # that were current so far: each computes for itself

    def visit(node: Node, builder: Builder) -> Node | None:
        nonlocal streams
        streams += is_switch(node)
        if node.op.kind not in MERGED or node.attributes.get("writes") or is_draw(node):
            return None
        if not replayed and not _gives_the_same(node):
            return None
        known = found.setdefault((streams, _key(node)), node)
        if known is node or not _may_merge(known, node, seen, builder):
            return None
        return known

    return rewritten(graph, visit)


def _gives_the_same(node: Node) -> bool:
    """Whether the second of two such nodes does nothing new: a number that does not fit CuPy refuses at the first."""
    if isinstance(node.type, ArrayType) and node.type.device and node.op.kind is Kind.MAP:
        return True
    return why_not_pure(node) is None


def _may_merge(known: Node, node: Node, seen: Observed, builder: Builder) -> bool:
    if known.type != node.type:
        return False
    if not isinstance(node.type, ArrayType | NumberType):
        return False
    if is_array(node) and node.op.kind is Kind.VIEW:
        return builder.original(node) not in seen.outputs
    return seen.may_share(node, known, builder)


def _key(node: Node) -> Hashable:
    """Equal for nodes that compute the same; constants count by their value."""
    inputs = [_hashable(one.attributes) if one.op is CONST else one for one in node.inputs]
    return (node.op, *inputs, _hashable(node.attributes) if node.attributes else ())


def _hashable(value: Any) -> Hashable:
    """An attribute as a key: equal keys are equal to the bit."""
    if isinstance(value, Mapping):
        return tuple((key, _hashable(one)) for key, one in sorted(value.items()))
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_hashable, value))
    if isinstance(value, (float, complex, np.generic)):
        return (type(value), np.asarray(value).tobytes())
    if isinstance(value, np.ndarray) or type(value).__hash__ is None:
        return (id(value),)
    return (type(value), value)
