"""Reductions over several axes in nests: NumPy's own bits for every layout."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

from tests.support.nests.executed import HELPERS, Own
from ufuse.backends.numpy import _tiles

REDUCE = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)(HELPERS["reduce"])
NAMES = ("add", "multiply", "maximum", "minimum")


def reduced(name: str, array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray | None:
    """`ufunc.reduce` as nests do it; None for a doubt."""
    loop = _tiles.numpy_loop(getattr(np, name), (array.dtype,) * 3)
    kept = [1 if axis in axes else length for axis, length in enumerate(array.shape)]
    result = np.empty(kept, array.dtype)
    steps = [
        0 if axis in axes else array.itemsize * math.prod(kept[axis + 1 :])
        for axis in range(array.ndim)
    ]
    words = [*array.shape, array.ctypes.data, result.ctypes.data]
    words += [step for pair in zip(array.strides, steps, strict=True) for step in pair]
    table, scratch = (ctypes.c_int64 * len(words))(*words), Own()
    status = REDUCE(id(loop), array.ndim, table, ctypes.addressof(scratch))
    return None if status else result


def drawn(rng: np.random.Generator, dtype: Any, most: int) -> np.ndarray:
    """An array of any layout: a window, steps, axes the other way round or in another order."""
    ndim = int(rng.integers(1, 5))
    shape = [int(length) for length in rng.integers(1, most + 1, ndim)]
    memory = (rng.standard_normal([2 * length + 2 for length in shape]) * 9).astype(dtype)
    keys = []
    for length in shape:
        step = int(rng.choice([1, 1, 1, 2, -1]))
        first = length + 1 if step < 0 else 1
        keys.append(slice(first, first + step * length, step))
    view = memory[tuple(keys)]
    if rng.random() < 0.3:
        view = view.copy()
    return view.transpose(rng.permutation(ndim)) if rng.random() < 0.5 else view


def check(name: str, array: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Whether it is no doubt; then it is NumPy's."""
    found = reduced(name, array, axes)
    if found is None:
        return False
    with np.errstate(all="ignore"):
        wanted = getattr(np, name).reduce(array, axis=axes, dtype=array.dtype, keepdims=True)
    assert found.tobytes() == wanted.tobytes(), (name, array.shape, array.strides, axes)
    return True


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_all_layouts(dtype: str) -> None:
    """Over one axis, several, or all; only sums over some of the axes that cannot be joined may be doubts."""
    rng = np.random.default_rng(1)
    names = ("logical_or", "logical_and") if dtype == "?" else NAMES
    for _ in range(600):
        array = drawn(rng, dtype, 9)
        count = int(rng.integers(1, array.ndim + 1))
        axes = tuple(sorted(int(axis) for axis in rng.permutation(array.ndim)[:count]))
        for name in names:
            is_done = check(name, array, axes)
            assert is_done or (name == "add" and 1 < count < array.ndim)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    "shape",
    [
        (91, 91), (200, 95), (3, 8191), (3, 8192), (2, 8193), (2, 17000), (5000, 5), (91, 90), (9, 92, 93), (60, 12, 13),
        (3, 7000, 3), (4, 4, 90, 99), (2, 20, 30, 40), (2, 2, 8300), (1, 8193),
    ],
)  # fmt: skip
def test_sums_in_buffers(dtype: str, shape: tuple[int, ...]) -> None:
    """Sums of windows of more elements than NumPy's buffers have."""
    rng = np.random.default_rng(2)
    memory = rng.standard_normal([length + 2 for length in shape]).astype(dtype)
    window = memory[tuple(slice(1, -1) for _ in shape)]
    everything = tuple(range(len(shape)))
    assert check("add", window, everything)
    assert check("add", window.T, everything)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_zeros_and_nans(name: str) -> None:
    """Which zero or NaN lives on depends on NumPy's order: right or a doubt."""
    rng = np.random.default_rng(3)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, 0.0, 0.0])
    for count in (1, 5, 60):
        for _ in range(40):
            memory = np.abs(rng.standard_normal((7, 12))) * (1 if name == "minimum" else -1)
            memory.flat[rng.integers(0, memory.size, count)] = rng.choice(odd, count)
            for view in (memory, memory[1:, 1:], memory.T, memory[::2, ::-1]):
                for axes in ((0,), (1,), (0, 1)):
                    check(name, view, axes)
    assert check(name, np.zeros((7, 12))[1:, 1:], (0, 1))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_short_rows(dtype: str) -> None:
    """Sums of a few zeros, infinities and NaNs of different bits."""
    rng = np.random.default_rng(4)
    bits = {"f8": (np.uint64, 0x7FF8000000000000), "f4": (np.uint32, 0x7FC00000)}
    kind, quiet = bits[dtype]
    nans = (kind(quiet) + np.arange(1, 4, dtype=kind)).view(dtype)
    odd = np.concatenate([np.array([0.0, -0.0, np.inf, -np.inf], dtype), nans, -nans])
    for length in range(1, 9):
        array = rng.choice(odd, (300, length))
        for view in (array, array[::-2], array[:, ::-1], array.reshape(30, 10, length)):
            assert check("add", view, (view.ndim - 1,))


def test_nothing() -> None:
    """Of no elements: sums are zero, products one; of the largest there is none."""
    for shape in ((0, 3), (3, 0), (0, 0)):
        for axes in ((0,), (1,), (0, 1)):
            array = np.empty(shape)
            assert check("add", array, axes)
            assert check("multiply", array, axes)
            assert not check("maximum", array, axes)
