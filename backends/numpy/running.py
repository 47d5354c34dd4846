"""Running sums and products of rows (`np.cumsum(x, axis=1)`), which C does side by side: `csrc/loops/running.c`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType


def running_of(node: Node) -> Callable[..., Any] | None:
    """What gives NumPy's result of a call in less time; None: NumPy itself."""
    function = FUNCTIONS.get(node.attributes["function"])
    type_ = node.inputs[0].type if node.inputs else None
    is_simple = (
        isinstance(type_, ArrayType)
        and type_.dtype.char in "fd"
        and type_.dtype.isnative
        and type_.ndim > 1
        and not type_.device
        and node.attributes["arguments"][:1] == (0,)
    )
    return function if is_simple else None


def _running(
    own: Callable[..., Any], is_product: bool, a: Any, axis: Any = None, *given: Any, **named: Any
) -> Any:
    found = None
    if not given and not named and type(axis) is int and axis in (-1, a.ndim - 1):
        found = _tiles.running(a, is_product)
    return own(a, axis, *given, **named) if found is None else found


def _function(own: Callable[..., Any], *, is_product: bool) -> Callable[..., Any]:
    function: Any = partial(_running, own, is_product)
    function.__name__ = own.__name__
    return function  # type: ignore[no-any-return]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.cumsum": _function(np.cumsum, is_product=False),
    "numpy.cumprod": _function(np.cumprod, is_product=True),
    "numpy.ndarray.cumsum": _function(np.ndarray.cumsum, is_product=False),
    "numpy.ndarray.cumprod": _function(np.ndarray.cumprod, is_product=True),
}
