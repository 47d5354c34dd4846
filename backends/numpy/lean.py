"""Medians and quantiles of vectors of float64, without what NumPy's Python code does around the partition.

That takes NumPy 20 to 50 µs for any array. Here the same method of the array parts it at the same places, or C finds
what lies there (`csrc/loops/ordered.c`), and the same operations follow on Python's floats. Before one is used it is
compared with NumPy's own function, as that changes from version to version; what is not ordinary (NaN, very large or
small numbers) is NumPy's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.graph import signals
from ufuse.graph.node import Node
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType

Function = Callable[..., Any]
LARGE, SMALL = 1e300, 1e-290  # beyond these a flag may be raised
MOST_WANTED = 16  # quantiles at once
LONG = 300  # elements: among so many C finds those of some ranks in less time than it takes to part them
LENGTHS = (1, 2, 3, 4, 5, 8, 13, 50, 301)
SCALES = {"numpy.percentile": 100, "numpy.quantile": 1}


def lean_function(node: Node) -> Function | None:
    """What gives NumPy's result of a call in less time; None: NumPy itself."""
    name, arguments = node.attributes["function"], node.attributes["arguments"]
    type_ = node.inputs[0].type if node.inputs else None
    if (
        node.attributes["keywords"]
        or len(node.inputs) != 1
        or not isinstance(type_, ArrayType)
        or (type_.dtype, type_.ndim, type_.device) != (np.dtype(float), 1, "")
    ):
        return None
    if name == "numpy.median" and arguments == (0,):
        return _median_function()
    if name in SCALES and len(arguments) == 2 and arguments[0] == 0:
        wanted = _constant(arguments[1])
        if wanted is not None:
            own = getattr(np, name.rpartition(".")[2])
            return _quantile_function(own, wanted, SCALES[name])
    return None


def _constant(spec: Any) -> float | tuple[float, ...] | None:
    """The quantiles that are asked for, where they are known: one, or some in a list or tuple."""
    match spec:
        case ("const", int() | float() as value) if type(value) is not bool:
            return value
        case ("const", list() | tuple() as values) if all(
            type(one) in (int, float) for one in values
        ):
            return tuple(values)
        case ("list" | "tuple", items):
            found = [_constant(item) for item in items]
            if all(isinstance(one, int | float) for one in found):
                return tuple(found)  # type: ignore[arg-type]
    return None


# Medians


@lru_cache(maxsize=1)
def _median_function() -> Function | None:
    return _checked(np.median, _median, ())


def _median(a: np.ndarray) -> Any:
    half, is_odd = divmod(len(a), 2)
    if not half and not is_odd:
        return np.median(a)
    ranks = (half,) if is_odd else (half - 1, half)
    item = _items(a, ranks)
    if item is None:
        parted = a.copy()
        parted.partition([*ranks, -1])
        item = parted.item
    total = 0.0 + item(ranks[0]) if is_odd else 0.0 + item(ranks[0]) + item(half)
    if not _is_ordinary(item(-1), total):
        return np.median(a)
    return np.float64(total if is_odd else total / 2)


def _items(a: np.ndarray, ranks: tuple[int, ...]) -> Callable[[int], float] | None:
    """What gives the elements of these ranks in a long vector, and for -1 a number, as there is no NaN; else None."""
    if len(a) < LONG:
        return None
    found = _tiles.selected(np.ascontiguousarray(a), ranks)
    if found is None:
        return None
    known = dict(zip(ranks, found.tolist(), strict=True))
    return lambda rank: known.get(rank, 0.0)


def _is_ordinary(*numbers: float) -> bool:
    return all(SMALL < abs(one) < LARGE or one == 0 for one in numbers)


# Quantiles


class Places(NamedTuple):
    """For vectors of one length: where they are parted, and the places around each quantile, with its distance."""

    parts: np.ndarray
    around: tuple[tuple[int, int, float], ...]
    ranks: tuple[int, ...]


