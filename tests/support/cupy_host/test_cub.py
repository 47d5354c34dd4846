"""The stand-in for CUB: what CuPy asks of it, and that its sums are sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.cupy_host import Host, cub

RNG = np.random.default_rng(41)
NAMES = ("sum", "prod", "max", "min")
LENGTHS = (1, 5, 16, 17, 33, 511, 512, 513, 4096, 4099, 9000)


@pytest.mark.parametrize("dtype", "bIlfdFD")
@pytest.mark.parametrize("name", NAMES)
def test_rows_and_everything_are_numpys(host: Host, name: str, dtype: str) -> None:
    """Whole numbers and extremes to the bit, sums and products nearly."""
    for length in LENGTHS:
        given = (RNG.normal(size=(3, length)) * (0.01 if name == "prod" else 9)).astype(dtype)
        x = host.cupy.asarray(given)
        for axis in (None, 1, -1, (0, 1)):
            found = getattr(x, name)(axis=axis, keepdims=True).get()
            wanted = getattr(given, name)(axis=axis, keepdims=True)
            assert found.shape == wanted.shape
            is_exact = np.dtype(dtype).kind in "iu" or (name in ("max", "min") and dtype in "fd")
            assert np.allclose(found, wanted, 1e-3, 1e-3)
            assert not is_exact or (found == wanted).all()


def test_what_cupy_asks_for(host: Host) -> None:
    """Rows that lie one behind the other, in either order of memory, and everything; not what lies otherwise."""
    cp = host.cupy
    x = cp.asarray(RNG.normal(size=(4, 5, 6)).astype("f"))

    def asked(array: Any, axis: Any) -> bool:
        with host.device.counting() as counts:
            found = array.sum(axis=axis)
        assert cp.allclose(found.get(), array.get().sum(axis=axis), 1e-4)
        return counts["cub"] > 0

    assert [asked(x, axis) for axis in (None, 2, (1, 2), 0, 1, (0, 2))] == [True] * 3 + [False] * 3
    assert [asked(x.T, axis) for axis in (None, 0, (0, 1), 2, 1)] == [True] * 3 + [False] * 2
    assert [asked(x[::2], axis) for axis in (None, 2)] == [False] * 2


def test_an_array_without_axes(host: Host) -> None:
    """Stays one."""
    x = host.cupy.asarray(2.5)
    for name in (*NAMES, "argmax", "mean", "var"):
        for keepdims in (False, True):
            assert getattr(x, name)(keepdims=keepdims).shape == ()


def test_results_that_are_given(host: Host) -> None:
    """They are filled, in their own dtype and memory order."""
    cp = host.cupy
    given = RNG.integers(0, 9, (6, 40)).astype("f")
    x = cp.asarray(given)
    total, rows = cp.zeros((), "d"), cp.zeros((6, 2), "d")[:, 0]
    assert x.sum(out=total) is total
    assert x.sum(axis=1, out=rows) is rows
    assert total.get() == given.sum()
    assert (rows.get() == given.sum(axis=1)).all()
    assert (x.sum(axis=1, dtype="d").get() == given.sum(axis=1)).all()
    for out in (cp.zeros(2), cp.zeros((6, 1))):
        with pytest.raises(ValueError, match="output parameter for reduction"):
            x.sum(out=out)


def test_nothing_is_folded(host: Host) -> None:
    """Sums and products of nothing are known; CuPy's error where nothing has no maximum."""
    x = host.cupy.zeros((0, 3), "f")
    assert (x.sum().get(), x.prod().get()) == (0, 1)
    assert (x.T.sum(axis=1).get() == 0).all()
    assert (x.T.prod(axis=1).get() == 1).all()
    for axis in (None, 0):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            x.max(axis=axis)


def test_places_scans_and_counts(host: Host) -> None:
    """The first of those that are equal, or a NaN; running sums; how many are in each bin."""
    cp = host.cupy
    given = RNG.integers(0, 9, 600).astype("f")
    x = cp.asarray(given)
    assert (int(x.argmax()), int(x.argmin())) == (given.argmax(), given.argmin())
    assert (cp.cumsum(x).get() == given.cumsum()).all()
    assert (cp.bincount(x.astype("i8")).get() == np.bincount(given.astype("i8"))).all()
    for bins in (5, [0, 1, 4, 8]):
        (found, edges), (wanted, same) = cp.histogram(x, bins), np.histogram(given, bins)
        assert (found.get() == wanted).all()
        assert np.allclose(edges.get() if hasattr(edges, "get") else edges, same)
    given[[7, 70]] = np.nan
    assert int(cp.asarray(given).argmax()) == 7


def test_the_order_of_a_row() -> None:
    """A thread's neighbours as a tree, lanes, warps: numbers whose sum is another one in any other order."""
    row = np.zeros(512, "f")  # a tile of 32 threads with 16 items
    row[0] = 2.0**24
    row[[128, 129]] = (
        1  # neighbours, which are added first; else other threads' that each is lost of
    )
    (grouped,) = cub.rows_folded("sum", row[None], 0)
    (striped,) = cub.rows_folded("sum", row[None], 4)
    assert (grouped, striped) == (2.0**24 + 2, 2.0**24)


def test_work_is_done_in_its_stream(host: Host) -> None:
    """Behind what was launched there, as late as a device may; part of a graph where the stream captures."""
    cp = host.cupy
    x = cp.ones((3, 600), "f")
    stream = cp.cuda.Stream(non_blocking=True)
    with host.device.working_late():
        with stream:
            y = (x * 2).sum(axis=1)
        stream.synchronize()
    assert (y.get() == 1200).all()
    with stream:
        stream.begin_capture()
        y = x.sum(axis=1)
        graph = stream.end_capture()
        x.fill(3)
        graph.launch()
        stream.synchronize()
    assert (y.get() == 1800).all()
