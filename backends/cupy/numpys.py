"""Programs for NumPy's code: arguments are sent to the device, results come back as NumPy's arrays and scalars.

IEEE's operations, comparisons, casts and what is done bit by bit have NumPy's bits; for the rest see docs/gpu.md.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cupy
import numpy as np

from ufuse.backends.cupy import rules
from ufuse.backends.cupy.folds import fold_along
from ufuse.backends.cupy.program import program_of
from ufuse.backends.cupy.sending import PRODUCTS, dtypes_of, is_sent, sent
from ufuse.backends.cupy.text import NUMPYS
from ufuse.backends.planning import planner
from ufuse.backends.planning.draft import Draft
from ufuse.backends.planning.loops import Loop, cast_loop, copy_loop
from ufuse.backends.planning.rules import Rules
from ufuse.backends.planning.steps import Plan
from ufuse.graph import ops, passes
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
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
    name = PRODUCTS.get(node.attributes["function"])
    if name is None:
        return rules.CALLS[Kind.CALL](draft, node)  # type: ignore[return-value]
    assert isinstance(node.type, ArrayType)
    function = partial(rules.of_dtype, getattr(cupy, name), node.type.dtype)
    return draft.call(function, *map(draft.slot, node.inputs), node=node)


RULES = Rules(
    loop_of=loop_of,
    fold_of=fold_along,
    why_not_operand=rules.why_not_operand,
    depends_on_strides=lambda loop: False,  # noqa: ARG005  no loop of CuPy's is a vector's
    calls=rules.CALLS | {Kind.MAP: _map, Kind.CALL: _call},
    view_calls=rules.VIEW_CALLS,
    lone_rows=False,
)


def plan_of(graph: Graph) -> Plan | str:
    """The plan of a graph of NumPy's arrays for a GPU, or why it is for the CPU."""
    there = sent(passes.run(graph, replayed=True))
    return there if isinstance(there, str) else planner.plan_of(there, RULES)


class SendingProgram:
    """The callable of a plan: sends the arrays that it is given, and fetches its results."""

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self._program = program_of(plan, graph.name, NUMPYS)
        self._sent = [
            isinstance(one.type, ArrayType) and not one.type.scalar for one in graph.inputs
        ]
        places = {node: place for place, node in enumerate(graph.inputs)}
        self._outputs = [(node, places.get(node)) for node in graph.outputs]

    def __call__(self, *inputs: Any) -> Any:
        """The outputs; NotImplemented, with nothing done, where plain Python is to run."""
        try:
            given = [
                cupy.array(one, order="C") if is_array else one
                for one, is_array in zip(inputs, self._sent, strict=True)
            ]
        except cupy.cuda.memory.OutOfMemoryError:
            return NotImplemented
        results = self._program(*given)
        if results is NotImplemented:
            return results
        if len(self._outputs) == 1:
            results = (results,)
        fetched: dict[Node, Any] = {}  # one object for one output, however often it is given
        for result, (node, place) in zip(results, self._outputs, strict=True):
            if node not in fetched:
                fetched[node] = _fetched(result, node.type) if place is None else inputs[place]
        outputs = tuple(fetched[node] for node, _ in self._outputs)
        return outputs[0] if len(outputs) == 1 else outputs


def _fetched(result: Any, type_: Any) -> Any:
    """A result as NumPy has it: an array in its memory order, or a scalar."""
    if not isinstance(result, cupy.ndarray):
        return result
    if type_.scalar:
        return result.get()[()]
    order = type_.order
    if order == c_order(type_.ndim):
        return result.get(order="C")
    return result.transpose(order).get(order="C").transpose(np.argsort(order))
