"""Loops inside of a nest, whose turns threads share: nothing shows how many there are."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import ufuse
from tests.support.alarms import AlarmError, on_alarm
from tests.support.nests.native_loops import loops_of, native_turns
from tests.support.nests.sharing import (
    always_shared,
    in_python_threads,
    loops_shared_at_once,
    numbers,
    shared_turns,
)
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.nest_passes.shared_loops import with_shared_loops

STEPS, FEW, WIDE = (
    24,
    8,
    64,
)  # turns around loops, around loops with loops inside, and of those inside


@pytest.fixture(autouse=True)
def all_are_shared() -> Iterator[None]:
    """Threads share whatever they can, from the first call on."""
    with always_shared(threads=3), loops_shared_at_once():
        yield


def grids() -> tuple[np.ndarray, np.ndarray]:
    """What most functions are called with."""
    return numbers(WIDE, WIDE), numbers(WIDE, WIDE)


def there_and_back(a, b):
    n = len(a)
    for _ in range(FEW):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.25 * (a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = b[i, j] * 0.5 + a[i, j]
    return i, j


def of_vectors(a, b):
    u, v = a[0].copy(), b[0].copy()
    for step in range(STEPS):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] + u[i + 1] - 2 * u[i]) + step
        for i in range(len(u)):
            u[i] = v[i]
    return u, v, i


def results_behind(a, b):
    total = 0.0
    for step in range(STEPS):
        for i in range(len(a)):
            k = i * 2 + step
            y = a[i, 0] * k
            b[i, 0] = y
        total += y + k + i
    return total, y, k, i


def with_steps(a, b):
    k = 1
    for _ in range(STEPS):
        for i in range(0, len(a), k):
            b[i, 1] = a[i, 0] + b[i, 1]
        k = 3 - k
        for i in range(len(a) - 1, -1, -1):
            a[i, 0] = b[i, 1] * 0.5
    return k


def over_arrays(a, b):
    for _ in range(STEPS):
        for i, row in enumerate(a):
            b[i, 0] = row[1] + row[2]
        for row, to in zip(b, a):  # noqa: B905
            to[1] = row[0] * 0.5
    return a


def reductions_between(a, b):
    for _ in range(FEW):
        most = 0.0
        for i in range(1, len(a) - 1):
            for j in range(1, len(a) - 1):
                b[i, j] = 0.5 * (a[i - 1, j] + a[i + 1, j])
        for i in range(len(a)):
            for j in range(len(a)):
                most = max(most, abs(a[i, j] - b[i, j]))
                a[i, j] = b[i, j]
        if most < 1e-3:
            break
    return most


def in_a_while(a, b):
    error, k = 1.0, 0
    while error > 1e-9 and k < STEPS:
        for i in range(1, len(a) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        error = np.abs(a[1:-1] - b[1:-1]).max()
        for i in range(1, len(a) - 1):
            a[i] = b[i]
        k += 1
    return error, k


def under_conditions(a, b):
    for step in range(STEPS):
        if step % 3:
            for i in range(len(a)):
                b[i, 2] = a[i, 0] if a[i, 1] > 0.5 else -a[i, 2]
        else:
            for i in range(len(a)):
                a[i, 0] = b[i, 2] + step


def called(u, v, i):
    total = 0.0
    for j in range(3):
        total += u[i, j] * v[j, 0]
    return total


def by_calls(a, b):
    for _ in range(STEPS):
        for i in range(len(a)):
            b[i, 3] = called(a, a, i)
        for i in range(len(a)):
            a[i, 0] = b[i, 3] * 1e-3


def of_integers(a, b):
    grid, other = (a * 3).astype(np.int64), np.zeros(a.shape, np.int32)
    for step in range(FEW):
        for i in range(len(grid)):
            for j in range(len(grid)):
                other[i, j] = (grid[i, j] + step) % 7
        for i in range(len(grid)):
            for j in range(len(grid)):
                grid[i, j] = other[i, j]
    return grid, other


SHARED = (
    there_and_back, of_vectors, results_behind, with_steps, over_arrays, reductions_between, in_a_while,
    under_conditions, by_calls, of_integers,
)  # fmt: skip


@pytest.mark.parametrize("function", SHARED)
def test_loops_inside(function: Callable[..., Any]) -> None:
    """They are shared, and give plain Python's bits."""
    assert shared_turns(function, grids) > WIDE


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads(threads: int) -> None:
    """One shares nothing."""
    _tiles.set_threads(threads)
    assert (shared_turns(there_and_back, grids) > WIDE) is (threads > 1)


