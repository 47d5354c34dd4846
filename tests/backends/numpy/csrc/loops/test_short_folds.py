"""Rows of a few elements are folded in C: with NumPy's bits and warnings, whatever the numbers are."""

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

SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45, 1.0)


def folds(x, y):
    d = x[:, None, :] - y
    return (
        (d * 2).sum(axis=2), (d + 1).max(axis=-1), (-d).min(axis=-1), d.mean(-1), (d * 0).max(axis=2), (d - d).sum(2),
        (x + x).sum(axis=1, keepdims=True) + x, (x * 3).max(1), np.abs(x).min(axis=1), (x[:, ::-1] - 1).sum(1),
        (x[:, ::2] * 1).max(1), (x.T[:, ::3] + 1).sum(axis=0), (x - 1).sum(axis=1, initial=-0.0), (x > 0).sum(axis=1),
        (x > 0).any(axis=1), (x > y[:1]).all(axis=1, keepdims=True), (x[:, ::-2] * 1).min(1), (x[:, ::3] + 1).sum(axis=1),
    )  # fmt: skip


def argument(width: int, dtype: str, kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two tables with rows of `width` elements."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(60, width)) * 1e4, rng.normal(size=(5, width)) * 1e4
    if kind == "special":
        x.flat[rng.integers(0, x.size, 40)] = rng.choice(SPECIAL, 40)
        y.flat[0] = np.nan
    elif kind == "zeros":
        x, y = x.round(-5) * rng.choice([1, -1], x.shape), y.round(-5)
    return x.astype(dtype), y.astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("width", [1, 3, 6, 13, 63, 127, 130])
def test_bits(dtype: str, width: int) -> None:
    """Sums, largest and least of rows, of every width around the limit."""
    compiled: Any = ufuse.compile(folds)
    for kind in ("plain", "special", "zeros"):
        if kind == "special" and dtype[0] not in "fc":
            continue
        for seed in range(2):
            check_same(folds, compiled, lambda: argument(width, dtype, kind, seed))  # noqa: B023 (called at once)


def loop(x, steps):
    total = np.zeros((len(x), 1))
    for k in range(steps):
        y = (x * k).sum(axis=1)
        total[:, 0] += y * 0.5
    return total


@pytest.mark.parametrize("width", [1, 3, 7, 13])
def test_loops(width: int) -> None:
    """The same in native loops."""
    compiled: Any = ufuse.compile(loop)
    for kind in ("plain", "special", "zeros"):
        check_same(loop, compiled, lambda: (argument(width, "f8", kind)[0], 60))  # noqa: B023 (called at once)


def columns(x, z):
    return (
        x.sum(axis=0), x.mean(axis=0), x.max(0), x.min(axis=0, keepdims=True), x - x.mean(axis=0), x.std(axis=0),
        (x * x).sum(0), z.sum(axis=(0, 1)), z.mean(axis=(0, 1)), z.max((0, 1), keepdims=True), z.sum(axis=0), z.min(axis=-1),
        z.sum(axis=2, keepdims=True), x.sum(axis=1), x.prod(axis=0), np.add.reduce(x), np.maximum.reduce(z, axis=2), z.sum((1, 2)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("width", [1, 3, 8, 23, 64])
@pytest.mark.filterwarnings("ignore")
def test_columns(dtype: str, width: int) -> None:
    """Few columns, of arrays that are small and that are not; along several axes, too."""
    compiled: Any = ufuse.compile(columns)
    rng = np.random.default_rng(width)
    for rows in (1, 6, 5000):
        x = rng.normal(size=(rows, width)) * np.exp(rng.normal(size=(rows, width)) * 3) * 30
        z = (x + 1).reshape(rows, 1, width) + rng.normal(size=(1, 4, 1))
        for kind in ("plain", "zeros", "special"):
            if kind == "zeros":
                x, z = x.round(-2), -np.abs(z.round(-3))
            if kind == "special":
                if dtype[0] != "f":
                    continue
                x.flat[:: max(x.size // 3, 1)] = rng.choice(
                    SPECIAL, x.flat[:: max(x.size // 3, 1)].shape
                )
                z.flat[-1] = np.nan
            check_same(columns, compiled, lambda: (x.astype(dtype), z.astype(dtype)))  # noqa: B023 (called at once)


def held(x):
    return x.any(axis=1), x.all(axis=1), x[:, ::2].any(axis=-1), x.any(axis=0), (~x).all(axis=1)


@pytest.mark.parametrize("width", [2, 7, 8, 19, 63, 64])
def test_bools(width: int) -> None:
    """Whether any or all hold; also where what holds is not 1."""
    compiled: Any = ufuse.compile(held)
    rng = np.random.default_rng(width)
    for most, share in ((2, 0.1), (2, 0.9), (256, 0.5)):
        x = np.where(rng.random((70, width)) < share, rng.integers(1, most, (70, width)), 0)
        check_same(held, compiled, lambda: (x.astype(np.uint8).view(bool),))  # noqa: B023 (called at once)
