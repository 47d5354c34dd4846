"""Elements taken by arrays of places, and sums up to each element: CuPy's own calls, in one graph with what is around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host

from .test_reductions import check, same

RNG = np.random.default_rng(14)
A = RNG.normal(size=(5, 4, 6))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8"])
def test_rows_by_their_places(host: Host, dtype: str) -> None:
    """One axis is replaced by those of the places; what is taken is new memory in C order."""
    cp = host.cupy
    x = cp.asarray(A)
    for places in (cp.asarray([0, 3, 3, 1], dtype), cp.asarray([[2, 0], [1, 4]], dtype)):
        for array in (x, x.T, x[:, 0, 0], x[::-1, 1:]):
            check(lambda x, i: (x[i], (x * 2)[i] + 1), array, places)
    check(
        lambda x, i: (x.take(i), x.take(i, 1), cp.take(x, i, axis=-1)), x, cp.asarray([3, 1], dtype)
    )


def test_places_that_are_computed(host: Host) -> None:
    """They are negative, out of range, or made by the graph; with another axis behind them."""
    cp = host.cupy
    x, places = cp.asarray(A[0, 0]), cp.asarray([1, -2, 7, 0, -9])
    compiled = check(lambda x, i: x[i] * x[i + 1] - x[i - 1], x, places)
    assert len(compiled.graphs) == 1
    check(lambda x, i: x[i] + x[i].sum(), x, places[:0])


def test_what_is_taken_is_memory_of_its_own(host: Host) -> None:
    """A store into what was taken leaves the array as it was."""
    cp = host.cupy

    def stored(x: Any, i: Any) -> Any:
        y = x[i]
        y += 1
        y[:2] = 7
        return y

    x, places = cp.asarray(A[0]), cp.asarray([1, 1, 3])
    before = x.copy()
    check(stored, x, places)
    assert same(x, before)


def test_stores_before_and_behind(host: Host) -> None:
    """What is taken is what was in the array then."""
    cp = host.cupy

    def stored(x: Any, i: Any) -> Any:
        first = x[i]
        x += 1
        second = x[i] * 2
        x[1:] = second[0]
        i[0] = 4
        return first, second, x[i], x.cumsum()

    compiled = ufuse.compile(stored)
    for _ in range(3):
        given = [(cp.asarray(A[:, 0, 0]), cp.asarray([1, 1, 3])) for _ in range(2)]
        wanted = stored(*given[0])
        assert all(map(same, compiled(*given[1]), wanted))
        assert all(map(same, given[1], given[0]))
    assert compiled.stats.hits


def test_other_keys_are_cupys(host: Host) -> None:
    """Masks, several arrays, stores by places: CuPy runs them, and capture goes on behind."""
    cp = host.cupy

    def others(x: Any, i: Any) -> Any:
        y = x * 2
        y[i] = 1
        return y[y > 0], y[i, i], y[1:, i], y + 1

    compiled = ufuse.compile(others)
    x, places = cp.asarray(A[0]), cp.asarray([1, 3])
    wanted = others(x, places)
    for _ in range(2):
        assert all(map(same, compiled(x, places), wanted))
    assert compiled.breaks


def test_places_in_nothing(host: Host) -> None:
    """CuPy's exception is raised."""
    cp = host.cupy
    compiled = ufuse.compile(lambda x, i: x[i] + 1)
    places = cp.asarray([0, 1])
    for _ in range(2):
        assert same(compiled(cp.ones(3), places), cp.full(2, 2.0))
    for _ in range(2):
        with pytest.raises(IndexError) as plain:
            cp.ones(0)[places]
        with pytest.raises(IndexError) as ours:
            compiled(cp.ones(0), places)
        assert str(ours.value) == str(plain.value)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_sums_up_to_each(host: Host, name: str) -> None:
    """Of all dtypes, along axes and of everything."""
    cp = host.cupy
    function = getattr(cp, name)
    for dtype in "?bBiIlLefd":
        x = cp.asarray((abs(A) * 2).astype(dtype))
        check(lambda x: (function(x), function(x, axis=-1), getattr(x, name)(0)), x)
    check(lambda x: (function(x * 2, 1) + 1, function(x[0] + 1)), cp.asarray(A))
