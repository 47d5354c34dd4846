"""`np.unique` of whole numbers that lie close together, such as labels: they are counted, and none is sorted.

Before it is used it is compared with NumPy's own function; other arrays are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ufuse.graph import signals
from ufuse.graph.node import Node
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType

KINDS = "bBhHiIl"
NAMES = {"return_inverse", "return_counts"}
FEWEST = 500  # elements
WIDEST = 1 << 20  # numbers from the least to the greatest


def distinct_of(node: Node) -> Callable[..., Any] | None:
    """What gives NumPy's result of a call of its function in less time; None: NumPy itself."""
    type_ = node.inputs[0].type if node.inputs else None
    if (
        node.attributes["function"] != "numpy.unique"
        or not isinstance(type_, ArrayType)
        or type_.dtype.char not in KINDS
        or not type_.dtype.isnative
        or type_.scalar
        or not type_.ndim
        or type_.device
        or node.attributes["arguments"] != (0,)
        or {name for name, _ in node.attributes["keywords"]} - NAMES
    ):
        return None
    return unique if _agrees(type_.dtype) else None


def unique(ar: np.ndarray, **named: Any) -> Any:
    """Give what `numpy.unique` gives."""
    found = _distinct(ar, **named) if ar.size >= FEWEST else None
    return np.unique(ar, **named) if found is None else found


def _distinct(ar: np.ndarray, return_inverse: Any = False, return_counts: Any = False) -> Any:
    """The numbers and what else is asked for, or None."""
    if type(return_inverse) is not bool or type(return_counts) is not bool:
        return None
    least, greatest = int(ar.min()), int(ar.max())
    if greatest - least >= min(ar.size, WIDEST):
        return None
    places = np.subtract(ar.reshape(-1), least, dtype=np.intp)
    counts = np.bincount(places)
    present = np.flatnonzero(counts)
    numbers = np.add(present, least).astype(ar.dtype)
    found = [numbers]
    if return_inverse:
        ranks = np.empty(len(counts), np.intp)
        ranks[present] = np.arange(len(present))
        found.append(ranks[places].reshape(ar.shape))
    if return_counts:
        found.append(counts[present])
    return numbers if len(found) == 1 else tuple(found)


@cache
def _agrees(dtype: np.dtype) -> bool:
    """Whether it gives what this NumPy gives."""
    try:
        return bool(run_strictly("ignore", _is_the_same, dtype))
    except Exception as error:  # noqa: BLE001  NumPy's function is used, whatever it raises
        signals.pass_on(error)
        return False


def _is_the_same(dtype: np.dtype) -> bool:
    x = (20 + 9 * np.sin(17.3 * np.arange(1, 61) ** 2)).astype(dtype)
    for a in (x, x.reshape(5, 12), x.reshape(12, 5).T):
        for names in (
            (),
            ("return_inverse",),
            ("return_counts",),
            ("return_inverse", "return_counts"),
        ):
            given: dict[str, Any] = dict.fromkeys(names, True)
            wanted, found = np.unique(a, **given), _distinct(a, **given)
            if type(wanted) is not type(found) or len(wanted) != len(found):
                return False
            pairs = zip(wanted, found, strict=True) if names else [(wanted, found)]
            if not all(_is_same_array(one, other) for one, other in pairs):
                return False
    return True


def _is_same_array(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.strides == other.strides
        and one.flags.owndata == other.flags.owndata
        and one.tobytes() == other.tobytes()
    )
