"""The executor against plain NumPy: totals of everything, and rows that are reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.tiles import (
    BOOL,
    F8,
    OVERFLOW,
    TREE_SIZES,
    assert_same,
    initial_of,
    row_kernel,
    total_kernel,
    unlike,
    values_of,
)
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("code", "efdgFDGilB")
def test_sums(code: str) -> None:
    """A sum has the bits of NumPy's pairwise tree at every size."""
    dtype = np.dtype(code)
    kernel = total_kernel(np.add, dtype, 0)
    x = np.random.default_rng(1).normal(size=max(TREE_SIZES)) * 50
    x = x.astype(dtype)
    for size in (0, *TREE_SIZES):
        assert_same(kernel.run((x[:size],))[0][0], np.add.reduce(x[:size], dtype=dtype))
    for special in (-0.0, np.nan, np.inf):
        y = x[:1000].copy()
        if dtype.kind in "fc":
            y[500] = special
        assert_same(kernel.run((y,))[0][0], np.add.reduce(y, dtype=dtype))
    if dtype.kind in "fc":
        zeros = np.full(300, -0.0, dtype)
        assert_same(kernel.run((zeros,))[0][0], np.add.reduce(zeros))
        mixed = x[:9000].copy()
        mixed[[10, 4000, 8000]] = np.nan
        mixed[[700, 5000]] = -np.nan
        assert_same(kernel.run((mixed,))[0][0], np.add.reduce(mixed))


FOLDS = [
    (np.add, "fdil", 0),
    (np.multiply, "fdDil", 1),
    (np.maximum, "efdil", None),
    (np.minimum, "efdil", None),
    (np.fmax, "fd", None),
    (np.bitwise_or, "il?", 0),
    (np.logical_and, "?", True),
    (np.hypot, "d", 0),
    (np.subtract, "dl", None),
]


@pytest.mark.parametrize(
    ("ufunc", "codes", "initial"), FOLDS, ids=lambda v: getattr(v, "__name__", "")
)
def test_other_totals(ufunc: np.ufunc, codes: str, initial: Any) -> None:
    """Every fold has NumPy's bits, zeros and NaN of both signs included."""
    for code in codes:
        dtype = np.dtype(code)
        kernel = total_kernel(ufunc, dtype, initial)
        for seed, size in enumerate((1, 2, 5, 63, 64, 65, 1000, 50_001)):
            x = values_of(dtype, size, seed)
            finite = np.where(np.isfinite(x), x, x.dtype.type(1))
            zeros = (
                (values_of(BOOL, size, seed).astype(dtype) - dtype.type(1)) * x.dtype.type(0)
                if dtype.kind == "f"
                else x
            )
            for y in (x, finite, zeros):
                assert_same(kernel.run((y,))[0][0], ufunc.reduce(y, dtype=dtype))
        empty = np.empty(0, dtype)
        if initial is None:
            assert kernel.run((empty,)) is NotImplemented
        else:
            assert_same(kernel.run((empty,))[0][0], ufunc.reduce(empty, dtype=dtype))


def test_totals_of_grids() -> None:
    """A total over several axes is that of the fresh array that eager makes."""
    x = values_of(F8, 60_000, 3)
    x[~np.isfinite(x)] = 1
    for view in (
        x.reshape(200, 300),
        x.reshape(200, 300)[1:, 2:-3],
        x.reshape(20, 30, 100)[:, ::2, ::-1],
    ):
        expected = np.add.reduce(np.ascontiguousarray(view), axis=None)
        assert_same(total_kernel(np.add, F8, 0).run((view,))[0][0], expected)
        direct = _tiles.Kernel(
            (F8,),
            ((F8, True),),
            ((_tiles.numpy_loop(np.add, (F8,) * 3), (0,), (1,), "total", 0, bytes(8)),),
            ((1, ("scalar",)),),
        )
        assert_same(direct.run((view,))[0][0], expected)


def test_total_flags() -> None:
    """An overflow between partial sums is the sum's."""
    x = np.full(100_000, 1e304)
    found, flags = total_kernel(np.add, F8, 0).run((x,))
    assert np.isinf(found[0])
    assert flags == ((1, OVERFLOW),)


