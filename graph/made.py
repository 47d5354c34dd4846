"""Lengths and places that values decide: the nodes that make them, and the nodes whose attributes name them.

Such a number is a symbol of sizes, which a node has as its attribute `sizes`. A view, a new array or a size that names
it takes no value of that node, and yet cannot be made before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.size import Expression, symbols
from ufuse.graph.types import ArrayType, Span

NAMING = ("index", "shape", "length", "widths", "value", "path")  # attributes with sizes in them


def makers(graph: Graph) -> dict[str, Node]:
    """By the name of each such symbol, the node that makes it; of several arrays in a tuple, the first so long."""
    found: dict[str, Node] = {}
    for node in graph.nodes:
        for name in node.attributes.get("sizes", ()):
            found.setdefault(name, node)
        if node.op is ops.ITEM and isinstance(node.type, ArrayType):
            for name in {str(length) for length in node.type.shape} & found.keys():
                if found[name] is node.inputs[0]:
                    found[name] = node
    return found


def same_mask(mask: Node) -> Any:
    """What is equal for two masks that are computed alike, of the same values: they pick as many elements."""
    if mask.op.kind is not Kind.MAP:
        return mask
    return mask.op.name, mask.inputs, tuple(mask.attributes.items())


def named_by(node: Node) -> set[str]:
    """The symbols of sizes in a node's attributes, and in those of its bodies."""
    given = node.attributes
    found = {name for key in NAMING if key in given for name in _names(given[key])}
    for body in given.values() if node.op.kind in (Kind.LOOP, Kind.BRANCH) else ():
        if isinstance(body, Graph):
            found.update(name for one in body.nodes for name in named_by(one))
    return found


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Expression):
        yield from symbols(value)
    elif isinstance(value, Span):
        yield from _names(value.start)
        yield from _names(value.length)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _names(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _names(one)
