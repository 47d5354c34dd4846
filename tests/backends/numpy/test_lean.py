"""Medians and quantiles of vectors: NumPy's bits in less time, or NumPy's own function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import lean

pytestmark = pytest.mark.any_python


def statistics(x: Any) -> Any:
    return np.median(x), np.percentile(x, 25), np.percentile(x, [5, 50.0, 95]), np.quantile(x, 0.9)


def ends(x: Any) -> Any:
    return np.quantile(x, [0, 1]), np.percentile(x, 100), np.quantile(x, (0.25, 0.5))


def others(x: Any) -> Any:
    return (
        np.median(x, axis=0), np.percentile(x, 50, method="lower"), np.quantile(x, np.array([0.5])), np.median(x[None], 1),
        np.percentile(x, [[10, 20], [30, 40]]),
    )  # fmt: skip


VECTORS = {
    "ordinary": lambda rng, n: rng.normal(size=n),
    "equal ones": lambda rng, n: np.round(rng.normal(size=n)),
    "zeros of both signs": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "a NaN": lambda rng, n: np.where(np.arange(n) == n // 2, np.nan, rng.normal(size=n)),
    "infinities": lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, -rng.normal(size=n)),
    "very large": lambda rng, n: rng.normal(size=n) * 1e308,
    "very small": lambda rng, n: rng.normal(size=n) * 1e-310,
    "whole numbers": lambda rng, n: rng.integers(-5, 5, n),
    "float32": lambda rng, n: rng.normal(size=n).astype("f4"),
    "every second": lambda rng, n: rng.normal(size=2 * n)[::2],
}


@pytest.mark.parametrize("function", [statistics, ends, others])
@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.filterwarnings("ignore")
def test_bits_are_numpys(function: Any, kind: str) -> None:
    """Warnings too, for vectors of all lengths; nothing has no median."""
    compiled = ufuse.compile(function)
    rng = np.random.default_rng(1)
    for length in (5, 4, 1, 2, 3, 17, 60, 0):
        x = VECTORS[kind](rng, length)
        check_same(function, compiled, lambda: (x,))  # noqa: B023


def test_what_gives_other_bits_is_not_used() -> None:
    """A version of NumPy that computes otherwise keeps its own function."""
    assert lean._checked(np.median, lean._median, ()) is lean._median
    assert lean._checked(np.median, lambda a: np.median(a) + 1.0, ()) is None
    assert lean._checked(np.median, lambda a: float(np.median(a)), ()) is None
    assert lean._checked(np.median, lambda a: 1 / 0, ()) is None


@pytest.mark.parametrize("mode", ["raise", "warn"])
@pytest.mark.filterwarnings("ignore")
def test_quantiles_near_zero(mode: Any) -> None:
    """NumPy divides by 100 in each call, and may warn of that."""

    def tiny(x: Any) -> Any:
        with np.errstate(all=mode):
            return np.percentile(x, 7e-320)

    compiled = ufuse.compile(tiny)
    for _ in range(3):
        check_same(tiny, compiled, lambda: (np.arange(5.0),))


def test_only_known_quantiles() -> None:
    """Others are left to NumPy, with its errors."""
    assert lean._quantile_function(np.percentile, 101.0, 100) is None
    assert lean._quantile_function(np.quantile, (), 1) is None

    def asked(x: Any, q: Any) -> Any:
        return np.percentile(x, q)

    compiled = ufuse.compile(asked)
    x = np.arange(9.0)
    for q in (10, 50.0, 99):
        assert compiled(x, q) == np.percentile(x, q)
    with pytest.raises(ValueError, match="range"):
        compiled(x, 101.0)
