"""Reductions inside kernels: of whole numbers in CuPy's code, to the bit, and of NumPy's code on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.captured import launched, source_of
from tests.support.devices.comparing import check, same
from tests.support.devices.folds import LENGTHS, layer_norm, scaled_rows, softmax
from tests.support.devices.sent import check as check_numpys
from tests.support.devices.sent import is_sent

RNG = np.random.default_rng(12)
INTEGERS = RNG.integers(-9, 9, (3, 4, 40))


@pytest.mark.parametrize("order", ORDERS)
def test_rows_of_every_length(host: Host, order: str) -> None:
    """Rows in registers and longer ones, whatever thread is first."""
    compiled = ufuse.compile(scaled_rows)
    for length in LENGTHS:
        x, y = (host.cupy.asarray(RNG.integers(-9, 9, (3, length))) for _ in range(2))
        wanted = scaled_rows(x, y)
        with host.driver.running(order):
            results = [compiled(x, y) for _ in range(2)]
        for result in results:
            assert all(map(same, result, wanted))
    assert compiled.stats.hits
    assert not compiled.breaks


@pytest.mark.parametrize("order", ORDERS)
def test_totals_of_every_length(host: Host, order: str) -> None:
    """Everything folded, by one block and by many."""

    def totals(x: Any) -> Any:
        y = x * 3 + 1
        return y.sum(), y, y.max(), (y > 4).all(), (y == 1).sum(), y.prod()

    compiled = ufuse.compile(totals)
    for length in (*LENGTHS, 30_000):
        x = host.cupy.asarray(RNG.integers(-9, 9, length))
        wanted = totals(x)
        with host.driver.running(order):
            results = [compiled(x) for _ in range(2)]
        for result in results:
            assert all(map(same, result, wanted))
    assert source_of(compiled).count("__global__") == 2
    assert launched(host, compiled, x) == 2


@pytest.mark.parametrize("dtypes", ["?d", "bD", "dl", "Bfd", "hd", "?F"])
def test_totals_of_operands_of_unlike_sizes(host: Host, dtypes: str) -> None:
    """What a thread reads at once of the narrow ones is several loads of the wide ones."""
    given = [host.cupy.asarray(RNG.integers(0, 2, 2560).astype(dtype)) for dtype in dtypes]

    def totals(*arrays: Any) -> Any:
        there = arrays[0] != 0
        for one in arrays[1:]:
            there = there & (one != 0)
        return there.any(), there.sum(), there.all(), there

    for first in (0, 1):
        compiled = check(totals, *(one[first:] for one in given))
        assert compiled.stats.eager_calls <= 1
    assert launched(host, compiled, *given) == 2


@pytest.mark.parametrize("dtype", "?bBhHiIlL")
def test_every_whole_dtype(host: Host, dtype: str) -> None:
    """Each with its own least and greatest, of rows and of everything."""
    limits = [0, 1] if dtype == "?" else [np.iinfo(dtype).min, np.iinfo(dtype).max, 3]
    x = host.cupy.asarray(RNG.choice(np.array(limits, dtype), (5, 33)))

    def folded(x: Any, y: Any) -> Any:
        z = x & y
        rows = [getattr(z, name)(axis=1) for name in ("sum", "prod", "max", "min", "any", "all")]
        every = [getattr(z, name)() for name in ("sum", "prod", "max", "min", "any", "all")]
        return (*rows, *every)

    check(folded, x, x[::-1])


def test_layouts_of_rows(host: Host) -> None:
    """Arrays in any order, with negative and zero strides along rows and across them."""
    cp = host.cupy
    x, y = cp.asarray(INTEGERS), cp.asarray(INTEGERS + 2)

    def rows(x: Any, y: Any) -> Any:
        z = x * 2 - y
        return z.sum(axis=-1), z - z.max(axis=-1, keepdims=True), z.sum()

    compiled = ufuse.compile(rows)
    for one, other in (
        (x, y), (x.T, y.T), (x[:, ::-1, ::2], y[..., :20]), (x, y[0]), (x[..., :1], y), (x, y[:1, 0]),
        (cp.broadcast_to(x[0, 0], (3, 4, 40)), y), (x[..., ::-1], y[::-1]), (x[..., 0], y[..., 3]),
    ):  # fmt: skip
        wanted = rows(one, other)
        for _ in range(3):
            assert all(map(same, compiled(one, other), wanted))
    assert compiled.stats.hits
    assert not compiled.breaks
    check(lambda x, y: (x * y).sum(axis=(-1,), keepdims=True), x, y[0, 0, 0])


def test_nothing_to_fold(host: Host) -> None:
    """Sums of nothing are zero; CuPy's exception where nothing has no maximum."""
    cp = host.cupy
    for shape in ((3, 0), (0, 3), (0, 0)):
        check(lambda x: ((x + 1).sum(axis=-1), (x * 2).sum(), (x * 2).all()), cp.zeros(shape, int))
    compiled = ufuse.compile(lambda x: (x + 1).max(axis=-1))
    assert same(compiled(cp.ones((2, 3), int)), cp.full(2, 2))
    for _ in range(2):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            compiled(cp.ones((3, 0), int))


def test_rows_are_written_where_they_were_read(host: Host) -> None:
    """A store into the array that was folded comes after the fold."""
    cp = host.cupy

    def less_total(x: Any) -> Any:
        x -= (x * 2).sum(axis=-1, keepdims=True)
        return x.copy()

    for order in ORDERS:
        for length in LENGTHS:
            compiled = ufuse.compile(less_total)
            for _ in range(2):
                x = cp.asarray(RNG.integers(-9, 9, (4, length)))
                wanted = x.copy()
                less_total(wanted)
                with host.driver.running(order):
                    compiled(x)
                assert same(x, wanted)


