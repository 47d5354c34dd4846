"""Windows of a few elements in native loops: sums, means, extremes and medians, of which the elements are followed."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import loops_of, native_turns

pytestmark = pytest.mark.usefixtures("loops_are_left")


def sums(a, out):
    rows, columns = a.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            window = a[i - 1 : i + 2, j - 1 : j + 2]
            out[0, i, j] = window.sum()
            out[1, i, j] = np.mean(window) * 0.5
            out[2, i, j] = a[i, j - 1 : j + 2].sum()
            out[3, i, j] = a[i - 1 : i + 1, j].mean()
    return out


def extremes(a, out):
    rows, columns = a.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            window = a[i - 1 : i + 2, j - 1 : j + 2]
            out[0, i, j] = window.max()
            out[1, i, j] = np.min(window)
            out[2, i, j] = a[i, j - 1 : j + 2].max() - a[i - 1 : i + 2, j].min()
    return out


def medians(a, out):
    rows, columns = a.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            out[0, i, j] = np.median(a[i - 1 : i + 2, j - 1 : j + 2])
            out[1, i, j] = np.median(a[i - 1 : i + 1, j - 1 : j + 1])
            out[2, i, j] = np.median(a[i, j - 1 : j + 2])
    return out


def cut_off(a, out):
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            out[0, i, j] = a[i : i + 3, j : j + 2].sum()
            out[1, i, j] = a[i - 1 : i + 2, j - 1 : j + 2].sum()
            out[2, i, j] = a[i, j : j + 3].max()
    return out


def of_a_radius(a, out, r):
    rows, columns = a.shape
    for i in range(r, rows - r):
        for j in range(r, columns - r):
            out[0, i, j] = a[i - r : i + r + 1, j - r : j + r + 1].sum()
            out[1, i, j] = a[i, j - r : j + r].mean()
    return out


def at_borders(a, out):
    rows, columns = a.shape
    for i in range(rows):
        top, bottom = max(0, i - 1), min(rows, i + 2)
        for j in range(columns):
            window = a[top:bottom, max(j - 1, 0) : min(j + 2, columns)]
            out[0, i, j] = window.sum()
            out[1, i, j] = window.mean()
            out[2, i, j] = a[max(i - 2, 0) : i + 3, j].max()
    return out


def expressions(a, out):
    rows, columns = a.shape
    weights = a[3:6, 4:7].copy()
    for i in range(rows - 2):
        for j in range(columns - 2):
            window = a[i : i + 3, j : j + 3]
            out[0, i, j] = np.sum(window * weights)
            out[1, i, j] = np.mean((window - weights) ** 2)
            out[2, i, j] = np.max(np.abs(window - a[i, j]))
            out[3, i, j] = (a[i, j : j + 3] + a[i : i + 3, j] * 2).sum()
    return out


def spreads(a, out):
    rows, columns = a.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            window = a[i - 1 : i + 2, j - 1 : j + 2]
            out[0, i, j] = window.var()
            out[1, i, j] = np.std(window, ddof=1)
            out[2, i, j] = np.sum(window > a[i, j]) + (window == 0).any()
    return out


def products(image, kernel, out):
    height, width = kernel.shape
    for i in range(len(image) - height + 1):
        for j in range(len(image[0]) - width + 1):
            out[0, i, j] = np.sum(image[i : i + height, j : j + width] * kernel)
            out[1, i, j] = np.sum(image[i] - kernel[0, 0])
    return out


def of_rows(a, out):
    for i in range(len(a)):
        out[0, i, 0] = a[i].sum()
        out[1, i, 0] = a[-1 - i].mean()
        out[2, i, 0] = np.max(a[i, 1:4])
    return out


def laid_out(a: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers, otherwise in memory."""
    match layout:
        case "F":
            return np.asfortranarray(a)
        case "gaps":
            wide = np.zeros((a.shape[0] * 2, a.shape[1] * 3), a.dtype)
            wide[::2, ::3] = a
            return wide[::2, ::3]
        case "backwards":
            return a[::-1, ::-1].copy()[::-1, ::-1]
        case "around":
            return np.pad(a, 2)[2:-2, 2:-2]
    return a


def numbers(dtype: str, *, is_odd: bool) -> np.ndarray:
    """Some of all sizes; odd ones with NaN, infinity, zeros of both signs, and what overflows when it is added."""
    rng = np.random.default_rng(7)
    a = (rng.standard_normal((9, 12)) * 100).astype(dtype)
    if is_odd and a.dtype.kind == "f":
        a[rng.random(a.shape) < 0.4] = -0.0
        a[rng.random(a.shape) < 0.2] = 0.0
        a[:4, :4] = -0.0
        a[2, 7], a[6, 2], a[6, 9], a[7, 10] = np.nan, np.inf, np.inf, -np.inf
        a[3, 10] = a[4, 11] = np.finfo(dtype).max
    elif is_odd and a.dtype.kind in "iu":
        a[3, 10] = a[4, 11] = np.iinfo(dtype).max
    return a


