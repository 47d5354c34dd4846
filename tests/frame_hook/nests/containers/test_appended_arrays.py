"""Native loops that append new arrays to lists of the program."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_in_turn
from tests.support.nests.native_loops import loops_of, native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 400


def trajectory(x, a, n):
    out = []
    for _ in range(n):
        x = a @ x
        out.append(x.copy())
        x[0] += 0.5
    return out, x


def frames(u, out, n):
    for k in range(n):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] - 2 * u[1:-1, 1:-1])
        if k % 5 == 0:
            out.append(u.copy())
            out.append(u[1:-1, ::2] * 2)
    return out


def lengths(n):
    whole, single, truths, cubes = [], [], [], []
    for i in range(n):
        whole.append(np.arange(i % 5))
        single.append(np.zeros(i % 3, np.float32))
        truths.append(np.arange(4) > i % 4)
        cubes.append(np.zeros((i % 2, 2, 3)) + i)
    return whole, single, truths, cubes


class System:
    """An object with an array."""

    def __init__(self, x) -> None:
        self.x = x


def of_object(system, n):
    path, energy = [], []
    for _ in range(n):
        system.x = system.x * 0.9 + 0.1
        path.append(system.x.copy())
        energy.append(float(system.x.sum()))
    return path, energy


def doubtful(x, n):
    out = []
    for i in range(n):
        x[i % 4] = i - 1200.0
        out.append(1.0 / x)
    return out


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (trajectory, lambda: (np.ones(4), np.full((4, 4), 0.2), N)),
        (frames, lambda: (np.eye(9), [], N)),
        (frames, lambda: (np.eye(9), [np.ones(2), "title"], N)),
        (lengths, lambda: (N,)),
        (of_object, lambda: (System(np.arange(4.0)), N)),
        (doubtful, lambda: (np.ones(4), 4 * N)),
    ],
)
def test_new_arrays(function, make) -> None:
    """What the list gets are arrays of their own, in order, also where a turn warns."""
    assert native_turns(function, make) > 100


def failing(out, n):
    for i in range(n):
        out.append(np.zeros(3) + i)
        if i == 1400:
            raise ValueError


def test_what_was_appended_before_an_error_is_there() -> None:
    """The list is that of plain Python."""
    assert native_turns(failing, lambda: ([], 4 * N)) > 100


def other_names(x, n):
    out, same = [], []
    for i in range(n):
        x = x + 1
        out.append(x)
        same.append(x)
        x[0] = i
    return out, same


def turned(u, n):
    out = []
    for _ in range(n):
        out.append(u.T * 2)
    return out


def several(x, n):
    out = []
    for i in range(n):
        if i % 2:
            out.append(x * i)
        else:
            out.append(i)
    return out


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (other_names, lambda: (np.ones(3), N)),
        (turned, lambda: (np.arange(6.0).reshape(2, 3), N)),
        (several, lambda: (np.ones(3), N)),
    ],
)
def test_what_plain_python_appends(function, make) -> None:
    """An array that has another name stays that object; one in another order is NumPy's; lists of several things are."""
    native_turns(function, make)
    compiled = ufuse.compile(function)
    for _ in range(3):
        compiled(*make())
    assert all(loop.turns == 0 for loop in loops_of(compiled))


def test_lists_of_other_calls() -> None:
    """What a list is, and how long arrays are, changes from call to call."""
    compiled = ufuse.compile(trajectory)
    rows = [(np.ones(k), np.full((k, k), 0.1), N) for k in (3, 3, 1, 5, 2, 30)]
    check_in_turn(trajectory, compiled, rows)
    shared: list[object] = []
    check_in_turn(frames, ufuse.compile(frames), [(np.eye(7), shared, N), (np.eye(8), shared, N)])
