"""What native loops take from outside of their frame: arrays of modules and objects, attributes, methods."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN204, ANN205, D102
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000
TABLE = np.arange(16) * 37 % 256


class Settings:
    """Numbers of a class."""

    rate = 0.5
    count = 3


class Grid:
    """A program's own object."""

    scale = 2.0

    def __init__(self, n):
        self.cells = np.linspace(0, 1, n)
        self.weight = 0.25
        self.count = 0

    def weighed(self, value, more=1):
        return value * self.weight + more * self.scale

    @staticmethod
    def halved(value):
        return value * 0.5

    def step(self, n):
        for i in range(n):
            k = i % len(self.cells)
            self.cells[k] = self.weighed(self.cells[k - 1], more=self.halved(i)) % 7.0
        return self.cells.copy()


class Slotted:
    """One without a dict."""

    __slots__ = ("cells", "weight")

    def __init__(self, n):
        self.cells = np.linspace(0, 1, n)
        self.weight = 0.25

    def weighed(self, value):
        return value * self.weight


def summed(grid, n):
    s = 0.0
    for i in range(n):
        s += grid.weighed(grid.cells[i]) * Settings.rate + Settings.count
    return s


def hashed(values):
    h = 7
    for i in range(len(values)):
        h = (h >> 4) ^ TABLE[(h ^ values[i]) & 15]
    return h


def test_attributes_methods_and_tables() -> None:
    """Arrays of a module and of objects are read and written; numbers are constants."""
    assert native_turns(hashed, lambda: (np.arange(N),)) > N
    assert native_turns(summed, lambda: (Grid(N), N)) > N
    assert native_turns(summed, lambda: (Slotted(N), N)) > N
    assert native_turns(lambda grid, n: grid.step(n), lambda: (Grid(10), N)) >= 0
    assert native_turns(Grid.step, lambda: (Grid(10), N)) > N


@pytest.mark.filterwarnings("default")  # errors are plain Python's from the start
def test_changes_are_noticed() -> None:
    """Of attributes, methods, classes and arrays of other dtypes."""
    compiled = ufuse.compile(Grid.step)
    plain, other = Grid(10), Grid(10)

    def check() -> None:
        for _ in range(2):
            assert compiled(other, N).tobytes() == plain.step(N).tobytes()

    def change(name: str, value: Any) -> None:
        for grid in (plain, other):
            setattr(grid, name, value)
        check()

    check()
    assert sum(loop.turns for loop in loops_of(compiled)) > N
    change("weight", 0.75)
    change("weight", 2)
    plain.cells, other.cells = np.arange(12.0), np.arange(12.0)
    check()
    plain.cells, other.cells = np.arange(12), np.arange(12)
    check()
    change("scale", -1.0)
    change("weighed", lambda value, more: value + more)
    for grid in (plain, other):
        del grid.weighed
    before = Grid.halved
    try:
        Grid.halved = staticmethod(lambda value: value + 1)  # type: ignore[method-assign, assignment]
        check()
    finally:
        Grid.halved = staticmethod(before)  # type: ignore[method-assign, assignment]
    check()


@pytest.mark.filterwarnings("default")
def test_an_array_of_a_module_that_is_an_argument_too() -> None:
    """Elements are read and written in the program's order."""
    space: dict[str, Any] = {"table": np.zeros(8)}
    exec(
        "def both(x, n):\n    for i in range(n):\n        x[i % 8] += 1.0\n"
        "        table[(i + 3) % 8] += x[i % 8] * 0.5\n    return x\n",
        space,
    )
    both = space["both"]
    compiled = ufuse.compile(both)
    for shared in (True, False, True):
        found = []
        for function in (both, compiled):
            space["table"] = table = np.arange(8.0)
            found.append(function(table if shared else np.ones(8), 500 + N).copy())
            found.append(table)
        assert found[0].tobytes() == found[2].tobytes()
        assert found[1].tobytes() == found[3].tobytes()
    assert sum(loop.turns for loop in loops_of(compiled)) > N


class Asked:
    """Its attributes run code."""

    def __init__(self):
        self.asked = 0

    @property
    def rate(self):
        self.asked += 1
        return 0.5


def asks(thing, n):
    s = 0.0
    for _ in range(n):
        s += thing.rate
    return s, thing.asked


def test_attributes_that_run_code_are_left_to_plain_python() -> None:
    """Once in each turn."""
    native_turns(asks, lambda: (Asked(), N))


@dataclass
class Linked:
    """A program's own record, which may be part of itself."""

    value: float
    next: Any = None


class Around:
    """What holds one."""

    def __init__(self):
        self.one = Linked(0.5)
        self.one.next = self.one
        self.cells = np.ones(3)


def weighed(one, cells):
    doubled = cells * 2
    return doubled.sum() * one.value


def around(thing, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.5 + weighed(thing.one, thing.cells)
    return s


def test_records_of_the_program_are_not_walked_through() -> None:
    """Only ours have parts that loops ask for."""
    assert native_turns(around, lambda: (Around(), N)) > 0
