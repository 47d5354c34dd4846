"""CuPy's own products, ranges and sorting in one graph with what is around them, and stores by masks in its kernels."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.captured import source_of
from tests.support.devices.comparing import check, same
from tests.support.restated import check_restated

RNG = np.random.default_rng(41)


@pytest.mark.parametrize("dtype", "fdFD")
def test_products(host: Host, dtype: str) -> None:
    """Of vectors, matrices and stacks, in any memory order, with elementwise code on both sides."""
    cp = host.cupy
    x, y = (cp.asarray(RNG.normal(size=(5, 5)).astype(dtype)) for _ in range(2))
    stack = cp.asarray(RNG.normal(size=(3, 5, 5)).astype(dtype))
    for left, right in (
        (x, y),
        (x.T, y),
        (x[::-1], y.T),
        (x[:2], y[:, 1:]),
        (x, y[0]),
        (x[0], y),
        (x[0], y[1]),
    ):
        check(lambda a, b: ((a * 2) @ b + 1, cp.dot(a, b), a.dot(b)), left, right)
    for left, right in ((stack, x), (x, stack), (stack, stack), (stack, x[0])):
        check(lambda a, b: (cp.matmul(a, b) * 2, a @ (b + b)), left, right)
    check(lambda a, b: a @ b, x[:, :0], y[:0])


def test_products_of_other_dtypes(host: Host) -> None:
    """Of whole numbers, of several dtypes, and in place; CuPy's exception where lengths differ."""
    cp = host.cupy
    for dtype in "?bBhiIlLfdFD":
        x = cp.asarray(RNG.integers(0, 5, (4, 4)).astype(dtype))
        check(lambda a, b: (a @ b) * 2, x, x)
        check(lambda a, b: (a @ b) * 2, x, cp.asarray(RNG.integers(0, 5, (4, 4)) * 1.5))

    def in_place(a: Any, b: Any) -> Any:
        c = a
        c @= b
        return a, c

    x = cp.asarray(RNG.integers(0, 5, (4, 4)))
    check(in_place, x * 0.5, x * 2.0)
    compiled = ufuse.compile(lambda a, b: a @ b)
    for _ in range(2):
        with pytest.raises(ValueError, match="dimension"):
            compiled(x * 0.5, x[:3] * 0.5)


def test_ranges(host: Host) -> None:
    """Of whole numbers, of lengths of arrays, and between numbers."""
    cp = host.cupy
    x = cp.asarray(RNG.normal(size=9))
    check(lambda x: x * cp.arange(9) + cp.arange(len(x)), x)
    check(lambda x: cp.arange(1, x.size + 1, dtype="f4") * 0.5, x)
    check(lambda x: (cp.arange(2, 20, 2), cp.arange(5, 2), cp.arange(7, dtype="u1") + x[0]), x)
    check(lambda x: x + cp.linspace(0, 1, x.shape[0]), x)
    check(lambda n: cp.linspace(-1.5, 2, num=n, endpoint=False)[::-1] * 2, 12)
    check(lambda n: cp.arange(n) * 3 + n, 5)
    check(lambda: (cp.arange(0.0, 1.0, 0.3) + 1, cp.arange(2.5) * 2, cp.arange(1.0, 0.0, -0.1) * 3))
    compiled = ufuse.compile(lambda x: (cp.arange(x.size) * x).sum())
    for size in (31, 33, 7):
        x = cp.asarray(RNG.normal(size=size))
        assert same(compiled(x), (cp.arange(x.size) * x).sum())
    assert len(compiled.graphs) == 1


def test_ranges_that_are_left_to_cupy(host: Host) -> None:
    """Floats whose number is not known, or that NumPy counts otherwise; what does not fit raises as CuPy does."""
    cp = host.cupy
    x = cp.asarray(RNG.normal(size=4))
    for step in (0.25, 0.3):
        compiled = ufuse.compile(lambda x, step: x + cp.arange(0.0, 1.0, step))
        for _ in range(2):
            assert same(compiled(x, step), x + cp.arange(0.0, 1.0, step))
        assert compiled.breaks
    tiny = ufuse.compile(lambda: cp.arange(0.0, 5e-324, 1e308) * 2)
    for _ in range(3):
        assert same(tiny(), cp.arange(0.0, 5e-324, 1e308) * 2)
    compiled = ufuse.compile(lambda n: cp.arange(-n, n, dtype="u1") + 1)
    for _ in range(2):
        with pytest.raises(OverflowError):
            compiled(3)


