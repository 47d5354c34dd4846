"""Reductions inside kernels in the order of CuPy's own kernel: to the bit, whatever library CuPy would take instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.captured import launched, source_of
from tests.support.devices.comparing import check, same
from tests.support.devices.folds import columns
from tests.support.devices.sent import check as check_numpys
from tests.support.devices.sent import is_sent

pytestmark = pytest.mark.usefixtures("own_kernels")

RNG = np.random.default_rng(25)
SIZES = (0, 1, 31, 33, 255, 257, 4099)
CUB = "cub"


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers whose sums depend on the order; both zeros among floats, and numbers that are none."""
    if dtype in "bBhHiIlL?":
        return RNG.integers(0, 5, shape).astype(dtype)
    made = RNG.normal(size=shape).astype(dtype)
    made[RNG.random(shape) < 0.2] = -0.0
    return made


def check_in_every_order(host: Host, compiled: Any, function: Any, *arguments: Any) -> None:
    """Compare a compiled function with a plain one, whatever thread is first."""
    wanted = function(*arguments)
    for order in ORDERS:
        with host.driver.running(order):
            assert all(map(same, compiled(*arguments), wanted)), order


@pytest.mark.parametrize("shape", [(None, 3), (3, None), (None,), (None, 1), (1, None)])
@pytest.mark.parametrize("dtype", "fdibF")
def test_columns_of_every_size(host: Host, dtype: str, shape: tuple[int | None, ...]) -> None:
    """Few and many results, of few and many elements (None: each size), in one kernel."""
    compiled = ufuse.compile(columns)
    for size in SIZES[1:]:
        lengths = tuple(one or size for one in shape)
        x, y = (host.cupy.asarray(values(lengths, dtype)) for _ in range(2))
        check_in_every_order(host, compiled, columns, x, y)
    assert compiled.stats.hits
    assert not compiled.breaks
    if len(shape) > 1 or dtype in "fdF":  # all of whole numbers is folded in any order (folds.py)
        assert launched(host, compiled, x, y) == 1
        assert source_of(compiled).count("__global__") == 1


@pytest.mark.parametrize("name", "sum prod max min any all mean argmax argmin".split())
def test_every_reduction_along_every_axis(host: Host, name: str) -> None:
    """Also along the last axis and everything, where CuPy takes its own kernel; NaN and both zeros too."""
    cp = host.cupy
    x = values((6, 33, 9), "f")
    x[0, 3, 3], x[5, 5, 5], x[:, 7, 7] = np.nan, np.inf, np.nan
    x, y = cp.asarray(x), cp.asarray(values((6, 33, 9), "f"))
    for axis in (0, 1, 2, None, (0, 2), (1, 2), (0, 1)):
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        for keepdims in (False, True):
            text = f"lambda x, y: cp.where(y > 0, x, y).{name}(axis={axis}, keepdims={keepdims})"
            compiled = check(eval(text, {"cp": cp}), x, y)  # noqa: S307  code of its own for each
            assert launched(host, compiled, x, y) == 1


def test_layouts(host: Host) -> None:
    """Operands in any order, with negative and zero strides; what is made of them is in C order."""
    cp = host.cupy
    x, y = (cp.asarray(values((13, 20, 34), "d")) for _ in range(2))

    def folded(x: Any, y: Any) -> Any:
        z = x * 2 - y
        return z.sum(axis=0), z, z.mean(axis=0)

    def between(x: Any, y: Any) -> Any:
        return cp.sqrt(abs(x - y)).sum(axis=1), (x + y).max(axis=(1,))

    for function in (folded, between):
        compiled = ufuse.compile(function)
        for one, other in (
            (x, y), (x.T, y.T), (x[:, ::-1, ::2], y[..., :17]), (x, y[0]), (x[..., :1], y), (x, y[:1, :1]),
            (cp.broadcast_to(x[0, 0], x.shape), y), (x[::-1], y[::-1, ::-1]), (x.transpose(1, 0, 2), y[0, 0]),
        ):  # fmt: skip
            check_in_every_order(host, compiled, function, one, other)
        assert not compiled.breaks


def test_what_is_folded_may_be_given(host: Host) -> None:
    """An array that is read anyway is folded where it is read, if CuPy would fold it so in its memory order."""
    cp = host.cupy

    def folded(x: Any) -> Any:
        return x * 2, x.sum(axis=0), x.max(axis=0)

    x = cp.asarray(values((65, 9), "f"))
    compiled = ufuse.compile(folded)
    for array, launches in ((x, 1), (x.T, 3), (x[::2], 3), (x[:, ::-1], 3)):
        check_in_every_order(host, compiled, folded, array)
        assert launched(host, compiled, array) == launches


def test_few_blocks_compute_little(host: Host) -> None:
    """Where CuPy's reduction leaves most of a device idle, what it folds is computed by a kernel of its own."""
    cp = host.cupy

    def folded(x: Any) -> Any:
        return cp.sqrt(x * x).sum(axis=0)

    compiled = ufuse.compile(folded)
    for shape, launches in (((16_000, 2), 1), ((17_000, 2), 2), ((40, 5000), 1)):
        x = cp.asarray(values(shape, "f"))
        assert same(compiled(x), folded(x))
        assert launched(host, compiled, x) == launches


