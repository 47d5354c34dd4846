"""Arrays that are the same in every call: made once, when the plan is, where nobody can tell.

`np.linspace(0, 1, 50)`, `np.array([[1, 2], [3, 4]])` and what elementwise operations make of these take NumPy
microseconds each time. What is written, or leaves the graph, is made anew in each call, as is what raises a
floating-point flag.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ufuse.graph import ops, signals
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.rewrite import Builder, observed, rewritten
from ufuse.graph.semantics import reference
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType

LARGEST = 4096  # elements


def with_known(graph: Graph) -> Graph:
    """The graph with such arrays as constants."""
    if not any(map(_is_of_constants, graph.nodes)):
        return graph
    seen = observed(graph)
    kept = seen.written | seen.escaping

    def known(node: Node, builder: Builder) -> Node | None:
        if not _is_of_constants(node) or builder.original(node) in kept:
            return None
        value = _value(node)
        if value is None:
            return None
        return builder.add(Node(ops.CONST, (), node.type, {"value": value}, node.location))

    return rewritten(graph, known)


def _is_of_constants(node: Node) -> bool:
    """Whether it is an array that follows from constants alone."""
    type_ = node.type
    if not isinstance(type_, ArrayType) or type_.scalar or type_.device:
        return False
    lengths = [length for length in type_.shape if isinstance(length, int)]
    if len(lengths) < len(type_.shape) or math.prod(lengths) > LARGEST:
        return False
    if not all(one.op is ops.CONST for one in node.inputs):
        return False
    if node.op.kind is Kind.CALL:
        return not node.attributes.get("writes")
    return node.op.kind is Kind.MAP and bool(node.inputs)


def _value(node: Node) -> Any:
    """The array; None where it cannot be made without a warning or an error."""
    rule = reference.BY_NAME.get(node.op.name) or reference.BY_KIND[node.op.kind]
    given = [one.attributes["value"] for one in node.inputs]
    try:
        value = run_strictly("raise", rule, node, given, {})
    except Exception as error:  # noqa: BLE001  it is left to raise, or warn, when the program runs
        signals.pass_on(error)
        return None
    return value if type(value) is np.ndarray else None