@pytest.mark.parametrize("dtype", "biLfd")
def test_sorting(host: Host, dtype: str) -> None:
    """Along the last axis, in new memory."""
    cp = host.cupy
    x = cp.asarray((RNG.normal(size=(6, 33)) * 9).astype(dtype))
    before = x.copy()
    compiled = check(lambda x: (cp.sort(x * 2) + 1, cp.argsort(x), x.argsort(axis=-1) * 2), x)
    assert len(compiled.graphs) == 1
    check(lambda x: cp.sort(x[0]) - cp.sort(x, axis=1)[0], x)
    assert same(x, before)


def test_sorting_in_place(host: Host) -> None:
    """What the array holds from then on; along other axes and of everything, too."""
    cp = host.cupy

    def sorted_here(x: Any) -> Any:
        y = x * 2
        z = y[1:]
        y.sort()
        return y + 1, z, cp.sort(x, axis=0), cp.sort(x, axis=None), cp.argsort(x, 0) * 2

    def sorted_argument(x: Any) -> Any:
        x.sort(0)
        return x * 2

    check(sorted_here, cp.asarray(RNG.normal(size=(4, 5))))
    check_in_place(sorted_argument, cp.asarray(RNG.normal(size=(4, 5))))


@pytest.mark.parametrize("axis", [-1, 5, None])
@pytest.mark.parametrize("order", "CF")
def test_sorting_in_place_that_cupy_refuses(host: Host, axis: int | None, order: str) -> None:
    """Behind a store its error has the user's line and no other context: it is not met inside the graph."""

    def stored(x: Any) -> None:
        x += 1
        x.sort(axis=axis)

    values = RNG.normal(size=(4, 5))
    check_restated(host, stored, lambda: (host.cupy.asarray(values, order=order),))


@pytest.mark.parametrize("shift", [None, 1.5, True, (1, None), (1, 2)])
def test_rolling_by_what_is_no_whole_number(host: Host, shift: Any) -> None:
    """CuPy takes floats and raises for None: it is left to it, but for whole numbers."""
    cp = host.cupy
    axis = (0, 1) if isinstance(shift, tuple) else 0
    values = RNG.normal(size=(4, 5))
    check_restated(
        host, lambda x, shift: cp.roll(x, shift, axis) * 2, lambda: (cp.asarray(values), shift)
    )


@pytest.mark.parametrize("dtype", "biefd")
def test_stores_by_masks(host: Host, dtype: str) -> None:
    """Numbers where a mask says so: in one kernel with what makes the mask, at which the host does not wait."""
    cp = host.cupy

    def clipped(x: Any, y: Any) -> Any:
        x[y > 1] = 1
        x[y < -1] = 0
        return x * y

    compiled = ufuse.compile(clipped)
    plain = cp.asarray(RNG.normal(size=(7, 33)).astype(dtype))
    for view in (
        lambda x: x,
        lambda x: x.T,
        lambda x: x[::-1, ::2],
        lambda x: x[:, 0],
        lambda x: x[:0],
    ):
        for _ in range(2):
            x, other, y = plain.copy(), plain.copy(), cp.asarray(RNG.normal(size=(7, 33)) * 2)
            wanted = clipped(view(other), view(y))
            host.device.counts.clear()
            result = compiled(view(x), view(y))
            assert not any("Synchronize" in name for name in host.device.counts)
            assert same(result, wanted)
            assert same(x, other)
    assert not compiled.breaks
    assert source_of(compiled).count("__global__") == 1


def test_what_masks_store(host: Host) -> None:
    """Floats of the frame, what is no number or infinite, rows, and an array by its own truth."""
    cp = host.cupy
    plain = cp.asarray(RNG.normal(size=(9, 5)))

    def stored(x: Any, low: float) -> Any:
        x[x < low] = low
        x[x[:, 0] > 0.5] = np.nan
        x[x > 1] = -np.inf
        x[1:][x[1:] == 0.25] = -1e300
        return x

    for low in (-0.5, 0.25, -0.0):
        check_in_place(stored, plain, low)

    def emptied(x: Any) -> Any:
        x[x] = False
        return x

    def limited(x: Any) -> Any:
        x[x > 3] = 100
        return x

    check_in_place(emptied, plain > 0)
    check_in_place(limited, cp.arange(9, dtype="i1"))


