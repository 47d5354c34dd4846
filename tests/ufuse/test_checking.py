"""`UFUSE_CHECK=1`: graphs and native loops beside their definitions."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of
from ufuse import decorator
from ufuse.checking import CheckedNests, CheckFailed
from ufuse.graph.nest import Nest
from ufuse.graph.semantics.check import GraphError
from ufuse.graph.text.nest_parser import parse_nest

N = 3000


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorator, "CHECKING", True)
    monkeypatch.setattr(decorator, "MEASURING", False)


def smooth(x, alpha):
    out = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = alpha * x[i] + (1 - alpha) * level
        out[i] = level
    return out


def sweep(x, alpha):
    y = x.copy()
    for _ in range(N):
        y[1:-1] = alpha * (x[:-2] + x[2:])
        x, y = y, x
    return x


@pytest.mark.parametrize("function", [smooth, sweep])
def test_loops_are_run_beside_their_definition(function) -> None:
    """Elements of memory that nothing has filled yet are no difference."""
    pytest.importorskip("llvmlite")
    compiled = ufuse.compile(function)
    for _ in range(3):
        x = np.random.default_rng(1).random(N)
        assert compiled(x.copy(), 0.3).tobytes() == function(x.copy(), 0.3).tobytes()
    assert sum(loop.turns for loop in loops_of(compiled)) > 0


class Pair(NamedTuple):
    """It has fields."""

    pull: float
    x: float


class Spring(Pair):
    """It has a dict, too."""


def stretched(springs, turns):
    total = 0.0
    for _ in range(turns):
        for one in springs:
            total += one.x * one.stiff
    return total


def test_named_tuples_are_run_beside_their_definition() -> None:
    """Fields, and what is in their dicts; where either is gone, the error is that of plain Python."""
    pytest.importorskip("llvmlite")
    compiled = ufuse.compile(stretched)
    springs = [Spring(-1.0, 0.5 * i) for i in range(5)]
    for one in springs:
        one.stiff = 2.0
    for _ in range(3):
        assert compiled(springs, N) == stretched(springs, N)
    assert sum(loop.turns for loop in loops_of(compiled)) > N
    del springs[2].stiff
    with pytest.raises(AttributeError, match="no attribute 'stiff'"):
        compiled(springs, N)
    springs[2] = tuple.__new__(Spring, (1.0,))
    with pytest.raises(IndexError, match="tuple index out of range"):
        compiled(springs, N)


class Maker:
    """Makes what adds one too many."""

    @staticmethod
    def nest_seconds() -> float:
        """None at all."""
        return 0.0

    @staticmethod
    def begin_nest(nest: Nest) -> Any:
        """At once."""
        return SimpleNamespace(is_over=True, result=lambda: Maker.compile_nest(nest))

    @staticmethod
    def compile_nest(_: Nest) -> Callable[..., Any]:
        """What runs it, wrongly."""

        def wrong(*objects: Any) -> Any:
            for turn in objects[-1]:
                objects[0][turn] += 1.0 + (turn == N // 2)

        return wrong


TEXT = """
nest increase
  x: 1-d array of float64, written
  turn: the range of the loop
header:
  %0 = get.i64 turn.left
  %1 = const.i64 0
  %2 = igt.i1 %0, %1
  %3 = get.i64 .turns
  %4 = igt.i1 %3, %1
  %5 = and.i1 %2, %4
  branch %5, body, out
body:
  %6 = const.i64 1
  %7 = get.i64 .turns
  %8 = sub.i64 %7, %6
  set .turns, %8
  %9 = get.i64 turn.left
  %10 = sub.i64 %9, %6
  set turn.left, %10
  %11 = get.i64 turn.next
  %12 = add.i64 %11, %6
  set turn.next, %12
  %13 = load.f64 0, %11
  %14 = const.f64 1.0
  %15 = add.f64 %13, %14
  store 0, %11, %15
  jump header
out:
  leave
"""


def test_a_loop_that_differs_is_named() -> None:
    """With the values that differ, and the nest as text that reads back."""
    made = CheckedNests(Maker()).compile_nest(parse_nest(TEXT))
    assert made is not None
    with pytest.raises(
        CheckFailed, match=r"definition: of x, element \[1500\] is .*2.0.* instead of .*1.0"
    ) as caught:
        made(np.zeros(N), iter(range(N)))
    assert str(parse_nest(str(caught.value).partition("\n")[2])) == TEXT.strip()


def test_a_nest_that_breaks_a_law_is_not_compiled() -> None:
    """The checker runs in front of the backend."""
    with pytest.raises(GraphError, match="law 1"):
        CheckedNests(Maker()).compile_nest(parse_nest(TEXT.replace("jump header", "jump on")))
