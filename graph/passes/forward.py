"""Buffers made inside a graph that are overwritten as a whole become plain values.

`out = np.empty_like(x); np.multiply(x, y, out=out)` and `t *= 2` on a fresh `t` are stores; nobody can see the buffer's
older contents, so the new version is a copy of the value, which a kernel never really makes. Preserves
bits and layout: the copy has the buffer's dtype and memory order.
"""

from __future__ import annotations

from dataclasses import replace

from ufuse.graph import ops
from ufuse.graph.memory.accesses import Memory
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.memory.regions import whole
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.dead import without_dead
from ufuse.graph.semantics.effects import given_errors
from ufuse.graph.types import ArrayType

FRESH = (Kind.MAP, Kind.REDUCE, Kind.CREATE)
OPAQUE = (Kind.CALL, Kind.LOOP, Kind.BRANCH)


def forwarded(graph: Graph, memory: Memory) -> Graph:
    """The graph with full stores into fresh buffers replaced by copies of their values, without what they overwrite."""
    if not any(node.op.kind is Kind.STORE for node in graph):
        return graph
    uses = Uses(graph, memory)
    replacement: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph:
        inputs = node.inputs
        if not replacement.keys().isdisjoint(inputs):
            inputs = tuple(replacement.get(source, source) for source in inputs)
        new = node
        if node.op.kind is Kind.STORE and uses.why_kept(node) is None:
            new = _copy_of(inputs[1], node)
        elif inputs is not node.inputs:
            new = replace(node, inputs=inputs)
        if new is not node:
            replacement[node] = new
        nodes.append(new)
    outputs = tuple(replacement.get(node, node) for node in graph.outputs)
    return without_dead(replace(graph, nodes=tuple(nodes), outputs=outputs))


class Uses:
    """Who uses the values of a graph, and when; `kept` is the memory that calls, loops and branches may have kept."""

    def __init__(self, graph: Graph, memory: Memory) -> None:
        self.memory = memory
        self.outputs = set(graph.outputs)
        self.position = {node: place for place, node in enumerate(graph.nodes)}
        self.users: dict[Node, list[Node]] = {}
        self.kept: set[Node] = set()
        for node in graph:
            for source in node.inputs:
                self.users.setdefault(source, []).append(node)
            if node.op.kind in OPAQUE and node.op is not ops.ELEMENT:
                self.kept.update(*(memory.sharing(one) for one in node.inputs if is_array(one)))

    def why_kept(self, store: Node) -> str | None:
        """Why the memory that a store writes must really be written, or None."""
        target = self.memory.target(store)
        root, region = target.root, target.region
        value = store.inputs[1].type
        if root.op.kind not in FRESH or not is_array(root):
            return "the buffer was not made here"
        assert isinstance(root.type, ArrayType)
        if region != whole(root.type.shape):
            return "it writes a part"
        if not isinstance(value, ArrayType) or value.shape != root.type.shape:
            return "the value is broadcast"
        if value.scalar:
            return "the value is a NumPy scalar, the buffer an array without axes"
        if root.type.order is None:
            return "the memory order is not known"
        if _may_be_a_view(root):
            return "CuPy may have given it as a view of what a library made"
        if root in self.kept:
            return "what a call returned may be a view of it"
        if _depends_on_place(store):
            return "the operation has other NaN where it is done in place"
        pending = [store.inputs[0]]
        while pending:
            older = pending.pop()
            if older in self.outputs:
                return "an older version is an output"
            for user in self.users.get(older, ()):
                if user is store:
                    continue
                if self.position[user] > self.position[store]:
                    return "an older version is read later"
                if user.op.kind is Kind.VIEW:
                    pending.append(user)
        return None


def _may_be_a_view(root: Node) -> bool:
    """Whether a device's array is one number of all elements, which CUB makes in another array than is asked for."""
    made, reduced = root.type, root.inputs[0].type if root.op.kind is Kind.REDUCE else None
    if not isinstance(made, ArrayType) or not made.device or not isinstance(reduced, ArrayType):
        return False
    is_position = root.op.name in ("reduce_argmin", "reduce_argmax")
    return all(length == 1 for length in made.shape) and (bool(made.shape) or is_position)


def _depends_on_place(store: Node) -> bool:
    """Whether a sum or product of complex numbers is written over its operand, beside an array with gaps."""
    buffer, value = store.inputs
    if value.op.name not in {"add", "multiply"} or buffer not in value.inputs:
        return False
    types = [one.type for one in value.inputs if isinstance(one.type, ArrayType) and one.type.ndim]
    return any(one.dtype.kind == "c" for one in types) and not all(one.contiguous for one in types)


def _copy_of(value: Node, store: Node) -> Node:
    assert isinstance(store.type, ArrayType)
    assert isinstance(value.type, ArrayType)
    fresh = replace(store.type, contiguous=True)
    if value.type.dtype != fresh.dtype:
        attributes = {"dtype": fresh.dtype, **given_errors(store)}
        return Node(ops.CAST, (value,), fresh, attributes, store.location)
    return Node(ops.COPY, (value,), fresh, {"order": "K"}, store.location)
