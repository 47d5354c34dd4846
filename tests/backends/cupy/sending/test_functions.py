"""NumPy's functions that are CuPy's on a GPU, on the test device; the reference is NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.sent import check, is_sent

RNG = np.random.default_rng(21)
A, B = RNG.normal(size=(2, 6, 7))
S = RNG.normal(size=(5, 5))
K = RNG.integers(0, 9, (6, 7))

SAME: dict[str, Callable[..., Any]] = {  # to the bit
    "sort": lambda x, y, s, k: (np.sort(x * 2, axis=0), np.sort(k * 2), np.sort(x, axis=None) + 1),
    "argsort": lambda x, y, s, k: (np.argsort(k * 2, axis=1, kind="stable"), (x * 2).argsort(axis=0, kind="stable")),
    "searchsorted": lambda x, y, s, k: np.searchsorted(np.sort(x[0]), y[0], side="right"),
    "digitize": lambda x, y, s, k: np.digitize(x * 2, [-1.0, 0.0, 1.0]),
    "unique": lambda x, y, s, k: np.unique(k * 2),
    "isin": lambda x, y, s, k: (np.isin(k * 2, [2, 4]), np.isin(k * 2, k[0], invert=True)),
    "scans of whole numbers": lambda x, y, s, k: (np.cumsum(k * 2, axis=0), (k + 1).cumprod(axis=1), np.cumsum(k + 0)),
    "bincount": lambda x, y, s, k: (np.bincount(k.ravel() * 2), np.bincount(k[0], minlength=12) + 1),
    "count_nonzero": lambda x, y, s, k: (np.count_nonzero(x > 0), np.count_nonzero(k * 2, axis=0)),
    "histogram": lambda x, y, s, k: np.histogram(x * 2, bins=9, range=(-1, 1)),
    "accumulate": lambda x, y, s, k: (np.add.accumulate(k * 2), np.multiply.accumulate(k + 1, axis=1)),
    "ptp": lambda x, y, s, k: (np.ptp(x * 2), np.ptp(k * 2, axis=0)),
    "extremes": lambda x, y, s, k: (np.nanmax(x * 2), np.nanmin(x * 2, axis=0), np.nanmax(y + 1, axis=1, keepdims=True)),
    "products of whole numbers": lambda x, y, s, k: (k @ k.T, np.dot(k, k[0] * 2), np.outer(k[0], k[1] * 2)),
    "outer": lambda x, y, s, k: (np.add.outer(x[0], y[1]), np.greater.outer(x, y[0]), np.tril(x) * 2, np.triu(y, 1)),
    "meshgrid": lambda x, y, s, k: [one * 2 for one in np.meshgrid(x[0], y[:, 0], indexing="ij")],
    "modf": lambda x, y, s, k: (np.modf(x * 3), np.frexp(x * 3)),
    "array": lambda x, y, s, k: (np.array([x.max(), y.min(), 2.0]) * 2, np.array([[x[0, 0], 1], [2, y[1, 1]]]) + 1),
    "flat": lambda x, y, s, k: ((x * 2).flatten(), x.T.flatten() + 1, (x.T * 2).ravel(), x.reshape(7, 6) * 2),
    "shifts": lambda x, y, s, k: np.fft.fftshift(x * 2, axes=1),
    "array_equal": lambda x, y, s, k: (np.array_equal(x * 2, x + x), np.array_equal(x * 2, y), x + 1),
    "select": lambda x, y, s, k: np.select([x > 1, y > 0], [x * 2, y * 3], 0.5),
}  # fmt: skip
NEAR: dict[str, Callable[..., Any]] = {
    "scans": lambda x, y, s, k: (np.cumsum(x * 2, axis=0), np.cumprod(x * 2, axis=1), np.cumsum(x)),
    "medians": lambda x, y, s, k: (np.median(x * 2), np.median(x, axis=0), np.median(k * 2, axis=1)),
    "quantiles": lambda x, y, s, k: (np.percentile(x * 2, 30), np.quantile(y, 0.3, axis=0), np.percentile(x, [5, 95])),
    "inner": lambda x, y, s, k: (np.inner(x, y), np.vdot(x, y), np.dot(x[0], y[0]), x.dot(y.T)),
    "einsum": lambda x, y, s, k: (np.einsum("ij,ij->i", x, y), np.einsum("ij,kj->ik", x, y)),
    "tensordot": lambda x, y, s, k: (np.tensordot(x, y, axes=([1], [1])), np.kron(s, s), np.cross(x[:, :3], y[:, :3])),
    "trace": lambda x, y, s, k: np.trace(s) * s,
    "convolutions": lambda x, y, s, k: (np.convolve(x[0], y[0, :3]), np.correlate(x[0], y[0, :3], mode="same")),
    "interp": lambda x, y, s, k: np.interp(x[0], np.sort(y[0]), y[1]),
    "gradients": lambda x, y, s, k: (np.gradient(x[0]), np.diff(x, axis=0), np.trapezoid(x[0])),
    "norms": lambda x, y, s, k: (np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(y, 1), np.linalg.norm(s, "fro")),
    "solvers": lambda x, y, s, k: (np.linalg.solve(s, s[0]), np.linalg.inv(s), np.linalg.det(s), np.linalg.slogdet(s)[1]),
    "symmetric": lambda x, y, s, k: (np.linalg.cholesky(s @ s.T), np.linalg.eigvalsh(s + s.T)),
    "covariance": lambda x, y, s, k: (np.cov(x), np.corrcoef(y)),
    "polynomials": lambda x, y, s, k: np.polyval([1.0, 2, 3], x),
    "averages": lambda x, y, s, k: (np.average(x, weights=y + 9), np.nanmean(x, axis=0), np.nanstd(y)),
    "transforms": lambda x, y, s, k: (np.fft.fft(x * 2), np.fft.rfft(x[0]), np.fft.ifft(np.fft.fft(x[0])).real, np.fft.fft2(y)),
    "spectrum": lambda x, y, s, k: np.abs(np.fft.rfft(x - x.mean(), axis=0)) ** 2,
    "low pass": lambda x, y, s, k: np.fft.irfft(np.fft.rfft(x, axis=1) * np.exp(-np.arange(4)), n=7, axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_same(host: Host, name: str) -> None:
    """What no order of additions can change has NumPy's bits, dtypes and strides."""
    assert is_sent(check(SAME[name], A, B, S, K))


