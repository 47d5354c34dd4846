"""Variances and deviations of CuPy's arrays, with the bits of CuPy's own: the parts that kernels can do.

CuPy takes the mean as its method does, has its own reduction kernel fold the squares of how far elements are from it,
and multiplies by one by how many there are; of a deviation the root is taken by another kernel. So do graphs here: the
squares are a reduction of their own, and all else is what kernels have already. Which threads fold the squares follows
from how the means lie in memory, too: they are neighbours, as there is one for each result.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ufuse.backends.cupy.operations import cub
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.backends.planning.loops import Fold, Loop
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Kind, Op
from ufuse.graph.types import ArrayType, NumberType, c_order
from ufuse.graph.typing.infer import operand_of, result_type
from ufuse.graph.typing.library import Folding

SQUARES = Op("reduce_squares", 1, Kind.REDUCE)
NAMES = frozenset(("var", "std"))
GIVEN = frozenset(("axis", "keepdims", "ddof"))
VERSIONS = cub.VERSIONS  # of CuPy, which has others as it has these
THREADS = 512  # of a block of CuPy's own reductions
NEIGHBOURS = 32  # results of a block, at least, where as many lie side by side


class IsNoKernel(Exception):  # noqa: N818  a plan without squares is made
    """Squares that no kernel folds: CuPy has no function for them."""


def is_plain() -> bool:
    """Whether CuPy launches its reductions as it does by itself, and tries nothing out."""
    return cupy._core._optimize_config.get_current_context() is None


def axes_of(source: Node, keywords: dict[str, Any]) -> tuple[int, ...] | None:
    """The axes that a variance is taken along: the last, or others; None where it is CuPy's own call."""
    type_ = source.type
    assert isinstance(type_, ArrayType)
    if cupy.__version__ not in VERSIONS or not keywords.keys() <= GIVEN:
        return None
    if not all(isinstance(one, tuple) and one[0] == "const" for one in keywords.values()):
        return None
    given = {key: value for key, (_, value) in keywords.items()}
    axis, ddof = given.get("axis"), given.get("ddof", 0)
    if (
        type(given.get("keepdims", False)) is not bool
        or type(ddof) is not int
        or ddof not in (0, 1)
    ):
        return None
    is_plain_type = type_.dtype.char in "fd" and type_.contiguous and type_.ndim > 1
    if axis is None or not is_plain_type or type_.order != c_order(type_.ndim):
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    folded = tuple(sorted({one % type_.ndim for one in axes}))
    last = type_.ndim - 1
    is_known = folded == (last,) or (last not in folded and folded)
    return folded if is_known and len(folded) == len(axes) else None


def spread_of(
    node: Node, mean: Node, axes: tuple[int, ...], keywords: dict[str, Any], *, has_root: bool
) -> Node | None:
    """A variance, or a deviation, around the mean along axes; None where plain Python divides by nothing."""
    (source,), type_, location = node.inputs, node.type, node.location
    assert isinstance(source.type, ArrayType)
    keepdims = keywords.get("keepdims", ("const", False))[1]
    left = (
        _product(source.type.shape[axis] for axis in axes) - keywords.get("ddof", ("const", 0))[1]
    )
    factor = _one_by(left, location)
    if factor is None:
        return None
    distance = _made(ops.UFUNCS["subtract"], location, source, mean)
    attributes = {"axis": axes, "keepdims": keepdims, "dtype": None}
    squares = Node(SQUARES, (distance,), type_, attributes, location)
    variance = _made(ops.UFUNCS["multiply"], location, factor, squares)
    return _made(ops.UFUNCS["sqrt"], location, variance) if has_root else variance


def _product(lengths: Any) -> Any:
    made: Any = 1
    for length in lengths:
        made = made * length
    return made


def _one_by(count: Any, location: Location | None) -> Node | None:
    """The number that what was folded is multiplied by: plain Python runs where it has none."""
    if isinstance(count, int):
        value = 1.0 / count if count > 0 else None
        number = NumberType("float")
        return None if value is None else Node(ops.CONST, (), number, {"value": value}, location)
    one = Node(ops.CONST, (), NumberType("float"), {"value": 1.0}, location)
    size = Node(ops.SIZE, (), NumberType("int"), {"value": count}, location)
    division = {"operator": "truediv"}
    return Node(ops.SCALAR, (one, size), NumberType("float"), division, location)


def _made(op: Op, location: Location | None, *inputs: Node) -> Node:
    type_ = result_type(op, [operand_of(one) for one in inputs], {})
    return Node(op, inputs, type_, {}, location)


def squares_along(node: Node) -> Fold:
    """The fold of squares along the last axis or others."""
    (source,) = node.inputs
    assert isinstance(source.type, ArrayType)
    dtype, axes = source.type.dtype, node.attributes["axis"]
    loop = Loop("ufunc", SQUARES.name, (dtype, dtype, dtype))
    if axes == (source.type.ndim - 1,):
        return Fold("reduce", loop, None)
    return Fold("tree", loop, None, axes)


def texts_of(dtype: np.dtype, kind: str) -> Folding:
    """CuPy's texts of how squares are folded, of distances from the mean."""
    return Folding((dtype, dtype), "0", "in0 * in0", "a + b", "out0 = a", kind, "")


def squares_of(plan: KernelPlan) -> list[Segment]:
    """The folds of squares of a kernel."""
    return [one for one in plan.segments if one.loop.name == SQUARES.name]


def threads_of_row(rows: int, length: int) -> int:
    """How many threads CuPy has fold the squares of a row; the others of its block fold other rows."""
    together = max(min(rows, NEIGHBOURS), THREADS // length)
    return THREADS >> (together.bit_length() - 1)
