"""The entry that a finished trace becomes: its graph with the inputs it uses, and what is kept of it for people."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.interpreter.outcomes import Expected
from ufuse.frame_hook.trace.guards import Guard
from ufuse.frame_hook.trace.reasons import Break
from ufuse.frame_hook.trace.sizes import MADE
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, size
from ufuse.graph.nest import Nest
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, NumberType, Span, Type

IDLE_KINDS = frozenset({Kind.INPUT, Kind.CONST, Kind.SIZE})


@record
class Specialisation:
    """What Python keeps of an entry: for diagnostics, and to say why it was not taken."""

    number: int  # of those of its session, in the order traced
    code_reference: weakref.ref[types.CodeType]
    position: int
    ran: frozenset[int]  # the positions of its frame that it runs, besides where it ends
    graph: Graph
    guards: tuple[Guard, ...]
    inputs: tuple[str, ...]
    ends_with: Break | None
    line: int
    effects: tuple[str, ...] = ()  # what is changed behind the graph, in words
    trace_seconds: float = 0.0
    nest: Nest | None = None  # what an entry runs that has a loop in place of a graph
    # The jump whose condition the graph computes, where that ended it.
    branch: tuple[weakref.ref[types.CodeType], int] | None = None
    expected: tuple[Expected, ...] = ()  # which sides of branches it takes

    def __repr__(self) -> str:
        what = self.graph if self.nest is None else self.nest
        return f"<Specialisation of line {self.line}: {what!r}, {len(self.guards)} guards>"

    @property
    def code(self) -> types.CodeType:
        """The code object that was traced, which is not kept alive; ReferenceError when it is gone."""
        code = self.code_reference()
        if code is None:
            raise ReferenceError(f"the code traced from line {self.line} is gone")
        return code


def is_idle(nodes: Iterable[Node]) -> bool:
    """Whether the nodes of a graph compute nothing."""
    return all(node.op.kind in IDLE_KINDS for node in nodes)


def cannot_pay(nodes: Iterable[Node]) -> bool:
    """Whether all that a graph computes takes less than suspending a frame to run it: it makes views at most."""
    return all(node.op.kind in IDLE_KINDS or node.op.kind is Kind.VIEW for node in nodes)


def finished_graph(trace: Trace, recipe: Recipe, name: str) -> tuple[Graph, list[int]]:
    """The graph of a trace with the inputs that it uses, and the registers they come from."""
    new = _resolved_nodes(trace, trace.graph.nodes)
    sources = {new[node]: source for node, source in trace.graph.inputs}
    outputs = tuple(new[node] for node in recipe.outputs)
    used = {one for node in new.values() for one in node.inputs} | set(outputs)
    body = tuple(new[node] for node in trace.graph.nodes if new[node] not in sources)
    symbols = sorted(one for one in _symbols_in(body) if trace.sizes.leaves[one] != MADE)
    leaves = [trace.sizes.leaves[symbol] for symbol in symbols]
    sized = {leaf[1] for leaf in leaves if leaf[0] == "size"}
    inputs = [
        (n, source.register)
        for n, source in sources.items()
        if n in used or source.register in sized
    ]
    for symbol in symbols:
        kind, register = trace.sizes.leaves[symbol][:2]
        if kind == "int":
            node = Node(ops.INPUT, (), NumberType("int", size.symbol(symbol)), {"name": symbol})
            inputs.append((node, register))
    first = tuple(node for node, _ in inputs)
    return Graph(first, (*first, *body), outputs, name), [register for _, register in inputs]


def _resolved_nodes(trace: Trace, nodes: Sequence[Node]) -> dict[Node, Node]:
    """For every node of a graph, the same with sizes replaced by what the trace found them to equal."""
    if not trace.sizes.known:
        return {node: node for node in nodes}
    new: dict[Node, Node] = {}
    for node in nodes:
        kind, attributes = _resolved(trace, node.type), _resolved(trace, node.attributes)
        op = node.op
        if op is ops.SIZE and isinstance(attributes["value"], int):
            op, kind = ops.CONST, NumberType("int", attributes["value"])
        inputs = tuple(new[one] for one in node.inputs)
        new[node] = Node(op, inputs, kind, attributes, node.location)
    return new


def _resolved(trace: Trace, value: Any) -> Any:
    """A type or attribute with its sizes resolved."""
    if isinstance(value, size.Expression):
        return trace.sizes.resolved(value)
    if isinstance(value, ArrayType):
        return replace(value, shape=_resolved(trace, value.shape))
    if isinstance(value, NumberType):
        return replace(value, value=_resolved(trace, value.value))
    if isinstance(value, Span):
        start, length = _resolved(trace, (value.start, value.length))
        return Span(start, length, value.step)
    if isinstance(value, Mapping):
        return {key: _resolved(trace, item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_resolved(trace, item) for item in value)
    if isinstance(value, Graph):
        new = _resolved_nodes(trace, value.nodes)
        inputs, outputs = (
            tuple(new[one] for one in part) for part in (value.inputs, value.outputs)
        )
        return replace(value, inputs=inputs, nodes=tuple(new.values()), outputs=outputs)
    return value


def _sized(type_: Type) -> tuple[Any, ...]:
    """The parts of a type that may name sizes."""
    return type_.shape if isinstance(type_, ArrayType) else (type_,)


def _symbols_in(nodes: Iterable[Node]) -> set[str]:
    """Every symbol in the types and attributes of nodes."""
    found: set[str] = set()
    pending: list[Any] = []
    for node in nodes:
        pending += _sized(node.type)
        if node.attributes:
            pending.append(node.attributes)
    pending = list({id(one): one for one in pending}.values())  # most nodes share their lengths
    while pending:
        value = pending.pop()
        if isinstance(value, (int, str)):
            continue
        if isinstance(value, (tuple, list)):
            pending += value
        elif isinstance(value, size.Expression):
            found.update(size.symbols(value))
        elif isinstance(value, ArrayType):
            pending += value.shape
        elif isinstance(value, NumberType):
            pending.append(value.value)
        elif isinstance(value, Span):
            pending += (value.start, value.length)
        elif isinstance(value, (dict, Mapping)):
            pending += value.values()
        elif isinstance(value, Graph):
            pending += [part for node in value.nodes for part in (node.type, node.attributes)]
    return found


def make_entry(
    trace: Trace,
    recipe: Recipe,
    inputs: list[int],
    artefact: Callable[..., Any] | None,
    ending: tuple[Any, ...],
) -> Any:
    """The entry for C."""
    return _hook.Entry(
        trace.guards.for_c(), tuple(inputs), artefact, len(recipe.outputs), recipe.for_c(), ending
    )
