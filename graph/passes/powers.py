"""A chain of products with the same whole-number matrix is a power of it: repeated squaring.

Integer arithmetic is exact modulo 2^n and raises no flag, so the order of the products changes no bit.
"""

from __future__ import annotations

import dataclasses

from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.passes.rewrite import Builder
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.infer import CannotInfer

FEWEST = 4  # products for which squaring needs fewer


@record
class Chain:
    """`length` products with `matrix` on one side, begun from `start`; `inner` are those before the last."""

    matrix: Node
    start: Node
    side: int  # 0: the matrix stands on the left
    inner: tuple[Node, ...]

    @property
    def length(self) -> int:
        """How many products."""
        return len(self.inner) + 1


def squared(graph: Graph) -> Graph:
    """The graph with long chains of products by squaring."""
    uses = graph.uses()
    ends = {}
    for node in graph.nodes:
        chain = _longest(node, uses)
        if chain is not None:
            ends[node] = chain
    inner = {one for chain in ends.values() for one in chain.inner}
    ends = {node: chain for node, chain in ends.items() if node not in inner}
    return _replaced(graph, {n: c for n, c in ends.items() if not _crosses_store(graph, n, c)})


def _is_product(node: Node) -> bool:
    """Whether this is a product of two square matrices of the same whole numbers."""
    if node.op is not ops.CALL or node.attributes["function"] != "numpy.matmul":
        return False
    if tuple(node.attributes["arguments"]) != (0, 1) or node.attributes.get("keywords"):
        return False
    types = [one.type for one in (*node.inputs, node)]
    shapes = {type_.shape for type_ in types if isinstance(type_, ArrayType)}
    dtypes = {type_.dtype for type_ in types if isinstance(type_, ArrayType)}
    if len(shapes) != 1 or len(dtypes) != 1 or dtypes.pop().kind not in "iu":
        return False
    shape = shapes.pop()
    return len(shape) == 2 and shape[0] == shape[1]


def _longest(node: Node, uses: dict[Node, int]) -> Chain | None:
    if not _is_product(node):
        return None
    chains = [_chain(node, side, uses) for side in (0, 1)]
    best = max(chains, key=lambda chain: chain.length)
    return best if best.length >= FEWEST else None


def _chain(node: Node, side: int, uses: dict[Node, int]) -> Chain:
    matrix, inner = node.inputs[side], []
    start = node.inputs[1 - side]
    while _is_product(start) and start.inputs[side] is matrix and uses[start] == 1:
        inner.append(start)
        start = start.inputs[1 - side]
    return Chain(matrix, start, side, tuple(inner))


def _crosses_store(graph: Graph, node: Node, chain: Chain) -> bool:
    """Whether the start is written over before the end: it must be read before that."""
    first, last = graph.nodes.index(chain.inner[-1]), graph.nodes.index(node)
    buffers = Buffers()
    written = {
        buffer
        for other in graph.nodes[first:last]
        for one in buffers.written(other)
        for buffer in buffers.sharing(one)
    }
    return is_array(chain.start) and not written.isdisjoint(buffers.sharing(chain.start))


def _replaced(graph: Graph, ends: dict[Node, Chain]) -> Graph:
    if not ends:
        return graph
    builder = Builder()
    changed: dict[Node, Node] = {}
    for node in graph.nodes:
        if node in ends:
            made = _power(node, ends[node], changed, builder)
            if made is not None:
                changed[node] = made
                continue
        inputs = tuple(changed[one] for one in node.inputs)
        changed[node] = builder.add(
            node if inputs == node.inputs else dataclasses.replace(node, inputs=inputs)
        )
    outputs = tuple(changed[node] for node in graph.outputs)
    return dataclasses.replace(graph, nodes=tuple(builder.nodes), outputs=outputs)


def _power(node: Node, chain: Chain, changed: dict[Node, Node], builder: Builder) -> Node | None:
    before = len(builder.nodes)
    power, result, left = changed[chain.matrix], changed[chain.start], chain.length
    try:
        while left:
            if left & 1:
                pair = (power, result) if chain.side == 0 else (result, power)
                result = builder.emit(ops.CALL, pair, node.attributes, node.location)
            left >>= 1
            if left:
                power = builder.emit(ops.CALL, (power, power), node.attributes, node.location)
    except CannotInfer:
        del builder.nodes[before:]
        return None
    return result
