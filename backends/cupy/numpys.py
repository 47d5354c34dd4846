"""Programs for NumPy's code: arguments are sent to the device, results come back as NumPy's arrays and scalars.

IEEE's operations, comparisons, casts and what is done bit by bit have NumPy's bits; for the rest see docs/gpu.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ufuse.backends import numpy as on_host
from ufuse.backends.cupy.operations.gathers import gather_of, with_places
from ufuse.backends.cupy.operations.masked import stores_by_mask, with_masks
from ufuse.backends.cupy.operations.statistics import as_reductions, with_inputs
from ufuse.backends.cupy.program import program_of
from ufuse.backends.cupy.sending import drawn, functions
from ufuse.backends.cupy.sending.elementwise import dtypes_of
from ufuse.backends.cupy.sending.kinds import is_sent
from ufuse.backends.cupy.sending.places import is_column
from ufuse.backends.cupy.sending.sent import Sent, sent, value_behind
from ufuse.backends.cupy.steps import rules
from ufuse.backends.cupy.texts.text import NUMPYS
from ufuse.backends.planning import planner
from ufuse.backends.planning.draft import Draft
from ufuse.backends.planning.loops import Loop, cast_loop, copy_loop
from ufuse.backends.planning.rules import Rules
from ufuse.backends.planning.steps import Plan
from ufuse.graph import ops, passes
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, c_order
from ufuse.graph.typing.infer import CannotInfer


def loop_of(node: Node) -> Loop | str:
    """CuPy's loop in the dtypes of NumPy's, or why no kernel runs it."""
    if not is_sent(node):
        return "the result is not on the device"
    assert isinstance(node.type, ArrayType)
    dtype = node.type.dtype
    if node.op is ops.COPY:
        return copy_loop(dtype)
    if node.op is ops.CAST:
        source = node.inputs[0].type
        return cast_loop(source.dtype, dtype) if isinstance(source, ArrayType) else "it is a number"
    if node.op is ops.WHERE:
        return Loop("ufunc", "where", (np.dtype(bool), dtype, dtype, dtype))
    try:
        return Loop("ufunc", node.op.name, dtypes_of(node))
    except CannotInfer as refusal:
        return str(refusal)


def _map(draft: Draft, node: Node) -> int:
    """An elementwise operation on numbers of the host's, which is NumPy's own."""
    assert not is_sent(node), "a kernel runs it"
    slots = list(map(draft.slot, node.inputs))
    if node.op is ops.CAST:
        dtype = draft.constant(node.attributes["dtype"])
        return draft.call(np.generic.astype, *slots, dtype, node=node)
    function = np.where if node.op is ops.WHERE else node.op.ufunc
    assert function is not None
    return draft.call(function, *slots, node=node)


def _call(draft: Draft, node: Node) -> int:
    if functions.COUNTERPART in node.attributes:
        return functions.call(draft, node)
    return rules.CALLS[Kind.CALL](draft, node)  # type: ignore[return-value]


def _store(draft: Draft, node: Node) -> None:
    """A store that no kernel does."""
    slot, _ = draft.add_path(node.inputs[0], node.attributes.get("path", ()))
    draft.call(_assigned, slot, draft.slot(node.inputs[1]), node=node)


def _assigned(target: Any, value: Any) -> None:
    """Assign elements; those that the target overlaps are read first, as NumPy does."""
    if isinstance(value, cupy.ndarray) and cupy.may_share_memory(target, value):
        value = value.copy()
    target[...] = value


RULES = Rules(
    loop_of=loop_of,
    fold_of=rules.any_fold_of,
    why_not_operand=rules.why_not_operand,
    depends_on_strides=lambda loop: False,  # noqa: ARG005  no loop of CuPy's is a vector's
    calls=rules.CALLS | {Kind.MAP: _map, Kind.CALL: _call, Kind.STORE: _store},
    view_calls=rules.VIEW_CALLS,
    lone_rows=False,
    picking_of=gather_of,
)


@record
class SentPlan:
    """A plan for a device, and what it is sent and gives back."""

    plan: Plan
    sent: Sent


def plan_of(graph: Graph) -> SentPlan | str:
    """The plan of a graph of NumPy's arrays for a GPU, or why it is for the CPU."""
    found = sent(passes.run(graph, replayed=True))
    if isinstance(found, str):
        return found
    there = with_masks(as_reductions(found.there, ()))
    if any(map(stores_by_mask, there)):
        return "what is stored by a mask is not computed of the elements that it picks"
    there = with_places(there)
    # Nobody sees the copies of arguments there.
    return SentPlan(planner.plan_of(there, RULES, range(len(there.inputs))), found)


