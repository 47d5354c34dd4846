"""Lists of rows that a whole call makes: of tuples, lists and vectors, of which an array is made."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, C416, PERF402
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import called, check_kept, check_whole_call

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

A = np.random.default_rng(3).normal(size=(7, 9))
X = A[0].copy()
TABLE = A.tolist()


def scaled(value):
    if value > 0:
        return value * value + 1.0
    return -value


def comprehensions(a):
    return np.array([[scaled(value) for value in row] for row in a])


def of_lists(table):
    return np.array([[value * 2 for value in row] for row in table if row[0] < 9])


def appended(a):
    out = []
    for row in a:
        one = []
        for value in row:
            one.append(value + len(out))
        out.append(one)
    return np.array(out), len(out)


def tuples(x):
    out = []
    for i, value in enumerate(x):
        if value > 0:
            out.append((i, value))
    return np.array(out)


def pairs(x):
    return np.array([(value, value * value) for value in x]), np.array([[value, 0] for value in x])


def of_ones(x):
    return np.array([(value,) for value in x]), np.array([[bool(value > 0)] for value in x])


def lists_that_are_read(x):
    rows = [[i, i + 1] for i in range(len(x))]
    total = 0
    for row in rows:
        total += row[0]
    return total, rows[2]


def lists_and_tuples(x):
    rows = [[i, i + 1] for i in range(len(x))]
    found = 0
    for a, b in rows:
        if rows[b % 3] == (a, b) or rows[a % 3] == [a, b]:
            found += 1
    return found


def path(x):
    places = [(0.0, 0.0)]
    for value in x:
        places.append((places[-1][0] + float(value), places[-1][1] - 0.5))
    total = 0.0
    for i, (u, v) in enumerate(places):
        total += u * i - v
    for place in reversed(places):
        total = total * 0.5 + place[0]
    return np.array(places), total, len(places)


def integrated(n):
    t, y, out = 0.0, 1.0, []
    while t < n:
        out.append((t, y))
        y -= 0.1 * y
        t += 0.25
    out = np.array(out)
    return out[:, 0], out[:, 1]


def whole_numbers(n):
    return (
        np.array([[i * j for j in range(n)] for i in range(4)]),
        np.array([(i, i * i) for i in range(n)], dtype=float),
        np.array([[float(i == j) for j in range(n)] for i in range(n)], np.float32),
    )


def mixed(a):
    return np.array([[max(value, 0) for value in row] for row in a])


def mixed_rows(x):
    out = []
    for value in x:
        if value > 0:
            out.append((1, value))
        else:
            out.append((0, 0))
    return np.array(out)


def vectors(a):
    return np.array([row / row.sum() for row in a]), np.array([row for row in a])


def vectors_with_names(a):
    out = []
    for row in a:
        root = np.sqrt(np.abs(row))
        out.append(root)
    return np.vstack(out), np.stack([row * 2 for row in a])


def steps(x):
    y, out = x[:3] * 1.0, []
    for i in range(5):
        out.append(y)
        y = y * 0.9 + i
    return np.array(out)


def copies(x):
    y, out = x[:3] * 1.0, []
    for i in range(5):
        out.append(y.copy())
        y += i
    return np.array(out)


def filled(a):
    out = []
    for row in a:
        one = np.zeros(3)
        for j in range(3):
            one[j] = row[j] * j
        out.append(one)
    return np.array(out)


def two_lists(x):
    u, v = [], []
    for value in x:
        u.append(value)
        v.append(len(u))
    return np.array([u, v]), np.vstack((v, v))


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (A,)) for function in (comprehensions, appended, mixed, vectors, vectors_with_names, filled)),
    *((function, (X,)) for function in (tuples, pairs, of_ones, path, mixed_rows, steps, copies, two_lists)),
    (of_lists, (TABLE,)), (integrated, (3,)), (whole_numbers, (5,)), (comprehensions, (A.astype("f4"),)),
    (comprehensions, (np.arange(12).reshape(3, 4),)), (tuples, (np.arange(5),)), (vectors, (A.T,)),
    (vectors, (np.arange(12).reshape(3, 4),)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_results(number: int) -> None:
    """What a call gives is as in plain Python, and machine code does it."""
    check_whole_call(*PROGRAMS[number])


SHAPES = ((0, 3), (3, 0), (0, 0), (1, 1), (2, 1), (1, 5), (40, 33))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [comprehensions, appended, mixed, vectors, filled])
def test_shapes(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    """No rows, empty ones, and those whose memory has to grow."""
    compiled = called(function, (A,))
    given = np.sin(np.arange(1.0, shape[0] * shape[1] + 1.0)).reshape(shape)
    for _ in range(2):
        check_kept(function, compiled, given)
        check_kept(function, compiled, -abs(given))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 500])
@pytest.mark.parametrize("function", [tuples, pairs, of_ones, path, mixed_rows, two_lists])
def test_lengths(function: Callable[..., Any], length: int) -> None:
    """Of tuples, too."""
    compiled = called(function, (X,))
    given = np.sin(np.arange(1.0, length + 1.0))
    for _ in range(2):
        check_kept(function, compiled, given)
        check_kept(function, compiled, -abs(given))
        check_kept(function, compiled, X)


def ragged(a):
    out = []
    for i, row in enumerate(a):
        one = []
        for value in row[: len(row) - (i > 2)]:
            one.append(value)
        out.append(one)
    return np.array(out)


def of_both(x):
    out = []
    for value in x:
        if value > -9:
            out.append([value, 1.0])
        else:
            out.append([value])
    return np.array(out)


def selected(a):
    return np.array([[value for value in row if value > 0] for row in a])


@pytest.mark.parametrize("function", [ragged, selected])
def test_rows_of_several_lengths(function: Callable[..., Any]) -> None:
    """NumPy says what is wrong with them."""
    for given in (A, A[:2], A[:0], abs(A), -abs(A)):
        compiled = called(function, (abs(A[:3]),))
        for _ in range(2):
            check_kept(function, compiled, given)
    compiled = called(of_both, (X,))
    for given in (X, X - 20.0, X[:1] - 20.0):
        check_kept(of_both, compiled, given)


def the_same_row(x):
    out, row = [], []
    for value in x:
        row.append(value)
        out.append(row)
    return np.array([len(one) for one in out])


def longer_later(x):
    out = []
    for value in x:
        row = [value]
        out.append(row)
        row.append(2.0)
    return np.array(out)


def stored_later(x):
    out = []
    for value in x:
        row = [one for one in x]
        out.append(row)
        row[0] = value
    return np.array(out)


def by_another_name(x):
    out = []
    for value in x:
        row = [value * i for i in range(3)]
        both = row, 1
        out.append(row)
        both[0].append(1.0)
    return np.array(out)


def changed_array(x):
    y, out = x * 1.0, []
    for i in range(3):
        out.append(y)
        y += i
    return np.array(out)


def changed_argument(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
        a[i] *= 2
    return np.array(out), a


def changed_by_a_call(x):
    out = []
    for value in x:
        row = [0.5, 1.5]
        out.append(row)
        _longer(row, value)
    return np.array(out)


def _longer(row, value) -> None:
    row.append(value)


@pytest.mark.parametrize(
    "function",
    [the_same_row, longer_later, stored_later, by_another_name, changed_array, changed_by_a_call],
)
def test_rows_that_change_are_plain_pythons(function: Callable[..., Any]) -> None:
    """A row is the list or array itself."""
    compiled = called(function, (X,))
    for _ in range(2):
        check_kept(function, compiled, X)
    assert compiled.__ufuse_session__.record(function.__code__).why_not_whole


@pytest.mark.parametrize("function", [lists_that_are_read, lists_and_tuples])
def test_a_row_that_is_a_list_stays_one(function: Callable[..., Any]) -> None:
    """It is no tuple where it is given back, and equals none."""
    compiled = called(function, (X,))
    for _ in range(2):
        check_kept(function, compiled, X)


def test_arrays_that_change_are_plain_pythons() -> None:
    """Also where the program stores into an argument."""
    compiled = called(changed_argument, (A * 1.0,))
    for _ in range(2):
        check_kept(changed_argument, compiled, A * 1.0)


def test_doubts_are_done_again() -> None:
    """A turn that warns is plain Python's, with the rows before."""

    def inverses(a) -> np.ndarray:
        out = []
        for row in a:
            out.append([1.0 / value for value in row])
        return np.array(out)

    compiled = called(inverses, (abs(A),))
    given = abs(A)
    given[3, 4] = 0.0
    for _ in range(2):
        check_kept(inverses, compiled, given)
        check_kept(inverses, compiled, abs(A))
