"""Native loops that search arrays for numbers: `np.searchsorted`, and the method."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns
from ufuse.frame_hook.nests.calls import sorted_places

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 300


def interpolated(x, y, wanted):
    out = np.empty(len(wanted))
    for k in range(len(wanted)):
        i = np.searchsorted(x, wanted[k]) - 1
        i = max(i, 0)
        i = min(i, len(x) - 2)
        part = (wanted[k] - x[i]) / (x[i + 1] - x[i])
        out[k] = y[i] + part * (y[i + 1] - y[i])
    return out


def both_sides(x, y, wanted):
    low = high = 0
    for value in wanted:
        low += np.searchsorted(x, value, side="left")
        high += np.searchsorted(x, value, "right")
        if high > low + 5:
            high = x.searchsorted(value, side="right") - y.searchsorted(value)
    return low, high, type(low), type(high)


def of_parts(x, y, wanted):
    total = 0
    for k in range(len(wanted)):
        total += np.searchsorted(x[k % 7 : 40], wanted[k])
        total += x[::-2].searchsorted(k * 0.01) * 2
        total += np.searchsorted(x, k % 3)
    return total


def several_numbers(x, y, wanted):
    total = 0
    for _ in range(len(wanted)):
        total += np.searchsorted(x, wanted[:3])[0]
    return total


def by_an_order(x, y, wanted):
    order, total = np.argsort(y), 0
    for k in range(len(wanted)):
        total += np.searchsorted(y, wanted[k], sorter=order)
    return total


def on_no_side(x, y, wanted):
    total = 0
    for k in range(len(wanted)):
        total += np.searchsorted(x, wanted[k], side="middle")
    return total


def drawn(dtype, *, is_sorted: bool = True, holes: int = 0) -> tuple[np.ndarray, ...]:
    """Numbers to search in, and numbers to search for."""
    rng = np.random.default_rng(3)
    x, y = (rng.random((2, 60)) * 40).astype(dtype)
    wanted = (rng.random(N) * 50 - 5).astype(dtype)
    wanted[::9] = x[7]
    if holes:
        x[::holes], wanted[::holes], wanted[1], wanted[2] = math.nan, math.nan, math.inf, -math.inf
    return (np.sort(x) if is_sorted else x), np.sort(y), wanted


GIVEN = {
    "floats": lambda: drawn(float),
    "ints": lambda: drawn(np.int64),
    "in no order": lambda: drawn(float, is_sorted=False),
    "ints in no order": lambda: drawn(np.int64, is_sorted=False),
    "with NaN": lambda: drawn(float, holes=11),
    "with NaN in no order": lambda: drawn(float, is_sorted=False, holes=7),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("function", [both_sides, of_parts])
def test_places(function, given) -> None:
    """Are those of NumPy, of NumPy's type, in arrays that are not sorted, too."""
    turns = native_turns(function, GIVEN[given], atoms=False)
    assert turns > N or (function is of_parts and "ints" in given)  # a float in an array of ints


def test_interpolation() -> None:
    """Places are indices behind it."""
    assert native_turns(interpolated, GIVEN["floats"]) > N


def test_of_nothing() -> None:
    """All places in an empty array are 0."""
    none = np.zeros(0)
    assert native_turns(both_sides, lambda: (none, none, np.arange(400.0)), atoms=False) > N


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.complex128])
def test_other_dtypes(dtype) -> None:
    """Are left to NumPy."""
    x, y, wanted = drawn(float)
    made = lambda: (x.astype(dtype), y.astype(dtype), wanted)  # noqa: E731
    assert native_turns(both_sides, made, atoms=False) == 0


@pytest.mark.parametrize("function", [several_numbers, by_an_order, on_no_side])
def test_other_calls(function) -> None:
    """Are left to NumPy, with their errors."""
    assert native_turns(function, GIVEN["floats"], atoms=False) == 0


def test_an_unknown_way_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy goes neither of the ways that are known."""
    monkeypatch.setattr(sorted_places, "WAYS", ())
    sorted_places._way.cache_clear()
    try:
        assert native_turns(interpolated, GIVEN["floats"]) == 0
    finally:
        sorted_places._way.cache_clear()
