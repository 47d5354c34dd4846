"""Every kind of kernel over arrays of every length and layout, in three orders of threads: eager CuPy's bits each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS

from .test_reductions import same

SIZES = (0, 1, 31, 33, 255, 257, 4099)
WIDTH = 3  # of the other axis
RNG = np.random.default_rng(31)


def mapped(cp: Any, x: Any, y: Any) -> Any:
    z = cp.maximum(x * y, 2) - x
    return z, (z > y) & (x != 1), (z + 0.5).astype("f4"), cp.where(x > y, z, x // 3)


def broadcast(cp: Any, x: Any, y: Any) -> Any:
    return x + y[:1], x[:, None] * y, x[..., :1] - y


def stored(cp: Any, x: Any, y: Any) -> Any:
    z = cp.zeros(y.shape, y.dtype)
    z[:] = x * 2
    z[1:] += y[1:]
    z[:, ::2] -= 1
    z[x > y] = 7
    return z, z[::-1] + 1


def by_rows(cp: Any, x: Any, y: Any) -> Any:
    z = x * 2 - y
    total = z.sum(axis=-1, keepdims=True)
    return total, z * total, (z > 1).any(axis=-1), (x & y).prod(axis=-1), (z - total).sum(axis=-1)


def total(cp: Any, x: Any, y: Any) -> Any:
    z = x * 3 - y
    return z.sum(), z, (z > 4).all(), (z == 1).sum(), (x | y).prod()


def by_columns(cp: Any, x: Any, y: Any) -> Any:
    z = x * 0.1 - y
    return z.sum(axis=0), z.prod(axis=0), z.mean(axis=0), z, (z > 0).sum(axis=0)


def along_each(cp: Any, x: Any, y: Any) -> Any:
    z = x * 0.25 + y
    return z.sum(axis=1), z.sum(), (z * 2).mean(axis=-1)


def called(cp: Any, x: Any, y: Any) -> Any:
    z = x * 2 + y
    few = z[:, :300]  # eager CuPy has a block of 512 threads for each sum
    return cp.cumsum(few, axis=0) + 1, z[abs(z.sum(axis=1)) % WIDTH] * 2, z.ravel() - 1


def picked(cp: Any, x: Any, y: Any) -> Any:
    i, few = (x[0] - 3) * 2, y[:, :9]  # by all of them, results would be lengths times lengths
    return x[few] * 2 - few[..., None], x[:, i] - y, y[x, i] + x, x.T[:, i[:9] % 2] - 1, y[0][i] * i


KINDS = (mapped, broadcast, stored, by_rows, total, by_columns, along_each, called, picked)
LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "C": lambda cp, x: x,
    "F": lambda cp, x: x.T.copy().T,
    "negative": lambda cp, x: x[::-1, ::-1],
    "zero": lambda cp, x: cp.broadcast_to(x[:1], x.shape),
    "zero inside": lambda cp, x: cp.broadcast_to(x[:, :1].copy(), x.shape) if x.size else x,
    "strided": lambda cp, x: cp.concatenate([x, x], axis=1).reshape(WIDTH, -1, 2)[..., 1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.__name__)
def test_a_kind(host: Host, kind: Callable[..., Any], layout: str) -> None:
    """Whole, and the same whichever thread is first."""
    cp = host.cupy
    compiled = ufuse.compile(kind)
    compiled.reset()
    cases = []
    for size in SIZES:
        given = [cp.asarray(RNG.integers(-9, 9, (WIDTH, size))) for _ in range(2)]
        x, y = (LAYOUTS[layout](cp, one) for one in given)
        cases += [(x, y), (x, given[1])][: 2 if size < 4099 else 1]
    with host.compiler.gathering():
        for one, other in cases:
            kind(cp, one, other)
            compiled(cp, one, other)
    for one, other in cases:
        wanted = kind(cp, one, other)
        compiled(cp, one, other)  # its kernels are compiled behind the first call
        for order in ORDERS:
            with host.driver.running(order):
                results = compiled(cp, one, other)
            for place, pair in enumerate(zip(results, wanted, strict=True)):
                assert same(*pair), (one.shape, order, place)
    assert compiled.stats.hits
    assert not compiled.breaks


def written(cp: Any, x: Any, y: Any) -> Any:
    before = x * 1
    x[:] = y * 2 - x
    x[1:] += y[:-1]
    x[::2, 1:] = x[::2, :-1] - 1
    x[y > x] = 3
    return before, x


@pytest.mark.parametrize("layout", ["C", "F", "negative", "strided"])
def test_arguments_are_written(host: Host, layout: str) -> None:
    """Of every layout in which elements lie apart; what is read behind the first write is what was written."""
    cp = host.cupy
    compiled = ufuse.compile(written)
    for size in SIZES:
        given, y = (cp.asarray(RNG.integers(-9, 9, (WIDTH, size))) for _ in range(2))
        first, plain = (LAYOUTS[layout](cp, given.copy()) for _ in range(2))
        wanted = written(cp, plain, y)
        compiled(cp, first, y)  # its kernels are compiled behind the first call
        for order in ORDERS:
            x = LAYOUTS[layout](cp, given.copy())
            with host.driver.running(order):
                results = compiled(cp, x, y)
            assert results[1] is x
            assert all(map(same, results, wanted)), (size, order)
    assert compiled.stats.hits
    assert not compiled.breaks
