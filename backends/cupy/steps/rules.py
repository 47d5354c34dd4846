"""The CUDA backend's own rules, and its plans."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import Any

from ufuse.backends.cupy.operations import cub, spread
from ufuse.backends.cupy.operations.gathers import gather_of, with_places
from ufuse.backends.cupy.operations.masked import with_masks
from ufuse.backends.cupy.operations.moments import MOMENTS
from ufuse.backends.cupy.operations.statistics import as_reductions
from ufuse.backends.cupy.steps.calls import call, call_of_dtype, strictly, tried
from ufuse.backends.cupy.texts.folds import fold_along, library_fold_along, library_folds
from ufuse.backends.cupy.texts.trees import tree_along
from ufuse.backends.planning import planner
from ufuse.backends.planning.draft import Draft, ViewCalls
from ufuse.backends.planning.kernels import KernelPlan
from ufuse.backends.planning.loops import Fold, Loop, cast_loop, copy_loop
from ufuse.backends.planning.rules import Call, Rules
from ufuse.backends.planning.steps import Plan, Step
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, NothingType, NumberType, TupleType, Type
from ufuse.graph.typing.bounds import BOUNDS
from ufuse.graph.typing.counting import LENGTH
from ufuse.graph.typing.device_calls import DEVICE_METHOD, GET, HOST_ITEM, READ, is_fetched
from ufuse.graph.typing.draws import is_draw
from ufuse.graph.typing.elementary import ELEMENTARY
from ufuse.graph.typing.infer import CannotInfer, operand_of, scalar_function
from ufuse.graph.typing.library import LABEL
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
    if node.op is spread.SQUARES:
        return spread.squares_along(node)
    if library().foreign_reduction(node.op) is not None:
        return "it is a kernel of CuPy's that no kernel of ours has the place of"
    dtypes = [one.type.dtype for one in (node, node.inputs[0]) if isinstance(one.type, ArrayType)]
    if all(dtype.kind in "biu" for dtype in dtypes):
        found = fold_along(node)
        if isinstance(found, Fold):
            return found
    return tree_along(node)


def library_fold_of(node: Node) -> Fold | str:
    """The same, but of floats in CUB's order where CuPy has CUB fold them."""
    if library().foreign_reduction(node.op) is None:
        found = library_fold_along(node)
        if isinstance(found, Fold):
            return found
    return fold_of(node)


def any_fold_of(node: Node) -> Fold | str:
    """Rows and totals in an order of our own; along other axes in CuPy's."""
    if library().foreign_reduction(node.op) is not None:
        return fold_of(node)
    found = fold_along(node)
    return found if isinstance(found, Fold) else tree_along(node)


def why_not_operand(source: Node) -> str | None:
    """Why a value cannot be an operand of a kernel, or None."""
    if isinstance(source.type, (ArrayType, NumberType)):
        return None
    return "it is neither an array nor a number"


def _map(draft: Draft, node: Node) -> int:
    """An elementwise operation by CuPy's own call; of numbers alone it is NumPy's."""
    if is_of_numbers(node):
        is_cast = node.op is ops.CAST
        given = node.attributes
        return _of_numbers(
            draft, node, methodcaller("astype", given["dtype"]) if is_cast else node.op.ufunc
        )
    if node.op is ops.CAST:
        dtype = draft.constant(node.attributes["dtype"])
        return draft.call(library().array.astype, draft.slot(node.inputs[0]), dtype, node=node)
    if node.op is ops.COPY:
        return draft.call(library().array.copy, draft.slot(node.inputs[0]), node=node)
    function = partial(tried, library().function_of(node.op))
    return draft.call(function, *map(draft.slot, node.inputs), node=node)


def _reduce(draft: Draft, node: Node) -> int:
    """A reduction by CuPy's own method, which may be one of a library that it finds."""
    if node.op is spread.SQUARES:
        raise spread.IsNoKernel
    keywords = {name: node.attributes[name] for name in ("axis", "keepdims")}
    kernel = library().foreign_reduction(node.op)
    if kernel is not None:
        return call_of_dtype(draft, node, kernel, node.inputs, keywords)
    method = getattr(library().array, METHODS[node.op.name])
    return call_of_dtype(draft, node, method, node.inputs, keywords)


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


