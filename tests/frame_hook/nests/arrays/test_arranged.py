"""Native loops with masks, running sums, sorted arrays, counted ones, arrays of random numbers, tuples in rows."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

ROWS = 300


def masked(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        row = x[i]
        kept = row[row > 0.5]
        if len(kept) > 1:
            out[i] = kept.mean() + kept[-1]
    return out


def stored_by_mask(x):
    for i in range(len(x)):
        row = x[i]
        mask = row < 0
        row[mask] = row[mask] * 2.0 - 1.0
        row[row > 1.5] += 0.25
    return x


def rows_by_mask(x):
    total = 0.0
    for _ in range(len(x)):
        mask = x[:, 0] > total
        total += x[mask].sum() * 1e-3 + len(x[mask])
    return total


def places(x):
    total = 0
    for i in range(len(x)):
        where = np.flatnonzero(x[i] > 0)
        (again,) = np.nonzero(x[i] > 0)
        total += where.sum() + len(again) + np.count_nonzero(x[i] < 0)
    return total


def running(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        sums = np.cumsum(x[i])
        out[i, 0] = sums[-1] + x[i, ::-2].cumsum()[2]
        out[i, 1] = np.cumprod(x[i])[-1]
        out[i, 2] = (x[i] > 0).cumsum()[-1]
    return out


def in_order(x):
    out = np.zeros((len(x), 2))
    for i in range(len(x)):
        out[i, 0] = np.sort(x[i])[3]
        out[i, 1] = np.median(x[i]) + np.median(x[max(0, i - 1) : i + 2, 1:4])
    return out


def counted(x):
    total = 0.0
    for i in range(len(x)):
        total += (x[i] * np.arange(len(x[i]))).sum() + np.arange(i, -3, -4).sum()
        total += (
            np.arange(2, i).sum() + np.linspace(0.5, x[i, 0], 5)[2] + np.linspace(0, i + 1, 7)[-1]
        )
    return total


def tuples_in_rows(x):
    stack = np.zeros((len(x), 2), dtype=np.int32)
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        stack[i] = i, i // 2
        a, b = stack[i]
        out[i] = a, x[i, 0], i % 3 == 0
        out[i, :2] = [b, x[i, 1]]
    return out, stack


def of_another_length(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        if i == 200:
            out[i] = x[i, 0], 0.5
        out[i] = x[i, 0], 1, i
    return out


def does_not_fit(x):
    out = np.zeros((len(x), 2), dtype=np.int8)
    for i in range(len(x)):
        out[i] = i, x[i, 0] > 0
    return out


def kept(x):
    """Places and views of them, which are kept behind the loop."""
    found = where = np.flatnonzero(x[0] > 9.0)
    points = np.linspace(0, 1, 3)
    for i in range(len(x)):
        where = np.flatnonzero(x[i] > 0)
        (found,) = np.nonzero(x[i] > 1)
        points = np.linspace(0.5, i + 1.0, i % 4 + 2)
        if i % 2:
            found = where[1:]
    return where, found, points


def table() -> tuple[np.ndarray]:
    """Numbers with zeros of both signs."""
    x = np.random.default_rng(0).standard_normal((ROWS, 12))
    x[5:9, 2:5] = 0.0
    x[7, 3] = -0.0
    return (x,)


def odd_table() -> tuple[np.ndarray]:
    """NaN, infinities, rows without anything."""
    x = table()[0]
    x[50, 4], x[60, 1], x[60, 2] = np.nan, np.inf, -np.inf
    x[70:80] = -1.0
    x[90, :] = 1e200
    return (x,)


PROGRAMS = (
    masked, stored_by_mask, rows_by_mask, places, kept, running, in_order, counted, tuples_in_rows,
    of_another_length, does_not_fit,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("make", [table, odd_table])
def test_results_warnings_and_errors(function, make) -> None:
    """Are those of plain Python, and turns are native."""
    assert native_turns(function, make) > 15


def drawn(seed, count):
    rng = np.random.default_rng(seed)
    total = 0.0
    for i in range(count):
        total += rng.normal(size=5).max() + rng.normal(1.0, 2.0, 3)[1] + rng.random(4).sum()
        total += rng.uniform(-1, 1, size=(2, 3)).sum() + rng.exponential(size=2)[1]
        total += (
            rng.integers(0, 10, size=i % 4).sum() + rng.standard_normal((2, 2))[1, 0] + rng.random()
        )
    return total, rng.bit_generator.state["state"]["state"]


def drawn_as_before(seed, count):
    rng = np.random.RandomState(seed)
    total = 0.0
    for _ in range(count):
        total += rng.rand(2, 3)[1, 2] + rng.randint(0, 9, size=4).sum() + rng.uniform(0, 2, 3)[0]
        total += rng.random_sample(2).sum()
    return total, rng.randint(1000)


@pytest.mark.parametrize("function", [drawn, drawn_as_before])
def test_arrays_of_random_numbers(function) -> None:
    """Are what the generator's methods give, which goes on behind the loop."""
    assert native_turns(function, lambda: (3, ROWS)) > ROWS // 2


RANGES = [
    (0.0, 1.0, 0.1), (0.0, 1.0, 0.3), (0, 1, 0.1), (-0.0, 1, 0.5), (1.0, 0.0, -0.1), (0.0, 3, 1.0), (0.1, 0.4, 0.1),
    (1.0, 1.5, 0.01), (5, 5.5, 0.5), (5, 5.0, 0.5), (0.0, -1.0, 0.1), (0, np.nan, 0.1), (0, np.inf, 0.1),
    (0.0, 1.0, 0.0), (np.float64(0), np.float64(2), 0.25), (np.float32(0), 1.0, 0.1), (2**60, 2.0**60 + 900, 50.5),
    (1e308, -1e308, -1e307), (1e300, 1e308, 1e306), (0.1, 9, 0.7), (-3, 3, 1 / 3), (1e16, 1e16 + 64, 1.5),
]  # fmt: skip


@pytest.mark.parametrize("limits", RANGES)
def test_ranges_of_floats(limits) -> None:
    """The first two numbers, and the others by what lies between these; few of them, or none, are plain Python's."""

    def spaced(start, stop, step, n):
        total, found = 0.0, None
        for i in range(n):
            found = np.arange(start, stop, step)
            for value in np.arange(start, stop, step * (1 + i % 3)):
                total += value * value
            total += found.sum() + found[-1]
        return total, found

    native_turns(spaced, lambda: (*limits, 60))


def test_ranges_of_floats_are_native() -> None:
    """With limits that turns compute."""

    def spaced(x):
        total = 0.0
        for i in range(len(x)):
            found = np.arange(x[i, 0], x[i, 0] + 1, 0.1)
            for value in np.arange(0, 1 + i * 0.01, 0.03):
                total += value * found[1]
        return total, found

    assert native_turns(spaced, table) > 15
