"""Constant folding: what depends on constants alone is computed now, if it raises nothing and warns of nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ufuse.graph import ops, signals
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.semantics import reference
from ufuse.graph.strict import context_with
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.sample import is_number


def folded(graph: Graph) -> Graph:
    """The graph with scalar results of constants as constants."""
    return rewritten(graph, _constant)


def _constant(node: Node, builder: Builder) -> Node | None:
    if node.op is ops.SIZE:
        value = node.attributes["value"]
        return builder.constant(value, node.location) if isinstance(value, int) else None
    foldable = node.op.kind in (Kind.MAP, Kind.SCALAR) and _is_scalar(node)
    if not foldable or not all(one.op is ops.CONST and _is_scalar(one) for one in node.inputs):
        return None
    if node.attributes.get("operator") == "invert" and isinstance(node.inputs[0].type, NumberType):
        return None  # ~True warns since Python 3.12
    rule = reference.BY_NAME.get(node.op.name) or reference.BY_KIND[node.op.kind]
    try:
        values = [one.attributes["value"] for one in node.inputs]
        value = context_with(all="raise").run(rule, node, values, {})
    except Exception as error:  # noqa: BLE001  it is left to raise, or warn, when the program runs
        signals.pass_on(error)
        return None
    return builder.constant(value, node.location) if _is_value(value) else None


def _is_scalar(node: Node) -> bool:
    return isinstance(node.type, NumberType) or (
        isinstance(node.type, ArrayType) and node.type.scalar
    )


def _is_value(value: Any) -> bool:
    return is_number(value) or isinstance(value, np.generic)
