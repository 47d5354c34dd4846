"""Places among sorted numbers that C finds: those that `np.searchsorted` and `np.digitize` give."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.any_python


def searched(a, v):
    return (
        np.searchsorted(a, v), np.searchsorted(a, v, side="right"), a.searchsorted(v), a.searchsorted(v, "right"),
        np.digitize(v, a), np.digitize(v, a, right=True), np.digitize(v * 2, a, False), np.searchsorted(a, v[::-1]),
        a[np.searchsorted(a, v.ravel(), "left") % len(a)], np.searchsorted(a, v, sorter=np.arange(len(a))),
    )  # fmt: skip


def failing(a, v):
    return np.searchsorted(a, v, side="middle")


def given(kind: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Sorted numbers, and some to be found among them."""
    rng = np.random.default_rng(len(kind))
    a = np.sort((rng.normal(size=20) * 30).round()).astype(dtype)
    v = (rng.normal(size=(30, 5)) * 40).round().astype(dtype)
    match kind:
        case "falling":
            a = a[::-1].copy()
        case "unsorted":
            a = rng.permutation(a)
        case "one":
            a = a[:1]
        case "more than values":
            v = v[0]
        case "values in order":
            v = np.sort(v.ravel())
        case "nan" if a.dtype.kind == "f":
            v[::3] = np.nan
            v[1, :4] = np.inf, -np.inf, 0.0, -0.0
        case "nan among" if a.dtype.kind == "f":
            a[-3:] = np.nan
    return a, v


KINDS = (
    "plain",
    "falling",
    "unsorted",
    "one",
    "more than values",
    "values in order",
    "nan",
    "nan among",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u2"])
def test_places(kind: str, dtype: str) -> None:
    """Of numbers of all types; what is not sorted as NumPy's own search ends."""
    for program in (searched, failing):
        check_same(program, ufuse.compile(program), lambda: given(kind, dtype))


def test_random_numbers() -> None:
    """Each place is NumPy's, where C gives one; that is where numbers are sorted, and values are not."""
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(1000):
        dtype = str(rng.choice(["f8", "f4", "i8", "i4"]))
        a = (rng.normal(size=rng.integers(1, 70)) * 10).round(int(rng.integers(3))).astype(dtype)
        v = (rng.normal(size=rng.integers(1, 200)) * 12).round(int(rng.integers(3))).astype(dtype)
        if rng.random() < 0.8:
            a.sort()
        for side in ("left", "right"):
            places: Any = _tiles.searched(a, v, side == "right")
            if places is not None:
                found += 1
                assert places.tobytes() == np.searchsorted(a, v, side=side).tobytes()
    assert found > 1000
    assert _tiles.searched(a, [1.0], False) is None


def interpolated(x, xp, fp):
    return (
        np.interp(x, xp, fp), np.interp(x.reshape(5, -1), xp, xp), np.interp(x, xp, fp, left=0.0), np.interp(x[::2], xp, fp),
        np.interp(np.sort(x), xp, fp), np.interp(x, xp, fp, period=3.0), np.interp(x, xp[:1], fp[:1]), np.interp(x * 2, xp, fp) + 1,
    )  # fmt: skip


def short_of_points(x, xp, fp):
    return np.interp(x, xp, fp[1:])


@pytest.mark.filterwarnings("ignore")
def test_interpolation() -> None:
    """Between points, on them and outside; of NaN, infinities and points that do not rise."""
    functions = interpolated, short_of_points
    compiled = [ufuse.compile(function) for function in functions]
    rng = np.random.default_rng(4)
    for kind in range(8):
        x, fp = rng.normal(size=150) * 3, rng.normal(size=12)
        xp = np.sort(rng.normal(size=12) * 2)
        match kind:
            case 1:
                x, xp = x.round(), xp.round()
            case 2:
                fp[::3] = np.inf, -np.inf, np.nan, np.inf
            case 3:
                x[::7], x[1::9], xp[-1] = np.nan, -np.inf, np.inf
            case 4:
                fp = np.where(fp > 0, 0.0, -0.0)
            case 5:
                xp = xp[::-1].copy()
            case 6:
                xp[5] = np.nan
            case 7:
                fp *= 1e308
        for function, ours in zip(functions, compiled, strict=True):
            check_same(function, ours, lambda: (x.copy(), xp.copy(), fp.copy()))  # noqa: B023 (called at once)
    assert _tiles.interpolated(rng.random(99), np.arange(3.0), np.arange(3.0)) is not None
