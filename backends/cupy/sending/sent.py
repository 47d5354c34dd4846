"""Graphs of NumPy's arrays as graphs of arrays on a device, where each operation has a counterpart there.

Dtypes and shapes are NumPy's, which the graph has; memory order is C everywhere, until results come back. NumPy
scalars that are computed become 0-d arrays. Arguments are copies there, so what is written into one comes back.
"""

from __future__ import annotations

from collections.abc import Callable

from ufuse.backends.cupy.operations.statistics import with_inputs
from ufuse.backends.cupy.sending import checked, drawn, elementwise, functions, places
from ufuse.backends.cupy.sending.calls import called
from ufuse.backends.cupy.sending.kinds import StaysOnHost, device_type, is_sent
from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, NothingType, TupleType
from ufuse.graph.typing.draws import is_draw
from ufuse.graph.typing.infer import (
    CannotInfer,
    operand_of,
    result_type,
    view_through,
)
from ufuse.graph.typing.library import cupy as library
from ufuse.graph.typing.sample import Structural

IDLE = frozenset((Kind.INPUT, Kind.VIEW, Kind.CREATE))


class _Agreed(Structural):
    """The sizes of a graph that was traced fit."""

    def equal(self, a: Size, b: Size) -> bool:  # noqa: ARG002
        """They are those of one program."""
        return True


@record
class Sent:
    """A graph of NumPy's arrays, and what a device computes of it.

    there: the graph on the device. Its inputs are those of `graph`, then what is drawn; its outputs are the values of
        `fetched`, then the `written` arguments, then `checks`.
    fetched: the nodes of `graph` whose values come back; views are made of them.
    written: the places of the arguments that are written.
    last: the versions of memory that is written, as they are at the end, by buffer.
    checks: how many of its last outputs say that plain Python is to run, where one is true.
    """

    graph: Graph
    there: Graph
    fetched: tuple[Node, ...]
    written: tuple[int, ...]
    last: dict[Node, Node]
    checks: int


def sent(graph: Graph) -> Sent | str:
    """The graph with its arrays on the device, or why it has none."""
    buffers = Buffers()
    made: dict[Node, Node] = {}
    last: dict[Node, Node] = {}
    draws: list[Node] = []
    checks: list[Node] = []
    try:
        for node in graph:
            if is_draw(node):
                made[node] = drawn.input_of(node, len(draws))
                draws.append(made[node])
                continue
            made[node] = _counterpart(node, made, buffers)
            checks += checked.doubts(made[node])
            version = _version(node)
            if version is not None:
                if version not in made:
                    made[version] = _counterpart(version, made, buffers)
                last[buffers.buffer(version)] = version
        fetched = dict.fromkeys(
            one
            for output in graph.outputs
            if (one := value_behind(output, last, buffers)).op is not ops.INPUT
            and buffers.buffer(one).op is not ops.INPUT
        )
        for node in fetched:
            _check_output(node)
    except (StaysOnHost, CannotInfer) as reason:
        return str(reason)
    written = tuple(place for place, node in enumerate(graph.inputs) if node in last)
    nodes = tuple(with_inputs((*made.values(), *checks)))
    if not any(is_sent(one) and one.op.kind not in IDLE for one in nodes):
        return "nothing is computed of an array"
    inputs = (*(made[node] for node in graph.inputs), *draws)
    values = (*fetched, *(last[graph.inputs[place]] for place in written))
    there = Graph(inputs, nodes, (*(made[node] for node in values), *checks), graph.name)
    return Sent(graph, there, tuple(fetched), written, last, len(checks))


def _version(node: Node) -> Node | None:
    """What stands for memory that a node writes, as it is behind that; None: it writes none."""
    if node.op.kind is Kind.STORE:
        return node
    if node.op is not ops.CALL or not node.attributes.get("writes"):
        return None
    assert isinstance(node.type, TupleType)
    return Node(ops.ITEM, (node,), node.type.items[1], {"index": 1}, node.location)


def value_behind(output: Node, last: dict[Node, Node], buffers: Buffers) -> Node:
    """The array that a result is, or is a view of, as it is at the end; a number is itself."""
    if not is_array(output):
        return output
    buffer = buffers.buffer(output)
    return last.get(buffer, buffer)


