"""Unmodified eager CuPy on the CPU against NumPy, in three orders of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tests.support import cupy_host
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS

RNG = np.random.default_rng(0)
A = RNG.normal(size=(33, 17))
I = RNG.integers(-9, 9, (33, 17))  # noqa: E741 - integers
LONG = RNG.integers(-9, 9, 3000)
B = RNG.normal(size=(3, 40, 5))
HALF = RNG.integers(-20, 20, (33, 17)).astype("f2") / 4
C = (RNG.normal(size=(9, 5)) + 1j * RNG.normal(size=(9, 5))).astype("c16")


def stored(xp: Any) -> Any:
    a = xp.asarray(A).copy()
    a[a > 0] = -1
    a[::2, 3] = 7
    a[xp.asarray([1, 2]), 0] = 9
    a[4] = xp.asarray(A)[5]
    a[:, ::-2] += 1
    return a


def added_at(xp: Any) -> Any:
    a = xp.zeros(4)
    xp.add.at(a, xp.asarray([1, 1, 2]), 1.0)
    return a


def softmax(xp: Any) -> Any:
    e = xp.exp(xp.asarray(A) - xp.asarray(A).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# What is computed with `cupy` and with `numpy`, and to the bit.
# fmt: off
EXACT: dict[str, Callable[[Any], Any]] = {
    "creation": lambda xp: (xp.zeros((2, 3)), xp.ones(3, "i2"), xp.full((2, 2), 7.5), xp.arange(2, 9, 3), xp.eye(3), xp.tri(3)),
    "copies": lambda xp: (xp.asarray(A).T.copy(), xp.asarray(A)[::-2].copy(), xp.ascontiguousarray(xp.asarray(A).T)),
    "conversions": lambda xp: (xp.asarray(A).astype("f4"), xp.asarray(A).astype("i4"), xp.asarray(I).astype("f2"), xp.asarray(I).astype("c8")),
    "arithmetic": lambda xp: (xp.asarray(A) + 2, 1 / xp.asarray(A), -xp.asarray(I) * 3, xp.asarray(A) - xp.asarray(I)),
    "powers": lambda xp: (xp.asarray(A) ** 2, abs(xp.asarray(A)) ** 0.5),
    "broadcasting": lambda xp: (xp.asarray(A) + xp.asarray(A)[0], xp.asarray(A)[:, :1] * xp.asarray(A)[3], xp.asarray(B) - xp.asarray(B)[0, :, :1]),
    "comparisons": lambda xp: (xp.asarray(A) > 0, xp.asarray(I) == 3, (xp.asarray(A) > 0) & (xp.asarray(I) < 2)),
    "integer sums": lambda xp: (xp.asarray(I).sum(), xp.asarray(I).sum(axis=0), xp.asarray(I).sum(axis=-1), xp.asarray(LONG).sum()),
    "integer products": lambda xp: (xp.asarray(I).prod(), xp.asarray(I).prod(axis=0), xp.asarray(I).prod(axis=-1)),
    "extremes": lambda xp: (xp.asarray(A).min(), xp.asarray(A).max(axis=0), xp.asarray(B).min(axis=(0, 2)), xp.asarray(A).max(axis=-1, keepdims=True)),
    "places of extremes": lambda xp: (xp.asarray(A).argmax(), xp.asarray(A).argmin(axis=0), xp.asarray(A).argmax(axis=-1)),
    "any and all": lambda xp: (xp.asarray(I).any(), xp.asarray(I).all(axis=0), xp.asarray(I).any(axis=-1)),
    "where": lambda xp: (xp.where(xp.asarray(A) > 0, xp.asarray(A), 0), xp.where(xp.asarray(I) > 2)),
    "masks": lambda xp: (xp.asarray(A)[xp.asarray(A) > 0], xp.asarray(A)[xp.asarray(A)[:, 0] > 0], xp.nonzero(xp.asarray(I))),
    "take": lambda xp: (xp.asarray(A)[xp.asarray([3, -1])], xp.take(xp.asarray(A), xp.asarray([3, 1]), axis=1)),
    "stores": stored,
    "add.at": added_at,
    "scans": lambda xp: (xp.cumsum(xp.asarray(LONG)), xp.cumsum(xp.asarray(I), axis=0), xp.cumprod(xp.asarray(I[:5]), axis=1)),
    "joining": lambda xp: (xp.concatenate([xp.asarray(A), xp.ones((2, 17))]), xp.stack([xp.asarray(A), xp.asarray(A)], axis=1), xp.tile(xp.asarray(I), (1, 2))),
    "moving": lambda xp: (xp.roll(xp.asarray(A), 3, 0), xp.flip(xp.asarray(A), 1), xp.asarray(B).transpose(2, 0, 1).reshape(15, 40)),
    "differences": lambda xp: (xp.diff(xp.asarray(A), axis=0), xp.clip(xp.asarray(A), -1, 1), xp.bincount(abs(xp.asarray(I)).ravel())),
    "complex": lambda xp: (xp.asarray(C) + 1, xp.asarray(C).conj(), xp.asarray(C).real * 2, xp.asarray(C).imag.copy()),
    "half": lambda xp: (xp.asarray(HALF) + xp.asarray(HALF), xp.asarray(HALF) * 3, xp.asarray(HALF).max(axis=0)),
    "sorting": lambda xp: (xp.sort(xp.asarray(A), axis=0), xp.argsort(xp.asarray(A)), xp.lexsort(xp.asarray(A[:, :9])), xp.unique(xp.asarray(I)), xp.median(xp.asarray(A), axis=1)),
    "fortran": lambda xp: (xp.asfortranarray(xp.asarray(A)) + 1, xp.asfortranarray(xp.asarray(I)).T.copy()),
    "integer products of matrices": lambda xp: (xp.asarray(I) @ xp.asarray(I).T, xp.dot(xp.asarray(I)[0], xp.asarray(I)[1])),
    "0-d and empty": lambda xp: (xp.asarray(2.5) + 1, xp.zeros((0, 3)).sum(axis=0), xp.zeros((3, 0)) + 1),
}
CLOSE: dict[str, Callable[[Any], Any]] = {
    "sums": lambda xp: (xp.asarray(A).sum(), xp.asarray(A).sum(axis=0), xp.asarray(A).sum(axis=-1), xp.asarray(B).sum(axis=(0, 2))),
    "means": lambda xp: (xp.asarray(A).mean(), xp.asarray(A).mean(axis=0), xp.asarray(A).var(axis=1), xp.asarray(A).std()),
    "functions": lambda xp: (xp.exp(xp.asarray(A)), xp.sin(xp.asarray(A)), xp.tanh(xp.asarray(A)), xp.log(abs(xp.asarray(A))), xp.hypot(xp.asarray(A), 2.0)),
    "softmax": softmax,
    "complex": lambda xp: (xp.asarray(C) * xp.asarray(C), xp.asarray(C) / (2 + 1j), abs(xp.asarray(C)), xp.exp(xp.asarray(C)), xp.asarray(C).sum(axis=0)),
    "half": lambda xp: (xp.asarray(HALF).sum(axis=0), xp.asarray(HALF).mean(axis=-1)),
    "products of matrices": lambda xp: (xp.asarray(A) @ xp.asarray(A).T, xp.asarray(C).T.conj() @ xp.asarray(C), xp.matmul(xp.asarray(B), xp.asarray(B).swapaxes(1, 2)), xp.asarray(B) @ xp.ones((1, 5, 2))),
    "ranges": lambda xp: (xp.linspace(0, 1, 7), xp.interp(xp.asarray([0.5, 1.5]), xp.arange(4.0), xp.arange(4.0) ** 2)),
}
# fmt: on


def evaluated(host: Host, function: Callable[[Any], Any], xp: Any) -> list[np.ndarray]:
    """The results as NumPy arrays."""
    result = function(xp)
    return [
        value.get() if isinstance(value, host.cupy.ndarray) else np.asarray(value)
        for row in (result if isinstance(result, tuple) else (result,))
        for value in (row if isinstance(row, tuple) else (row,))
    ]


@pytest.fixture(scope="module", autouse=True)
def _compiled_together() -> None:
    """Compile what the cases need, many kernels in one unit: a first round, in which new kernels are not run."""
    if cupy_host.why_not() is not None:
        return
    host = cupy_host.install()
    for _ in range(2):  # where Python reads a result, the first round may end early
        with host.compiler.gathering():
            for function in (*EXACT.values(), *CLOSE.values()):
                with suppress(Exception):
                    evaluated(host, function, host.cupy)


def in_each_order(host: Host, function: Callable[[Any], Any]) -> Iterator[list[np.ndarray]]:
    """The results in each order of threads."""
    for order in ORDERS:
        with host.driver.running(order, seed=11):
            yield evaluated(host, function, host.cupy)


@pytest.mark.parametrize("name", EXACT)
def test_eager_is_numpy_to_the_bit(host: Host, name: str) -> None:
    """What IEEE or integers define has NumPy's bits, in every order of threads."""
    wanted = evaluated(host, EXACT[name], np)
    for results in in_each_order(host, EXACT[name]):
        for result, want in zip(results, wanted, strict=True):
            assert (result.dtype, result.shape) == (want.dtype, want.shape)
            assert result.tobytes() == want.tobytes()


