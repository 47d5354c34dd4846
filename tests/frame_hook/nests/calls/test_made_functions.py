"""Functions that are made in a loop, and called there: read in the place of the call."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, B023, E731, PLC3002, SIM108
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 400
X = np.linspace(0.1, 2, 7)


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))


def decayed(y, n, k):
    t = 0.0
    for _ in range(n):
        y = rk4(lambda t, y: -k * y + t, t, y, 0.01)
        t += 0.01
    return y


def scaled(x, n, k):
    total = 0.0
    for i in range(n):
        weight = lambda a: a * i - k
        total += weight(x[i % 7])
    return total, i


def root(f, low, high):
    while high - low > 1e-9:
        middle = (low + high) / 2
        if f(middle) > 0:
            high = middle
        else:
            low = middle
    return low


def roots(x, n, k):
    found = np.empty(n)
    for i in range(n):
        target = x[i % 7] + i * k

        def f(value):
            return value * value - target

        found[i] = root(f, 0.0, 100.0)
    return found


def bound_late(x, n, k):
    """The variable is looked at when the function is called."""
    total = 0.0
    for i in range(n):
        step = 1.0
        f = lambda: step * k
        total += f()
        step = x[i % 7]
        total -= f() * 0.5
        step = i
        total += f()
    return total


def by_names(x, n, k):
    total = 0.0
    for i in range(n):

        def f(a, *, b, c):
            return a - b * c + k

        total += f(i, c=x[1], b=0.5)
    return total


def within(x, n, k):
    """A function that is called makes another one, of its variables and of those around it."""

    def outer(a):
        b = a * k

        def inner(c):
            return c - b + k

        return inner(a) + inner(2.0)

    total = 0.0
    for i in range(n):

        def both(a):
            return outer(a) + (lambda c: c * i - a)(k)

        total += both(x[i % 7])
    return total


def of_arrays(x, n, k):
    y = x * 0.0
    for i in range(n):
        slope = lambda v: v * -k + x * 0.5
        y = y + 0.01 * slope(y + i * 0.001)
    return y


def one_of_two(x, n, k):
    total = 0.0
    for i in range(n):
        if x[i % 7] > 1:
            f = lambda a: a * k
        else:
            f = lambda a: a - i
        total += f(x[i % 5])
    return total


def in_inner_loops(x, n, k):
    total = 0.0
    for i in range(n // 10):
        f = lambda a: a * i + k
        for j in range(10):
            g = lambda a: f(a) - j
            total += g(x[j % 7])
    return total


def with_sums(x, n, k):
    total = 0.0
    for i in range(n):
        energy = lambda p: sum(v * p for v in x) + k
        total += energy(i * 0.5)
    return total


def warns(x, n, k):
    """The turn in which it divides by zero is plain Python's."""
    total = 0.0
    for i in range(n):
        f = lambda a: a / (i - 300)
        total += f(x[i % 7])
    return total


NATIVE = [
    decayed, scaled, roots, bound_late, by_names, within, of_arrays, one_of_two, in_inner_loops, with_sums, warns,
]  # fmt: skip


@pytest.mark.parametrize("function", NATIVE)
def test_programs_are_native_and_the_same(function: Callable[..., Any]) -> None:
    """Each call sees the variables as they are then."""
    given = 0.7 if function is decayed else X
    assert native_turns(function, lambda: (given, N, 0.25)) > 0
    assert native_turns(function, lambda: (given, N, 2)) > 0


def kept_for_later(x, n, k):
    """It is used behind the loop."""
    f = None
    for i in range(n):
        f = lambda a: a * i + k
        x[0] += f(1.0)
    return f(2.0), i


def changing(x, n, k):
    total = 0.0
    for i in range(n):

        def add(a):
            nonlocal total
            total += a * k

        add(x[i % 7])
    return total


def made_by_a_call(x, n, k):
    def maker(a):
        return lambda b: a * b + k

    total = 0.0
    for i in range(n):
        total += maker(i)(x[i % 7])
    return total


def outliving(x, n, k):
    """What a call has made is called in the next one, whose variables have the same names."""

    def step(g, a):
        r = g(1.0)
        return r, (lambda v: v * a)

    total = 0.0
    for i in range(n):
        g = lambda v: v
        for j in range(3):
            r, g = step(g, x[j] + i)
            total += r * k
    return total


def calling_itself(x, n, k):
    total = 0.0
    for i in range(n):

        def down(a):
            return a if a < 2 else down(a - 1) + k

        total += down(i % 5) * x[1]
    return total


def with_defaults(x, n, k):
    total = 0.0
    for i in range(n):
        f = lambda a, i=i: a * i + k
        total += f(x[i % 7])
    return total


def in_lists(x, n, k):
    total = 0.0
    for i in range(n):
        total += sorted([x[i % 7], x[i % 3], k], key=lambda a: -a * i)[1]
    return total


@pytest.mark.parametrize(
    "function",
    [kept_for_later, changing, made_by_a_call, outliving, calling_itself, with_defaults, in_lists],
)
def test_others_are_the_same_in_plain_python(function: Callable[..., Any]) -> None:
    """What outlives the turn, changes variables around it, or calls itself is left alone."""
    assert native_turns(function, lambda: (X.copy(), N, 0.25)) == 0


def test_comprehensions_are_told_from_functions() -> None:
    """Up to 3.11 each is a function that is made, and called at once."""

    def doubled(x, n):
        total = 0.0
        for i in range(n):
            total += len([a * i for a in x])
        return total

    assert native_turns(doubled, lambda: (X, N))
