"""Functions of NumPy that C runs without NumPy's machinery where the arrays are small: `csrc/loops/small.c`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.loops import OF_MATRICES, STARTS, folded_axes, loop_object
from ufuse.backends.planning.loops import Loop
from ufuse.graph.node import Node
from ufuse.graph.semantics.effects import ERRORS
from ufuse.graph.types import ArrayType, c_order
from ufuse.graph.typing.calls import function_named

Function = Callable[..., Any]


class Small(NamedTuple):
    """The loop of a function: whose it is, its signature, of which dtypes.

    `is_dot`: it is `np.dot`, which copies what has gaps first.
    """

    ufunc: np.ufunc
    signature: str  # capital letters are axes that the arrays do not have
    dtypes: str
    is_dot: bool = False


PRODUCTS = {
    (2, 2): "nk,km,nm",
    (1, 2): "Nk,km,Nm",
    (2, 1): "nk,kM,nM",
    (1, 1): "Nk,kM,NM",
}
SOLVERS = {
    ("numpy.linalg.solve", 2, 1): ("solve1", "mm,m,m"),
    ("numpy.linalg.solve", 2, 2): ("solve", "mm,mn,mn"),
    ("numpy.linalg.inv", 2): ("inv", "mm,mm"),
    ("numpy.linalg.det", 2): ("det", "mm,"),
}
# By name and the numbers of axes.
SMALL: dict[tuple[Any, ...], Small] = {
    **{("numpy.matmul", *axes): Small(np.matmul, text, "fdFD") for axes, text in PRODUCTS.items()},
    **{
        (name, *axes): Small(np.matmul, text, "fd", is_dot=True)
        for name in ("numpy.dot", "numpy.ndarray.dot")
        for axes, text in PRODUCTS.items()
    },
    **{
        key: Small(OF_MATRICES[name], text, "d")
        for key, (name, text) in SOLVERS.items()
        if name in OF_MATRICES
    },
}
NORMS = "fd"
TOTALS = {
    "add": "fdlqLQ",
    "multiply": "fdlqLQ",
    "maximum": "fdbBhHiIlLqQ",
    "minimum": "fdbBhHiIlLqQ",
}

WINDOWED = {"add", "maximum", "minimum"}  # of which rows of a few elements are folded side by side


def function_of(node: Node) -> Function | None:
    """What gives NumPy's result of a call in less time where its arrays are small; None: there is no such function."""
    types = [source.type for source in node.inputs]
    arrays = [
        type_
        for type_ in types
        if isinstance(type_, ArrayType) and type_.ndim and not type_.device and not type_.scalar
    ]
    if (
        not arrays
        or len(arrays) < len(types)
        or node.attributes["keywords"]
        or node.attributes["arguments"] != tuple(range(len(types)))
    ):
        return None
    dtype = arrays[0].dtype
    if any(type_.dtype != dtype for type_ in arrays) or not dtype.isnative:
        return None
    name, axes = node.attributes["function"], tuple(type_.ndim for type_ in arrays)
    if name == "numpy.linalg.norm":
        return _norm(dtype) if axes == (1,) and dtype.char in NORMS else None
    found = SMALL.get((name, *axes))
    if found is None or dtype.char not in found.dtypes:
        return None
    return function(name, found, dtype)


def function(name: str, small: Small, dtype: np.dtype) -> Function | None:
    """C's function for arrays of one dtype: each call in a program has its own, which learns whether it pays."""
    loop = _loop(small.ufunc, dtype)
    if loop is None:
        return None
    return _tiles.small_function(loop, function_named(name), small.signature, small.is_dot)


def _norm(dtype: np.dtype) -> Function | None:
    loop = _loop(np.matmul, dtype)
    return None if loop is None else _tiles.small_norm(loop, np.linalg.norm)


def _loop(ufunc: np.ufunc, dtype: np.dtype) -> Any:
    """The loop of a function all of whose operands have one dtype; None: this NumPy has none that C may run."""
    try:
        return loop_object(Loop("ufunc", ufunc.__name__, (dtype,) * (ufunc.nin + 1), ufunc))
    except ValueError:
        return None


def total(node: Node, given: tuple[Any, ...]) -> Function | None:
    """A reduction of an array in C order, of all elements, along the first axes or the last one, or of windows.

    `given` are the other arguments of `reduce`.
    """
    source, type_, ufunc = node.inputs[0].type, node.type, node.op.ufunc
    if not isinstance(source, ArrayType) or not isinstance(type_, ArrayType) or ufunc is None:
        return None
    if (
        not source.ndim
        or source.order != c_order(source.ndim)
        or not source.contiguous
        or source.dtype != type_.dtype
        or not source.dtype.isnative
        or source.dtype.char not in TOTALS.get(ufunc.__name__, "")
        or set(node.attributes) - {"axis", "keepdims", "dtype", "warns_as", ERRORS}
    ):
        return None
    axes = folded_axes(node.attributes.get("axis"), source.ndim)
    if len(axes) == source.ndim:
        return total_of(ufunc, source.dtype, given, not type_.scalar)
    kept, keeps = source.ndim - len(axes), type_.ndim == source.ndim
    if axes == set(range(len(axes))):
        return total_of(ufunc, source.dtype, given, keeps, 0, kept)
    if axes == {source.ndim - 3, source.ndim - 1} and ufunc.__name__ in WINDOWED:
        return total_of(ufunc, source.dtype, given, keeps, 2, kept)
    return total_of(ufunc, source.dtype, given, keeps, 1, kept) if axes == {kept} else None


def total_of(
    ufunc: np.ufunc,
    dtype: np.dtype,
    given: tuple[Any, ...],
    is_array: bool,
    axis: int = -1,
    kept: int = 0,
) -> Function | None:
    """C's function for arrays of one dtype; `is_array`: folded axes stay, with one element.

    `axis` is 0 for the first axes, of which `kept` stay behind, 1 for the last, 2 for that and the last but two.
    """
    loop = _loop(ufunc, dtype)
    if loop is None:
        return None
    name = ufunc.__name__
    start = STARTS[name](dtype).tobytes() if name in STARTS else None
    return _tiles.small_total(loop, ufunc.reduce, given, start, is_array, axis, kept)
