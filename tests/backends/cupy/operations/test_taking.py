"""Elements taken by arrays of places, and sums up to each element: CuPy's own calls, in one graph with what is around."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import check, same

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


KEYS = {
    "mask": lambda x, i, b: x[b],
    "mask of rows": lambda x, i, b: x[b[:, 0]],
    "mask of columns": lambda x, i, b: x[:, b[0]],
    "mask behind a slice": lambda x, i, b: x[1:, b[0]],
    "two": lambda x, i, b: x[i, i],
    "two that are broadcast": lambda x, i, b: x[i[:, None], i],
    "a number before": lambda x, i, b: x[1, i],
    "a number behind": lambda x, i, b: x[i, -1],
    "behind a slice": lambda x, i, b: x[1:, i],
    "before a slice": lambda x, i, b: x[i, 1::2],
    "a new axis": lambda x, i, b: x[i, None],
    "an ellipsis": lambda x, i, b: x[..., i],
    "a list": lambda x, i, b: x[[0, -1, 2]],
    "a list of columns": lambda x, i, b: x[:, [1, 0]],
    "a place without axes": lambda x, i, b: x[i[0]],
    "of a view": lambda x, i, b: x.T[i][:, i],
    "of a stack": lambda x, i, b: (x[None] * x[:, None])[i, :, i],
    "of a stack, together": lambda x, i, b: (x[None] * x[:, None])[:, i, i],
}


@pytest.mark.parametrize("name", KEYS)
def test_other_keys(host: Host, name: str) -> None:
    """Masks, several arrays, lists, with slices and numbers beside them."""
    cp, take = host.cupy, KEYS[name]
    x, places = cp.asarray(RNG.normal(size=(4, 4))), cp.asarray([1, 3])
    compiled = check(lambda x, i, b: take(x * 2, i, b) + 1, x, places, x > 0)
    assert len(compiled.graphs) == 1
    for array in (x.T, x[::-1]):
        check(lambda x, i, b: take(x, i, b) * 1, array, places, array < 0.2)
    check(lambda x, i, b: take(x, i, b) * 1, x, places, x > 100)


def a_number(x: Any, i: Any, y: Any) -> None:
    x[i] = 2.5


def rows(x: Any, i: Any, y: Any) -> None:
    x[i] = y[i] * 2


def one_row(x: Any, i: Any, y: Any) -> None:
    x[i] = y[0]


def elements(x: Any, i: Any, y: Any) -> None:
    x[i, i] = y[0, :2]


def columns(x: Any, i: Any, y: Any) -> None:
    x[:, i] = y[:, :2]


def in_one_row(x: Any, i: Any, y: Any) -> None:
    x[2, i] = 0.5


def another_dtype(x: Any, i: Any, y: Any) -> None:
    x[i] = (y * 3).astype("i4")[:2]


STORES = [a_number, rows, one_row, elements, columns, in_one_row, another_dtype]


@pytest.mark.parametrize("store", STORES, ids=lambda one: one.__name__)
def test_stores_by_places(host: Host, store: Any) -> None:
    """Into arguments and into new arrays, which are read behind."""
    cp = host.cupy

    def stored(x: Any, i: Any, y: Any) -> Any:
        z = x * 2
        store(z, i, y)
        store(x, i, y)
        x += 1
        return z + x, z

    for _ in range(2):
        compiled = ufuse.compile(stored)
        for array in (cp.asarray(RNG.normal(size=(4, 4))), cp.asarray(A[0, :4, :4], order="F")):
            for _ in range(3):
                given = [(array.copy(order="K"), cp.asarray([3, 1]), cp.ones((4, 4))) for _ in "ab"]
                found, wanted = compiled(*given[0]), stored(*given[1])
                assert all(map(same, found, wanted))
                assert all(map(same, given[0], given[1]))
        assert not compiled.breaks


def test_adding_by_places(host: Host) -> None:
    """`x[i] += y` reads, adds and stores, as in CuPy: equal places are added to once."""
    cp = host.cupy

    def added(x: Any, i: Any) -> Any:
        y = x.copy()
        y[i] += 1
        y[i, 0] *= 2
        return y

    check(added, cp.asarray(A[0]), cp.asarray([1, 3]))


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


def test_what_is_taken_twice_is_two_arrays(host: Host) -> None:
    """Equal calls give memory of their own each, whether it is written or not."""
    cp = host.cupy

    def twice(x: Any, i: Any) -> Any:
        a, b, c = x[i, 0], x[i, 0], x[x > 0]
        d, e = x[x > 0], cp.array([1.0, 2.0])
        f, g = cp.array([1.0, 2.0]), cp.sort(x)
        h = cp.sort(x)
        a[0] = 7
        c += 1
        e *= 2
        return a, b, c, d, e, f, g, h

    compiled = ufuse.compile(twice)
    x, places = cp.asarray(A[0]), cp.asarray([1, 3])
    wanted = twice(x, places)
    for _ in range(3):
        found = compiled(x, places)
        assert all(map(same, found, wanted))
        assert len({one.data.ptr for one in found}) == len(found)
    assert not compiled.breaks


def test_what_a_mask_picks_and_a_number_beside_it(host: Host) -> None:
    """A mask with whole numbers is elements; with other arrays it is CuPy's."""
    cp = host.cupy
    x, rows = cp.asarray(A), cp.asarray([True, False, True, True, False])
    check(lambda x, b: (x[b, 1] * 2, x[b, 1, 2], x[1:, b[:4], 0]), x, rows)
    compiled = ufuse.compile(lambda x, b, i: x[b, i] * 2)
    places = cp.asarray([0, 1, 3])
    for _ in range(2):
        assert same(compiled(x, rows, places), x[rows, places] * 2)
    assert compiled.breaks


