"""The memory of the executor: the pool that large results come from, and leaks."""

from __future__ import annotations

import gc
import io
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from tests.support.tiles import (
    F8,
    add_program,
    assert_same,
    map_kernel,
    row_kernel,
    square_sum_kernel,
)
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.usefixtures("quiet")


def big(size: int = 50_000) -> Any:
    """A fresh array from the pool."""
    return map_kernel(np.add, (F8, F8, F8)).run((np.arange(float(size)), 1.0))[0][0]


def test_large_results_come_from_the_pool() -> None:
    """Memory of a dead array is used again; the array looks like any other."""
    big()
    before = _tiles.pool_state()
    array = big()
    after = _tiles.pool_state()
    assert after["reused"] == before["reused"] + 1
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.base is None
    assert array.ctypes.data % 64 == 0
    died = weakref.ref(array)
    del array
    assert died() is None
    assert _tiles.pool_state()["kept"] >= before["kept"]


def test_arrays_of_the_pool_can_do_everything() -> None:
    """Resize, pickle, save, copy and views work on pooled memory."""
    array = big()
    expected = np.arange(50_000.0) + 1
    assert_same(pickle.loads(pickle.dumps(array)), expected)
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    assert_same(np.load(file), expected)
    array.resize(200_000, refcheck=False)
    assert_same(array[:50_000], expected)
    assert (array[50_000:] == 0).all()
    array.resize(10, refcheck=False)
    assert_same(array, expected[:10])
    array.resize(30_000, refcheck=False)
    assert_same(array[:10], expected[:10])
    view = big()[::2]
    gc.collect()
    assert_same(view, expected[::2])


def test_the_pool_keeps_to_its_limit() -> None:
    """What is kept never exceeds the limit; a limit of 0 keeps nothing."""
    limit = _tiles.pool_state()["limit"]
    try:
        _tiles.set_pool_limit(1 << 20)
        for size in (20_000, 40_000, 60_000, 80_000, 1_000_000):
            del size
            arrays = [big(20_000 * i) for i in range(1, 6)]
            arrays.append(big(1_000_000))
            del arrays
            assert _tiles.pool_state()["kept"] <= 1 << 20
        _tiles.set_pool_limit(0)
        assert _tiles.pool_state()["kept"] == 0
        assert_same(big(), np.arange(50_000.0) + 1)
        assert _tiles.pool_state()["kept"] == 0
    finally:
        _tiles.set_pool_limit(limit)


@pytest.mark.leaks
def test_no_leaks() -> None:
    """Two hundred thousand calls leave neither references nor memory."""
    program, rows, total = add_program(), row_kernel(F8), square_sum_kernel(F8)
    x, grid, large = np.arange(10.0), np.ones((5, 20)), np.ones(20_000)
    none, one = sys.getrefcount(None), sys.getrefcount(1.0)

    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1])

    def calls(count: int) -> None:
        for _ in range(count):
            program(x)
            program("refused")
            rows.run((grid,))
            total.run((x,))
        for _ in range(count // 100):
            program(large)

    calls(1000)
    before, references = resident(), sys.getrefcount(x)
    calls(50_000)
    assert resident() - before < 200
    assert sys.getrefcount(x) == references
    assert abs(sys.getrefcount(None) - none) < 1000
    assert abs(sys.getrefcount(1.0) - one) < 1000
