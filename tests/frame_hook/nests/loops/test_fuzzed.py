"""What random programs of loops found."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns

N = 3000


def least_of_two_types(a):
    s = 0.0
    for i in range(len(a)):
        s = s + min(1.5, a[i]) + max(a[i], -0.5)
    return s


def calls_as_the_compiler_does(a):
    turns = doubt = begin = 0
    stack0 = 0
    for i in range(len(a)):
        turns = turns + i
        doubt = doubt + turns
        stack0 = float(stack0) + (a[i] if a[i] > 0 else 2.5)
        begin = begin + int(stack0)
        stack0 = 1
    return turns, doubt, begin, stack0


def leaves_the_inner_loop(a, n):
    s = 0
    for i in range(n):
        for j in range(len(a)):
            if a[j] > i:
                break
            s = s + j
    return s


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (least_of_two_types, lambda: (np.linspace(-3, 3, N),)),
        (calls_as_the_compiler_does, lambda: (np.linspace(-3, 3, N),)),
        (leaves_the_inner_loop, lambda: (np.arange(N) / 50.0, 50)),
    ],
)
def test_programs_are_native_and_the_same(function, make) -> None:
    """What random programs found, smaller."""
    assert native_turns(function, make) > 0


def length_of_a_row(m, n):
    s = 0
    for i in range(n):
        s = s + len(m[i])
    return s


def a_row_alone(m, n):
    s = 0
    for i in range(n):
        m[i]
        s = s + i
    return s


def steps_that_nobody_takes(_, n):
    s = 0
    for i in range(n):
        range(0, 5, n - 1 - i)
        s = s + i
    return s


@pytest.mark.parametrize("function", [length_of_a_row, a_row_alone, steps_that_nobody_takes])
def test_errors_of_what_nobody_uses(function) -> None:
    """They are raised all the same."""
    check_same(function, ufuse.compile(function), lambda: arguments(np.zeros((N - 1, 3)), N))


def last_of(a):
    t = 0
    for i in range(len(a)):
        t = a[i]
    return t


def test_long_long_is_no_int64() -> None:
    """Its scalars have another class."""
    compiled = ufuse.compile(last_of)
    for dtype in ("l", "q", "l"):
        given = np.arange(N).astype(dtype)
        assert type(compiled(given)) is type(given[0])
    check_same(last_of, ufuse.compile(last_of), lambda: arguments(np.arange(N).astype("q")))
    assert loops_of(compiled)


def products_of_rows(a, out):
    for i in range(len(a)):
        out[i] = np.dot(a[i], a[i])
        out[i] += np.inner(a[i], a[0])
        out[i] += a[i].dot(a[i])
    return out


def test_products_warn() -> None:
    """As `np.dot` does of an overflow, in the turn where it occurs."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        a = np.ones((900, 5))
        a[70] = 1e200
        return a, np.zeros(900)

    assert native_turns(products_of_rows, make) > 890


def shifted_rows(b, m, n):
    for i in range(n):
        m[1 : i + 1, :1:-1] = m[0:i, 2:] + b[:i, None]


def test_unlike_nans_where_a_statement_walks_the_other_axis() -> None:
    """What is one number along the last axis is not along the one that is walked: each may be a NaN."""

    def make() -> tuple[np.ndarray, np.ndarray, int]:
        b = np.linspace(-1, 1, 40)[::-1]
        m = np.asfortranarray(np.arange(1600.0).reshape(40, 40))
        b[7], b[20] = np.nan, -np.nan
        m[3, 5], m[0, 9], m[11, 30] = np.inf, -np.nan, np.nan
        return b, m, 40

    native_turns(shifted_rows, make)


def truncated(a):
    s = 0
    for i in range(len(a)):
        s = s + math.trunc(a[i])
    return s


def test_numbers_of_float32_are_not_truncated() -> None:
    """They have no method for it, unlike those of float64."""
    for dtype in (np.float32, np.float64):
        check_same(truncated, ufuse.compile(truncated), lambda d=dtype: (np.ones(N, d),))
    assert native_turns(truncated, lambda: (np.ones(N),)) > 0


def bound_to_a_view(a):
    view = a
    for _ in range(len(a)):
        view = a[()]
    return view, view is a, view.base is a


def a_row_of_a_view(a):
    total = 0.0
    for i in range(len(a)):
        row = a[()][i]
        total = total + row[()][0] + row[()][1][()]
    return total


def test_an_index_without_entries() -> None:
    """It leaves a view of the whole array, another object; of an array without axes a number."""
    assert native_turns(bound_to_a_view, lambda: (np.arange(2.0 * N).reshape(N, 2),)) > 0
    native_turns(a_row_of_a_view, lambda: (np.arange(40.0 * N).reshape(-1, 2),))


def left_in_the_first_turn(a, limit):
    for i in range(len(a)):
        for j in range(i):
            if j:
                pass
            if a[i] > limit or j > -1:
                return i, j
    return i


def raising_in_the_first_turn(a, limit):
    for i in range(len(a)):
        for j in (i, 2, 3) if a[i] > limit else ():
            if j:
                pass
            raise ValueError(j)
    return i


@pytest.mark.parametrize("function", [left_in_the_first_turn, raising_in_the_first_turn])
def test_inner_loops_that_have_one_turn_at_most(function: Any) -> None:
    """What stands in one is no part of the loops around it: the frame gets the numbers of that turn all the same."""
    for limit in (-1.0, 50.0, N):
        native_turns(function, lambda limit=limit: (np.arange(float(N)), limit))


def of_no_axis(a, turns):
    for _ in range(turns):
        m = np.mean(a, axis=())
        s = a.sum(axis=())
    return m, s


def test_reductions_over_no_axis() -> None:
    """Each element is one of its own."""
    native_turns(of_no_axis, lambda: (np.arange(3.0), 1500))
