"""Places among sorted numbers (`np.searchsorted`, `np.digitize`, `np.interp`) that C finds: `csrc/loops/search.c`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType

DTYPES = "dfil"
FLOAT = np.dtype(float)


def search_of(node: Node) -> Callable[..., Any] | None:
    """What gives NumPy's result of a search in less time; None: NumPy itself."""
    function = FUNCTIONS.get(node.attributes["function"])
    if function is None or node.attributes["arguments"][:2] != (0, 1):
        return None
    types = [source.type for source in node.inputs[:2]]
    is_simple = all(
        isinstance(one, ArrayType)
        and one.dtype.char in DTYPES
        and one.dtype.isnative
        and one.ndim
        and not (one.scalar or one.device)
        for one in types
    )
    return function if is_simple and types[0].dtype == types[1].dtype else None  # type: ignore[union-attr]


def interpolation_of(node: Node) -> Callable[..., Any] | None:
    """What gives NumPy's result of an interpolation in less time; None: NumPy itself."""
    arguments = node.attributes["arguments"]
    if (
        node.attributes["function"] != "numpy.interp"
        or len(arguments) != 3
        or node.attributes["keywords"]
        or not all(type(one) is int for one in arguments)
    ):
        return None
    types = [node.inputs[one].type for one in arguments]
    is_simple = all(
        isinstance(one, ArrayType)
        and one.dtype == FLOAT
        and one.ndim
        and not (one.scalar or one.device)
        for one in types
    )
    return interp if is_simple and _agrees() else None


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Give what `numpy.interp` gives."""
    found = _tiles.interpolated(x, xp, fp)
    return np.interp(x, xp, fp) if found is None else found


@cache
def _agrees() -> bool:
    """Whether it rounds as this NumPy does."""
    x = 3 * np.sin(17.3 * np.arange(1, 200) ** 2)
    xp = np.sort(x[:40])
    fp = x[50:90] * 0.1
    found = _tiles.interpolated(x, xp, fp)
    return found is not None and found.tobytes() == np.interp(x, xp, fp).tobytes()


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Give what `numpy.searchsorted` gives."""
    found = _searched(a, v, side) if sorter is None else None
    return np.searchsorted(a, v, side, sorter) if found is None else found


def _method(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    found = _searched(a, v, side) if sorter is None else None
    return np.ndarray.searchsorted(a, v, side, sorter) if found is None else found


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """Give what `numpy.digitize` gives; bins that fall, and others that do not rise, are NumPy's."""
    found = _tiles.searched(bins, x, not right) if type(right) is bool else None
    return np.digitize(x, bins, right) if found is None else found


def _searched(a: Any, v: Any, side: Any) -> Any:
    is_known = type(side) is str and side in ("left", "right")
    return _tiles.searched(a, v, side == "right") if is_known else None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.searchsorted": searchsorted,
    "numpy.ndarray.searchsorted": _method,
    "numpy.digitize": digitize,
}