@pytest.mark.parametrize("layout", ["F", "gaps", "reversed"])
def test_layouts(layout: str) -> None:
    """Wherever the elements lie; code that takes them for neighbours is not asked for others."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        a, b = grids()
        wide = numbers(2 * WIDE, 2 * WIDE)
        made = {"F": (wide.T, wide.copy()), "gaps": (wide[::2, 1::2], b), "reversed": (a[::-1], b)}
        return made[layout]

    assert (shared_turns(there_and_back, make) > WIDE) is (layout != "gaps")


def sums(a, b):
    total = 0.0
    for _ in range(STEPS):
        for i in range(len(a)):
            total += a[i, 0]
        b[0, 0] = total
    return total


def sweeps(a, b):
    for _ in range(STEPS):
        for i in range(1, len(a)):
            a[i, 0] = 0.5 * (a[i - 1, 0] + a[i, 0])


def one_place(a, b):
    for _ in range(STEPS):
        for i in range(len(a)):
            b[0, 0] = a[i, 0]


def breaks(a, b):
    for _ in range(STEPS):
        for i in range(len(a)):
            if a[i, 0] > 0.99:
                break
            b[i, 0] = a[i, 0] + b[i, 0]


def last_of_some(a, b):
    y = 0.0
    for _ in range(STEPS):
        for i in range(len(a)):
            if a[i, 0] > 0.5:
                y = a[i, 1]
            b[i, 0] = a[i, 0]
    return y


@pytest.mark.parametrize("function", [sums, sweeps, one_place, breaks, last_of_some])
def test_turns_that_need_others(function: Callable[..., Any]) -> None:
    """They run one after another."""
    assert shared_turns(function, grids) == 0


def test_arrays_that_overlap() -> None:
    """What only a call can tell: then one thread does it."""

    def shifted() -> tuple[np.ndarray, np.ndarray]:
        a = numbers(WIDE + 1, WIDE)
        return a[1:], a[:-1]

    assert shared_turns(there_and_back, shifted) == 0


def wraps(a, b):
    for _ in range(STEPS):
        for i in range(len(a)):
            b[i - 1, 0] = a[i, 0] + b[i - 1, 0]


def fails(a, b):
    for step in range(STEPS):
        for i in range(len(a) + (step == STEPS - 3)):
            b[i, 0] = a[i, 0] + b[i, 0]


def divides(a, b):
    for step in range(STEPS):
        for i in range(len(a)):
            b[i, 0] = a[i, 0] / (step - 20 + i - i)


def overflows(a, b):
    grid = (a * 3).astype(np.int64)
    grid[3, 0] = 2**62
    for step in range(STEPS):
        for i in range(len(grid)):
            b[i, 0] = int(grid[i, 0]) * (2 if step > 20 else 1)


@pytest.mark.parametrize("function", [wraps, fails, divides, overflows])
def test_odd_turns(function: Callable[..., Any]) -> None:
    """Indices that wrap, errors, warnings, and whole numbers beyond 64 bits are plain Python's."""
    native_turns(function, grids)


def test_python_threads_at_once() -> None:
    """Each has its own nest running."""

    def call() -> bytes:
        a, b = grids()
        compiled(a, b)
        return a.tobytes() + b.tobytes()

    compiled = ufuse.compile(there_and_back)
    a, b = grids()
    there_and_back(a, b)
    assert in_python_threads(call, 8) == {a.tobytes() + b.tobytes()}


def test_a_signal_while_threads_share() -> None:
    """Its handler runs soon, and its exception leaves the state of some turn."""

    def raising(*_: object) -> None:
        raise AlarmError

    def endless(a, b):
        for step in range(10**9):
            for i in range(1, len(a) - 1):
                for j in range(1, len(a) - 1):
                    b[i, j] = a[i, j - 1] + a[i, j + 1] + step
            for i in range(1, len(a) - 1):
                for j in range(1, len(a) - 1):
                    a[i, j] = b[i, j] * 0.25

    compiled = ufuse.compile(endless)
    began = time.monotonic()
    with on_alarm(raising):
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(AlarmError):
            compiled(*grids())
    assert time.monotonic() - began < 20


def test_results_are_read_in_the_order_of_cells() -> None:
    """What a loop changes are cells of its nest, and each begins with a variable or a number."""
    compiled = ufuse.compile(results_behind)
    for _ in range(3):
        compiled(*grids())
    *_, nest = next(
        loop.nests for loop in loops_of(compiled) if loop.nests
    )  # that begins with values
    changed, loops = with_shared_loops(nest)
    ((number, share),) = [
        one.attributes
        for block in changed.blocks
        for one in block.instructions
        if one.op == "share"
    ]
    (loop,) = loops
    assert number == 0
    assert share == loop.share
    assert len(share.cells) == len(loop.nest.cells) - 1
    names = {name for _, name in share.changed}
    assert {"y", "k", "i"} <= names
    assert all(share.cells[place] == name for place, name in share.changed)