@pytest.mark.parametrize("name", NEAR)
def test_near(host: Host, name: str) -> None:
    """Sums, products of matrices, solvers and transforms are near to NumPy's."""
    assert is_sent(check(NEAR[name], A, B, S, K, close=1e-9))


def test_where_numpy_raises(host: Host) -> None:
    """A matrix without an inverse, numbers below 0 that are counted: NumPy's error, by plain Python."""
    for function, right, wrong, error in (
        (lambda x: np.linalg.inv(x * 2), S, np.zeros((5, 5)), np.linalg.LinAlgError),
        (lambda x: np.linalg.cholesky(x + x.T), S @ S.T, -(S @ S.T), np.linalg.LinAlgError),
        (lambda x: np.bincount(x + 0), K[0], K[0] - 20, ValueError),
    ):
        compiled = ufuse.compile(function, backend="cupy")
        for _ in range(2):
            assert np.allclose(compiled(right), function(right))
        assert is_sent(compiled)
        for _ in range(2):
            with pytest.raises(error):
                compiled(wrong)
        assert np.allclose(compiled(right), function(right))


def test_histograms_leave_nan_out(host: Host) -> None:
    """What is no number, or outside, is in no bin; what is at an edge is in the one behind, at the last before."""
    for dtype in ("f8", "f4"):
        x = np.array([np.nan, 0, 0.1, 0.3, 0.7, 0.99, 1, 1.5, -2, np.inf, 0.6, 0.2], dtype)
        assert is_sent(check(lambda x: np.histogram(x + 0, bins=10, range=(0, 1)), x))
        grid = np.arange(-4, 20).astype(dtype) / dtype_of(dtype)(10)
        assert is_sent(check(lambda x: np.histogram(x * 1, 10, (0.0, 1.0)), grid))


def dtype_of(text: str) -> type[np.generic]:
    """The scalar type of a dtype."""
    return np.dtype(text).type


def test_single_precision(host: Host) -> None:
    """Results have NumPy's dtypes."""
    x, s = A.astype("f4"), S.astype("f4")
    for function in (
        lambda x, s: (np.median(x, axis=0), np.percentile(x, 30), np.cumsum(x, axis=1), x.mean(axis=0)),
        lambda x, s: (np.linalg.inv(s), np.linalg.norm(x, axis=0), np.fft.fft(x), np.interp(x[0], np.sort(x[1]), x[2])),
        lambda x, s: (np.einsum("ij,kj", x, x), np.trace(s), np.cov(x), x @ x.T, np.linalg.eigvalsh(s + s.T)),
    ):  # fmt: skip
        compiled = ufuse.compile(function, backend="cupy")
        for _ in range(2):
            for result, wanted in zip(compiled(x, s), function(x, s), strict=True):
                assert (type(result), result.dtype, result.shape) == (
                    type(wanted),
                    wanted.dtype,
                    wanted.shape,
                )
                assert np.allclose(result, wanted, 1e-4, 1e-4)
        assert compiled.stats.hits


def test_nothing_to_compute(host: Host) -> None:
    """Views and new arrays alone are the CPU's: what is sent would come back as it is."""
    for function in (lambda x: x.T[1:], lambda x: (x[0], np.zeros(3))):
        compiled = ufuse.compile(function, backend="cupy")
        for _ in range(2):
            compiled(A)
        assert not is_sent(compiled)
