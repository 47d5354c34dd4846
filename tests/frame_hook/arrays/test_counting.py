"""Arrays whose length only values decide: they stay in the graph, empty or not, and NumPy's bits are theirs."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import operator
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles
from ufuse.graph.semantics.check import check
from ufuse.graph.semantics.reference import run

pytestmark = pytest.mark.any_python


def chosen(x):
    y = x[x > 0]
    return y, y * 2, len(y), y.shape, y.size


def of_one_mask(x):
    ok = (x > -1) & (x < 1.5)
    a, b = x[ok], np.exp(x)[ok]
    return (a * b).sum(), a - b, np.flatnonzero(ok), a[np.argmax(b)]


def mean(x):
    return x[x > 0].mean()


def spread(x):
    y = x[np.abs(x) < 2]
    return y.std(), y.max(), y.min(), y.argmax()


def differences(x):
    y = x[x > 0]
    return y[1:] - y[:-1], np.diff(y)


def places(x):
    return (
        np.nonzero(x > 0),
        np.flatnonzero(x),
        np.argwhere(x > 0),
        np.where(x > 1),
        (x > 1).nonzero(),
    )


def peaks(x):
    i = np.where((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[0] + 1
    return i, x[i]


def values(x):
    k = np.floor(x * 2)
    u, c = np.unique(k, return_counts=True)
    return u, c, u[np.argmax(c)], c.max() / len(x)


def counted(x):
    k = (np.abs(x) * 3).astype(int)
    return np.bincount(k), np.bincount(k, minlength=9), np.bincount(k, weights=x), np.unique(k)


def sets(x):
    k = np.floor(x)
    return np.union1d(k, [0.0, 9.0]), np.intersect1d(k, [-1.0, 0.0]), np.setdiff1d(k, [1.0])


def written(x):
    y = x[x > 0]
    y[0] = 3.0
    y += 1
    return y


def decided(x):
    y = x[x > 0.5]
    if len(y) > 2:
        return y.sum()
    return -1.0


def compressed(x):
    return np.compress(x > 0, x), np.extract(x > 0, x * 2)


def again(x):
    y = x[x > -0.5]
    z = y[y < 0.5]
    return np.sort(z), np.cumsum(z), np.median(y)


def rows(x):
    a = np.stack([x, x * 2], axis=1)
    picked = a[x > 0]
    return picked, picked.sum(axis=0), a[a > 1]


IN_ONE_GRAPH = (
    chosen, of_one_mask, mean, spread, differences, places, peaks, values, counted, sets, written, compressed, again,
    rows,
)  # fmt: skip


def drawn(length: int, shift: float = 0.0) -> np.ndarray:
    """Numbers around one."""
    return np.random.default_rng([length, int(shift * 10) + 100]).normal(size=length) + shift


@pytest.mark.parametrize("function", [*IN_ONE_GRAPH, decided])
@pytest.mark.filterwarnings("ignore")
def test_as_in_numpy(function: Callable[..., Any]) -> None:
    """Whatever is chosen: most, few, one, nothing; warnings and errors are NumPy's."""
    compiled = ufuse.compile(function)
    for length in (10, 50, 3, 200):
        for shift in (0.0, 5.0, -5.0, -2.0, 0.0):
            check_same(function, compiled, lambda: (drawn(length, shift),))  # noqa: B023


@pytest.mark.parametrize("function", IN_ONE_GRAPH)
def test_one_graph(function: Callable[..., Any]) -> None:
    """No other length ends it, nor makes another one."""
    compiled = ufuse.compile(function, fullgraph=True)
    for length in (60, 61, 200, 33):
        compiled(drawn(length, 0.3))
    assert len(compiled.graphs) == 1


def test_a_length_that_matters_ends_the_graph() -> None:
    """It is told, and what follows is a graph of its own."""

    def joined(x, y):
        return x[x > 0] + y

    compiled = ufuse.compile(joined)
    x = np.array([1.0, -1.0, 2.0])
    assert compiled(x, np.ones(2)).tolist() == [2.0, 3.0]
    assert [one.code for one in compiled.breaks] == ["size"]
    with pytest.raises(ValueError, match="could not be broadcast"):
        compiled(x, np.ones(3))


