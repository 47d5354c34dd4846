"""The CUDA backend's own rules, and its plans."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ufuse.backends.cupy.folds import fold_along
from ufuse.backends.cupy.refusal import DoesNotFit
from ufuse.backends.cupy.statistics import as_reductions
from ufuse.backends.cupy.trees import tree_along
from ufuse.backends.planning import planner
from ufuse.backends.planning.draft import Draft, ViewCalls
from ufuse.backends.planning.loops import Fold, Loop, cast_loop, copy_loop
from ufuse.backends.planning.rules import Call, Rules
from ufuse.backends.planning.steps import Plan
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.infer import (
    DEVICE_FUNCTION,
    DEVICE_METHOD,
    CannotInfer,
    operand_of,
    scalar_function,
)
from ufuse.graph.typing.library import cupy as library


def loop_of(node: Node) -> Loop | str:
    """CuPy's loop of an elementwise operation, or why no kernel runs it."""
    type_ = node.type
    if not isinstance(type_, ArrayType) or not type_.device:
        return "the result is not on the device"
    if node.op is ops.COPY:
        return copy_loop(type_.dtype)
    if node.op is ops.CAST:
        source = node.inputs[0].type
        assert isinstance(source, ArrayType)
        return cast_loop(source.dtype, type_.dtype)
    try:
        routine = library().routine_of(node.op, [operand_of(source) for source in node.inputs])
    except CannotInfer as refusal:
        return str(refusal)
    return Loop("ufunc", node.op.name, routine.dtypes)


def fold_of(node: Node) -> Fold | str:
    """Of whole numbers any order gives CuPy's bits; else the order is that of CuPy's own kernel."""
    dtypes = [one.type.dtype for one in (node, node.inputs[0]) if isinstance(one.type, ArrayType)]
    if all(dtype.kind in "biu" for dtype in dtypes):
        found = fold_along(node)
        if isinstance(found, Fold):
            return found
    return tree_along(node)


def any_fold_of(node: Node) -> Fold | str:
    """Rows and totals in an order of our own; along other axes in CuPy's."""
    found = fold_along(node)
    return found if isinstance(found, Fold) else tree_along(node)


def why_not_operand(source: Node) -> str | None:
    """Why a value cannot be an operand of a kernel, or None."""
    if isinstance(source.type, (ArrayType, NumberType)):
        return None
    return "it is neither an array nor a number"


def _map(draft: Draft, node: Node) -> int:
    """An elementwise operation by CuPy's own call."""
    if node.op is ops.CAST:
        dtype = draft.constant(node.attributes["dtype"])
        return draft.call(library().array.astype, draft.slot(node.inputs[0]), dtype, node=node)
    if node.op is ops.COPY:
        return draft.call(library().array.copy, draft.slot(node.inputs[0]), node=node)
    function = library().function_of(node.op)
    return draft.call(function, *map(draft.slot, node.inputs), node=node)


def _reduce(draft: Draft, node: Node) -> int:
    """A reduction by CuPy's own method, which may be one of a library that it finds."""
    keywords = {name: node.attributes[name] for name in ("axis", "keepdims")}
    return _method(draft, node, METHODS[node.op.name], keywords)


METHODS = {
    "reduce_add": "sum",
    "reduce_multiply": "prod",
    "reduce_maximum": "max",
    "reduce_minimum": "min",
    "reduce_logical_or": "any",
    "reduce_logical_and": "all",
    "reduce_mean": "mean",
    "reduce_argmax": "argmax",
    "reduce_argmin": "argmin",
}


def _call(draft: Draft, node: Node) -> int:
    """A method of CuPy's arrays, or one of its functions."""
    keywords = {name: value for name, (_, value) in node.attributes["keywords"]}
    if not node.attributes["function"].startswith(DEVICE_METHOD):
        return _function_call(draft, node, keywords)
    name = node.attributes["function"].removeprefix(DEVICE_METHOD)
    if name == "reshape":
        slots = draft.slot(node.inputs[0]), draft.size(node.attributes["shape"])
        return draft.call(library().array.reshape, *slots, node=node)
    return _method(draft, node, name, keywords)


def _function_call(draft: Draft, node: Node, keywords: dict[str, Any]) -> int:
    assert isinstance(node.type, ArrayType)
    name = node.attributes["function"].removeprefix(DEVICE_FUNCTION)
    function = partial(of_dtype, getattr(library().module, name), node.type.dtype)
    operands = [
        draft.slot(node.inputs[one]) if isinstance(one, int) else draft.constant(one[1])
        for one in node.attributes["arguments"]
    ]
    slots = {key: draft.constant(value) for key, value in keywords.items()}
    return draft.call(function, *operands, node=node, **slots)


