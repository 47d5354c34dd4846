"""Sums, extremes and deviations of a vector's windows: C's have NumPy's bits, and its warnings."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles, windows

pytestmark = pytest.mark.any_python

SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e200, -1e308, 1e308, 5e-324)


def numbers(count: int) -> np.ndarray:
    """Of many sizes, none of them special."""
    rng = np.random.default_rng(count)
    return rng.normal(size=count) * np.exp(rng.normal(size=count) * 4)


@pytest.mark.parametrize("name", sorted(windows.FOLDS))
def test_bits(name: str) -> None:
    """NumPy's own, of every width and number of windows."""
    for rows in (4, 5, 7, 8, 31, 400):
        for width in (2, 3, 7, 8, 9, 15, 16, 17, 127, 128, 129, 136, 200, 257, 300, 700):
            vector = numbers(rows + width - 1)
            found = _tiles.window_fold(name, vector, width, 0)
            wanted = windows.FOLDS[name](sliding_window_view(vector, width), axis=1)
            assert found.tobytes() == wanted.tobytes()
            assert (found.dtype, found.shape, found.flags.num) == (
                wanted.dtype,
                wanted.shape,
                wanted.flags.num,
            )


@pytest.mark.parametrize("name", sorted(windows.FOLDS))
def test_what_is_left_to_numpy(name: str) -> None:
    """Few windows, gaps, other dtypes, what warns, NaN, and extremes that are zero."""
    vector = numbers(60)
    for one in (vector[:10], vector[::2], vector.astype("f4"), vector.reshape(6, 10), [1.0] * 60):
        assert _tiles.window_fold(name, one, 8, 0) is None
    for width in (0, 1, 58, 61, -3):
        assert _tiles.window_fold(name, vector, width, 0) is None
    assert _tiles.window_fold(name, vector, 8, 8) is None
    vector[30] = np.nan
    assert _tiles.window_fold(name, vector, 8, 0) is None
    vector[30:40] = 0.0
    assert (_tiles.window_fold(name, vector, 8, 0) is None) == name.endswith("imum")


def rolled(x, w):
    win = sliding_window_view(x, w)
    narrow = sliding_window_view(x[1:], 2)
    return (
        win.sum(axis=1), win.mean(axis=-1), win.std(axis=1), np.var(win, axis=1, ddof=1), win.max(1), win.min(axis=-1),
        np.std(win, axis=-1, ddof=w - 1), narrow.sum(1) / win.sum(1)[0], win.mean(axis=1, keepdims=True), win.sum(),
        win.std(axis=0), win.prod(axis=1), np.ptp(win, axis=1),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "strided", "special", "overflow"])
@pytest.mark.filterwarnings("ignore")
def test_programs(kind: str) -> None:
    """They give what plain NumPy does, with its warnings, whatever the numbers are."""
    compiled = ufuse.compile(rolled)

    def make(length: int, width: int) -> tuple[object, ...]:
        x = numbers(length)
        if kind == "special":
            x[:: max(length // 10, 1)][:10] = SPECIAL[: len(x[:: max(length // 10, 1)][:10])]
        elif kind == "overflow":
            x[length // 2] = 1e308
            x[length // 2 + 1] = 1.7e308
        elif kind == "strided":
            x = x[::-2]
        else:
            x = x.astype(kind)
        return x, width

    for length, width in ((40, 5), (40, 5), (200, 5), (41, 20), (400, 130), (12, 5), (40, 12)):
        check_same(rolled, compiled, lambda: make(length, width))  # noqa: B023


@pytest.mark.parametrize("policy", ["warn", "raise", "ignore"])
def test_error_states(policy: str) -> None:
    """What NumPy warns of, it warns of."""

    def spread(x):
        return sliding_window_view(x, 6).std(axis=1), sliding_window_view(x, 6).sum(axis=1)

    compiled = ufuse.compile(spread)
    for value in (1.0, 1e200, 1.7e308, np.inf):
        x = np.arange(30.0)
        x[12:14] = value
        with np.errstate(all=policy):
            check_same(spread, compiled, lambda: (x.copy(),))  # noqa: B023
