"""Native segments of the executor, and their promotion."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.tiles import F8, assert_same, chain, chain_kernel, square_sum_kernel
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.usefixtures("quiet")


NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_ssize_t), ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_void_p
)  # fmt: skip


def view_of(address: int, size: int, step: int, code: str = "d") -> Any:
    """The memory that a loop is given, as an array."""
    if size == 0:
        return np.empty(0, code)
    lowest = address + min(0, (size - 1) * step)
    raw = memoryview((ctypes.c_char * (abs(step) * (size - 1) + 8)).from_address(lowest))
    return np.ndarray((size,), code, raw, address - lowest, (step,))


def native(function: Any, inputs: int, outputs: int) -> Any:
    """The loop behind a C callback."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return _tiles.native_loop(address, function, inputs, outputs)


def native_chain(
    seen: list[int], *, verdict: Callable[[Any], int] = lambda _: 0, spoil: bool = False
) -> Any:
    """`chain_kernel` in one native segment, which is Python behind a C function."""

    @NATIVE  # type: ignore[untyped-decorator]
    def function(data: Any, count: Any, steps: Any, _: Any) -> int:
        size = count[0]
        seen.append(size)
        x, y, _two, out = (view_of(data[i], size, steps[i]) for i in range(4))
        with np.errstate(all="ignore"):
            out[:] = 7.0 if spoil else chain(x, y)
        return verdict(x)

    return ((native(function, 3, 1), (0, 1, 2), (7,), "map", -1),)


def test_native_segments_are_used() -> None:
    """Native segments replace the plain ones from `set_native` on, whatever the layout."""
    x, y = np.random.default_rng(0).normal(size=(2, 6000))
    seen: list[int] = []
    kernel = chain_kernel(native=native_chain(seen))
    assert kernel.native
    grid = x.reshape(60, 100)
    for a, b in ((x, y), (x[::2], y[::-2]), (grid[:, 1:-1], y[:98]), (grid, y[:60, None])):
        assert_same(kernel.run((a, b, 2.0))[0][0], chain(a, b))
    assert sum(seen) == 6000 + 3000 + 60 * 98 + 6000
    kernel.native = None
    kernel.run((x, y, 2.0))
    assert len(seen) > 0
    assert sum(seen) == 6000 + 3000 + 60 * 98 + 6000
    assert kernel.flagged == 0


def test_native_tiles_are_run_again() -> None:
    """A tile of which a native loop says 1 is computed by the plain segments."""
    x, y = np.random.default_rng(0).normal(size=(2, 100_000))
    kernel = chain_kernel(native=native_chain([], verdict=lambda a: int(a[0] == x[0]), spoil=True))
    (found,), flags = kernel.run((x, y, 2.0))
    expected = chain(x, y)
    same = found == expected
    assert same[:1024].all()
    assert (found[~same] == 7.0).all()
    assert not same.all()
    assert kernel.flagged == 1
    assert flags is None


def test_on_hot() -> None:
    """The kernel calls once, when its elements reach the limit, before it runs."""
    calls: list[int] = []
    seen: list[int] = []

    def on_hot(kernel: Any) -> None:
        calls.append(kernel.elements)
        kernel.set_native(native_chain(seen))

    kernel = chain_kernel(on_hot=on_hot, hot=2500)
    x = np.arange(1.0, 1001.0)
    for _ in range(4):
        kernel.run((x, x, 2.0))
    assert calls == [3000]
    assert seen == [1000, 1000]
    assert (kernel.runs, kernel.elements) == (4, 4000)


def test_exceptions_in_on_hot_come_behind_the_run() -> None:
    """An interrupt in a promotion is the program's: it is raised when the run has ended, and promotion is tried again."""
    calls: list[str] = []
    seen: list[Any] = []

    def on_hot(_: Any) -> None:
        calls.append("hot")
        if len(calls) == 1:
            raise KeyboardInterrupt(7)

    def run() -> None:
        seen.append(kernel.run((np.ones(3), np.ones(3), 2.0))[0][0])
        list(map(seen.append, range(10)))

    kernel = chain_kernel(on_hot=on_hot, hot=1)
    with pytest.raises(KeyboardInterrupt, match="7"):
        run()
    assert (kernel.runs, seen) == (1, [])
    assert_same(kernel.run((np.ones(3), np.ones(3), 2.0))[0][0], chain(np.ones(3), np.ones(3)))
    assert len(calls) == 2


def test_exceptions_in_on_hot_of_another_thread_stay_there() -> None:
    """The main thread does not get what was raised in another."""
    seen: list[str] = []

    def on_hot(_: Any) -> None:
        raise KeyboardInterrupt

    def run() -> None:
        try:
            kernel.run((np.ones(3), np.ones(3), 2.0))
            for _ in range(1000):
                time.sleep(1e-3)
        except KeyboardInterrupt:
            seen.append("here")

    kernel = chain_kernel(on_hot=on_hot, hot=1)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == ["here"]


def test_native_totals() -> None:
    """A native map may feed NumPy's own fold."""

    @NATIVE  # type: ignore[untyped-decorator]
    def square(data: Any, count: Any, steps: Any, _: Any) -> int:
        x, out = (view_of(data[i], count[0], steps[i]) for i in range(2))
        out[:] = x * x
        return 0

    loop = native(square, 1, 1)
    kernel = square_sum_kernel(F8)
    add = _tiles.numpy_loop(np.add, (F8,) * 3)
    kernel.set_native(((loop, (0,), (1,), "map", -1), (add, (1,), (2,), "total", 1, bytes(8))))
    for size in (0, 1, 1000, 100_003):
        x = np.random.default_rng(size).normal(size=size)
        assert_same(kernel.run((x,))[0][0], np.add.reduce(x * x))
    x = np.random.default_rng(0).normal(size=100_003)
    x[17] = np.nan
    x[50_000] = -np.nan
    assert_same(kernel.run((x,))[0][0], np.add.reduce(x * x))
