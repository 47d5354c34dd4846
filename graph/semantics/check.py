"""The laws of a graph, checked: `check(graph)` names the node that breaks one, and the law."""

from __future__ import annotations

from collections.abc import Iterable

from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, is_array, version_of
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.semantics.effects import ERRORS, FLAGS
from ufuse.graph.size import Size
from ufuse.graph.text import type_text
from ufuse.graph.types import ArrayType, NumberType, Type
from ufuse.graph.typing.infer import CannotInfer, operand_of, result_type
from ufuse.graph.typing.sample import Facts


class GraphError(Exception):
    """A graph breaks a law: a fault of ours, never of the user's program."""


class Assumed:
    """Sizes that may be equal are taken to be: the tracer guarded what it had to."""

    def equal(self, a: Size, b: Size) -> bool:
        """Whether the sizes could be equal."""
        return a == b or not (isinstance(a, int) and isinstance(b, int))

    def is_one(self, a: Size) -> bool:
        """Whether the size is the number 1."""
        return a == 1

    def at_most(self, a: Size, b: Size) -> bool:
        """Whether the size could be no more than the other."""
        return not isinstance(a, int) or not isinstance(b, int) or a <= b


LAWS = """
1. A node stands once, behind its inputs; inputs and outputs are nodes of the graph.
2. An operation has as many inputs as its row says.
3. The type is the one that its inputs give (sizes that the tracer found equal count as equal).
4. A version of a buffer is read before its next version is made, and never after.
5. What is written is a whole buffer, of its newest version; a path says where in it. Where it may be one of several
   (a branch gave it), each of them counts as written.
6. The bodies of loops and branches are graphs that take and give what stands around them.
7. `errors` names floating-point flags, each once, that are ignored or warned of.
"""


def check(graph: Graph) -> None:
    """Check every law.

    Raises:
        GraphError: a law is broken; the text says which, and by which node.

    """
    _check_order(graph)
    for place, node in enumerate(graph.nodes):
        why = _why_not_typed(node) or _why_not_bodies(node) or _why_not_errors(node)
        if why is not None:
            raise GraphError(f"node {place} ({_named(node)}): {why}")
    _check_versions(graph)


def _named(node: Node) -> str:
    where = f" of {node.location.file}:{node.location.line}" if node.location else ""
    return f"{node.op.name} -> {type_text(node.type)}{where}"


def _check_order(graph: Graph) -> None:
    seen: set[Node] = set()
    for place, node in enumerate(graph.nodes):
        if node in seen:
            raise GraphError(f"node {place} ({_named(node)}) stands twice (law 1)")
        for one in node.inputs:
            if one not in seen:
                raise GraphError(
                    f"node {place} ({_named(node)}) uses {_named(one)} before it stands (law 1)"
                )
        seen.add(node)
        if node.op.arity is not None and len(node.inputs) != node.op.arity:
            raise GraphError(f"node {place} ({_named(node)}) has {len(node.inputs)} inputs (law 2)")
    for node in (*graph.inputs, *graph.outputs):
        if node not in seen:
            raise GraphError(f"{_named(node)} is no node of the graph (law 1)")
    if [node for node in graph.nodes if node.op is ops.INPUT] != sorted(
        graph.inputs, key=graph.nodes.index
    ):
        raise GraphError("the inputs are not the nodes with op input (law 1)")


def _why_not_typed(node: Node) -> str | None:
    if node.op is ops.INPUT:
        return None
    assumed: Facts = Assumed()
    try:
        inferred = result_type(
            node.op, [operand_of(one) for one in node.inputs], node.attributes, assumed
        )
    except CannotInfer as refusal:
        return f"its type cannot be inferred: {refusal} (law 3)"
    if not agree(inferred, node.type):
        return f"its type should be {type_text(inferred)} (law 3)"
    return None


def agree(one: Type, other: Type) -> bool:
    """Whether two types are the same, sizes that could be equal counting as equal."""
    match one, other:
        case ArrayType(), ArrayType():
            same_shape = one.ndim == other.ndim and all(
                map(Assumed().equal, one.shape, other.shape)
            )
            return same_shape and (one.dtype, one.order, one.scalar, one.device) == (
                other.dtype,
                other.order,
                other.scalar,
                other.device,
            )
        case NumberType(), NumberType():
            return one.kind == other.kind
    return type(one) is type(other) and type_text(one) == type_text(other)


def _why_not_bodies(node: Node) -> str | None:
    """The bodies are checked, and their signatures."""
    if node.op.kind is Kind.LOOP:
        condition, body = node.attributes["condition"], node.attributes["body"]
        given = _types(node.inputs)
        if not _all_agree(_types(condition.inputs), given) or len(condition.outputs) != 1:
            return "its condition takes or gives other values (law 6)"
        if not _all_agree(_types(body.inputs), given) or not _all_agree(
            _types(body.outputs), given
        ):
            return "its body takes or gives other values (law 6)"
        bodies = (condition, body)
    elif node.op.kind is Kind.BRANCH:
        bodies = (node.attributes["then"], node.attributes["otherwise"])
        if not all(_all_agree(_types(body.inputs), _types(node.inputs[1:])) for body in bodies):
            return "a side takes other values (law 6)"
        if not _all_agree(_types(bodies[0].outputs), _types(bodies[1].outputs)):
            return "its sides give different values (law 6)"
    else:
        return None
    for body in bodies:
        check(body)
    return None


def _why_not_errors(node: Node) -> str | None:
    """What is said of floating-point flags has its form."""
    given = node.attributes.get(ERRORS, ())
    flags = [flag for flag, _ in given]
    is_said = all(flag in FLAGS and mode in ("ignore", "warn") for flag, mode in given)
    return None if is_said and len(set(flags)) == len(flags) else "what are its errors? (law 7)"


def _types(nodes: Iterable[Node]) -> list[Type]:
    return [node.type for node in nodes]


def _all_agree(ones: list[Type], others: list[Type]) -> bool:
    return len(ones) == len(others) and all(map(agree, ones, others))


def _check_versions(graph: Graph) -> None:
    buffers = Buffers()
    places = {node: place for place, node in enumerate(graph.nodes)}
    written: dict[Node, int] = {}  # buffer -> place of the last node that may have written it

    def why_stale(node: Node) -> str | None:
        if not is_array(node):
            return None
        version = version_of(node)
        last = max(written.get(buffer, -1) for buffer in buffers.sharing(version))
        if last <= places[version]:
            return None
        return f"it reads {_named(version)} after {_named(graph.nodes[last])} (law 4)"

    for place, node in enumerate(graph.nodes):
        for one in node.inputs:
            if why := why_stale(one):
                raise GraphError(f"node {place} ({_named(node)}): {why}")
        for one in buffers.written(node):
            if one.op.kind is Kind.VIEW:
                raise GraphError(f"node {place} ({_named(node)}) writes a view (law 5)")
            if one.op is ops.CONST or not is_array(one):
                raise GraphError(f"node {place} ({_named(node)}) writes a constant (law 5)")
            written |= dict.fromkeys(buffers.sharing(one), place)
    for node in graph.outputs:
        if why := why_stale(node):
            raise GraphError(f"the output {_named(node)}: {why}")
