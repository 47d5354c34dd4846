"""Functions that call themselves, as whole calls and in loops: each call has a frame of its own in the nest's memory."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import (
    called,
    check_kept,
    check_whole_call,
    hits,
    native_turns,
)
from ufuse.graph.nest import Nest
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

pytest.importorskip("llvmlite")

RANDOM = np.random.default_rng(5)


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def hofstadter(n):
    if n <= 2:
        return 1
    return hofstadter(n - hofstadter(n - 1)) + hofstadter(n - hofstadter(n - 2))


def catalan(n):
    if n <= 1:
        return 1
    total = 0
    for i in range(n):
        total += catalan(i) * catalan(n - 1 - i)
    return total


def trees(n):
    if n <= 1:
        return 1
    return sum(trees(i) for i in range(n))


def found(a, x, low=0, high=None):
    if high is None:
        high = len(a)
    if low >= high:
        return -1
    middle = (low + high) // 2
    if a[middle] == x:
        return middle
    if a[middle] < x:
        return found(a, x, middle + 1, high)
    return found(a, x, low, middle)


def total_of_halves(a):
    if len(a) == 1:
        return a[0]
    middle = len(a) // 2
    return total_of_halves(a[:middle]) + total_of_halves(a[middle:])


def pair(n):
    if n == 0:
        return 0, 1
    a, b = pair(n // 2)
    c, d = a * (2 * b - a), a * a + b * b
    if n % 2 == 0:
        return c, d
    return d, c + d


def can_sum(numbers, target, i=0):
    if target == 0:
        return True
    if i == len(numbers) or target < 0:
        return False
    return can_sum(numbers, target - numbers[i], i + 1) or can_sum(numbers, target, i + 1)


def distance(a, b, i, j):
    if i == 0:
        return j
    if j == 0:
        return i
    if a[i - 1] == b[j - 1]:
        return distance(a, b, i - 1, j - 1)
    return 1 + min(distance(a, b, i - 1, j), distance(a, b, i, j - 1))


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def area(low, high, tolerance):
    middle = (low + high) / 2
    left, right, whole = simpson(low, middle), simpson(middle, high), simpson(low, high)
    if abs(left + right - whole) < 15 * tolerance:
        return left + right + (left + right - whole) / 15
    return area(low, middle, tolerance / 2) + area(middle, high, tolerance / 2)


def simpson(low, high):
    middle = (low + high) / 2
    return (high - low) / 6 * (low**3 + 4 * middle**3 + high**3)


def total_of_fibs(n):
    total = 0
    for i in range(n):
        total += fib(i % 5) * i
    return total


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (fib, (8,)), (power, (1.5, 40)), (power, (np.float64(1.5), 13)), (ackermann, (2, 3)),
        (hofstadter, (7,)), (catalan, (5,)), (trees, (5,)), (found, (np.arange(0, 90, 3), 66)),
        (total_of_halves, (RANDOM.random(13),)), (pair, (30,)),
        (can_sum, ([4, 2, 7, 1], 10)), (distance, ("kitten", "sitting", 5, 6)), (is_even, (20,)),
        (area, (0.0, 2.0, 1e-3)),
    ],
)  # fmt: skip
def test_calls_of_itself(function: Any, given: tuple[Any, ...]) -> None:
    """Numbers, tuples and truths come back from each call to the place that it was made in."""
    check_whole_call(function, given)


def test_loops_call_such_functions() -> None:
    """The frames lie in the memory of the loop's nest."""
    assert native_turns(total_of_fibs, lambda: (40,)) > 0


def sort(a, low, high):
    if low >= high:
        return
    pivot, i, j = a[(low + high) // 2], low, high
    while i <= j:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i <= j:
            t = a[i]
            a[i] = a[j]
            a[j] = t
            i += 1
            j -= 1
    sort(a, low, j)
    sort(a, i, high)


def queens(n, row, columns):
    if row == n:
        return 1
    count = 0
    for column in range(n):
        fits = True
        for r in range(row):
            if columns[r] == column or abs(columns[r] - column) == row - r:
                fits = False
                break
        if fits:
            columns[row] = column
            count += queens(n, row + 1, columns)
    return count


def fill(grid, i, j):
    if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or grid[i, j] != 1:
        return 0
    grid[i, j] = 2
    return (
        1
        + fill(grid, i + 1, j)
        + fill(grid, i - 1, j)
        + fill(grid, i, j + 1)
        + fill(grid, i, j - 1)
    )


def solve(grid, cell=0):
    if cell == 16:
        return True
    row, column = divmod(cell, 4)
    if grid[row, column] != 0:
        return solve(grid, cell + 1)
    for value in range(1, 5):
        fits = True
        for k in range(4):
            if grid[row, k] == value or grid[k, column] == value:
                fits = False
        if fits:
            grid[row, column] = value
            if solve(grid, cell + 1):
                return True
            grid[row, column] = 0
    return False


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (sort, (RANDOM.integers(0, 50, 40), 0, 39)), (sort, (RANDOM.random(20), 0, 19)),
        (queens, (5, 0, np.zeros(5, int))), (fill, ((RANDOM.random((6, 7)) < 0.7).astype(int), 2, 2)),
        (solve, (np.diag([1, 2, 3, 4]),)),
    ],
)  # fmt: skip
def test_calls_that_write_arrays(function: Any, given: tuple[Any, ...]) -> None:
    """All frames have the same arrays."""
    check_whole_call(function, given)


