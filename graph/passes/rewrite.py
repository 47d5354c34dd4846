"""Rewriting a graph node by node, in program order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.node import Graph, Location, Node
from ufuse.graph.ops import CONST, Kind, Op
from ufuse.graph.typing.infer import operand_of, result_type
from ufuse.graph.typing.sample import type_of


@dataclasses.dataclass(slots=True)
class Builder:
    """The nodes of the new graph so far, and which nodes of the old graph they stand for."""

    nodes: list[Node] = dataclasses.field(default_factory=list)
    origins: dict[Node, Node] = dataclasses.field(default_factory=dict)
    buffers: Buffers = dataclasses.field(default_factory=Buffers)

    def original(self, node: Node) -> Node:
        """The node of the old graph that this one stands for."""
        return self.origins.get(node, node)

    def sharing(self, node: Node) -> set[Node]:
        """The buffers that the node may lie in, as nodes of the old graph."""
        return {self.original(one) for one in self.buffers.sharing(node)}

    def emit(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        attributes: Mapping[str, Any],
        location: Location | None,
    ) -> Node:
        """A new node, its type inferred.

        Raises:
            CannotInfer: no rule predicts the type.

        """
        type_ = result_type(op, [operand_of(one) for one in inputs], attributes)
        return self.add(Node(op, inputs, type_, attributes, location))

    def constant(self, value: Any, location: Location | None) -> Node:
        """A new constant."""
        return self.add(Node(CONST, (), type_of(value), {"value": value}, location))

    def add(self, node: Node) -> Node:
        """Put a node behind the others."""
        self.nodes.append(node)
        return node


Visit = Callable[[Node, Builder], Node | None]


def rewritten(graph: Graph, visit: Visit) -> Graph:
    """The graph with every node for which `visit` gives one replaced by that; the same graph where none is.

    `visit` sees each node with its inputs already replaced, and may emit nodes before the one it gives.
    """
    builder, changed = Builder(), False
    replaced: dict[Node, Node] = {}  # those that stay as they are are not in it
    for node in graph.nodes:
        present = node
        if not replaced.keys().isdisjoint(node.inputs):
            inputs = tuple([replaced.get(one, one) for one in node.inputs])
            present = dataclasses.replace(node, inputs=inputs)
        builder.origins[present] = node
        found = visit(present, builder) if node.op.kind is not Kind.INPUT else None
        changed = changed or found is not None
        stays = builder.add(present) if found is None else found
        if stays is not node:
            replaced[node] = stays
            builder.origins.setdefault(stays, node)
    if not changed:
        return graph
    outputs = tuple(replaced.get(node, node) for node in graph.outputs)
    return dataclasses.replace(graph, nodes=tuple(builder.nodes), outputs=outputs)


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """Which buffers are written, and which leave the graph: what decides whether two values may share memory."""

    written: frozenset[Node]  # buffers that some node may write
    escaping: frozenset[Node]  # buffers of outputs, and of what loops and branches are given
    outputs: frozenset[Node]
    given: frozenset[Node]  # to loops and branches, which may give it back as it is

    def may_share(self, node: Node, other: Node, builder: Builder) -> bool:
        """Whether users of a fresh `node` may be given `other` instead: its memory, or the very number."""
        if not is_array(node):
            original = builder.original(node)  # the program could compare the two with `is`
            return original not in self.outputs and original not in self.given
        private = builder.sharing(node).isdisjoint(self.written | self.escaping)
        return private and builder.sharing(other).isdisjoint(self.written)


def observed(graph: Graph) -> Observed:
    """What of the graph's memory is written, and what leaves it."""
    buffers = Buffers()
    bodies = (Kind.LOOP, Kind.BRANCH)
    given = frozenset(one for node in graph.nodes if node.op.kind in bodies for one in node.inputs)
    return Observed(
        _all_buffers((one for node in graph.nodes for one in buffers.written(node)), buffers),
        _all_buffers((*graph.outputs, *given), buffers),
        frozenset(graph.outputs),
        given,
    )


def _all_buffers(nodes: Iterable[Node], buffers: Buffers) -> frozenset[Node]:
    return frozenset(buffer for node in nodes for buffer in buffers.sharing(node))
