"""Products of matrices and elements by index in nests: NumPy's own bits for every layout."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.support.nests.executed import HELPERS
from ufuse.backends.numpy import _tiles

LONG, POINTER = ctypes.c_int64, ctypes.c_void_p
MATMUL = ctypes.PYFUNCTYPE(ctypes.c_int, POINTER, LONG, POINTER)(HELPERS["matmul"])
MOVE = {
    name: ctypes.PYFUNCTYPE(ctypes.c_int, LONG, LONG, POINTER)(HELPERS[name])
    for name in ("take", "put")
}
POSITION = ctypes.PYFUNCTYPE(ctypes.c_int, LONG, LONG, POINTER, POINTER, LONG, LONG)(
    HELPERS["position"]
)


def table(lengths: list[int], arrays: list[np.ndarray], steps: list[list[int]]) -> Any:
    """The words of a call: lengths, where the arrays lie, and for each axis their steps."""
    words = [*lengths, *(one.ctypes.data for one in arrays)]
    words += [one[axis] for axis in range(len(lengths)) for one in steps]
    return (LONG * len(words))(*words)


def multiplied(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """The product as nests have it; None for a doubt."""
    shape = left.shape[:-1] + right.shape[1:]
    result = np.empty(shape, left.dtype)
    rows, columns = left.shape[:-1], right.shape[1:]
    lengths = [*(rows or (1,)), left.shape[-1], *(columns or (1,))]
    steps = [
        [left.strides[0] if rows else 0, left.strides[-1], 0],
        [0, right.strides[0], right.strides[1] if columns else 0],
        [result.strides[0] if rows else 0, 0, result.strides[-1] if columns else 0],
    ]
    loop = _tiles.numpy_loop(np.matmul, (left.dtype,) * 3)
    given = table(lengths, [left, right, result], steps)
    return None if MATMUL(id(loop), name == "dot", given) else result


def laid_out(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, how: str) -> np.ndarray:
    """An array of any layout."""
    memory = (rng.standard_normal([2 * length + 2 for length in shape]) * 9).astype(dtype)
    if how in "CF":
        return memory[tuple(slice(length) for length in shape)].copy(how)
    if how == "window":
        return memory[tuple(slice(1, length + 1) for length in shape)]
    if how == "steps":
        return memory[tuple(slice(0, 2 * length, 2) for length in shape)]
    return memory[tuple(slice(length, 0, -1) for length in shape)]


@pytest.mark.parametrize("name", ["matmul", "dot"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_products(name: str, dtype: str) -> None:
    """Of matrices and vectors; `np.dot` copies what has gaps, which is a doubt."""
    rng = np.random.default_rng(1)
    ways = ["C", "F", "window", "steps", "backwards"]
    done = 0
    for turn in range(1500):
        rows, terms, columns = (int(one) for one in rng.integers(1, 9 if turn % 3 else 40, 3))
        left, right = [
            ((rows, terms), (terms, columns)),
            ((rows, terms), (terms,)),
            ((terms,), (terms, columns)),
        ][turn % 3 if turn % 2 else 0]
        one = laid_out(rng, left, dtype, str(rng.choice(ways)))
        other = laid_out(rng, right, dtype, str(rng.choice(ways)))
        if one.shape == other.shape[::-1] and turn % 5 == 0:
            other = one.T
        found = multiplied(name, one, other)
        assert found is not None or name == "dot"
        if found is not None:
            done += 1
            wanted = getattr(np, name)(one, other)
            assert (found.tobytes(), found.strides) == (wanted.tobytes(), wanted.strides)
    assert done > 150


def test_rows_by_indices() -> None:
    """Taken and put, negative ones counted from the end; one that is out of range is a doubt."""
    rng = np.random.default_rng(2)
    for shape in ((9,), (9, 4), (9, 4, 3)):
        for how in ("C", "F", "steps", "backwards"):
            array = laid_out(rng, shape, "f8", how)
            for indices in (
                rng.integers(-9, 9, 20)[::3],
                np.array([], int),
                np.array([3, 9]),
                np.array([-10]),
            ):
                part = np.empty((len(indices), *shape[1:]))
                lengths = [*part.shape, shape[0]]
                rest = list(array.strides[1:])
                steps = [
                    [0, *rest, array.strides[0]],
                    [indices.strides[0], *[0] * len(shape)],
                    [*part.strides, 0],
                ]
                status = MOVE["take"](
                    len(lengths), 8, table(lengths, [array, indices, part], steps)
                )
                if not ((indices >= -9) & (indices < 9)).all():
                    assert status
                    continue
                assert not status
                assert part.tobytes() == array[indices].tobytes()
                part[...] = rng.standard_normal(part.shape)
                wanted = array.copy()
                wanted[indices] = part
                assert not MOVE["put"](
                    len(lengths), 8, table(lengths, [array, indices, part], steps)
                )
                assert array.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "i2"])
def test_positions(name: str, dtype: str) -> None:
    """The first of the largest or least, NaN before all; of nothing there is none."""
    rng = np.random.default_rng(3)
    result = np.empty(1, int)
    for count in (0, 1, 2, 7, 100):
        for step in (1, 2, -1, -3):
            items = (rng.standard_normal(max(1, count * abs(step))) * 3).round().astype(dtype)
            if dtype[0] == "f" and rng.random() < 0.3:
                items[rng.integers(items.size)] = np.nan
            items = items[::step][:count]
            given = items.dtype.num, name == "argmin", result.ctypes.data, items.ctypes.data
            status = POSITION(*given, items.strides[0], count)
            assert bool(status) == (count == 0)
            assert count == 0 or result[0] == getattr(np, name)(items)