def by_places(x: Any, y: Any, i: Any) -> Any:
    x[i] = x[i] * 2
    return y * 1


def by_places_in_two_axes(x: Any, y: Any, i: Any) -> Any:
    x[i, i] += 3
    return y + x


def sorted_here(x: Any, y: Any, i: Any) -> Any:
    x.sort()
    return y + i[0]


def added_to(x: Any, y: Any, i: Any) -> Any:
    host_module().add.at(x, i, 1.0)
    return y * 2


def put_into(x: Any, y: Any, i: Any) -> Any:
    x.put(i, 5.0)
    return y * x


def host_module() -> Any:
    """CuPy, which is imported when this is called."""
    return sys.modules["cupy"]


@pytest.mark.parametrize(
    "store",
    [by_places, by_places_in_two_axes, sorted_here, added_to, put_into],
    ids=lambda f: f.__name__,
)
def test_what_calls_write_shows_in_another_argument(host: Host, store: Any) -> None:
    """That arguments lie apart is guarded where one is written by a call of CuPy's, too."""
    cp = host.cupy

    def apart() -> tuple[Any, ...]:
        return cp.asarray(A[0, :, :4]), cp.asarray(A[1, :, :4]), cp.asarray([3, 0, 1])

    def together() -> tuple[Any, ...]:
        x = cp.asarray(A[0, :, :4])
        return x, x[::-1], cp.asarray([3, 0, 1])

    for order in ((apart, together, apart), (together, apart, together)):
        compiled = ufuse.compile(store)
        for made in order:
            for _ in range(2):
                given = made(), made()
                assert same(compiled(*given[0]), store(*given[1]))
                assert all(map(same, given[0], given[1]))


def test_values_that_a_mask_has_not_picked(host: Host) -> None:
    """Their number is compared by CuPy, which raises where it is another."""
    cp = host.cupy

    def stored(x: Any, y: Any, v: Any) -> Any:
        x[y > 0] = v
        return x * 2

    compiled = ufuse.compile(stored)
    x, y = cp.zeros(6), cp.asarray([1.0, -1.0, 2.0, 3.0, -2.0, 0.5])
    for v in (cp.arange(4.0), cp.arange(1.0), cp.arange(4.0)):
        for _ in range(2):
            assert same(compiled(x.copy(), y, v), stored(x.copy(), y, v))
    with pytest.raises(ValueError) as plain:
        stored(x.copy(), y, cp.arange(3.0))
    with pytest.raises(ValueError) as ours:
        compiled(x.copy(), y, cp.arange(3.0))
    assert str(ours.value) == str(plain.value)

    def picked_before(x: Any, y: Any) -> Any:
        values = y[y > 0]
        print(end="")  # a graph ends here
        x[y > 0] = values
        return x * 2

    compiled = ufuse.compile(picked_before)
    for _ in range(3):
        assert same(compiled(x.copy(), y), picked_before(x.copy(), y))
