"""Places among sorted numbers (`np.searchsorted`, `np.digitize`) that C finds: `csrc/loops/search.c`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType

DTYPES = "dfil"


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
