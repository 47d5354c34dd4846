"""Every kind of kernel over arrays of every length and layout, in three orders of threads: eager CuPy's bits each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.comparing import same
from tests.support.devices.kinds import KINDS, WIDTH, written

SIZES = (0, 1, 31, 33, 255, 257, 4099)
RNG = np.random.default_rng(31)


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
