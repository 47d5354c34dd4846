"""Dead code: pure operations whose results nobody uses are left out."""

from __future__ import annotations

import dataclasses

from ufuse.graph import ops
from ufuse.graph.made import makers, named_by
from ufuse.graph.memory.buffers import Buffers
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.semantics.effects import why_not_pure


def without_dead(graph: Graph) -> Graph:
    """The graph without pure operations whose results nobody uses."""
    buffers, made = Buffers(), makers(graph)
    live: set[Node] = set(graph.outputs) | set(graph.inputs)
    for node in reversed(graph.nodes):
        if node in live or _has_effect(node, buffers):
            live.add(node)
            live.update(node.inputs)
            if made:
                live.update(made[name] for name in named_by(node) & made.keys())
    if len(live) == len(graph.nodes):
        return graph
    return dataclasses.replace(graph, nodes=tuple(node for node in graph.nodes if node in live))


def _has_effect(node: Node, buffers: Buffers) -> bool:
    """Whether the node is run for its effect. A store into the graph's own memory lives by its readers."""
    if node.op.kind is Kind.STORE and any(
        buffer.op in (ops.INPUT, ops.CONST, ops.ITEM) for buffer in buffers.sharing(node)
    ):
        return True
    return why_not_pure(node) is not None