def _method(draft: Draft, node: Node, name: str, keywords: dict[str, Any]) -> int:
    assert isinstance(node.type, ArrayType)
    function = partial(of_dtype, getattr(library().array, name), node.type.dtype)
    slots = {key: draft.constant(value) for key, value in keywords.items()}
    return draft.call(function, *map(draft.slot, node.inputs), node=node, **slots)


def of_dtype(
    function: Callable[..., Any], made: np.dtype, /, *operands: Any, **keywords: Any
) -> Any:
    """What a method gives, if it is of the dtype that the graph was made for."""
    result = _tried(function, *operands, **keywords)
    if result.dtype != made:
        raise DoesNotFit
    return result


def _store(draft: Draft, node: Node) -> None:
    """A store that no kernel does: CuPy's own assignment."""
    slot, _ = draft.add_path(node.inputs[0], node.attributes.get("path", ()))
    whole = draft.constant(Ellipsis)
    draft.call(operator.setitem, slot, whole, draft.slot(node.inputs[1]), node=node)


def works_apart(function: Any) -> bool:
    """Whether a call touches no array that is there: it is about numbers, or makes a new one."""
    return isinstance(function, partial) and function.func in (_on_numbers, _made)


def create(draft: Draft, node: Node) -> int:
    """A new array, by CuPy's own function."""
    assert isinstance(node.type, ArrayType)
    slots = (draft.size(node.type.shape), *map(draft.slot, node.inputs))
    dtype = draft.constant(node.type.dtype)
    function = partial(_made, getattr(library().module, node.op.name))
    return draft.call(function, *slots, node=node, dtype=dtype)


def _made(function: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
    return function(*operands, **keywords)


def _scalar(draft: Draft, node: Node) -> int:
    """Python's operator on numbers."""
    function = partial(_on_numbers, scalar_function(node.attributes["operator"]))
    return draft.call(function, *map(draft.slot, node.inputs), node=node)


def _on_numbers(function: Callable[..., Any], /, *operands: Any) -> Any:
    return _tried(function, *operands)


def _tried(function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    try:
        return function(*operands, **keywords)
    except Exception as error:
        raise DoesNotFit from error


DONE = frozenset(
    (Kind.MAP, Kind.VIEW, Kind.REDUCE, Kind.CALL, Kind.STORE, Kind.CREATE)
)  # on a device


def is_done(node: Node) -> bool:
    """Whether plans have a step for a node: those on a device, and Python's operators on Python's numbers."""
    if node.op.kind in (Kind.INPUT, Kind.CONST, Kind.SIZE, Kind.CHECK):
        return True
    if node.op.kind is Kind.SCALAR:
        return all(isinstance(one.type, NumberType) for one in (node, *node.inputs))
    on_device = isinstance(node.type, ArrayType) and bool(node.type.device)
    return on_device and node.op.kind in DONE


def transposed(array: Any, axes: tuple[int, ...]) -> Any:
    """A view with the axes in another order."""
    return array.transpose(axes)


def _reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    return array.reshape(shape)


CALLS: dict[Kind, Call] = {
    Kind.MAP: _map,
    Kind.REDUCE: _reduce,
    Kind.CALL: _call,
    Kind.STORE: _store,
    Kind.CREATE: create,
    Kind.SCALAR: _scalar,
    Kind.CHECK: Draft.check,
}
VIEW_CALLS = ViewCalls(transposed, _reshaped)
RULES = Rules(
    loop_of=loop_of,
    fold_of=fold_of,
    why_not_operand=why_not_operand,
    depends_on_strides=lambda loop: False,  # noqa: ARG005  no loop of CuPy's is a vector's
    calls=CALLS,
    view_calls=VIEW_CALLS,
    lone_rows=False,
    lone_elements=False,
)


FUSING = replace(RULES, fold_of=any_fold_of)


def plan_of(graph: Graph, *, exact: bool = True) -> Plan:
    """The plan of a graph for a GPU; not `exact`: sums in another order than CuPy's, where that saves a kernel."""
    graph = as_reductions(graph, exact=exact)
    return planner.plan_of(graph, RULES if exact else FUSING)
