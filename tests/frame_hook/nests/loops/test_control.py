"""Native loops that call functions, loop over arrays and tuples, and turn while a condition holds."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, ANN204, B905, TRY301
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns

pytest.importorskip("llvmlite")

N = 3000
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))
WEIGHTS = (0.25, 0.5, 0.125)


# Functions that are called ----------------------------------------------------------------------------------------


def square(x):
    return x * x


def clipped(x, low=0.0, high=1.0):
    if x < low:
        return low
    if x > high:
        return high
    return x


def greatest_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


def around(x, *, by=2):
    return x + by, x - by


def partial_sum(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    return s


def either(x, limit):
    """An int here, a float there."""
    if x > limit:
        return 1
    return x * 0.5


def several(first, *others):
    a, b = others
    return first + a * b


def of_a_row(row, j, scale=None):
    if scale is None:
        return row[j]
    return row[j] * scale


def swap_in(a, i, j):
    a[i], a[j] = a[j], a[i]


def nothing(x):
    if x > 1:
        return
    x += 1


def calls(x):
    s = 0.0
    for i in range(len(x)):
        s += square(x[i]) + clipped(x[i] * 3, high=2.0) + square(clipped(x[i]))
        s += either(x[i], 0.5)
        nothing(x[i])
    return s


def calls_on_integers(n):
    total = 0
    for i in range(1, n):
        total += greatest_divisor(i, 360)
        a, b = around(i, by=3)
        total += (a * b & 7) + several(i, 2, b)
    return total


def calls_with_loops(x):
    s = 0.0
    for i in range(len(x)):
        s += partial_sum(x, i % 10) * 0.5
    return s


def calls_with_arrays(a, x):
    s = 0.0
    for i in range(len(a)):
        for j in range(a.shape[1]):
            s += of_a_row(a[i], j) + of_a_row(a[i], j, 0.5) + of_a_row(a[i], scale=2, j=-1)
        swap_in(x, i, (i * 7) % len(x))
    return s, x


def out_of_range(x):
    s = 0.0
    for i in range(len(x) + 1):
        s += of_a_row(x, i)
    return s


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (calls, lambda: (np.linspace(-1, 2, N),)),
        (calls_on_integers, lambda: (N,)),
        (calls_with_loops, lambda: (np.linspace(0.1, 2, N),)),
        (calls_with_arrays, lambda: (np.linspace(0, 1, 20 * N).reshape(-1, 20), np.arange(N))),
        (out_of_range, lambda: (np.linspace(0, 1, N),)),
    ],
)
def test_functions_are_read_in_the_place_of_the_call(function, make) -> None:
    """Defaults, keywords, several returns, branches, loops, arrays and tuples; errors are plain Python's."""
    assert native_turns(function, make) > N - 10


@pytest.mark.filterwarnings("default")  # errors are plain Python's from the start
def test_loops_of_functions_are_in_the_nest_of_their_caller() -> None:
    """The turns that are counted are those of the loop that calls."""
    compiled = ufuse.compile(calls_with_loops)
    for _ in range(2):
        compiled(np.linspace(0.1, 2, N))
    line = calls_with_loops.__code__.co_firstlineno + 2
    assert sum(loop.turns for loop in loops_of(compiled) if loop.line == line) > N


