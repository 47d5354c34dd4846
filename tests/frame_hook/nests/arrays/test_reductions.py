"""Reductions of arrays in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import native_turns


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


def nearest(points, centres, labels):
    for t in range(len(labels)):
        distances = ((points[t % 7 :, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels[t, : len(distances)] = distances.argmin(axis=1)
        labels[t, -len(centres) :] += np.argmax(distances, axis=0, keepdims=True)[0]
    return labels, distances.argmax(1), distances.argmin(-2)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_places_along_an_axis(dtype) -> None:
    """Of the first of equal ones."""

    def make() -> tuple[np.ndarray, ...]:
        points = np.floor(np.random.default_rng(1).random((20, 3)) * 9).astype(dtype)
        return points, points[::4].copy(), np.zeros((400, 25), int)

    assert native_turns(nearest, make) > 100


def first_odd(a, out):
    for t in range(len(out)):
        x = a[t % 5 :, : 1 + t % 6]
        out[t, : len(x)] += x.argmin(axis=-1)
        out[t, : x.shape[1]] += np.argmax(x, 0)
    return out, x.argmin(axis=1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_places_of_nan(order) -> None:
    """A NaN is the first; results are in C's order, whatever the operand's."""

    def make() -> tuple[np.ndarray, ...]:
        a = np.floor(np.random.default_rng(1).random((9, 7)) * 5)
        a[6, 2] = a[7, 2] = np.nan
        a[0] = -0.0
        return a.copy(order), np.zeros((400, 9))

    assert native_turns(first_odd, make) > 100


def no_place(a, out):
    for t in range(len(out)):
        out[t] = a[:, : t % 50].argmin(axis=1).sum()
    return out


def test_no_place() -> None:
    """Of nothing there is none: eager's own error, in its turn."""
    native_turns(no_place, lambda: (np.ones((3, 60)), np.zeros(600)))


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
