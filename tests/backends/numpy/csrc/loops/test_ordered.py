"""Medians, quantiles and sorted rows whose elements C finds by rank: NumPy's bits, warnings and errors."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles, ordered

pytestmark = pytest.mark.any_python


def along_axes(x):
    return (
        np.median(x, axis=0), np.median(x, -1), np.median(x, axis=1, keepdims=True), np.median(x, keepdims=True), np.median(x),
        np.percentile(x, 90, axis=0), np.percentile(x, [10, 50.0, 99.5], axis=-1), np.quantile(x, 0.3, 1, keepdims=True),
        np.quantile(x, (0, 0.25, 1.0), axis=0, keepdims=True), np.quantile(x, 1, axis=0), np.percentile(x, np.array([5.0, 95]), 0),
        np.percentile(x, 25), np.quantile(x, [0.5, 0.5, 0.1]), np.percentile(x, [75, 25], keepdims=True),
        np.sort(x), np.sort(x, axis=1), np.sort(x, 0), np.median(x, axis=(0, 1)),
    )  # fmt: skip


def of_others(x):
    return (
        np.median(x.T, axis=0), np.median(x[::2, ::-1], axis=1), np.percentile(x.T, [20, 30], axis=1), np.sort(x.T, axis=1),
        np.percentile(x, 50, method="lower", axis=1), np.median(np.stack([x, x + 1]), axis=1), np.sort(x, kind="stable"),
        np.quantile(x.T, [0.1, 0.9], axis=0), np.median(x.ravel()), np.percentile(x.ravel(), [1, 2.5]),
    )  # fmt: skip


def failing(x):
    return np.percentile(x, 101, axis=0)


def falling_out(x):
    return np.median(x, axis=2)


KINDS = {
    "ordinary": lambda rng, shape: rng.normal(size=shape) * 50,
    "few values": lambda rng, shape: rng.integers(-2, 3, shape) + 0.0,
    "zeros of both signs": lambda rng, shape: rng.choice([0.0, -0.0, 1], shape),
    "a NaN": lambda rng, shape: np.where(rng.random(shape) < 0.02, np.nan, rng.normal(size=shape)),
    "infinities": lambda rng, shape: rng.choice([np.inf, -np.inf, 1.0, 2.0], shape),
    "very large": lambda rng, shape: rng.normal(size=shape) * 1e308,
    "very small": lambda rng, shape: np.abs(rng.normal(size=shape)) * 1e-310,
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_bits_are_numpys(kind: str, dtype: str) -> None:
    """Of rows short and long, with all kinds of numbers."""
    if dtype[0] != "f" and kind not in ("ordinary", "few values"):
        return
    functions = along_axes, of_others, failing, falling_out
    compiled = [ufuse.compile(function) for function in functions]
    rng = np.random.default_rng(1)
    for shape in ((40, 9), (2, 300), (300, 1), (20, 65), (3, 3), (0, 4)):
        x = KINDS[kind](rng, shape).astype(dtype)
        for function, ours in zip(functions, compiled, strict=True):
            check_same(function, ours, lambda: (x.copy(),))  # noqa: B023 (called at once)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_elements_of_each_rank(dtype: str) -> None:
    """Of rows that are sorted by a network, parted by pivots, and sampled first; in any order before."""
    rng = np.random.default_rng(2)
    for length in (1, 2, 3, 16, 33, 64, 65, 200, 1001, 5000):
        for kind in range(5):
            x = rng.normal(size=(17 if length < 100 else 2, length)) * 100
            x = (x, np.round(x / 50) + 0.0, np.sort(x), -np.sort(-x), np.where(x > 0, 3, x))[kind]
            x = (x.astype(dtype) + np.zeros(1, dtype)).astype(dtype)
            ranks = tuple(
                sorted({0, length // 2, max(length // 2 - 1, 0), length // 3, length - 1})
            )
            wanted = np.sort(x)[:, list(ranks)].T
            assert _tiles.selected(x, ranks).tobytes() == wanted.tobytes()


def test_it_is_used() -> None:
    """Where numbers of equal value have equal bits; what is not, NumPy does."""
    x = np.random.default_rng(0).random((40, 10))
    assert _tiles.sorted_rows(x).tobytes() == np.sort(x).tobytes()
    assert ordered._median(x, 1).tobytes() == np.median(x, 1).tobytes()
    assert ordered._quantile("numpy.quantile", x, 0.2) == np.quantile(x, 0.2)
    for other in (-0.0, np.nan):
        odd = x.copy()
        odd[3, 3] = other
        assert _tiles.sorted_rows(odd) is None
        assert _tiles.selected(odd, (3,)) is None
    for array in (x.T, x[:0], x.astype(complex), [1.0], np.float64(1)):
        assert _tiles.selected(array, (0,)) is None
    for ranks in ((10,), (-1,), (2, 2), (3, 1)):
        with pytest.raises(ValueError, match="ranks rise"):
            _tiles.selected(x, ranks)