class SendingProgram:
    """The callable of a plan: sends the arrays that it is given, fetches its results, writes what was written."""

    def __init__(self, made: SentPlan) -> None:
        found = made.sent
        graph = found.graph
        self._program = program_of(made.plan, graph.name, NUMPYS)
        self._is_array = [is_sent(one) for one in found.there.inputs]
        draws = drawn.drawing(graph)
        self._draws = None if draws is None else on_host.BACKEND.compile(draws)
        self._draws_several = draws is not None and len(draws.outputs) > 1
        self._generators = drawn.generators(graph)
        self._types = [node.type for node in found.fetched]
        self._columns = [_columns(node) for node in found.fetched]
        self._written = found.written
        self._checks = found.checks
        self._ending = _ending(found)

    def __call__(self, *inputs: Any) -> Any:
        """The outputs; NotImplemented, with nothing done, where plain Python is to run."""
        if self._draws is None:
            return self._computed(inputs, ())
        generators = [inputs[place] for place in self._generators]
        states = list(map(drawn.state_of, generators))
        found: Any = self._draws(*inputs)
        if found is NotImplemented:
            return found
        made = self._computed(inputs, found if self._draws_several else (found,))
        if made is NotImplemented:
            for generator, state in zip(generators, states, strict=True):
                drawn.put_back(generator, state)
        return made

    def _computed(self, inputs: tuple[Any, ...], random: tuple[Any, ...]) -> Any:
        try:
            given = [
                cupy.array(one, order="C") if is_array else one
                for one, is_array in zip((*inputs, *random), self._is_array, strict=True)
            ]
        except cupy.cuda.memory.OutOfMemoryError:
            return NotImplemented
        results = self._program(*given)
        if results is NotImplemented:
            return results
        count, behind = len(self._types), len(self._types) + len(self._written)
        if behind + self._checks == 1:
            results = (results,)
        if any(map(bool, results[behind:])):
            return NotImplemented
        fetched = list(map(_fetched, results[:count], self._types, self._columns))
        contents = [one.get() for one in results[count:behind]]
        for place, content in zip(self._written, contents, strict=True):
            inputs[place][...] = content
        return self._ending(*inputs, *fetched)


def _ending(found: Sent) -> Callable[..., Any]:
    """What makes results of the arguments and what was fetched: themselves and views of them, by NumPy's plan."""
    buffers = Buffers()
    graph = found.graph
    inputs = {node: Node(ops.INPUT, (), node.type, node.attributes) for node in graph.inputs}
    made = {
        node: Node(ops.INPUT, (), node.type, {"name": f"fetched{place}"})
        for place, node in enumerate(found.fetched)
    }
    there: dict[Node, Node] = {}

    def present(node: Node) -> Node:
        if node not in there:
            if node.op.kind is Kind.VIEW and is_array(node):
                source = present(node.inputs[0])
                there[node] = Node(node.op, (source,), node.type, node.attributes, node.location)
            else:
                value = value_behind(node, found.last, buffers)
                buffer = buffers.buffer(value) if is_array(value) else value
                there[node] = made.get(value) or inputs[buffer]
        return there[node]

    outputs = tuple(map(present, graph.outputs))
    given = (*inputs.values(), *made.values())
    nodes = tuple(with_inputs((*given, *outputs)))
    return on_host.BACKEND.compile(Graph(given, nodes, outputs, graph.name))


def _columns(node: Node) -> int:
    """Of how many columns an array is one in NumPy's memory; 0: it has its own."""
    return len(node.inputs[0].type.items) if is_column(node) else 0  # type: ignore[union-attr]


def _fetched(result: Any, type_: Any, columns: int) -> Any:
    """A result as NumPy has it: an array in its memory order, or a scalar."""
    if columns:
        memory = np.empty(
            (max(result.size, 1), columns), type_.dtype
        )  # with its steps, of nothing too
        column = memory[: result.size, 0]
        column[:] = result.get()
        return column
    if not isinstance(result, cupy.ndarray):
        return result
    if result.dtype.char != type_.dtype.char:  # CuPy's places are `long long`
        result = result.view(type_.dtype)
    if type_.scalar:
        return result.get()[()]
    order = type_.order
    if order == c_order(type_.ndim):
        return result.get(order="C")
    return result.transpose(order).get(order="C").transpose(np.argsort(order))
