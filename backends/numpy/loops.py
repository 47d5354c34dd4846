"""Which inner loop of NumPy an operation runs, and whether a kernel may run it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.backends.planning.loops import Fold, Loop, cast_loop, copy_loop
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.semantics.effects import ERRORS
from ufuse.graph.types import ArrayType, NumberType, c_order
from ufuse.graph.typing.infer import CannotInfer, loop_dtypes, operand_of

_LINEAR = getattr(np.linalg, "_umath_linalg", None)  # what NumPy's `linalg` calls
# Functions of matrices that C calls, by their names.
OF_MATRICES: dict[str, np.ufunc] = {
    "matmul": np.matmul,
    **{
        name: getattr(_LINEAR, name)
        for name in ("solve", "solve1", "inv", "det")
        if hasattr(_LINEAR, name)
    },
}
WARNING = frozenset({"warns_as", ERRORS})  # attributes that change no loop
DTYPES = frozenset("?bBhHiIlLqQefdgFDG")


@lru_cache(maxsize=4096)
def _numpys(name: str) -> np.ufunc | None:
    op = ops.UFUNCS.get(name)
    return None if op is None else op.ufunc


def loop_of(node: Node) -> Loop | str:
    """The loop of an elementwise operation, or why no kernel runs it."""
    type_ = node.type
    if not isinstance(type_, ArrayType) or type_.scalar or type_.ndim == 0:
        return "the result is a scalar"
    if any(why_not_operand(source) for source in node.inputs):
        return "an input has a dtype that is left to NumPy"
    if type_.dtype.char not in DTYPES:
        return f"dtype {type_.dtype} is left to NumPy"
    if node.op is ops.CAST:
        source = node.inputs[0].type
        return (
            cast_loop(source.dtype, type_.dtype)
            if isinstance(source, ArrayType)
            else "a number is cast"
        )
    if node.op is ops.COPY:
        return copy_loop(type_.dtype)
    if node.op is ops.WHERE:
        return Loop("where", "where", (np.dtype(bool), type_.dtype, type_.dtype, type_.dtype))
    ufunc = node.op.ufunc
    if ufunc is None or _numpys(ufunc.__name__) is not ufunc or set(node.attributes) - WARNING:
        return "it is not one of NumPy's elementwise functions"
    try:
        dtypes = loop_dtypes(ufunc, [operand_of(source) for source in node.inputs])
    except CannotInfer as refusal:
        return str(refusal)
    if any(dtype.char not in DTYPES for dtype in dtypes):
        return "its loop has a dtype that is left to NumPy"
    if ufunc.__name__ == "power" and dtypes[-1].kind in "iu":
        return "it raises for negative powers"
    return Loop("ufunc", ufunc.__name__, tuple(dtypes), ufunc)


def loop_of_scalars(node: Node) -> Loop | None:
    """The loop that NumPy runs once where all operands of its own elementwise function are numbers, or None."""
    ufunc = node.op.ufunc
    if ufunc is None or _numpys(ufunc.__name__) is not ufunc or set(node.attributes) - {ERRORS}:
        return None
    try:
        dtypes = loop_dtypes(ufunc, [operand_of(source) for source in node.inputs])
    except CannotInfer:
        return None
    if ufunc.__name__ == "power" and dtypes[-1].kind in "iu":
        return None  # it raises for negative powers
    return Loop("ufunc", ufunc.__name__, tuple(dtypes), ufunc)


def depends_on_strides(loop: Loop) -> bool:
    """Whether NumPy may compute other bits where memory is strided: vector code against scalar code."""
    return loop.kind == "ufunc" and ops.depends_on_strides(loop.name, *loop.dtypes)


def depends_on_operands(loop: Loop) -> bool:
    """Whether that is so of its operands' strides, not only where the result is no new memory."""
    return loop.kind == "ufunc" and ops.depends_on_operands(loop.name, *loop.dtypes)


@lru_cache(maxsize=4096)
def loop_object(loop: Loop) -> Any:
    """The inner loop that C runs."""
    if loop.ufunc is not None:
        return _tiles.numpy_loop(loop.ufunc, loop.dtypes, depends_on_strides(loop))
    if loop.kind == "cast":
        return _tiles.cast_loop(*loop.dtypes)
    if loop.kind == "where":
        return _tiles.where_loop(loop.dtypes[-1])
    return _tiles.copy_loop(loop.dtypes[-1])


def why_not_operand(source: Node) -> str | None:
    """Why a value cannot be an operand of a kernel, or None."""
    if isinstance(source.type, NumberType):
        return None
    if (
        isinstance(source.type, ArrayType)
        and source.type.dtype.char in DTYPES
        and source.type.dtype.isnative
    ):
        return None
    return "it is neither an array of numbers nor a number"


def folded_axes(axis: Any, ndim: int) -> set[int]:
    """The axes that a reduction folds, counted from the front."""
    if axis is None:
        return set(range(ndim))
    return {one % ndim for one in ((axis,) if isinstance(axis, int) else axis)}


EXACT_INTEGERS = frozenset(
    "add multiply maximum minimum bitwise_and bitwise_or bitwise_xor logical_and logical_or".split()
)
STARTS: dict[str, Callable[[np.dtype], Any]] = {
    "add": lambda dtype: np.zeros((), dtype),
    "multiply": lambda dtype: np.ones((), dtype),
}


def fold_of(node: Node) -> Fold | str:
    """How a kernel does a reduction with NumPy's own bits, or why it does not."""
    source, type_ = node.inputs[0].type, node.type
    if (
        not isinstance(source, ArrayType)
        or not isinstance(type_, ArrayType)
        or node.op.ufunc is None
    ):
        return "it is not a reduction of an array"
    name, dtype = node.op.ufunc.__name__, type_.dtype
    if source.scalar or source.ndim == 0 or source.dtype.char not in DTYPES:
        return "what is reduced is left to NumPy"
    if name not in EXACT_INTEGERS or dtype.kind not in "biuf" or dtype.char in "eg":
        return "its dtype is left to NumPy"
    if source.order != c_order(source.ndim) or not source.contiguous:
        return "what is reduced is not in C order"
    if dtype.kind == "b" and name in {"add", "multiply"}:
        return "its dtype is left to NumPy"
    widens = dtype.kind in "iu" and source.dtype.kind in "biu" and name in {"add", "multiply"}
    if source.dtype != dtype and not widens:
        return "NumPy casts in blocks"
    axes = folded_axes(node.attributes.get("axis"), source.ndim)
    start = STARTS[name](dtype).tobytes() if name in STARTS else None
    loop = Loop("ufunc", name, (dtype, dtype, dtype), node.op.ufunc)
    if axes == set(range(source.ndim)):
        if not type_.scalar:
            return "the result of everything is an array"
        if dtype.kind == "f" and name != "add":
            return "NumPy's order is another"
        return Fold("total", loop, start)
    if axes == {source.ndim - 1}:
        if source.shape[-1] == 1:
            return "rows have one element"
        return Fold("reduce", loop, start)
    return "it is not along the last axis"