def test_rows_of_one_element_are_written_where_they_were_read(host: Host) -> None:
    """Along them there is no step."""
    cp = host.cupy

    def less_any(x: Any) -> Any:
        view = x.swapaxes(0, -1)
        view -= view.any(axis=1, keepdims=True)
        return view.copy()

    compiled = ufuse.compile(less_any)
    for _ in range(2):
        x, other = cp.asarray([[0, 1, 2]]), cp.asarray([[0, 1, 2]])
        assert same(compiled(x), less_any(other))
        assert same(x, other)


@pytest.mark.usefixtures("own_kernels")
def test_what_stays_cupys(host: Host) -> None:
    """Reductions of what is in memory already are CuPy's own calls, and what has another order is not folded in ours."""
    cp = host.cupy
    x, whole = cp.asarray(INTEGERS * 0.1), cp.asarray(INTEGERS)
    for function, given in (
        (lambda x: (x * 2).sum(axis=-1), x), (lambda x: (x * 2).max(), x), (lambda x: (x > 0).sum(axis=0) + 1, x),
        (lambda x: x.sum(axis=-1), whole), (lambda x: x.sum() + 1, whole), (lambda x: (x * 1j).any(axis=-1), x),
    ):  # fmt: skip
        source = source_of(check(function, given))
        assert " fold" not in source
    for function in (lambda x: x.sum(axis=0), lambda x: x.mean(axis=0) + 1, lambda x: x.argmax()):
        assert "Fold" not in source_of(check(function, x))


def test_more_than_registers_hold(host: Host) -> None:
    """Where a pass would hand many values on, the next computes them again."""

    def wide(x: Any, y: Any) -> Any:
        parts = [x * k + (y ^ k) for k in range(1, 12)]
        total = sum(parts).sum(axis=-1, keepdims=True)
        return tuple(part * total for part in parts)

    for length in (33, 4099):
        x, y = (host.cupy.asarray(RNG.integers(-9, 9, (2, length))) for _ in range(2))
        check(wide, x, y)


def test_a_softmax_of_numpys_is_one_kernel(host: Host) -> None:
    """Rows in registers and longer ones; near to NumPy's."""
    for dtype, close in (("f4", 1e-6), ("f8", 1e-13)):
        for length in LENGTHS:
            x = RNG.normal(size=(3, length)).astype(dtype)
            compiled = check_numpys(softmax, x, close=close)
        assert is_sent(compiled)
        assert source_of(compiled).count("__global__") == 1
        assert launched(host, compiled, x) == 1


def test_what_is_not_a_number(host: Host) -> None:
    """A NaN is the greatest and the least, infinities are what they are in NumPy."""
    x = RNG.normal(size=(6, 40)).astype("f4")
    x[1, 3], x[2, 5], x[3, 7], x[4] = np.nan, np.inf, -np.inf, -np.inf

    def folded(x: Any) -> Any:
        y = x * 2
        return y.max(axis=1), y.min(axis=1), y.sum(axis=1), y.max(), y.min(), y.prod(axis=1)

    check_numpys(folded, x, close=1e-5)


def test_many_addends_are_summed_closely(host: Host) -> None:
    """Single precision is summed in double."""
    x = np.full(300_000, 0.1, "f4")
    compiled = ufuse.compile(lambda x: (x * 3).sum(), backend="cupy")
    for _ in range(2):
        assert abs(compiled(x) / (x * 3).astype("f8").sum() - 1) < 1e-7


def test_a_layer_norm_of_numpys_is_one_kernel(host: Host) -> None:
    """Mean and variance are sums of the kernel that uses them."""
    for dtype, close in (("f4", 1e-5), ("f8", 1e-12)):
        for length in LENGTHS[1:]:
            x = RNG.normal(size=(3, length)).astype(dtype)
            compiled = check_numpys(layer_norm, x, x[0], close=close)
        assert source_of(compiled).count("__global__") == 1
        assert launched(host, compiled, x, x[0]) == 1


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments(host: Host, name: str) -> None:
    """Of all dtypes, along the last axis and others, and of everything, in NumPy's dtypes."""
    function = getattr(np, name)
    for dtype in "?bIlfd":
        x = (abs(INTEGERS[0]) % 3).astype(dtype)
        close = 1e-6 if dtype == "f" else 1e-13
        check_numpys(
            lambda x: (function(x + x), function(x, axis=-1), function(x, 0)), x, close=close
        )
        check_numpys(lambda x: function(x, axis=(1,), keepdims=True) * 2, x, close=close)
    for x in (
        INTEGERS * 0.5,
        INTEGERS[0, :, :1] * 0.5,
        INTEGERS[0, 0] * 0.5,
    ):
        check_numpys(lambda x: (function(x * 2), function(x * 2, axis=-1)), x, close=1e-13)
        check_numpys(lambda x: function(x, keepdims=True) + x, x, close=1e-13)
    if name != "mean":
        check_numpys(lambda x: function(x * 1.5, axis=-1, ddof=1), INTEGERS, close=1e-13)


def test_the_mean_of_nothing(host: Host) -> None:
    """NumPy's warning is given, after calls that gave none."""
    compiled = ufuse.compile(lambda x: (x * 2).mean(axis=-1), backend="cupy")
    for _ in range(2):
        assert np.allclose(compiled(INTEGERS[0] * 0.5), INTEGERS[0].mean(axis=-1), 1e-13)
    for _ in range(2):
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            assert np.isnan(compiled(np.ones((3, 0)))).all()