def check_in_place(function: Any, array: Any, *arguments: Any) -> None:
    """Compare what a function makes of its argument."""
    function(array.copy(), *arguments)  # CuPy imports some of its modules when they are used
    compiled = ufuse.compile(function)
    for _ in range(3):
        x, other = array.copy(), array.copy()
        found, wanted = compiled(x, *arguments), function(other, *arguments)
        if not isinstance(wanted, tuple):
            found, wanted = (found,), (wanted,)
        assert all(map(same, found, wanted))
        assert same(x, other)
    assert not compiled.breaks


def test_arrays_by_masks(host: Host) -> None:
    """What a mask picks, stored by it; numbers with a sign; CuPy's exceptions."""
    cp = host.cupy

    def scaled(x: Any, y: Any) -> Any:
        x[y > 0] = y[y > 0] * 2
        x[x > 1] *= 0.5
        return x[x > 0] * 2

    def negative(x: Any, y: Any) -> Any:
        x[y > 0] = -3
        return x

    def plain(x: Any, y: Any) -> Any:
        x[y > 0] = 1

    floats = cp.asarray(RNG.normal(size=6))
    check_in_place(scaled, floats, floats * 2)
    check_in_place(scaled, cp.asarray(RNG.normal(size=(4, 3))), cp.asarray(RNG.normal(size=(4, 3))))
    check_in_place(negative, cp.arange(6), floats)
    compiled = ufuse.compile(plain)
    for mask in (floats, floats[:3], floats):
        for _ in range(2):
            if mask.size == floats.size:
                assert compiled(floats, mask) is None
            else:
                with pytest.raises(IndexError):
                    compiled(floats, mask)
    assert compiled.stats.hits


def test_a_float_into_whole_numbers_by_a_mask_is_cupys(host: Host) -> None:
    """Capture goes on behind it."""

    def halved(x: Any, y: Any) -> Any:
        x[y > 0] = 2.5
        return x * 2

    compiled = ufuse.compile(halved)
    floats = host.cupy.asarray(RNG.normal(size=6))
    for _ in range(2):
        x, other = host.cupy.arange(6), host.cupy.arange(6)
        assert same(compiled(x, floats), halved(other, floats))
        assert same(x, other)
    assert compiled.breaks


@pytest.mark.parametrize("zero", [0.0, -0.0, 0])
def test_zeros_that_fill(host: Host, zero: float) -> None:
    """CuPy clears memory without gaps, where -0.0 becomes 0.0; memory with gaps keeps the sign."""
    cp = host.cupy

    def filled(x: Any, i: Any, zero: float) -> Any:
        y, z = x * 2, x + 1
        y[0], y[:, 1], y[2, 2] = zero, zero, zero
        z[...] = zero
        x[x > 0.5] = zero
        x[i] = zero
        return y, z, x, cp.full((2, 3), zero), cp.full(3, -0.0)

    check_in_place(filled, cp.asarray(RNG.normal(size=(5, 6))), cp.asarray([1, 3]), zero)
    if zero == 0 and isinstance(zero, float):
        compiled = ufuse.compile(filled)
        for value in (1.5, -0.0, 0.0, -2.0, -0.0):
            x, other = (cp.asarray(np.arange(30.0).reshape(5, 6)) for _ in range(2))
            places = cp.asarray([1, 3])
            found, wanted = compiled(x, places, value), filled(other, places, value)
            assert all(map(same, found, wanted))


def test_a_number_too_large_for_the_array_is_warned_of_once(host: Host) -> None:
    """As CuPy does it."""

    def stored(x: Any) -> Any:
        x[x > 0] = 1e300
        return x

    compiled = ufuse.compile(stored)
    for function in (stored, compiled, compiled):
        with pytest.warns(RuntimeWarning, match="overflow") as given:
            assert np.isinf(function(host.cupy.ones(3, "f4")).get()).all()
        assert len(given) == 1


def test_graphs_read_back(host: Host) -> None:
    """The text of a graph has the calls, with where their results are."""
    cp = host.cupy

    def mixed(x: Any) -> Any:
        return cp.sort(x[:, None] @ x[None]) * cp.arange(x.size) + cp.linspace(0, 1, x.size)

    compiled = check(mixed, cp.asarray(RNG.normal(size=5)))
    text = str(compiled.graphs[0])
    again = ufuse.Graph.parse(text)
    assert str(again) == text
    assert again.source("cupy").count("arange") == source_of(compiled).count("arange") > 0