def test_text_and_laws() -> None:
    """A graph with such lengths is checked, written, read, and run without the function."""
    graph = ufuse.compile(of_one_mask).trace(ufuse.Spec((None,), float))
    read = ufuse.Graph.parse(str(graph))
    assert str(read) == str(graph)
    check(read.graph if hasattr(read, "graph") else read)
    x = drawn(40)
    for one in (graph, read):
        found = one.run(x) if hasattr(one, "run") else run(one, x)
        for got, wanted in zip(np.array(found, object).ravel(), of_one_mask(x), strict=False):
            assert np.array_equal(got, wanted)


def lengths(x, m):
    y, z = x[m], x[m]
    n = len(y)
    return n, len(y), len(z), y.shape, n + len(z)


def test_lengths_are_numbers_of_their_own() -> None:
    """As in Python, where each `len` gives a new one."""
    compiled = ufuse.compile(lengths)
    x = np.arange(2000.0)
    for limit in (500, 700):
        check_same(lengths, compiled, lambda: (x, x > limit))  # noqa: B023


DTYPES = ("?", "i1", "u2", "i4", "f2", "f4", "f8", "F", "D", "g", "G", "M8[s]", ">f8", ">i4", "O")


def described(array: np.ndarray) -> tuple[Any, ...]:
    """All that can be told apart of an array, and of what it is a view of."""
    base = None if array.base is None else described(array.base)
    contents = array.tolist() if array.dtype == object else array.tobytes()
    return array.dtype, array.shape, array.strides, contents, array.flags.num, base


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_of_ours(dtype: str) -> None:
    """They give what NumPy's own do, of every dtype and length, also of masks with bytes other than 0 and 1."""
    rng = np.random.default_rng(1)
    for length in (0, 1, 7, 8, 9, 16, 31, 32, 33, 100, 3000):
        for share in (0.0, 0.02, 0.5, 0.98, 1.0):
            x = (rng.normal(size=length) * 50).astype(dtype)
            mask = rng.random(length) < share
            assert described(_tiles.chosen(x, mask)) == described(x[mask])
            if length % 2 == 0:
                pairs = x.reshape(-1, 2), mask.reshape(-1, 2)
                assert described(_tiles.chosen(*pairs)) == described(pairs[0][pairs[1]])
                assert described(_tiles.chosen(pairs[0], pairs[1][:, 0])) == described(
                    pairs[0][pairs[1][:, 0]]
                )
            assert described(_tiles.chosen(x[::-1], mask)) == described(x[::-1][mask])
            if dtype in {"M8[s]", "O"}:
                continue
            x[~mask] = 0
            if dtype in {"f2", "f4", "f8"} and length > 3:
                x[:3] = -0.0, np.nan, 1e-7
            shapes = [(-1, 1), (1, -1)] + [(-1, 2), (2, 1, -1), (2, -1)] * (length % 2 == 0)
            of_axes = [x.reshape(shape) for shape in shapes if length]
            for one in (x, x[::-1], *of_axes, *(one.T for one in of_axes)):
                assert [*map(described, _tiles.nonzero(one))] == [*map(described, one.nonzero())]
                assert described(_tiles.flat_nonzero(one)) == described(np.flatnonzero(one))


