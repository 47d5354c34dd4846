"""Native loops that bind a local to a tuple of numbers, and find one there: the frame gives it and gets it back."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse import decorator

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 900


def closest_pair(a):
    best, where = np.inf, None
    for i in range(60):
        for j in range(i + 1, 60):
            d = abs(a[i] - a[j])
            if d < best:
                best = d
                where = (i, j)
    return best, where


def begun_with_constants(a):
    best, where = -1.0, (-1, -1)
    for i in range(len(a)):
        if a[i] > best:
            best, where = a[i], (i, i + 1)
    return best, where


def read_each_turn(a):
    last = (0, 0.0)
    for i in range(len(a)):
        last = (last[0] + i, last[1] * 0.5 + a[i])
    return last


def unpacked(a):
    state = (0, 1)
    for i in range(80):
        low, high = state
        state = (high, low + high)
        if a[i] < -2.0:
            state = (0, 1)
    return state


def walked_to(a):
    y, x, goal, steps = 0, 0, (40, 30), 0
    while (y, x) != goal and steps < 500:
        if a[steps] > 0.0:
            y += y < goal[0]
        else:
            x += x < goal[1]
        steps += 1
        if (y, x) == (7, 7) or ((y, 1.5), x) == ((x, 1.5), y + 3) or (a[steps], 0) == (a[0], 0):
            x -= 2
    return y, x, steps, (y,) == (x, y)


def swapped(a):
    one, other = (1.5, 2), (2.5, 3)
    for i in range(len(a)):
        if a[i] > 0.0:
            one, other = other, one
    return one, other


def of_numpys_numbers(a):
    span = (a[0], a[0])
    for i in range(len(a)):
        if a[i] < span[0]:
            span = (a[i], span[1])
        if a[i] > span[1]:
            span = (span[0], a[i])
    return span


def from_pythons_to_numpys(a):
    span = (0.0, 0.0, False)
    for i in range(len(a)):
        span = (min(span[0], a[i]), max(span[1], a[i]), a[i] > 0.0)
    return span


def of_other_lengths(a):
    found = (0,)
    for i in range(len(a)):
        if i == 300:
            found = (i, a[i])
        elif i == 600:
            found = (found[0] + 1,)
        elif i > 600:
            found = (found[0] * 3 % 1001,)
    return found


def of_other_types(a):
    found = (0, 1)
    for i in range(len(a)):
        found = (found[0] + 1, found[1] * 0.5 if i > 450 else i)
    return found


def number_or_tuple(a):
    found = 0
    for i in range(len(a)):
        if a[i] > 2.0:
            found = (i, a[i])
        elif a[i] < -2.0:
            found = i
    return found


def with_complex(a):
    found = (0, 0j)
    for i in range(len(a)):
        if a[i] > 0.5:
            found = (i, found[1] * 0.5j + a[i])
    return found


def with_none_inside(a):
    found = (None, 0)
    for i in range(len(a)):
        found = (None, found[1] + i) if a[i] < 1.0 else (i, found[1])
    return found


def left_with_one(a):
    found = (0, 0.0)
    for i in range(len(a)):
        found = (i, a[i])
        if i == 700:
            break
    return found, i


def within_while(a):
    i, found = 0, (0, 0.0)
    while i < len(a):
        if a[i] > found[1]:
            found = (i, a[i])
        i += 1
    return found


def nested_tuples(a):
    found = ((0, 0), 0.0)
    for i in range(len(a)):
        if a[i] > found[1]:
            found = ((i, i + 1), a[i])
    return found


def overflows(a):
    found = (1, 0)
    for i in range(200):
        found = (found[0] * 3, i)
    return found


def raises(a):
    found = (0, 0.0)
    for i in range(len(a) + 1):
        found = (i, a[i])
    return found


def of_an_argument(a, found):
    for i in range(len(a)):
        if a[i] > 1e9:
            found = (i, i)
    return found


def returned_with_a_sum(a, given):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * given[1]
    return given, total


def numbers() -> tuple[np.ndarray]:
    """Some."""
    return (np.random.default_rng(0).standard_normal(N),)


NATIVE = (
    closest_pair, begun_with_constants, read_each_turn, unpacked, walked_to, swapped, of_numpys_numbers, from_pythons_to_numpys,
    of_other_lengths, of_other_types, number_or_tuple, with_complex, left_with_one, within_while,
)  # fmt: skip


@pytest.mark.parametrize("function", NATIVE)
def test_a_local_is_a_tuple_of_numbers(function) -> None:
    """Its items, their types and errors are plain Python's."""
    assert native_turns(function, numbers, atoms=False) > 50


@pytest.mark.parametrize("function", [with_none_inside, nested_tuples, overflows, raises])
def test_what_is_odd_is_plain_pythons(function) -> None:
    """Tuples of other things; what overflows or fails in some turn."""
    native_turns(function, numbers, atoms=False)


@pytest.mark.parametrize("given", [(3, 4), (3.5, 4), (True, np.float64(2.0)), (np.int32(1), 2**70)])
def test_a_tuple_that_no_turn_replaces_is_the_same_object(
    given, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame gets its own back."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled, a = ufuse.compile(of_an_argument), np.zeros(N)
    for _ in range(3):
        assert compiled(a, given) is given


def test_a_whole_call_returns_the_tuple_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an equal one."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled, a, given = ufuse.compile(returned_with_a_sum), np.ones(N), (3, 4)
    for _ in range(6):
        assert compiled(a, given)[0] is given


def test_tuples_come_and_go_in_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each form of a local has its nest, or is left to plain Python."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled, a = ufuse.compile(of_an_argument), np.zeros(N)
    a[5] = 1e10
    for given in [(1, 2), (1.0, 2), None, "text", (1,), (), (1, 2, 3.0), [1, 2], ((1, 2), 3)] * 3:
        assert compiled(a, given) == (5, 5)
    assert sum(loop.turns for loop in loops_of(compiled)) > N
