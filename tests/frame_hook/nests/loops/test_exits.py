"""Native loops that are left in mid-turn, and `while` loops: where the frame goes on, and with what."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse import decorator
from ufuse.frame_hook.nests.entries import whole
from ufuse.frame_hook.nests.known.positions import while_headers

pytest.importorskip("llvmlite")

N = 3000


# Left by `break` and `return` ---------------------------------------------------------------------------------------


def returned(a, wanted):
    for i in range(len(a)):
        if a[i] == wanted:
            return i
    return -1


def broken(a, wanted):
    for i in range(len(a)):
        square = a[i] * a[i]
        if a[i] == wanted:
            break
    else:
        return "nothing"
    return i, square


def from_inner_loops(a, wanted):
    for i in range(len(a)):
        for j in range(3):
            for k in (1, 2):
                if a[i] * j + k == wanted:
                    return i, j, k, a[i] * j
    return None


def of_another_type(a, wanted):
    found = 0
    for i in range(len(a)):
        if a[i] == wanted:
            found = a[i] * 0.5
            break
    return found, i


def several(a, wanted):
    total = 0.0
    for i, value in enumerate(a):
        total += value
        if total > 1e9:
            break
        if value == wanted:
            return total, i
        if value < 0.0:
            raise ValueError(i, value)
    return total, i, value


def with_arrays(a, wanted):
    u, v = a.copy(), a * 0.5
    for i in range(len(a)):
        u[1:4] = v[:3] + i
        u, v = v, u
        w = u[2:5] * 2.0
        if a[i] == wanted:
            break
    return u, v, w, i


def within(a, wanted):
    """The loop inside is left for the header of the one around, which no nest can have."""
    found = []
    for factor in [1.0, 2.0, "no number", 3.0]:
        if factor == "no number":
            continue
        for i in range(len(a)):
            if a[i] * factor == wanted:
                break
        found.append(i)
    return found


@pytest.mark.parametrize("wanted", [N - 1.0, N // 2 + 0.0, -1.0], ids=["last", "middle", "none"])
@pytest.mark.parametrize(
    "function", [returned, broken, from_inner_loops, of_another_type, several, with_arrays, within]
)
def test_loops_are_left_in_mid_turn(function, wanted) -> None:
    """Variables, arrays and errors are plain Python's behind the loop; the turn that leaves is native, too."""
    make = lambda: (np.arange(float(N)), wanted)  # noqa: E731
    assert native_turns(function, make, atoms=function is not within) >= N // 2


def test_a_loop_that_is_left_has_no_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of all kinds, without a turn in plain Python behind the first call."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)  # calls run by parts
    compiled, a = ufuse.compile(returned), np.arange(100.0)
    for place in [50, 3, 99, 0, 7, 0, 98] * 3:
        assert compiled(a, float(place)) == place
    (loop,) = loops_of(compiled)
    assert not loop.doubts
    assert loop.turns > 700


# `while` ------------------------------------------------------------------------------------------------------------


def counted(n):
    i, s = 0, 0.0
    while i < 100 * n:
        s += i * 0.5
        i += 1
    return s, i


def endless(n):
    i, s = 0, 0.0
    while True:
        if i >= n:
            break
        i += 1
        if i % 3 == 0:
            continue
        s += i * 0.5
        if s > 1e9:
            return i
    return s, i


def both(n):
    a, b = n * 7, n * 5
    while a and b:
        if a > b:
            a -= 1
        else:
            b -= 1
            continue
        a, b = b, a
    return a, b


def with_else(n):
    i = 0
    while i < n:
        i += 2
        if i == 7001:
            break
    else:
        return "even", i
    return "odd", i


def named(n):
    i = s = 0
    while (i := i + 1) < n:
        if i % 5 == 2:
            continue
        s = (s * 3 + i) % 1009
    return s, i


def nested(n):
    i, turns = 0, 0
    while i < n:
        j = i
        while j % 4:
            j += 1
            turns += 1
        for k in range(j % 3):
            turns += k
            if turns % 1000 == 999:
                return turns, i, j, k
        i += 1
    return i, turns


def named_in_another(n):
    """Turns that `continue` begins come to the test in front, as the first does in each turn of the loop around."""
    total = 0
    for k in range(3):
        i = -1
        while (i := i + 1) < n:
            if i % 3 == k:
                continue
            total += i
        total ^= k
    return total, i


def growing(n):
    """An int that leaves 64 bits in some turn."""
    i, product = 0, 1
    while i < n:
        product = product * 3 if i > n - 60 else 1
        i += 1
    return product


@pytest.mark.parametrize(
    "function",
    [counted, endless, both, with_else, named, named_in_another, nested, growing],
    ids=lambda f: f.__name__,
)
def test_while_loops_are_native(function) -> None:
    """With `else`, `continue`, `break`, several conditions and loops inside."""
    assert native_turns(function, lambda: (N,)) > N // 3


def summed(x, n):
    i, s = 0, 0.0
    while i < n:
        s += x[i % 5]
        i += 1
    return s, i


def solved(u, tolerance):
    error, sweeps = tolerance + 1.0, 0
    while error > tolerance:
        error = 0.0
        for i in range(1, len(u) - 1):
            for j in range(1, u.shape[1] - 1):
                value = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                error = max(error, abs(value - u[i, j]))
                u[i, j] = value
        sweeps += 1
    return u, sweeps


def solved_by_slices(u, tolerance):
    error, sweeps = tolerance + 1.0, 0
    while error > tolerance:
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        error = np.max(np.abs(u - old))
        sweeps += 1
    return u, sweeps, error


def scaled(a, tolerance):
    u, error = np.ones(len(a)), tolerance + 1.0
    while error > tolerance:
        v = 1.0 / (a @ u + 0.5)
        w = 1.0 / (a.T @ v + 0.5)
        error = np.abs(w - u).max()
        u = w
    return u[:, None] * v


def test_arrays_that_are_read_only_behind_a_loop() -> None:
    """They come from the last turn; until they have a value there is no nest."""
    assert native_turns(scaled, lambda: (np.linspace(0, 1, 144).reshape(12, 12) ** 2, 1e-300)) > 50


@pytest.mark.parametrize("function", [solved, solved_by_slices])
def test_solvers_are_native(function) -> None:
    """A `while` loop around loops and array statements is one nest."""
    assert native_turns(function, lambda: (np.linspace(0, 1, 144).reshape(12, 12) ** 2, 1e-9)) > 50


@pytest.mark.parametrize(
    "function", [counted, endless, both, with_else, named, named_in_another, nested]
)
def test_every_turn_of_a_while_loop_comes_to_its_header(function) -> None:
    """Also those that `continue` begins."""
    assert while_headers(function.__code__)


def test_a_loop_that_ends_at_once_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of all lengths, also of none, with the nest of the first."""
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)  # calls run by parts
    compiled, x = ufuse.compile(summed), np.arange(1.0, 6.0)
    for n in [500_000, 500_000, 0, 1, 2, 1, 0, 5000, 3] * 3:
        assert compiled(x, n) == summed(x, n)
    assert sum(loop.turns for loop in loops_of(compiled)) > 1_000_000