def test_a_function_given_as_an_argument_or_made_here() -> None:
    """It is guarded, and its own variables are constants."""

    def scaling(factor):
        return lambda value: value * factor

    def applied(function, x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = function(x[i])
        return out

    compiled = ufuse.compile(applied)
    for function in (scaling(2.0), scaling(3.0), square, scaling(2), math.sqrt):
        for _ in range(3):
            x = np.linspace(0, 1, N)
            assert compiled(function, x).tobytes() == applied(function, x).tobytes()
    assert sum(loop.turns for loop in loops_of(compiled)) > N


def test_functions_that_change_are_noticed() -> None:
    """Their code, defaults, and the globals of their own module."""
    space: dict[str, Any] = {"factor": 2.0}
    exec("def changing(x, more=1.0):\n    return x * factor + more\n", space)
    changing = space["changing"]

    def summed(x):
        s = 0.0
        for i in range(len(x)):
            s += changing(x[i])
        return s

    compiled = ufuse.compile(summed)
    x = np.linspace(0, 1, N)

    def check() -> None:
        for _ in range(3):
            assert compiled(x) == summed(x)

    check()
    space["factor"] = -1.5
    check()
    changing.__defaults__ = (0.25,)
    check()
    changing.__code__ = square.__code__.replace()
    check()
    assert sum(loop.turns for loop in loops_of(compiled)) > N


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def calls_itself(n):
    s = 0
    for i in range(n):
        s += factorial(i % 6)
    return s


def test_functions_that_call_themselves_are_left_to_plain_python() -> None:
    """The loop has no nest."""
    native_turns(calls_itself, lambda: (N,))


# Inner loops ------------------------------------------------------------------------------------------------------


def over_everything(x, count):
    s = 0.0
    for i in range(count):
        for v in x:
            s += v
        for j, v in enumerate(x, i):
            s -= j * v
        for a, b, k in zip(x, x, range(3, 100, 2)):
            s += a * b - k
        for k in reversed(range(5)):
            s = s * 0.5 + k
        for v in reversed(x):
            s = s * 0.9 + v
        for dx, dy in OFFSETS:
            s += dx * 0.25 + dy
        for n, (w, (dx, dy)) in enumerate(zip(WEIGHTS, ((1, 2), (3, 4), (5, 6)))):
            s += w * dx - dy * n
        for c in (1.5, s, -0.25):
            s += c
        for k in reversed(range(i, 3)):
            s += k
        s = s % 10.0
    return s


def over_what_it_writes(x, count):
    """Each element is read when its turn begins."""
    for i in range(count):
        for j, v in enumerate(x):
            x[(j + 1) % len(x)] = v * 0.5 + i
    return x


def neighbours(grid, out):
    rows, columns = grid.shape
    for i in range(rows):
        for j in range(columns):
            alive = 0
            for di, dj in OFFSETS:
                if 0 <= i + di < rows and 0 <= j + dj < columns:
                    alive += grid[i + di, j + dj]
            out[i, j] = alive if alive in (2, 3) or alive != 1 else -1
    return out


def solving(x, tolerance):
    s, count = 0.0, 0
    for i in range(len(x)):
        y = x[i] + 1.0
        while abs(y * y - x[i]) > tolerance:
            y = 0.5 * (y + x[i] / y)
            count += 1
            if count % 1000 == 0:
                break
        else:
            count += 1
        s += y
        if count in (3, 7, 11) or not 0 <= y < 10:
            count += 2
    return s, count


def collatz(n):
    longest = 0
    for i in range(1, n):
        k, steps = i, 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        longest = max(longest, steps)
    return longest


def searching(x, wanted):
    found = 0
    for i in range(len(wanted)):
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        found += low
        for j in range(low, len(x)):
            if x[j] > wanted[i]:
                continue
            if x[j] == wanted[i]:
                break
        else:
            found -= 1
    return found


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (over_everything, lambda: (np.linspace(0.1, 2, 40), N)),
        (over_what_it_writes, lambda: (np.linspace(0.1, 2, 7), N)),
        (neighbours, lambda: ((np.arange(N * 4).reshape(N, 4) % 3) % 2, np.zeros((N, 4), int))),
        (solving, lambda: (np.linspace(0.1, 2, N), 1e-9)),
        (collatz, lambda: (N,)),
        (searching, lambda: (np.arange(50) * 2.0, np.arange(N) % 120 * 1.0)),
    ],
)
def test_inner_loops(function, make) -> None:
    """Over arrays, tuples and ranges, together, numbered and backwards; and while a condition holds."""
    assert native_turns(function, make) > N - 10


# Exceptions that are handled --------------------------------------------------------------------------------------


def element_or_nothing(x, i):
    try:
        return x[i]
    except IndexError:
        return 0.0