def _check_output(node: Node) -> None:
    type_ = node.type
    if not isinstance(type_, ArrayType) or node.op is ops.INPUT:
        return
    is_laid_out = type_.contiguous or places.is_column(node)
    if type_.order is None or not is_laid_out or (not type_.ndim and not type_.scalar):
        raise StaysOnHost("the layout of a result is NumPy's choice")


def _counterpart(node: Node, made: dict[Node, Node], buffers: Buffers) -> Node:
    inputs = tuple(made[one] for one in node.inputs)
    rule = RULES.get(node.op.name) or RULES.get(node.op.kind.value)
    if rule is None:
        raise StaysOnHost(f"{node.op.name} is left to NumPy")
    if node.op.kind is Kind.STORE and _replaces(node, inputs, buffers):
        type_ = device_type(node.type)
        return Node(ops.CAST, inputs[1:], type_, {"dtype": type_.dtype}, node.location)
    return rule(node, inputs)


def _replaces(store: Node, inputs: tuple[Node, ...], buffers: Buffers) -> bool:
    """Whether a store is all of an array that the graph made: its value from then on is what was stored."""
    value, type_ = inputs[1].type, store.type
    is_own = buffers.buffer(store).op is not ops.INPUT and not store.attributes.get("path")
    assert isinstance(type_, ArrayType)
    return is_own and is_sent(inputs[1]) and value.shape == type_.shape  # type: ignore[union-attr]


def _input(node: Node, inputs: tuple[Node, ...]) -> Node:
    if not isinstance(node.type, ArrayType) or node.type.scalar:
        return node
    return Node(node.op, (), device_type(node.type), node.attributes, node.location)


def _check(node: Node, inputs: tuple[Node, ...]) -> Node:
    return Node(node.op, inputs, NothingType(), node.attributes, node.location)


def _reduce(node: Node, inputs: tuple[Node, ...]) -> Node:
    type_ = device_type(node.type)
    source = inputs[0].type
    assert isinstance(source, ArrayType)
    if node.op.name in functions.REDUCTIONS:
        return functions.reduction(node, inputs)
    if source.dtype.kind == "c" and node.op.name in ("reduce_maximum", "reduce_minimum"):
        raise StaysOnHost(f"{node.op.name} puts complex numbers in order")
    if library().reduced_dtype(node.op, source.dtype) != type_.dtype:
        raise StaysOnHost(f"{node.op.name} in another dtype")
    attributes = {**node.attributes, "dtype": None}
    return Node(node.op, inputs, type_, attributes, node.location)


def _view(node: Node, inputs: tuple[Node, ...]) -> Node:
    type_ = result_type(node.op, [operand_of(inputs[0])], node.attributes, _Agreed())
    assert isinstance(type_, ArrayType)
    if node.op is ops.RETYPE and type_.dtype.kind == "b":
        raise StaysOnHost("bytes that are neither 0 nor 1 are true for NumPy")
    return Node(node.op, inputs, type_, node.attributes, node.location)


def _item(node: Node, inputs: tuple[Node, ...]) -> Node:
    """One of several results."""
    source = inputs[0].type
    if not isinstance(source, TupleType):
        raise StaysOnHost(f"{node.op.name} of what is no call of CuPy's")
    return Node(
        node.op, inputs, source.items[node.attributes["index"]], node.attributes, node.location
    )


def _create(node: Node, inputs: tuple[Node, ...]) -> Node:
    if any(map(is_sent, inputs)):
        raise StaysOnHost("an array is filled with a value on the device")
    return Node(node.op, inputs, device_type(node.type), node.attributes, node.location)


def _store(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What is stored into memory on the device: the graph's own, or what an argument was sent into."""
    type_ = device_type(node.type)
    view_through(type_, node.attributes.get("path", ()))  # refuses what would copy there
    if not places.fits(inputs[1], type_):
        raise StaysOnHost("it stores a number of another kind")
    return Node(node.op, inputs, type_, node.attributes, node.location)


Rule = Callable[[Node, tuple[Node, ...]], Node]
# fmt: off
RULES: dict[str, Rule] = {
    "input":  _input,
    "const":  elementwise.kept,
    "size":   elementwise.kept,
    "check":  _check,
    "cast":   elementwise.moved,
    "copy":   elementwise.moved,
    "where":  elementwise.moved,
    "element": elementwise.element,
    "map":    elementwise.mapped,
    "reduce": _reduce,
    "view":   _view,
    "create": _create,
    "store":  _store,
    "scalar": elementwise.scalar,
    "call":   called,
    "item":   _item,
}
# fmt: on