def quantiles_of(numbers: tuple[float, ...], scale: int) -> np.ndarray | None:
    """Quantiles from 0 to 1, of numbers up to `scale`; None where they are not ordinary."""
    if not 1 <= len(numbers) <= MOST_WANTED or not all(0 <= one <= scale for one in numbers):
        return None
    if any(math.copysign(1, one) < 0 for one in numbers):
        return None  # -0.0, which finds what is kept for 0.0, and gives other zeros
    try:
        return run_strictly("raise", np.true_divide, np.array(numbers, float), scale)  # type: ignore[no-any-return]
    except ArithmeticError:
        return None


def places_of(length: int, quantiles: np.ndarray) -> Places:
    """The places for vectors of one length."""
    virtual = (length - 1) * quantiles
    before = np.floor(virtual)
    behind = before + 1
    is_last = virtual >= length - 1
    before[is_last] = behind[is_last] = -1
    gamma = virtual - before.astype(np.intp)
    pairs = before.astype(np.intp), behind.astype(np.intp)
    parts = np.unique(np.concatenate(([0, -1], *pairs)))
    around = zip(*((pair % length).tolist() for pair in pairs), gamma.tolist(), strict=True)
    ranks = sorted({rank % length for pair in pairs for rank in pair.tolist()})
    return Places(parts, tuple(around), tuple(ranks))


@lru_cache(maxsize=256)
def _quantile_function(
    own: Function, wanted: float | tuple[float, ...], scale: int
) -> Function | None:
    """The quantiles of a vector; they are constants, and which they are is the second argument, too."""
    numbers = wanted if isinstance(wanted, tuple) else (wanted,)
    quantiles = quantiles_of(numbers, scale)
    if quantiles is None:
        return None
    places = lru_cache(maxsize=16)(lambda length: places_of(length, quantiles))
    is_one = not isinstance(wanted, tuple)

    def quantile(a: np.ndarray, given: Any) -> Any:
        if not len(a):
            return own(a, given)
        parts, around, ranks = places(len(a))
        item = _items(a, ranks)
        if item is None:
            parted = a.copy()
            parted.partition(parts)
            item = parted.item
        found = []
        if not _is_ordinary(item(-1)):
            return own(a, given)
        for before, behind, gamma in around:
            low, high = item(before), item(behind)
            step = high - low
            near, far = step * gamma, step * (1 - gamma)
            if not _is_ordinary(low, high, step, near, far):
                return own(a, given)
            found.append(high - far if gamma >= 0.5 else low + near)
        return np.float64(found[0]) if is_one else np.array(found)

    return _checked(own, quantile, (wanted if is_one else list(numbers),))


# Comparison


def _checked(own: Function, lean: Function, more: tuple[Any, ...]) -> Function | None:
    """The function, where it gives what NumPy's own gives, for vectors of all kinds."""
    try:
        return lean if run_strictly("ignore", _agree, own, lean, more) else None
    except Exception as error:  # noqa: BLE001  NumPy's function is used, whatever it raises
        signals.pass_on(error)
        return None


@lru_cache(maxsize=1)
def _vectors() -> Sequence[np.ndarray]:
    found = []
    for length in LENGTHS:
        x = 2 * np.sin(17.3 * np.arange(1, length + 1) ** 2)  # `np.random` takes 10 ms to import
        found += [x, np.round(x), np.where(x > 0, 0.0, -0.0), x * 1e200]
    return found


def _agree(own: Function, lean: Function, more: tuple[Any, ...]) -> bool:
    for x in _vectors():
        wanted, found = own(x, *more), lean(x, *more)
        if type(wanted) is not type(found) or wanted.tobytes() != found.tobytes():
            return False
        if isinstance(wanted, np.ndarray) and wanted.shape != found.shape:
            return False
    return math.isnan(lean(np.array([1.0, math.nan, 2.0]), *more).sum())