def within_tries(x, grid):
    s, failed, count = 0.0, 0, 0
    for i in range(len(x) + 5):
        try:
            s += x[i] * grid[i % 5, 1]
            if i % 7 == 0:
                continue
        except IndexError as error:
            failed += len(str(error))
        else:
            s += 0.5
        finally:
            count += 1
        s += element_or_nothing(x, i + 3)
    return s, failed, count, i


def divided_in_tries(n):
    total = failed = 0
    for i in range(n):
        try:
            try:
                total += i // (i % 1000)
            finally:
                total += 1
        except ZeroDivisionError:
            failed += 1
    return total, failed


def raising_in_tries(x):
    s, told = 0.0, []
    for i in range(len(x)):
        try:
            if x[i] > 1.999:
                raise ValueError(i)
            for j in range(3):
                s += x[i - j]
        except ValueError as error:
            told.append(error.args)
        if i == len(x) - 3:
            break
    return s, told, i


def raising_within_two_loops(x):
    s, told = 0.0, []
    for i in range(len(x)):
        for j in range(3):
            try:
                s += x[i] * j
                if i % 500 == 3:
                    raise IndexError
            except IndexError:
                told.append((i, j))
        for v in (0.5, 2.0):
            if i % 700 == 5:
                try:
                    raise ValueError(v)
                except ValueError as error:
                    told.append(error.args)
                    continue
            s -= v
    return s, told, i, j


def around_loops(x):
    s = 0.0
    try:
        for i in range(len(x) + 1):
            s += x[i]
    except IndexError as error:
        s += len(str(error)) + i
        for v in x:  # while the exception is handled
            s -= v * 0.5
        try:
            raise
        except IndexError as again:
            s += again is error
    finally:
        s += 1.0
    return s


class Counted:
    """A context that counts, and holds exceptions back."""

    def __init__(self):
        self.entered, self.told = 0, []

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, kind, value, trace):
        self.told.append(str(value))
        return kind is IndexError


def within_a_with(x):
    s, context = 0.0, Counted()
    with context:
        for i in range(len(x)):
            s += x[i]
    with context as same:
        for i in range(len(x) + 1):
            s += x[i] * same.entered
    return s, context.told, i


def returning_from_tries(x):
    s = 0.0
    try:
        for i in range(len(x)):
            s += x[i]
            if i == len(x) - 9:
                return s, i
    except IndexError:
        return -1.0, i
    finally:
        x[0] += 1.0
    return s, -1


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (within_tries, lambda: (np.linspace(0, 1, N), np.arange(10.0).reshape(5, 2))),
        (divided_in_tries, lambda: (N,)),
        (raising_in_tries, lambda: (np.linspace(0, 2, N),)),
        (raising_within_two_loops, lambda: (np.linspace(0, 2, N),)),
        (around_loops, lambda: (np.linspace(0, 1, N),)),
        (within_a_with, lambda: (np.linspace(0, 1, N),)),
        (returning_from_tries, lambda: (np.linspace(0, 1, N),)),
    ],
)
def test_exceptions_that_are_handled(function, make) -> None:
    """A turn in which something is raised is plain Python's; the others are native, within a `try` or around one."""
    assert native_turns(function, make) > N - 30


def test_whether_a_number_is_true_itself() -> None:
    """Python's True and False are one object each; NumPy's, and ints, are others."""

    def accepted(x, n):
        out, accept, lately = 0, True, False
        for i in range(n):
            accept = True
            for j in range(3):
                if x[i - j] > 0.9:
                    accept = False
                    break
            if accept is True:
                out += 1
            if accept is not False and lately is True:
                out += 3
            out += 5 if (x[i] > 0.5) is True else 7
            out += 11 if bool(x[i] > 0.5) is False else 13
            out += 17 if i is True else 19
            out += 23 if math.isnan(x[i]) is not True else 29
            lately = accept
        return out, accept, lately

    assert native_turns(accepted, lambda: (np.random.default_rng(0).random(N), N)) > N - 30