def test_what_is_sent(host: Host) -> None:
    """Numbers in lists, alone and computed, and arguments of NumPy's: new memory at each call."""
    cp = host.cupy

    def sent(x: Any, a: Any, s: float) -> Any:
        b = cp.asarray(a)
        b *= 2
        return (
            x[:2] * cp.array([1.0, s]),
            cp.array([[1, 2], [3, 4]], dtype="f4") + x[0],
            b,
            cp.asarray(s) * x,
            cp.array(3),
        )

    x = cp.asarray(RNG.normal(size=4))
    for dtype in "?bBhiIlLfdFD":
        a = (RNG.normal(size=(3, 4)) * 3).astype(dtype if dtype != "?" else "i4")
        compiled = ufuse.compile(sent)
        for s in (0.5, -1.25, 0.5):
            for found, wanted in zip(compiled(x, a, s), sent(x, a, s), strict=True):
                assert same(found, wanted)
        assert not compiled.breaks
    compiled = ufuse.compile(lambda a: cp.asarray(a) * 2)
    for a in (np.asfortranarray(RNG.normal(size=(3, 4))), RNG.normal(size=(3, 4)).T):
        for _ in range(2):
            assert same(compiled(a), cp.asarray(a) * 2)
    assert compiled.breaks


@pytest.mark.parametrize("dtype", "FD")
def test_complex_numbers(host: Host, dtype: str) -> None:
    """Their parts are views, which may be written; arrays of them are stored and joined."""
    cp = host.cupy

    def parts(z: Any) -> Any:
        w = z * 2
        w[0] = z[1] * (1 + 2j)
        w[1:].real[:, 0] = z[1:, 1].imag
        w.imag[...] += 1
        z[:, 1] = z[:, 0]
        return (
            w,
            w.real * w.imag,
            cp.concatenate([z, w]),
            abs(z) ** 2,
            z.conj() * w,
            z.T.imag,
            w.real,
        )

    check_in_place(
        parts, cp.asarray((RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3))).astype(dtype))
    )


def test_numbers_that_do_not_fit_raise_at_the_line_of_the_call(host: Host) -> None:
    """Of an array without axes too, where CuPy's own function is called in the graph."""

    def clipped(x: Any) -> Any:
        return host.cupy.clip(x, -1, 2)

    compiled = ufuse.compile(clipped)
    for x in (host.cupy.asarray(np.uint64(5)), host.cupy.arange(3, dtype="u8")):
        for _ in range(3):
            with pytest.raises(OverflowError, match="out of bounds") as raised:
                compiled(x)
            assert "clipped" in [entry.name for entry in raised.traceback]


def test_transforms_of_several_axes(host: Host) -> None:
    """With lengths and axes, of real numbers and back, and those of `cupyx.scipy.fft`."""
    cp = host.cupy
    sf = import_module("cupyx.scipy.fft")
    x = RNG.normal(size=(4, 6, 5))

    def padded(x: Any) -> Any:
        return (
            cp.fft.fft2(x, s=(8, 4)) * 2,
            cp.fft.ifftn(x, s=(3, 3, 2), norm="ortho"),
            cp.fft.rfftn(x, axes=(0, 2)),
            cp.fft.irfft2(cp.fft.rfft2(x), s=x.shape[1:]) + 1,
            cp.fft.irfftn(cp.fft.rfft2(x)),
        )

    def scipys(x: Any) -> Any:
        one = sf.rfft(x, 16, axis=1), sf.irfft(sf.rfft(x), norm="ortho"), sf.fft2(x, axes=(0, -1))
        return (*one, sf.ifftn(x, (2, 2)), sf.irfftn(sf.rfftn(x)), sf.fft(x)[0] * 2)

    for function in (padded, scipys):
        for dtype in "fdi":
            compiled = check_restated(
                host, function, lambda kind=dtype: (cp.asarray(x.astype(kind)),)
            )  # type: ignore[misc]
            assert not compiled.breaks
    compiled = check_restated(
        host, lambda x: sf.fft(x, overwrite_x=True).sum() + 1, lambda: (cp.asarray(x + 0j),)
    )
    assert compiled.breaks
