"""Sums, means and extremes of small windows (`x.reshape(h, 2, w, 2).max(axis=(1, 3))`): NumPy's bits and layouts."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same

pytestmark = pytest.mark.any_python

KINDS = ("plain", "zeros", "positive", "nan", "infinite")


def pooled(x):
    axes = (x.ndim - 3, x.ndim - 1)
    return (
        x.sum(axis=axes), x.max(axis=axes), x.min(axis=axes, keepdims=True), x.mean(axis=axes),
        (x * 2).max(axis=axes) - x.min(axis=axes), np.add.reduce(x, axis=axes[::-1], keepdims=True), x.prod(axis=axes),
    )  # fmt: skip


def windows(shape: tuple[int, ...], dtype: str, kind: str) -> np.ndarray:
    """An array of windows; of floating-point numbers of some kind."""
    rng = np.random.default_rng(sum(shape))
    x = (rng.normal(size=shape) * 1e3).astype(dtype)
    if dtype[0] != "f" or kind == "plain":
        return x
    if kind == "zeros":
        return rng.choice(np.array([0.0, -0.0, -1.0], dtype), shape)
    if kind == "positive":
        return np.maximum(x, 0)
    odd = rng.random(shape) < 0.2
    x[odd] = np.nan if kind == "nan" else np.inf
    x[rng.random(shape) < 0.1] *= -1
    if kind == "nan":  # of several bits
        bits = x.view(f"i{x.itemsize}")
        bits[odd] += rng.integers(0, 1000, odd.sum())
    return x


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8", "u1"])
@pytest.mark.parametrize(
    "shape",
    [(6, 2, 9, 2), (2, 3, 4, 5, 3), (4, 40, 4), (3, 5, 2, 7), (2, 2, 3, 8), (3, 2, 1, 2), (3, 2, 5, 1), (0, 2, 3, 2)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_windows(shape: tuple[int, ...], dtype: str) -> None:
    """Of all lengths, of which some are left to NumPy; numbers that are not ordinary, too."""
    compiled: Any = ufuse.compile(pooled)
    for kind in KINDS if dtype[0] == "f" else KINDS[:1]:
        check_same(pooled, compiled, lambda: (windows(shape, dtype, kind),), calls=3)  # noqa: B023 (called at once)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_extremes_of_many_short_rows(count: int, dtype: str) -> None:
    """Rows that are compared side by side; where one has NaN or is all zeros, as NumPy has it."""

    def extremes(x) -> Any:
        return x.max(axis=1), x.min(axis=-1), (x * 3).max(axis=1) + 1

    compiled: Any = ufuse.compile(extremes)
    for kind in KINDS:
        for rows in (5, 16, 1000):
            check_same(extremes, compiled, lambda: (windows((rows, count), dtype, kind),))  # noqa: B023 (called at once)
