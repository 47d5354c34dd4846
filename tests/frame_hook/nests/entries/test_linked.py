"""A graph before a loop, the loop's nest, and what is behind it follow each other without plain Python."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-any-return"

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import native_turns
from ufuse.frame_hook.nests.entries import whole


def smoothing(x, alpha):
    y = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = alpha * x[i] + (1.0 - alpha) * level
        y[i] = level
    return y


def remainders(data, table):
    value = 0xFFFFFFFF
    for i in range(len(data)):
        value = table[(value ^ data[i]) & 0xFF] ^ (value // 256)
    return int(value)


def roots(a):
    lower = np.zeros_like(a)
    for i in range(len(a)):
        total = a[i, i]
        for k in range(i):
            total -= lower[i, k] * lower[k, i]
        lower[i, i] = math.sqrt(total)
    return lower


def two_loops(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * 2.0
    for i in range(len(x) - 1):
        y[i] += y[i + 1]
    return y[0], y[-2], i


def square(count: int) -> Any:
    return np.eye(count) * 3.0


@pytest.fixture(autouse=True)
def _no_whole_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "smoothing": (smoothing, lambda n: (np.linspace(0.0, 1.0, n), 0.3)),
    "remainders": (remainders, lambda n: (np.arange(n) * 7 % 256, np.arange(256) * 77 % 1009)),
    "roots": (roots, lambda n: (square(n),)),
    "two_loops": (two_loops, lambda n: (np.linspace(0.0, 1.0, n),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_suspended(name: str) -> None:
    """Once a loop has a nest, a call enters no frame of Python's, and gives what plain Python does."""
    function, make = PROGRAMS[name]
    compiled = ufuse.compile(function)
    for _ in range(6):
        compiled(*make(500))
    cache = compiled.__ufuse_cache__
    before = cache.suspensions, cache.mixed
    for _ in range(5):
        found, expected = compiled(*make(500)), function(*make(500))
        assert repr(found) == repr(expected)
        assert type(found) is type(expected)
    assert (cache.suspensions, cache.mixed) == (before[0], before[1] + 5)


def test_a_loop_without_turns_is_left() -> None:
    """A range that is empty, after others that were not, ends the loop where plain Python does."""

    def total(x, count):
        s = 0.5
        for i in range(count):
            s += x[i]
        return s, count

    compiled = ufuse.compile(total)
    x = np.arange(500.0)
    for count in (500, 500, 500, 0, 500, 1, 0, -3, 500):
        assert compiled(x, count) == total(x, count)


def test_a_number_that_is_overwritten_is_left_out() -> None:
    """A local that each turn overwrites first, and nobody reads behind the loop, may come unbound or bound."""

    def scaled(x, again):
        if again:
            t = 3
        y = np.zeros(len(x))
        for i in range(len(x)):
            t = x[i] * 2.0
            y[i] = t + i
        return y

    compiled = ufuse.compile(scaled)
    x = np.arange(500.0)
    for again in (False, False, True, True, False):
        np.testing.assert_array_equal(compiled(x, again), scaled(x, again))


def test_locals_are_there_for_who_reads_them() -> None:
    """A function that the loop's function calls sees what the last turn has left, where it may look."""

    def look():
        frame = sys._getframe(1)
        return frame.f_locals["i"], frame.f_locals["t"]

    def scaled(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            t = x[i] * 2.0
            y[i] = t
        return y, look()

    compiled = ufuse.compile(scaled)
    x = np.arange(500.0)
    for _ in range(5):
        assert compiled(x)[1] == scaled(x)[1] == (499, 998.0)


def test_a_loop_may_begin_with_numbers_of_either_kind() -> None:
    """A sum that begins as Python's float or NumPy's has one nest, which runs every turn."""

    def total(x, s):
        for i in range(len(x)):
            s = s + x[i]
        return s

    x = np.linspace(0.0, 1.0, 4000)
    assert native_turns(total, lambda: (x, 0.5)) > 0
    compiled = ufuse.compile(total)
    for start in (0.5, 0.5, np.float64(0.25), 0.5, np.float64(0.25)):
        found, expected = compiled(x, start), total(x, start)
        assert found == expected
        assert type(found) is type(expected)
