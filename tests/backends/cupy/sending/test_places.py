"""Elements by places and masks of NumPy's code on a GPU, on the test device; the reference is NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.sent import check, is_sent

RNG = np.random.default_rng(12)
A = RNG.normal(size=(6, 7))
ROWS, COLUMNS = np.array([0, 5, -1, 3, -6, 3, 2]), np.array([6, -7, 0, 1, 1, 2, 3])


def test_what_places_pick(host: Host) -> None:
    """Along one axis, several or all of them; places behind the end count from there."""
    for function in (
        lambda x, i, j: x[i] * 2, lambda x, i, j: x[:, j] + 1, lambda x, i, j: x[i, j] * x[i, j],
        lambda x, i, j: x[i[:, None], j] - 1, lambda x, i, j: np.take(x, i, axis=0) + np.take(x, i, axis=0),
        lambda x, i, j: np.take(x, i) * 3, lambda x, i, j: (x * 2)[i].max(axis=0), lambda x, i, j: x.T[j] + 1,
        lambda x, i, j: np.take_along_axis(x * 2, np.argsort(x * 2, axis=1, kind="stable"), 1),
    ):  # fmt: skip
        assert is_sent(check(function, A, ROWS, COLUMNS))
        assert is_sent(check(function, A, ROWS.astype("i1"), COLUMNS.astype("i4")))
    assert is_sent(check(lambda x, i: x[i] * 2, A, ROWS.astype("u4") % 6))


@pytest.mark.parametrize("wrong", [6, -7, 1 << 40, -(1 << 40)])
def test_places_that_lie_outside(host: Host, wrong: int) -> None:
    """NumPy's error is raised, and nothing is written."""

    def picked(x: Any, i: Any) -> Any:
        return x[i] * 2

    def written(x: Any, i: Any) -> Any:
        x += 1
        return np.take(x, i, axis=0) * 2

    places = ROWS.copy()
    for function in (picked, written):
        compiled = ufuse.compile(function, backend="cupy")
        given, same = A.copy(), A.copy()
        for _ in range(2):
            assert (compiled(given, places) == function(same, places)).all()
        assert is_sent(compiled)
        outside = np.append(places, wrong)[1:]
        for _ in range(2):
            with pytest.raises(IndexError, match="out of bounds"):
                compiled(given, outside)
            with pytest.raises(IndexError, match="out of bounds"):
                function(same, outside)
            assert given.tobytes() == same.tobytes()


def test_what_masks_pick(host: Host) -> None:
    """As many elements as the mask says, and what is computed of them."""
    for function in (
        lambda x: x[x > 0] * 2, lambda x: x[x > 0].sum(), lambda x: x[x[:, 0] > 0] + 1, lambda x: (x * 2)[x > 9],
        lambda x: np.nonzero(x > 0), lambda x: np.nonzero(x[0] > 0)[0], lambda x: np.flatnonzero(x > 0.5),
        lambda x: np.where(x > 0), lambda x: np.argwhere(x > 0), lambda x: np.extract(x > 0, x),
        lambda x: len(np.nonzero(x.ravel() > 0)[0]) * x,
    ):  # fmt: skip
        compiled = check(function, A, close=1e-14)
        assert is_sent(compiled)
        other = A[::-1] + 0.25  # another number of elements
        with np.errstate(all="ignore"):
            results = [np.asarray(one) for one in (compiled(other), function(other))]
        assert results[0].shape == results[1].shape
        assert np.allclose(*results)


def stores() -> list[Callable[..., Any]]:
    """Functions that store by places and masks."""

    def number_at_places(x: Any, i: Any, j: Any) -> Any:
        y = x * 2
        y[i] = 0.5
        return y

    def sum_at_places(x: Any, i: Any, j: Any) -> Any:
        y = x * 2
        y[i, j] = 2.5
        return y + 1

    def along_the_last_axis(x: Any, i: Any, j: Any) -> Any:
        x[:, j] = 7
        return x * 2

    def by_mask(x: Any, i: Any, j: Any) -> Any:
        x[x > 0.5] = 0
        y = x + 1
        y[y > 1] = y[y > 1] * 3
        return y, x.sum(axis=0)

    def counted(x: Any, i: Any, j: Any) -> Any:
        counts = np.zeros(6, dtype=int)
        np.add.at(counts, i, j)
        return counts * 2

    return [number_at_places, sum_at_places, along_the_last_axis, by_mask, counted]


@pytest.mark.parametrize("function", stores(), ids=lambda one: one.__name__)
def test_stores(host: Host, function: Callable[..., Any]) -> None:
    """What is stored into an argument comes back, and shows in what is computed behind it."""
    compiled = ufuse.compile(function, backend="cupy")
    given, same = A.copy(), A.copy()
    for _ in range(3):
        result, wanted = compiled(given, ROWS, COLUMNS), function(same, ROWS, COLUMNS)
        for pair in zip(
            *(one if isinstance(one, tuple) else (one,) for one in (result, wanted)), strict=True
        ):
            assert np.allclose(*pair, rtol=1e-14, atol=0)
            assert pair[0].strides == pair[1].strides
        assert given.tobytes() == same.tobytes()
    assert is_sent(compiled)
    assert not compiled.breaks
    if function.__name__ == "by_mask":
        return
    outside = np.append(ROWS, 9)[1:] if function.__name__ != "along_the_last_axis" else ROWS
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(given, outside, np.append(COLUMNS, 9)[1:])
    assert given.tobytes() == same.tobytes() or function.__name__ == "along_the_last_axis"


def test_stores_in_the_devices_order(host: Host) -> None:
    """Where the last of several values stays, and where floats are added, the CPU stores."""

    def several(x: Any, i: Any) -> Any:
        y = x * 2
        y[i] = x[: i.size, ::-1][:6][np.arange(7) % 6] * 3
        return y

    def floats(x: Any, i: Any) -> Any:
        y = np.zeros(6)
        np.add.at(y, i, 0.1)
        return y + x[0, 0]

    for function in (several, floats):
        compiled = ufuse.compile(function, backend="cupy")
        for _ in range(2):
            assert compiled(A, ROWS).tobytes() == function(A, ROWS).tobytes()
        assert not is_sent(compiled)


def test_places_of_nothing(host: Host) -> None:
    """Of an array without elements NumPy's error is raised; no places at all are fine."""
    compiled = ufuse.compile(lambda x, i: x[i] * 2, backend="cupy")
    for _ in range(2):
        compiled(A, ROWS)
    none, no_places = A[:0].copy(), ROWS[:0].copy()
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(none, ROWS)
        assert compiled(none, no_places).shape == (0, 7)
        assert compiled(A, no_places).shape == (0, 7)
    assert (compiled(A, ROWS) == A[ROWS] * 2).all()


def test_places_without_a_sign(host: Host) -> None:
    """In 64 bits the largest is NumPy's last one, and half of it lies outside: the CPU picks those."""
    compiled = ufuse.compile(lambda x, i: (x[i] * 2, np.take(x, i, axis=0) + 1), backend="cupy")
    last = np.array([0, (1 << 64) - 1, 2], "u8")
    for _ in range(2):
        for result, wanted in zip(compiled(A, last), (A[last] * 2, A[last] + 1), strict=True):
            assert result.tobytes() == wanted.tobytes()
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(A, np.array([0, 1 << 63, 2], "u8"))
    assert not is_sent(compiled)
