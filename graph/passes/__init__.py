"""The passes: each gives a graph that means the same, to the bit and to the warning."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ufuse.graph.node import Graph, Node
from ufuse.graph.passes.algebra import simplified
from ufuse.graph.passes.axes import peeled
from ufuse.graph.passes.common import merged
from ufuse.graph.passes.dead import without_dead
from ufuse.graph.passes.folding import folded
from ufuse.graph.passes.powers import squared
from ufuse.graph.passes.unroll import unrolled
from ufuse.graph.semantics.check import check as check_graph

__all__ = ["PASSES", "run"]

Pass = Callable[[Graph], Graph]
# fmt: off
PASSES: dict[str, Pass] = {
    "folding": folded,
    "algebra": simplified,
    "axes":    peeled,
    "common":  merged,
    "powers":  squared,
    "dead":    without_dead,
}
# Those that know no rule of NumPy's arithmetic: CuPy flushes subnormals, and its loops are others.
OF_ANY_LIBRARY = ("common", "dead")
REPLAYED: dict[str, Pass] = {"common": lambda graph: merged(graph, replayed=True)}
UNROLLED: dict[str, Pass] = {"unroll": unrolled}
# fmt: on
ROUNDS = 20  # every rule lowers the cost, so a fixed point comes long before


def run(
    graph: Graph, *, check: bool = False, replayed: bool = False, unroll: bool = False
) -> Graph:
    """The graph after all passes, repeated until none changes it; bodies of loops and branches too.

    `replayed` promises that the backend, when it sees a floating-point flag, throws its work away and runs
    the graph as it was captured: then ops may be merged that would warn twice otherwise. `unroll` makes short
    sums chains; the backend must know their attribute `warns_as`, and the bits of a NaN may differ where two
    NaNs meet (unroll.py).

    Raises:
        GraphError: with `check`, a pass broke a law.

    """
    chosen = PASSES | (REPLAYED if replayed else {}) | (UNROLLED if unroll else {})
    if graph.device:
        chosen = {name: chosen[name] for name in OF_ANY_LIBRARY}
    graph = _with_bodies(
        graph, lambda body: run(body, check=check, replayed=replayed, unroll=unroll)
    )
    for _ in range(ROUNDS):
        before = graph
        for one in chosen.values():
            graph = one(graph)
            if check:
                check_graph(graph)
        if graph is before:
            break
    return graph


def _with_bodies(graph: Graph, rewrite: Pass) -> Graph:
    if not any(isinstance(v, Graph) for node in graph.nodes for v in node.attributes.values()):
        return graph
    changed: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        attributes = {
            key: rewrite(value) if isinstance(value, Graph) else value
            for key, value in node.attributes.items()
        }
        inputs = tuple(changed[one] for one in node.inputs)
        same = inputs == node.inputs and all(attributes[k] is v for k, v in node.attributes.items())
        changed[node] = (
            node if same else dataclasses.replace(node, inputs=inputs, attributes=attributes)
        )
        nodes.append(changed[node])
    outputs = tuple(changed[node] for node in graph.outputs)
    return dataclasses.replace(graph, nodes=tuple(nodes), outputs=outputs)