def test_nothing_to_fold(host: Host) -> None:
    """Sums of nothing are zero, and nothing is left of no columns; CuPy's exception where nothing has no maximum."""
    cp = host.cupy
    for shape in ((3, 0), (0, 3), (0, 0)):
        check(
            lambda x: ((x + 1).sum(axis=0), (x * 2).sum(axis=1), (x * 2).all(axis=0)),
            cp.zeros(shape),
        )
    compiled = ufuse.compile(lambda x: (x + 1).max(axis=0))
    assert same(compiled(cp.ones((2, 3))), cp.full(3, 2.0))
    for _ in range(2):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            compiled(cp.ones((0, 3)))


@contextmanager
def libraries(cupy: Any, *names: str) -> Iterator[None]:
    """What CuPy tries before its own kernel."""
    accelerators = cupy._core._accelerator
    accelerators.set_reduction_accelerators(names)
    try:
        yield
    finally:
        accelerators.set_reduction_accelerators(())


def test_other_libraries_are_left_to_cupy(host: Host) -> None:
    """What CUB may sum is CuPy's call, decided at each call; columns stay in the kernel."""
    cp = host.cupy

    def rows(x: Any) -> Any:
        return (x * 3).sum(axis=1)

    def first(x: Any) -> Any:
        return (x * 3).sum(axis=0)

    x = cp.asarray(values((40, 65), "f"))  # too short for CUB
    by_row, by_column = ufuse.compile(rows), ufuse.compile(first)
    for names, launches in (
        ((), (1, 1)),
        ((CUB,), (2, 1)),
        ((), (1, 1)),
        ((CUB, "cutensor"), (2, 2)),
    ):
        with libraries(cp, *names):
            for compiled, function, count in zip(
                (by_row, by_column), (rows, first), launches, strict=True
            ):
                assert same(compiled(x), function(x))
                assert launched(host, compiled, x) == count
    with libraries(cp, CUB):
        for array, count in (
            (x[:, :1], 2),
            (x[:1], 2),
            (x[:2, :2], 1),
        ):  # some in Fortran order too
            assert same(by_column(array), first(array))
            assert launched(host, by_column, array) == count


def test_stores_are_not_in_such_kernels(host: Host) -> None:
    """A store and the sum of what it stored: the sum may fail, and then nothing may have been written."""

    def stepped(x: Any) -> Any:
        x -= x * 0.5
        return x.sum(axis=0)

    for dtype in "fd":
        compiled = ufuse.compile(stepped)
        for _ in range(3):
            x = host.cupy.asarray(values((33, 9), dtype))
            other = x.copy()
            assert same(compiled(x), stepped(other))
            assert same(x, other)


def test_numbers_that_do_not_fit(host: Host) -> None:
    """CuPy's exception, with a kernel that folds and with what it folds written out."""
    cp = host.cupy
    compiled = ufuse.compile(lambda x, k: (x + k).sum(axis=0))
    for x in (cp.ones((5, 3), "i1"), cp.ones((20_000, 2), "i1")):
        assert same(compiled(x, 3), (x + 3).sum(axis=0))
        for _ in range(2):
            with pytest.raises(OverflowError):
                compiled(x, 1000)


def test_places_of_extremes_keep_their_dtype(host: Host) -> None:
    """CuPy's are `long long`, by its letter too."""
    x = host.cupy.asarray(values((9, 7), "d"))
    compiled = check(lambda x: (x * 2).argmax(axis=0), x)
    assert compiled(x).dtype.char == (x * 2).argmax(axis=0).dtype.char


def test_columns_of_numpys_code(host: Host) -> None:
    """NumPy's code on a GPU folds columns in the kernel that makes them, single precision in double."""

    def folded(x: Any) -> Any:
        z = x * 0.1
        return z.sum(axis=0), z.max(axis=(0, 1)), z.mean(axis=0), z.argmax(axis=0)

    for dtype in "fd":
        x = abs(values((999, 4, 33), dtype))
        compiled = check_numpys(folded, x, close=1e-12 if dtype == "d" else 1e-5)
        assert launched(host, compiled, x) <= 3  # one for each set of axes, and a division
    x = np.full((30_000, 1), 0.1, "f4")
    total = ufuse.compile(lambda x: (x * 3).sum(axis=0), backend="cupy")
    for _ in range(2):
        assert abs(total(x) / (x * 3).astype("f8").sum(axis=0) - 1) < 1e-7


def test_places_are_numpys_in_numpys_code(host: Host) -> None:
    """Arrays of `np.int64`, and such a scalar, not of `np.longlong`."""
    x = values((9, 7), "d")
    compiled = check_numpys(lambda x: (np.argmax(x, axis=0), (x * 2).argmin()), x)
    places, place = compiled(x)
    assert is_sent(compiled)
    assert places.dtype.char == np.argmax(x, axis=0).dtype.char
    assert type(place) is type(x.argmin())


def test_what_was_folded_is_overwritten(host: Host) -> None:
    """A result that is written over as a whole before anybody reads it is not folded: the kernel has no place for it."""

    def overwritten(x: Any) -> Any:
        highest = x.max(axis=-1)
        lowest = (x * 2).min(axis=-1)
        first = lowest[0:1]
        lowest[...] = highest * 2
        return first, x - highest[:, None]

    compiled = check(overwritten, host.cupy.asarray(RNG.normal(size=(257, 33))))
    assert "min" not in source_of(compiled)
    check(overwritten, host.cupy.asarray(RNG.normal(size=(3, 3))))
