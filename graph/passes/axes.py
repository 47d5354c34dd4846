"""New leading axes of length 1, moved outwards, so that work on `x[np.newaxis]` and on `x` can be one kernel.

An elementwise result of views with new axes is the view with new axes of a result without them. Both are
fresh memory; only `base` would tell them apart, so results that are returned stay as they are.
"""

from __future__ import annotations

from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.types import ArrayType, Span
from ufuse.graph.typing.infer import CannotInfer


def peeled(graph: Graph) -> Graph:
    """The graph with new leading axes added as late as possible."""
    if not any(node.op is ops.INDEX and None in node.attributes["index"] for node in graph):
        return graph
    buffers = Buffers()
    seen = {buffer for node in graph.outputs for buffer in buffers.sharing(node)}

    def visit(node: Node, builder: Builder) -> Node | None:
        if node.op.kind is Kind.MAP:
            return None if builder.original(node) in seen else _map(node, builder)
        if node.op is ops.STORE:
            return _store(node, builder)
        if node.op.kind is Kind.REDUCE:
            return _reduce(node, builder)
        return None

    return rewritten(graph, visit)


def _new_axes(index: tuple[object, ...], shape: tuple[object, ...]) -> int:
    """How many new axes an index puts in front of a whole array; 0 where it does anything else."""
    new = len(index) - len(shape)
    whole = tuple(Span(0, length) for length in shape)  # type: ignore[arg-type]
    return new if new > 0 and index == (None,) * new + whole else 0


def _peel(node: Node) -> tuple[Node, int]:
    """The array under a view with new leading axes, and how many they are."""
    if node.op is ops.INDEX:
        (source,) = node.inputs
        assert isinstance(source.type, ArrayType)
        new = _new_axes(tuple(node.attributes["index"]), source.type.shape)
        if new:
            return source, new
    return node, 0


def _is_number(node: Node) -> bool:
    return not isinstance(node.type, ArrayType) or not node.type.shape


def _map(node: Node, builder: Builder) -> Node | None:
    arrays = [one for one in node.inputs if not _is_number(one)]
    peels = [_peel(one) for one in arrays]
    if not peels or not isinstance(node.type, ArrayType) or node.type.scalar:
        return None
    (first, new), *others = peels
    shape = first.type.shape if isinstance(first.type, ArrayType) else None
    if not new or any(
        n != new or not isinstance(o.type, ArrayType) or o.type.shape != shape for o, n in others
    ):
        return None
    before = len(builder.nodes)
    bare = iter(source for source, _ in peels)
    inputs = tuple(one if _is_number(one) else next(bare) for one in node.inputs)
    try:
        inner = builder.emit(node.op, inputs, node.attributes, node.location)
        assert isinstance(inner.type, ArrayType)
        index = (None,) * new + tuple(Span(0, length) for length in inner.type.shape)
        outer = builder.emit(ops.INDEX, (inner,), {"index": index}, node.location)
    except CannotInfer:
        del builder.nodes[before:]
        return None
    if isinstance(outer.type, ArrayType) and outer.type.shape == node.type.shape:
        return outer
    del builder.nodes[before:]
    return None


def _store(node: Node, builder: Builder) -> Node | None:
    buffer, value = node.inputs
    path = node.attributes["path"]
    source, new = _peel(value)
    assert isinstance(buffer.type, ArrayType)
    if not new or len(path) != 1 or path[0][0] != "index":
        return None
    if _new_axes(tuple(path[0][1]["index"]), buffer.type.shape) != new:
        return None
    if not isinstance(source.type, ArrayType) or source.type.shape != buffer.type.shape:
        return None
    attributes = {**node.attributes, "path": ()}
    return builder.emit(ops.STORE, (buffer, source), attributes, node.location)


def _reduce(node: Node, builder: Builder) -> Node | None:
    """A fold over everything: NumPy walks the same memory."""
    source, new = _peel(node.inputs[0])
    attributes = node.attributes
    if not new or attributes.get("axis") is not None or attributes.get("keepdims"):
        return None
    assert isinstance(source.type, ArrayType)
    if not source.type.contiguous:
        return None
    return builder.emit(node.op, (source,), attributes, node.location)
