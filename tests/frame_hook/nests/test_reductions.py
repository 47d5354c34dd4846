"""Reductions of arrays in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.native_loops import native_turns


def changes(old, new, out):
    for t in range(len(out)):
        new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        out[t] = np.max(np.abs(new - old)) + new[1:-1, 1:-1].sum() + new.mean()
        old, new = new, old
    return old, out


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [5, 100])
def test_sums_and_maxima_of_grids(dtype, n) -> None:
    """Of a whole array, and of a window with more elements than NumPy's buffers have."""

    def make() -> tuple[np.ndarray, ...]:
        grid = np.random.default_rng(1).random((n, n)).astype(dtype)
        return grid, grid.copy(), np.zeros(300)

    assert native_turns(changes, make) > 200


def normalised(a, turns):
    for _ in range(turns):
        a /= a.sum(axis=1, keepdims=True)
        a /= a.sum(axis=0)
        a *= np.max(a, axis=-1)[:, None]
    return a, a.sum(axis=0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_along_an_axis(order) -> None:
    """Rows and columns, in either order of memory."""
    assert (
        native_turns(normalised, lambda: (np.random.default_rng(1).random((9, 7)).copy(order), 600))
        > 400
    )


def largest(a, out):
    for t in range(len(out)):
        out[t] = a[: t % 7].max(axis=0).sum()
    return out


def test_of_nothing() -> None:
    """There is no largest: eager's own error, in its turn."""
    native_turns(largest, lambda: (np.ones((9, 7)), np.zeros(600)))
    out = np.zeros(600)
    with pytest.raises(ValueError, match="zero-size array"):
        ufuse.compile(largest)(np.ones((9, 7)), out)