def _store(draft: Draft, node: Node) -> None:
    """A store that no kernel does: CuPy's own assignment."""
    slot, _ = draft.add_path(node.inputs[0], node.attributes.get("path", ()))
    whole = draft.constant(Ellipsis)
    draft.call(operator.setitem, slot, whole, draft.slot(node.inputs[1]), node=node)


def create(draft: Draft, node: Node) -> int:
    """A new array, by CuPy's own function."""
    assert isinstance(node.type, ArrayType)
    slots = (draft.size(node.type.shape), *map(draft.slot, node.inputs))
    dtype = draft.constant(node.type.dtype)
    function = getattr(library().module, node.op.name)
    made = draft.call(function, *slots, node=node, dtype=dtype)
    draft.plan.steps[-1].apart = True
    return made


def _scalar(draft: Draft, node: Node) -> int:
    """Python's operator on numbers."""
    return _of_numbers(draft, node, scalar_function(node.attributes["operator"]))


def _of_numbers(draft: Draft, node: Node, function: Any) -> int:
    warns = any(isinstance(one.type, ArrayType) for one in (node, *node.inputs))
    call_of = partial(strictly if warns else tried, function)
    made = draft.call(call_of, *map(draft.slot, node.inputs), node=node)
    draft.plan.steps[-1].apart = True
    return made


def is_of_numbers(node: Node) -> bool:
    """Whether a node is an elementwise function of NumPy's or Python's numbers, or a cast of NumPy's."""
    if node.op.kind is not Kind.MAP or _is_on_device(node.type):
        return False
    if node.op.ufunc is None and node.op is not ops.CAST:
        return False
    return all(is_number(one.type) for one in (node, *node.inputs))


def is_number(type_: Type) -> bool:
    """Whether a value is a number of Python's or NumPy's."""
    return isinstance(type_, NumberType) or (isinstance(type_, ArrayType) and type_.scalar)


DONE = frozenset(
    (Kind.MAP, Kind.VIEW, Kind.REDUCE, Kind.CALL, Kind.ITEM, Kind.STORE, Kind.CREATE)
)  # on a device


def is_done(node: Node) -> bool:
    """Whether plans have a step for a node: those on a device, and operations on numbers."""
    if node.op.kind in (Kind.INPUT, Kind.CONST, Kind.SIZE, Kind.CHECK):
        return True
    if node.op.kind is Kind.SCALAR or is_of_numbers(node):
        return True
    if node.op is ops.ELEMENT and node.inputs[0].op is ops.INPUT:  # of an array of the host's
        return not _is_on_device(node.inputs[0].type)
    if node.op is ops.ITEM and node.inputs[0].op is ops.CALL:
        return is_done(node.inputs[0])
    if node.op is ops.CALL and node.attributes["function"] in (LENGTH, READ, GET, LABEL):
        return _is_on_device(node.inputs[0].type)
    if node.op is ops.CALL and (
        node.attributes["function"].startswith(BOUNDS) or node.attributes["function"] in ELEMENTARY
    ):
        return True
    if node.op is ops.CALL and node.attributes["function"] == HOST_ITEM:
        return is_fetched(node.inputs[0])
    if (
        is_draw(node)
        or is_fetched(node)
        or (node.op is ops.ITEM and node.inputs[0].op is ops.BRANCH)
    ):
        return True
    if node.op is ops.BRANCH:
        sides = node.attributes["then"], node.attributes["otherwise"]
        return all(is_done(one) for side in sides for one in side.nodes)
    return _is_on_device(node.type) and node.op.kind in DONE


def _is_on_device(type_: Type) -> bool:
    if isinstance(type_, TupleType):
        return all(map(_is_on_device, type_.items))
    return isinstance(type_, NothingType) or (isinstance(type_, ArrayType) and bool(type_.device))


def transposed(array: Any, axes: tuple[int, ...]) -> Any:
    """A view with the axes in another order."""
    return array.transpose(axes)


def reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """A view with other axes."""
    return array.reshape(shape)


CALLS: dict[Kind, Call] = {
    Kind.MAP: _map,
    Kind.REDUCE: _reduce,
    Kind.CALL: call,
    Kind.STORE: _store,
    Kind.CREATE: create,
    Kind.SCALAR: _scalar,
    Kind.CHECK: Draft.check,
}


def _spread(array: Any, shape: tuple[int, ...]) -> Any:
    return library().module.broadcast_to(array, shape)


VIEW_CALLS = ViewCalls(transposed, reshaped, _spread)
RULES = Rules(
    loop_of=loop_of,
    fold_of=fold_of,
    why_not_operand=why_not_operand,
    depends_on_strides=lambda loop: False,  # noqa: ARG005  no loop of CuPy's is a vector's
    calls=CALLS,
    view_calls=VIEW_CALLS,
    lone_rows=False,
    lone_elements=False,
    picking_of=gather_of,
)


AS_LIBRARY = replace(RULES, fold_of=library_fold_of)
FUSING = replace(RULES, fold_of=any_fold_of)


def plan_of(graph: Graph, *, exact: bool = True, as_library: bool = True) -> Plan:
    """The plan of a graph for a GPU.

    Args:
        graph: the graph.
        exact: whether sums have CuPy's order; else they have another, where that saves a kernel.
        as_library: whether kernels may fold in the order of a library that CuPy takes: they may decline to.

    """
    if not exact:
        return _planned(graph, FUSING, MOMENTS)
    for has_squares in (True, False) if as_library else ():
        plan = _restated(graph, has_squares=has_squares)
        if plan is not None and not folds_late(plan) and not folds_both_precisions(plan):
            return plan
    return _planned(graph, RULES, ())


def _restated(graph: Graph, *, has_squares: bool) -> Plan | None:
    """The plan whose kernels may fold in another order than any, if there is more in it than in a plain one."""
    if has_squares and not any(map(_is_spread, graph)):
        return None
    in_library_order = cub.is_taken()
    if not has_squares and not in_library_order:
        return None
    rules, moments = (AS_LIBRARY, ("mean",)) if in_library_order else (RULES, ())
    try:
        return _planned(graph, rules, moments, has_squares=has_squares)
    except spread.IsNoKernel:
        return None


def _is_spread(node: Node) -> bool:
    """Whether a node is a call of CuPy's that takes a variance or a deviation."""
    name = node.attributes["function"] if node.op is ops.CALL else ""
    is_method: bool = name.startswith(DEVICE_METHOD)
    return is_method and name.removeprefix(DEVICE_METHOD) in spread.NAMES


def _planned(
    graph: Graph, rules: Rules, moments: tuple[str, ...], *, has_squares: bool = False
) -> Plan:
    restated = as_reductions(graph, moments, has_squares=has_squares)
    return planner.plan_of(with_places(with_masks(restated)), rules)


def folds_late(plan: Plan) -> bool:
    """Whether what may be left to plain Python, a fold in CUB's order, stands behind what the user may have seen."""
    first = next((n for n, step in enumerate(plan.steps) if step.committed), len(plan.steps))
    if any(map(may_decline, plan.steps[first + 1 :])):
        return True
    return any(folds_late(side) for step in plan.steps for side in step.sides)


def may_decline(step: Step) -> bool:
    """Whether a step may leave it to plain Python to fold: where that is not as it was, or memory lies otherwise."""
    return any(library_folds(one) or spread.squares_of(one) for one in _kernels_of(step))


def folds_both_precisions(plan: Plan) -> bool:
    """Whether a kernel folds floats of both in CUB's order, of which a thread has unlike numbers at once."""
    return any(
        len({fold.loop.dtypes[-1] for fold in library_folds(kernel)}) > 1
        for step in plan.steps
        for kernel in _kernels_of(step)
    )


def _kernels_of(step: Step) -> Iterator[KernelPlan]:
    """The kernel of a step, and those of the sides of a branch."""
    if step.kernel is not None:
        yield step.kernel
    for side in step.sides:
        for one in side.steps:
            yield from _kernels_of(one)