def choices(n, k):
    taken = np.zeros(n, int)

    def choose(i, left):
        if i == n:
            return 1 if left == 0 else 0
        count = 0
        for value in range(3):
            taken[i] = value
            count += choose(i + 1, left - value)
        return count

    return choose(0, k), taken


def test_functions_that_are_made() -> None:
    """The variables around one that is made are the same in all of its frames."""
    check_whole_call(choices, (3, 2))


def test_compiled_functions_are_read_as_their_functions_are() -> None:
    """A function that is compiled under its own name calls the compiled one; so do others."""

    @ufuse.compile
    def steps(n, k=0):
        if n == 1:
            return k
        return steps(n // 2 if n % 2 == 0 else 3 * n + 1, k + 1)

    @ufuse.compile
    def longest(n):
        best = 0
        for i in range(1, n):
            best = max(best, steps(i))
        return best

    for _ in range(6):
        assert [steps(n) for n in (1, 7, 27, 97)] == [0, 16, 111, 118]
        assert longest(30) == 111
    assert hits(steps) > 0
    assert hits(longest) > 0


def test_what_python_would_not_begin() -> None:
    """Too many frames, numbers beyond 64 bits, and errors: each is plain Python's, as if nothing had run before."""
    compiled = called(depth, (30,), (40,))
    assert hits(compiled) > 0
    for n in (50, 63, 2000, sys.getrecursionlimit() - 100, sys.getrecursionlimit() - 30):
        check_kept(factor, called(factor, (5,)), n % 300)
        try:
            expected: Any = depth(n)
        except RecursionError as error:
            expected = type(error)
        try:
            given: Any = compiled(n)
        except RecursionError as error:
            given = type(error)
        assert given == expected
    check_kept(inverse, called(inverse, (4,)), 4)
    with pytest.raises(ZeroDivisionError):
        called(inverse, (4,))(-1)


def depth(n):
    if n == 0:
        return 0
    return 1 + depth(n - 1)


def factor(n):
    if n == 0:
        return 1
    return n * factor(n - 1)


def inverse(n):
    if n < 0:
        return 1 / (n + 1)
    return 1.0 + inverse(n - 1) if n else 1.0


def given_back(x, n):
    if n == 0:
        return x
    return given_back(x + 1.0, n - 1)


def test_the_very_object_that_is_given() -> None:
    """Where the first call returns its argument, it is that object."""
    compiled = called(given_back, (1e5, 3), (2e5, 0))
    x = 1e300
    assert compiled(x, 0) is x
    assert compiled(x, 1) == x + 1.0
    check_kept(given_back, compiled, 7.5, 6)


def kept_views(a, n):
    if n == 0:
        return a[0]
    front, back = a[:n], a[n:]
    left = kept_views(front, n - 1)
    return left * 2 + back[0] + front[-1] + kept_views(a, n // 2)


def test_views_are_kept_while_deeper_calls_make_others() -> None:
    """Of one instruction there is a view in each frame."""
    check_whole_call(kept_views, (np.arange(9.0) ** 2, 5))


def made_arrays(n):
    a = np.full(3, n * 1.5)
    if n == 0:
        return 0.0
    b = made_arrays(n - 1)
    return a[0] + b + a.sum()


def returned_arrays(x):
    if len(x) == 1:
        return x * 2.0
    return np.concatenate((returned_arrays(x[::2]), returned_arrays(x[1::2])))


def appended(n, out):
    if n == 0:
        return out
    out.append(n % 2)
    return appended(n // 2, out)


def chained(n):
    if n == 0:
        return 0
    return (n, chained(n - 1))


def never(n):
    return never(n - 1)


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (made_arrays, lambda: (6,)),
        (returned_arrays, lambda: (np.arange(8.0),)),
        (appended, lambda: (13, [])),
        (chained, lambda: (4,)),
        (never, lambda: (3,)),
    ],
)
def test_what_has_no_frames_of_its_own(function: Any, make: Any) -> None:
    """New arrays and lists that are kept while deeper calls make others: the reason is named, and nothing else differs."""
    compiled = ufuse.compile(function)
    for _ in range(4):
        outcomes = []
        for one in (function, compiled):
            try:
                outcomes.append(repr(one(*make())))
            except RecursionError as error:
                outcomes.append(type(error).__name__)
        assert outcomes[0] == outcomes[1]
    assert hits(compiled) == 0


def test_the_nest_keeps_the_laws() -> None:
    """Its text reads back, and the reference runs it to the same result."""
    nest = called(fib, (9,)).__ufuse_cache__.whole_call.data.nest
    assert isinstance(nest, Nest)
    check_nest(nest)
    text = str(nest)
    assert all(f" {op}" in text for op in ("push", "peek", "drop", "room"))
    assert str(parse_nest(text)) == text
    assert nest_reference.run(nest, (9,)) == fib(9)