def check(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> int:
    """Compare a function with itself compiled, with better code from its first turn on, too; how many were native."""
    compiled = ufuse.compile(function, backend=Improved())
    check_same(function, partial(compiled), lambda: arguments(*make()), modes=MODES, atoms=False)
    return native_turns(function, make) + sum(loop.turns for loop in loops_of(compiled))


LAYOUTS = ["C", "F", "gaps", "backwards", "around"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("function", [sums, extremes, cut_off, at_borders, expressions, spreads])
def test_windows(function, dtype: str, layout: str) -> None:
    """Of all kinds of numbers, however they lie."""
    if dtype == "?" and function in {extremes, expressions, spreads}:
        function = cut_off  # there is no difference of bools
    for is_odd in (False, True):
        a = laid_out(numbers(dtype, is_odd=is_odd), layout)
        turns = check(function, lambda a=a: (a, np.zeros((4, *a.shape))))
        # What is not followed may be refused where it lies in another order than C's.
        assert (
            turns > 0
            or is_odd
            or layout in {"F", "backwards"}
            or dtype == "?"
            or function is spreads
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_medians(layout: str) -> None:
    """Of an odd number of elements, and of an even one."""
    for is_odd in (False, True):
        a = laid_out(numbers("f8", is_odd=is_odd), layout)
        assert check(medians, lambda a=a: (a, np.zeros((4, *a.shape)))) > 0 or is_odd


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_a_radius_is_as_it_was(dtype: str) -> None:
    """Code that was read for one radius serves another, or is read anew."""
    a = numbers(dtype, is_odd=False)
    compiled = ufuse.compile(of_a_radius, backend=Improved())
    for radius in (1, 2, 1, 3, 0, 2):
        for _ in range(3):
            out, wanted = np.zeros((2, *a.shape)), np.zeros((2, *a.shape))
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                compiled(a, out, radius)
                of_a_radius(a, wanted, radius)
            assert out.tobytes() == wanted.tobytes()


def of_a_size(a, out, height, width):
    for i in range(a.shape[0] - height + 1):
        for j in range(a.shape[1] - width + 1):
            window = a[i : i + height, j : j + width]
            out[0, i, j] = window.sum()
            out[1, i, j] = window.mean()
    return out


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(11, 11), (8, 16), (1, 128), (127, 1), (9, 14), (1, 129)])
def test_large_windows(dtype: str, order: Any, shape: tuple[int, int]) -> None:
    """As many elements as NumPy adds in one go, and one more."""
    height, width = shape
    a = np.random.default_rng(8).normal(size=(height + 4, width + 5)) * 1e3
    a = a.astype(dtype).copy(order)
    a[0, :3] *= -1
    turns = check(of_a_size, lambda: (a, np.zeros((2, *a.shape)), height, width))
    assert turns > 0 or order == "F"


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_kernels_are_as_they_were(dtype: str) -> None:
    """Code that was read for a kernel serves larger ones, and such that are not contiguous."""
    image = numbers(dtype, is_odd=False)
    large = np.random.default_rng(5).standard_normal((8, 8))
    compiled = ufuse.compile(products, backend=Improved())
    for height, width in ((3, 3), (2, 4), (3, 3), (8, 8), (1, 1), (5, 5)):
        for kernel in (
            large[:height, :width].copy(),
            large[:height, :width],
            large.T[:height, :width],
        ):
            for _ in range(3):
                out, wanted = np.zeros((2, *image.shape)), np.zeros((2, *image.shape))
                found = compiled(image, kernel, out)
                assert found.tobytes() == products(image, kernel, wanted).tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
@pytest.mark.parametrize("columns", [3, 4, 9, 30])
def test_rows(dtype: str, columns: int) -> None:
    """Whole rows that are short."""
    a = np.resize(numbers(dtype, is_odd=False), (40, columns))
    assert check(of_rows, lambda: (a, np.zeros((3, 40, 1)))) > 0


def test_rows_of_another_length() -> None:
    """Code that was read for short rows is used for longer ones, and for none."""
    compiled = ufuse.compile(of_rows, backend=Improved())
    for columns in (5, 7, 5, 200, 4, 5):
        a = np.random.default_rng(columns).standard_normal((40, columns))
        for _ in range(3):
            out, wanted = np.zeros((3, 40, 1)), np.zeros((3, 40, 1))
            assert compiled(a, out).tobytes() == of_rows(a, wanted).tobytes()


def changing(x, turns):
    for i in range(turns):
        x[i % 50] = x[i % 50 : i % 50 + 3].sum() * 0.5 - x[i % 50 : i % 50 + 2].max()
    return x


def test_windows_of_what_changes() -> None:
    """What a turn stores is in the windows of the next ones."""
    assert check(changing, lambda: (np.random.default_rng(3).random(60), 300)) > 0


def cubes(a, out):
    for i in range(1, len(a) - 1):
        for j in range(1, len(a) - 1):
            for k in range(1, len(a) - 1):
                out[i, j, k] = a[i - 1 : i + 2, j - 1 : j + 2, k - 1 : k + 2].sum()
    return out


@pytest.mark.parametrize("order", ["C", "F"])
def test_three_axes(order) -> None:
    """Of more elements than NumPy adds one by one."""
    a = np.random.default_rng(3).standard_normal((7, 7, 7)).copy(order)
    assert check(cubes, lambda: (a, np.zeros(a.shape))) > 0
