"""Means and places of extremes on a device as reductions, which kernels can do, in place of calls of CuPy's methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ufuse.backends.cupy.operations import cub, spread
from ufuse.backends.cupy.operations.moments import MOMENTS, moment_of
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind, Op
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.types import ArrayType, c_order
from ufuse.graph.typing.device_calls import DEVICE_METHOD
from ufuse.graph.typing.infer import CannotInfer
from ufuse.graph.typing.library import cupy as library

ROWS = {name: Op(f"reduce_{name}", 1, Kind.REDUCE) for name in ("mean", "argmax", "argmin")}


def as_reductions(graph: Graph, moments: tuple[str, ...], *, has_squares: bool = False) -> Graph:
    """The graph with reductions in place of calls, and sums in place of these moments; means alone: those of rows.

    `has_squares`: variances and deviations are parts of it, as CuPy takes them.
    """

    def visit(node: Node, builder: Builder) -> Node | None:
        name = node.attributes["function"] if node.op is ops.CALL else ""
        if not name.startswith(DEVICE_METHOD) or not isinstance(node.type, ArrayType):
            return None
        name = name.removeprefix(DEVICE_METHOD)
        if has_squares and name in spread.NAMES:
            return _spread(node, name, builder, moments)
        return _reduction(node, name, builder, moments)

    return rewritten(graph, visit)


def _reduction(node: Node, name: str, builder: Builder, moments: tuple[str, ...]) -> Node | None:
    keywords = dict(node.attributes["keywords"])
    if name in moments and (moments == MOMENTS or _is_sum_of_rows(node.inputs[0], keywords)):
        moment = moment_of(name, node.inputs[0], keywords, node.location)
        if moment is not None and moment.type == node.type:
            return _added(moment, builder)
    source, type_ = node.inputs[0].type, node.type
    assert isinstance(source, ArrayType)
    assert isinstance(type_, ArrayType)
    row = ROWS.get(name)
    if row is None or keywords.keys() - {"axis", "keepdims"}:
        return None
    try:
        if library().reduced_dtype(row, source.dtype) != type_.dtype:
            return None
    except CannotInfer:
        return None
    given = {key: value for key, (_, value) in keywords.items()}
    attributes = {
        "axis": given.get("axis"),
        "keepdims": given.get("keepdims", False),
        "dtype": None,
    }
    return builder.add(Node(row, node.inputs, type_, attributes, node.location))


def _added(made: Node, builder: Builder) -> Node:
    """A new node, with those that it is made of."""
    for one in with_inputs([made], dict.fromkeys(builder.nodes)):
        builder.add(one)
    return made


def _spread(node: Node, name: str, builder: Builder, moments: tuple[str, ...]) -> Node | None:
    """A variance or deviation as its parts: the mean, squares, and what is made of them."""
    keywords = dict(node.attributes["keywords"])
    source = node.inputs[0]
    axes = spread.axes_of(source, keywords)
    if axes is None:
        return None
    along = {"axis": keywords["axis"], "keepdims": ("const", True)}
    type_ = source.type
    assert isinstance(type_, ArrayType)
    mean = None
    if "mean" in moments and _is_sum_of_rows(source, along):
        mean = moment_of("mean", source, along, node.location)
    if mean is None:
        attributes = {"axis": keywords["axis"][1], "keepdims": True, "dtype": None}
        shape = tuple(1 if axis in axes else n for axis, n in enumerate(type_.shape))
        kept = ArrayType(type_.dtype, shape, c_order(type_.ndim), device=type_.device)
        mean = Node(ROWS["mean"], (source,), kept, attributes, node.location)
    made = spread.spread_of(node, mean, axes, keywords, has_root=name == "std")
    return None if made is None or made.type != node.type else _added(made, builder)


def _is_sum_of_rows(source: Node, keywords: dict[str, Any]) -> bool:
    """Whether CuPy's mean is what CUB sums of the last axis, divided by how many there are."""
    type_, axis = source.type, keywords.get("axis", ("const", None))[1]
    if axis is None or not isinstance(type_, ArrayType):
        return False
    in_order = type_.ndim > 1 and type_.contiguous and type_.order == c_order(type_.ndim)
    return in_order and type_.dtype.char in cub.SUMMED


def with_inputs(nodes: Iterable[Node], there: Iterable[Node] = ()) -> list[Node]:
    """Nodes that are not there, each behind those that it is made of, which are not there either."""
    known = set(there)
    found: list[Node] = []
    for node in nodes:
        pending = [node]
        while pending:
            missing = [one for one in pending[-1].inputs if one not in known]
            pending += missing
            if not missing:
                last = pending.pop()
                if last not in known:
                    known.add(last)
                    found.append(last)
    return found