@pytest.mark.parametrize("dtype", DTYPES)
def test_stores_of_ours(dtype: str) -> None:
    """They write what NumPy's own do, and nothing else; where there are too few or too many values, its error says so."""
    rng = np.random.default_rng(1)
    for length in (0, 1, 7, 8, 9, 16, 31, 32, 33, 100, 3000):
        for share in (0.0, 0.02, 0.5, 0.98, 1.0):
            x = (rng.normal(size=length) * 50).astype(dtype)
            mask = (rng.random(length) < share).view(np.uint8) * np.uint8(length % 2 + 1)
            values = (rng.normal(size=np.count_nonzero(mask)) * 50).astype(dtype)
            for step, given in ((1, values), (-1, values), (1, values[::-1]), (1, x[:1].copy())):
                found, wanted = x.copy()[::step], x.copy()[::step]
                _outcomes_agree(found, wanted, mask.view(bool), given)
            _outcomes_agree(x.copy(), x.copy(), mask.view(bool), np.append(values, values[:1]))
            _outcomes_agree(x.copy(), x.copy(), mask.view(bool), values.astype(object))
            if length % 2 == 0:
                rows = x.copy().reshape(-1, 2), x.copy().reshape(-1, 2)
                _outcomes_agree(*rows, mask.view(bool).reshape(-1, 2), values)


def _outcomes_agree(
    found: np.ndarray, wanted: np.ndarray, mask: np.ndarray, given: np.ndarray
) -> None:
    """Compare what is stored, or the error."""
    outcomes = []
    for store, array in ((_tiles.put_chosen, found), (operator.setitem, wanted)):
        try:
            with np.errstate(all="ignore"):
                store(array, mask, given)
            outcomes.append("")
        except ValueError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert described(found) == described(wanted)


def test_a_store_over_its_mask_or_its_values() -> None:
    """What is stored into may be the mask, or the values' memory."""
    one, other = (np.arange(40) % 3 > 0 for _ in range(2))
    found, wanted = one.copy(), one.copy()
    _tiles.put_chosen(found, found, ~one[one])
    wanted[wanted] = ~one[one]
    assert described(found) == described(wanted)
    found, wanted = np.arange(40.0), np.arange(40.0)
    _tiles.put_chosen(found, other, found[14:])
    wanted[other] = wanted[14:]
    assert described(found) == described(wanted)


def test_masks_that_do_not_fit() -> None:
    """The error is NumPy's."""
    for shape in (4, 2, (3, 1)):
        with pytest.raises(IndexError, match=r"boolean index did not match|too many indices"):
            _tiles.chosen(np.arange(3.0), np.ones(shape, bool))
    with pytest.raises(TypeError):
        _tiles.chosen(np.arange(3.0))  # type: ignore[call-arg]


def test_another_thread_changes_what_is_counted() -> None:
    """Each element that is found is one of the array, in order; or the error is what NumPy's `nonzero` raises."""
    mask, numbers = np.zeros(1 << 20, bool), np.zeros(1 << 20, int)
    x, is_over = np.arange(len(mask)), threading.Event()

    def change() -> None:
        while not is_over.is_set():
            for value in (True, False):
                np.copyto(mask, value)
                np.copyto(numbers, value)

    threads, interval = [threading.Thread(target=change) for _ in range(2)], sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # so that it changes them while they are looked at
    for one in threads:
        one.start()
    try:
        for _ in range(200):
            for call, given in ((_tiles.chosen, (x, mask)), (_tiles.flat_nonzero, (numbers,))):
                try:
                    found = call(*given)
                except RuntimeError as error:
                    assert "changed during function execution" in str(error)  # noqa: PT017
                    continue
                assert np.all(found[1:] > found[:-1])
                assert len(found) == 0 or 0 <= found[0] <= found[-1] < len(x)
    finally:
        sys.setswitchinterval(interval)
        is_over.set()
        for one in threads:
            one.join()


def test_computed_places() -> None:
    """An element at a place that is computed, in the graph; outside of the array NumPy's error."""

    def best(x, i):
        return x[np.argmax(x)], x[int(i * 2)], x.reshape(-1, 1)[np.argmin(x), 0]

    compiled = ufuse.compile(best)
    for length in (5, 9, 4):
        x = drawn(length)
        for i in (0.5, 1.0, -1.0, 99.0):
            check_same(best, compiled, lambda: (x, i))  # noqa: B023
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ufuse.compile(best, fullgraph=True)(np.arange(5.0), 1.0) == (4.0, 2.0, 0.0)
