"""Medians and quantiles along axes, and sorted short rows: C finds elements by rank.

NumPy parts a copy of the array, element by element; `csrc/loops/ordered.c` looks at few elements more than once. What
its Python code makes of the elements found is made of them here by the same operations, and compared with NumPy's own
function before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.lean import SCALES, places_of, quantiles_of
from ufuse.graph import signals
from ufuse.graph.node import Node
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.calls import function_named

Function = Callable[..., Any]
FEWEST = 256  # elements: with fewer, what surrounds the search takes most of the time
# Dtypes, and those in which their elements are ordered.
DTYPES = {
    **{char: char for char in "dfil"},
    **dict.fromkeys("bBhH", "i"),
}


def ordered_function(node: Node) -> Function | None:
    """What gives NumPy's result of a call in less time; None: NumPy itself."""
    name, type_ = node.attributes["function"], node.inputs[0].type if node.inputs else None
    if (
        name not in FUNCTIONS
        or not isinstance(type_, ArrayType)
        or type_.dtype.char not in DTYPES
        or not type_.dtype.isnative
        or type_.scalar
        or not type_.ndim
        or type_.device
        or node.attributes["arguments"][:1] != (0,)
    ):
        return None
    own = function_named(name)
    function: Any = partial(_ordered, own, FUNCTIONS[name])
    function.__name__ = name.rpartition(".")[2]
    return function  # type: ignore[no-any-return]


def _ordered(own: Function, ours: Function, a: np.ndarray, *given: Any, **named: Any) -> Any:
    found = ours(a, *given, **named) if a.size >= FEWEST else None
    return own(a, *given, **named) if found is None else found


def _sorted(a: np.ndarray, axis: Any = -1, **named: Any) -> Any:
    if named or type(axis) is not int or axis not in (-1, a.ndim - 1) or a.dtype.char not in "dfil":
        return None
    return _tiles.sorted_rows(a)


def _median(a: np.ndarray, axis: Any = None, **named: Any) -> Any:
    return _reduced("numpy.median", a, None, axis, **named)


def _quantile(name: str, a: np.ndarray, q: Any, axis: Any = None, **named: Any) -> Any:
    return _reduced(name, a, q, axis, **named)


def _reduced(
    name: str, a: np.ndarray, q: Any, axis: Any, keepdims: Any = False, **named: Any
) -> Any:
    """What a statistic makes of the elements of some ranks, or None."""
    is_known = axis is None or (type(axis) is int and -a.ndim <= axis < a.ndim <= 2)
    if named or type(keepdims) is not bool or not is_known:
        return None
    if not _agrees(name, a.dtype, type(q) in (int, float)):
        return None
    return _statistic(name, a, q, axis, keepdims)


def _statistic(name: str, a: np.ndarray, q: Any, axis: int | None, keepdims: bool) -> Any:
    rows = a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1)
    length = rows.shape[-1]
    if not rows.size:
        return None
    finish: Function | None
    if name == "numpy.median":
        ranks, finish = ((length - 1) // 2, length // 2)[length % 2 :], _middle
    else:
        ranks, finish = _interpolation(q, SCALES[name], length)
    if finish is None:
        return None
    found = _tiles.selected(np.ascontiguousarray(rows, DTYPES[a.dtype.char]), ranks)
    if found is None:
        return None
    if axis not in (None, 0, -a.ndim):
        found = np.ascontiguousarray(found.T).T  # as NumPy's own lie, whose layout the result has
    try:
        with np.errstate(all="raise"):
            result = finish(found.astype(a.dtype, copy=False))
    except FloatingPointError:
        return None
    if keepdims:
        # fmt: off
        kept = tuple(np.newaxis if axis in (None, one, one - a.ndim) else slice(None) for one in range(a.ndim))
        # fmt: on
        result = result[(Ellipsis, *kept)]
    return result


def _middle(found: np.ndarray) -> Any:
    return np.mean(found, axis=0)


@lru_cache(maxsize=64)
def _known_interpolation(
    wanted: tuple[float, ...], is_one: bool, scale: int, length: int
) -> tuple[tuple[int, ...], Function | None]:
    quantiles = quantiles_of(wanted, scale)
    if quantiles is None:
        return (), None
    _, around, ranks = places_of(length, quantiles)
    low, high = (np.array([ranks.index(one[side]) for one in around]) for side in (0, 1))
    weights = np.array([weight for _, _, weight in around])
    if is_one:
        return ranks, partial(_between, int(low[0]), int(high[0]), float(weights[0]))
    return ranks, partial(_between, low, high, weights)


def _interpolation(q: Any, scale: int, length: int) -> tuple[tuple[int, ...], Function | None]:
    """The ranks around quantiles, and what makes these of the elements there; None: NumPy is to."""
    is_one = type(q) in (int, float)
    if type(q) is np.ndarray:
        q = q.tolist() if q.ndim == 1 and q.dtype.char in "dl" else None
    wanted = (q,) if is_one else tuple(q) if type(q) in (list, tuple) else ()
    if any(type(one) not in (int, float) for one in wanted):
        return (), None
    if scale == 1 and not any(type(one) is float for one in wanted):
        return (), None  # then NumPy picks elements, and computes nothing
    return _known_interpolation(wanted, is_one, scale, length)


def _between(low: Any, high: Any, weight: Any, found: np.ndarray) -> Any:
    if isinstance(weight, np.ndarray):
        weight = weight.reshape(weight.shape + (1,) * (found.ndim - 1))
    one, other = found[low], found[high]
    step = other - one
    result = np.asanyarray(np.add(one, step * weight))
    np.subtract(
        other, step * (1 - weight), out=result, where=weight >= 0.5,
        casting="unsafe", dtype=type(result.dtype),
    )  # fmt: skip
    return result[()] if result.ndim == 0 else result


# Comparison


@cache
def _agrees(name: str, dtype: np.dtype, is_one: bool) -> bool:
    """Whether it gives what this NumPy gives."""
    try:
        return bool(run_strictly("ignore", _is_the_same, name, dtype, is_one))
    except Exception as error:  # noqa: BLE001  NumPy's function is used, whatever it raises
        signals.pass_on(error)
        return False


def _is_the_same(name: str, dtype: np.dtype, is_one: bool) -> bool:
    own = function_named(name)
    x = (100 * np.sin(17.3 * np.arange(1, 41) ** 2)).astype(dtype).reshape(5, 8)
    scale = SCALES.get(name, 1)
    quantiles = (
        [part * scale for part in (0.1, 0.3, 0.37, 0.5, 0.77)]
        if is_one
        else [[part * scale for part in (0.1, 0.37, 0.5, 0.77, 1.0)]]
    )
    for q in quantiles if name in SCALES else [None]:
        for a in (x, x.T, x[:1], x[:, 1].copy()):
            for axis in (None, 0, a.ndim - 1):
                wanted = own(a, *[q] * (q is not None), axis=axis)
                found = _statistic(name, a, q, axis, keepdims=False)
                if (
                    type(wanted) is not type(found)
                    or wanted.dtype != found.dtype
                    or wanted.strides != found.strides
                    or wanted.tobytes() != found.tobytes()
                ):
                    return False
    return True


FUNCTIONS: dict[str, Function] = {
    "numpy.sort": _sorted,
    "numpy.median": _median,
    **{name: partial(_quantile, name) for name in SCALES},
}