ROWS = [
    (1, 1),
    (1, 300),
    (300, 1),
    (1000, 3),
    (64, 7),
    (77, 16),
    (50, 63),
    (100, 64),
    (30, 1000),
    (3, 40_000),
    (5000, 10),
]


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("code", "fd")
def test_rows(shape: tuple[int, int], code: str) -> None:
    """Reductions along rows, and their use along rows, give NumPy's bits."""
    dtype = np.dtype(code)
    x = np.random.default_rng(2).normal(size=shape).astype(dtype)
    wide = np.random.default_rng(3).normal(size=(shape[0], 2 * shape[1] + 1)).astype(dtype)
    for array in (x, wide[:, : shape[1]], wide[:, 1::2], x[::-1, ::-1], x.T.copy().T):
        for keepdims in (False, True):
            (found, top, doubled, again), _ = row_kernel(dtype, keepdims=keepdims).run((array,))
            fresh = np.ascontiguousarray(array)
            highest = np.maximum.reduce(fresh, axis=-1, keepdims=True)
            below = fresh - highest
            sums = np.add.reduce(below, axis=-1, keepdims=True)
            assert_same(found, below / sums)
            assert_same(top, highest if keepdims else highest[..., 0])
            assert_same(again, top)
            assert_same(doubled, sums + sums if keepdims else (sums + sums)[..., 0])


@pytest.mark.parametrize("shape", ROWS)
def test_unlike_pairs_in_rows(shape: tuple[int, int]) -> None:
    """NaN and zeros of both signs are reduced along rows as NumPy does, or the kernel refuses."""
    x = unlike(F8, shape[0] * shape[1], 7).reshape(shape)
    for ufunc, initial in (
        (np.add, bytes(8)),
        (np.maximum, None),
        (np.fmin, None),
        (np.multiply, initial_of(1, F8)),
    ):
        loop = _tiles.numpy_loop(ufunc, (F8,) * 3)
        kernel = _tiles.Kernel(
            (F8,),
            ((F8, True), (F8, False), (F8, True)),
            (
                (loop, (0,), (1,), "reduce", 0, initial),
                (loop, (0, 1), (2,), "map", 1),
                (loop, (1, 1), (3,), "map_row", 2),
            ),
            ((2, ("new", None)), (1, ("rows", True)), (3, ("rows", True))),
            rows=True,
        )
        reduced = ufunc.reduce(x, axis=-1, keepdims=True)
        found = kernel.run((x,))
        if found is not NotImplemented:
            for one, other in zip(
                found[0], (ufunc(x, reduced), reduced, ufunc(reduced, reduced)), strict=True
            ):
                assert_same(one, other)
        alone = _tiles.Kernel(
            (F8,),
            ((F8, True),),
            ((loop, (0,), (1,), "reduce", 0, initial),),
            ((1, ("rows", True)),),
            rows=True,
        )
        assert_same(alone.run((x,))[0][0], reduced)


def test_rows_of_higher_rank_and_row_operands() -> None:
    """Operands of one element per row take part in map_row and in map."""
    add = _tiles.numpy_loop(np.add, (F8,) * 3)
    kernel = _tiles.Kernel(
        (F8, F8, F8),
        ((F8, True), (F8, True), (F8, False)),
        (
            (add, (0,), (3,), "reduce", 0, bytes(8)),
            (add, (3, 1), (4,), "map_row", 1),
            (add, (0, 2), (5,), "map", 2),
        ),
        ((5, ("new", None)), (4, ("rows", False))),
        rows=True,
    )
    x = np.random.default_rng(4).normal(size=(20, 30, 40))
    thin = np.random.default_rng(5).normal(size=(20, 30, 1))
    for row in (thin, thin[:1], thin[::-1, ::-1], thin[0], 2.0, np.float64(3)):
        (found, sums), _ = kernel.run((x, row, row))
        assert_same(found, x + row)
        expected = np.add.reduce(x, axis=-1, keepdims=True) + row
        assert_same(sums, expected[..., 0])
    assert kernel.run((x, x, 1.0)) is NotImplemented


def test_empty_rows() -> None:
    """Rows of no elements give initial values; no rows give nothing."""
    add = _tiles.numpy_loop(np.add, (F8,) * 3)
    kernel = _tiles.Kernel(
        (F8,),
        ((F8, True),),
        ((add, (0,), (1,), "reduce", 0, bytes(8)),),
        ((1, ("rows", False)),),
        rows=True,
    )
    for shape in ((3, 0), (0, 3), (0, 0), (2, 0, 4), (2, 3, 0), (70_000, 0)):
        x = np.empty(shape)
        assert_same(kernel.run((x,))[0][0], np.add.reduce(x, axis=-1))
    assert row_kernel(F8).run((np.empty((3, 0)),)) is NotImplemented
    assert kernel.run((np.array(1.0),)) is NotImplemented
