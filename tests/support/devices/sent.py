"""Functions of NumPy's arrays that a device runs, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ufuse


def why_different(result: Any, wanted: Any, close: float) -> str | None:
    """Why a result is not NumPy's, to the bit or (`close`) nearly."""
    if isinstance(wanted, (tuple, list)):
        return next(
            filter(
                None, (why_different(*pair, close) for pair in zip(result, wanted, strict=True))
            ),
            None,
        )
    if type(wanted) in (bool, int, float, complex):
        is_same = result == wanted or (close and abs(result - wanted) <= close * abs(wanted))
        return (
            None if type(result) is type(wanted) and is_same else f"{result} in place of {wanted}"
        )
    facts = [(type(one), one.dtype, one.shape, one.strides) for one in (result, wanted)]
    if facts[0] != facts[1]:
        return f"{facts[0]} in place of {facts[1]}"
    both = (
        np.isnan(result) & np.isnan(wanted)
        if wanted.dtype.kind in "fc"
        else np.zeros(wanted.shape, bool)
    )
    if close and wanted.dtype.kind in "fc":
        return None if np.allclose(result, wanted, close, close, equal_nan=True) else "other values"
    bits = [np.where(both, 0, one).tobytes() for one in (result, wanted)]
    return None if bits[0] == bits[1] else f"{result} in place of {wanted}"


def check(function: Callable[..., Any], *arguments: Any, close: float = 0.0) -> Any:
    """Run a function plainly and on the device, twice, without a break; returns the compiled one."""
    compiled, wrong = compared(function, *arguments, close=close)
    assert wrong is None, wrong
    assert compiled.stats.hits, compiled.stats
    assert not compiled.breaks
    return compiled


def compared(
    function: Callable[..., Any], *arguments: Any, close: float = 0.0
) -> tuple[Any, str | None]:
    """A function compiled, and what is wrong with its results in two calls."""
    compiled = ufuse.compile(function, backend="cupy")
    compiled.reset()
    with np.errstate(all="ignore"):
        wanted = function(*arguments)
        found = [why_different(compiled(*arguments), wanted, close) for _ in range(2)]
    return compiled, found[0] or found[1]


def is_sent(compiled: Any) -> bool:
    """Whether a GPU runs what was captured, not the CPU."""
    return not compiled.graphs[0].source("cupy").startswith("the CPU")