@pytest.mark.parametrize("name", CLOSE)
def test_eager_is_close_to_numpy(host: Host, name: str) -> None:
    """What CuPy computes in another way has the same bits in every order of threads, and is near NumPy's."""
    wanted = evaluated(host, CLOSE[name], np)
    first, *others = in_each_order(host, CLOSE[name])
    for results in others:
        assert [result.tobytes() for result in results] == [result.tobytes() for result in first]
    for result, want in zip(first, wanted, strict=True):
        assert (result.dtype, result.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(
            result, want, rtol=2e-2 if want.dtype == "f2" else 1e-11, atol=1e-12
        )


@pytest.mark.parametrize("name", EXACT)
def test_eager_waits_where_it_must(host: Host, name: str) -> None:
    """Kernels and copies that run as late as CUDA allows change nothing."""
    wanted = evaluated(host, EXACT[name], np)
    with host.device.working_late():
        results = evaluated(host, EXACT[name], host.cupy)
    assert [result.tobytes() for result in results] == [want.tobytes() for want in wanted]


def test_users_kernels(host: Host) -> None:
    """`fuse`, elementwise and reduction kernels of the user's run."""
    cupy = host.cupy

    @cupy.fuse()
    def norm(x: Any, y: Any) -> Any:
        return cupy.sqrt(x * x + y * y)

    x = cupy.arange(5.0)
    assert norm(x, x).get().tolist() == np.sqrt(2 * np.arange(5.0) ** 2).tolist()
    next_to = cupy.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[i ^ 1]", "next_to")
    assert next_to(x[:4], x).get().tolist() == [1, 1, 5, 5]
    squares = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
    assert squares(x) == 30
    assert squares(cupy.arange(600.0).reshape(2, 300), axis=1).get().tolist() == [
        (np.arange(300.0) ** 2).sum(),
        (np.arange(300.0, 600) ** 2).sum(),
    ]


def test_compiled_kernels_are_kept(host: Host) -> None:
    """A text is compiled once, for this process and the next."""
    x = host.cupy.arange(3.0)
    (x * x + x).get()
    host.cupy.clear_memo()
    with host.device.counting() as counts:
        (x * x + x).get()
    assert counts["compile"] == 0
    assert counts["launch"] == 2


def test_mixed_arguments_are_refused(host: Host) -> None:
    """A NumPy array beside a CuPy one raises CuPy's error."""
    with pytest.raises(TypeError, match="Unsupported type"):
        host.cupy.arange(3) + np.arange(3)
