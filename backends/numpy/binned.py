"""Histograms with bins of equal width: NumPy makes the edges, and C counts (`csrc/loops/bins.c`).

NumPy's Python code goes over the numbers a dozen times. Before ours is used it is compared with NumPy's; other arrays,
and what fails, are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.graph import signals
from ufuse.graph.node import Node
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType

FLOAT = np.dtype(float)
KINDS = "bBhHiId"  # dtypes whose numbers are all floats
NAMES = {"bins", "range", "density"}
FEWEST = 300  # elements: with fewer, the edges take most of the time


def histogram_of(node: Node) -> Callable[..., Any] | None:
    """What gives NumPy's result of a call of its histogram in less time; None: NumPy itself."""
    if node.attributes["function"] != "numpy.histogram" or not node.inputs:
        return None
    type_, arguments = node.inputs[0].type, node.attributes["arguments"]
    names = {name for name, _ in node.attributes["keywords"]}
    if (
        not isinstance(type_, ArrayType)
        or type_.dtype.char not in KINDS
        or not type_.dtype.isnative
        or type_.scalar
        or not type_.ndim
        or type_.device
        or arguments[:1] != (0,)
        or len(arguments) > 3
        or names - NAMES
    ):
        return None
    return histogram if _agrees() else None


def histogram(a: np.ndarray, *given: Any, **named: Any) -> Any:
    """Give what `numpy.histogram` gives."""
    counted = _counted(a, *given, **named)
    return np.histogram(a, *given, **named) if counted is None else counted


def _counted(a: np.ndarray, bins: Any = 10, range: Any = None, density: Any = None) -> Any:  # noqa: A002 (NumPy's name)
    """The counts and the edges, or None."""
    if type(bins) is not int or not (density is None or type(density) is bool) or a.size < FEWEST:
        return None
    if range is not None and not _is_pair(range):
        return None
    try:
        ends = np.array((a.min(), a.max()), a.dtype)
        edges = np.histogram_bin_edges(ends, bins, range)
        counts = _tiles.count_in_bins(np.ascontiguousarray(a, FLOAT), edges)
        if counts is None or not density:
            return None if counts is None else (counts, edges)
        return counts / np.array(np.diff(edges), float) / counts.sum(), edges
    except Exception as error:  # noqa: BLE001  NumPy's own raises it
        signals.pass_on(error)
        return None


def _is_pair(given: Any) -> bool:
    """Whether it is a least and a greatest number, both finite."""
    return (
        type(given) is tuple
        and len(given) == 2
        and all(type(one) in (int, float) for one in given)
        and -1e300 < given[0] <= given[1] < 1e300
        and not any(map(math.isnan, given))
    )


@cache
def _agrees() -> bool:
    """Whether it counts as this NumPy does."""
    try:
        return bool(run_strictly("ignore", _is_the_same))
    except Exception as error:  # noqa: BLE001  NumPy's function is used, whatever it raises
        signals.pass_on(error)
        return False


def _is_the_same() -> bool:
    x = np.round(2 * np.sin(17.3 * np.arange(1, 2 * FEWEST) ** 2), 2)
    for values in (x, x * 1e-3, (x * 50).astype(np.int8)):
        for given in ({}, {"bins": 7}, {"bins": 40, "range": (-1, 1.5)}, {"density": True}):
            wanted, found = np.histogram(values, **given), _counted(values, **given)
            if found is None or any(
                one.dtype != other.dtype or one.tobytes() != other.tobytes()
                for one, other in zip(wanted, found, strict=True)
            ):
                return False
    return True
