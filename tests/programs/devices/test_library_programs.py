"""Programs with reductions of floats, which CuPy has CUB fold where it can: to the bit, with what is around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.captured import values
from tests.support.devices.comparing import same

SHAPES = (
    (3, 5),
    (4, 33),
    (2, 512),
    (5, 700),
    (1, 4100),
    (33, 1),
    (4, 3, 17),
    (2, 2, 4096),
    (0, 5),
    (5, 0),
    (3, 0, 2),
)


def log_softmax(x: Any, y: Any) -> Any:
    """Two folds of rows, one behind the other."""
    z = x - x.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def root_mean_square(x: Any, y: Any) -> Any:
    """A mean that rows are divided by."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * y


def cosine(x: Any, y: Any) -> Any:
    """Three sums of rows."""
    return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


def loss(x: Any, y: Any) -> Any:
    """Means and sums of everything."""
    difference = x - y
    return (difference * difference).mean(), abs(difference).sum(), difference


def scaled(x: Any, y: Any) -> Any:
    """What needs two extremes of everything first."""
    low, high = x.min(), x.max()
    z = (x - low) / (high - low)
    return z, z.mean(), (z * y).max(axis=-1)


def along_axes(x: Any, y: Any) -> Any:
    """Each axis and several, of what is computed and of what is given."""
    z = x * y + 1
    axes: list[Any] = [0, -1, tuple(range(x.ndim)), tuple(range(1, x.ndim)), (0, x.ndim - 1)]
    return tuple(
        getattr(one, name)(axis=axis) for axis in axes for one in (z, y) for name in ("sum", "mean")
    )


def extremes_along_axes(x: Any, y: Any) -> Any:
    """The same of extremes, with axes kept."""
    z = x - y
    return tuple(
        getattr(z, name)(axis=axis, keepdims=True)
        for axis in (None, 0, -1, tuple(range(1, x.ndim)))
        for name in ("max", "min")
    )


def in_dtypes(x: Any, y: Any) -> Any:
    """Sums in another precision than that of what is summed, and in the same."""
    z = x * 2
    return (
        z.sum(dtype="d"),
        z.sum(axis=-1, dtype="f"),
        z.mean(axis=-1, dtype="d"),
        y.mean(dtype="f"),
    )


def into_results(x: Any, y: Any) -> Any:
    """Sums of what is computed and of what is given, put into memory that is there."""
    total, rows = x.sum() * 0, y.max(axis=-1) * 0
    (x * 2).sum(out=total)
    (x + y).sum(axis=-1, out=rows)
    y.sum(axis=-1, out=rows[...])
    return total, rows


def behind_stores(x: Any, y: Any) -> Any:
    """Of what a store has changed, and a store of what was folded."""
    z = x * 1
    z -= z.mean(axis=-1, keepdims=True)
    y[...] = y / (abs(z).sum(axis=-1, keepdims=True) + 1)
    return z.sum(axis=-1), y.max(), z


def views(x: Any, y: Any) -> Any:
    """Of views of what is computed and of what is given."""
    z = x + y
    return (
        z.T.sum(axis=0),
        z[..., ::-1].sum(axis=-1),
        z[1:].max(axis=-1),
        x[..., 1:].sum(axis=-1),
        z.ravel().sum(),
    )


def turns(x: Any, y: Any) -> Any:
    """A loop."""
    for _ in range(3):
        x = x / (abs(x).sum(axis=-1, keepdims=True) + 1) + y * 0.5
    return x, x.sum()


PROGRAMS: list[Callable[..., Any]] = [
    log_softmax, root_mean_square, cosine, loss, scaled, along_axes, extremes_along_axes, in_dtypes, into_results,
    behind_stores, views, turns,
]  # fmt: skip


def layouts(
    host: Host, shape: tuple[int, ...], dtype: str
) -> Iterator[Callable[[], tuple[Any, Any]]]:
    """What makes two arrays of a shape, in several orders and places of memory; special numbers in the first of them."""
    cp = host.cupy
    one, other = values(shape, dtype), values(shape, dtype)
    odd = one.copy()
    odd.ravel()[::7] = np.nan
    odd.ravel()[3::11] = -np.inf
    yield lambda: (cp.asarray(odd), cp.asarray(other))
    yield lambda: (cp.asarray(one), cp.asarray(other))
    yield lambda: (cp.asarray(one, order="F"), cp.asarray(other))
    yield lambda: (cp.asarray(one, order="F"), cp.asarray(other, order="F"))
    yield lambda: (cp.asarray(np.repeat(one, 2, axis=-1))[..., ::2], cp.asarray(other)[::-1])
    size = one.size
    flat = np.concatenate([[0], one.ravel()]).astype(dtype)
    yield lambda: (cp.asarray(flat)[1 : 1 + size].reshape(shape), cp.asarray(other))


def outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """The results and what has become of the arguments, or the exception."""
    try:
        made = function(*given)
    except (ValueError, TypeError) as error:
        return type(error), str(error)
    return (*(made if isinstance(made, tuple) else (made,)), *given)


def are_same(found: Any, wanted: Any) -> bool:
    """Whether two outcomes are."""
    if isinstance(wanted[0], type):
        return bool(found == wanted)
    return all(map(same, found, wanted))


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("function", PROGRAMS)
def test_a_program(host: Host, function: Callable[..., Any], dtype: str) -> None:
    """Of all shapes and layouts, at the first call, at the second and later."""
    compiled = ufuse.compile(function)
    for shape in SHAPES:
        for make in layouts(host, shape, dtype):
            wanted = outcome(function, make())
            for _ in range(2):
                assert are_same(outcome(compiled, make()), wanted), (shape, wanted)
    assert compiled.stats.hits
