"""Numbers of loops that are Python's or NumPy's, whichever: one version of the code, and the type that eager gives."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import native_turns
from ufuse.backends.numpy import nests
from ufuse.frame_hook.nests.known.frames import Function, Version
from ufuse.frame_hook.nests.known.kinds import NumberKind
from ufuse.frame_hook.nests.numbers import either
from ufuse.graph.nest import Nest

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python


def best_so_far(a, n):
    best = 0
    for i in range(n):
        best = max(best, a[i])
    return best


def sum_of_some(a, n):
    total = 0
    for i in range(n):
        for j in range(3):
            if a[i] > j:
                total += a[i]
    return total


def arithmetic(a, n):
    s, t, x, y, z = 0, 0.0, 0, 0.0, 0
    for i in range(n):
        for _ in range(2):
            x = max(0, a[i] - 5)
            y = x / 7
            s = s + x * 2 - x // 3
            t = t + y
            z = min(x, 3)
            if z:
                t = -t
    return s, t, x, y, z


def read_for_each(a, n):
    """Shifts of Python's ints and NumPy's differ."""
    s = x = 0
    for i in range(n):
        x = max(1, a[i])
        s = s + (x << 2)
    return s, x


def stored(a, n):
    b, c, d = np.zeros(n, np.float32), np.zeros(n, np.int32), np.zeros(n, np.uint8)
    e = f = g = 0
    for i in range(n):
        x = max(1, a[i])
        b[i], c[i], d[i] = x, x, x
        e = c[i] + x
        f = d[i] + x
        g = b[i] * x
    return b, c, d, e, f, g


def reals(a, n):
    s, x, y, q, v = 0.0, 0.0, 0.0, False, 0.0
    for i in range(n):
        x = max(0.0, a[i] * 0.5)
        s = s + x
        y = abs(-x)
        q = x < 1.0
        v = x / (i + 1) + math.sqrt(x) + np.sqrt(x)
    return s, x, y, q, v


def best_of_each(a, n):
    out, best, where = 0, -math.inf, 0
    for i in range(n):
        best, where = -math.inf, 0
        for j in range(i + 1):
            if a[j] > best:
                best, where = a[j], j
        out += best * where
    return out, best, where


def index(a, n):
    k = m = 0
    for i in range(n):
        k = min(max(0, a[i]), n - 1)
        m = a[k]
        for q in range(k):
            m += q
    return k, m


def overflow(a, n):
    big, y = 2**62, 0
    for i in range(n):
        x = max(big, a[i])
        y = x + x - big
    return y


def division_by_zero(a, n):
    x = z = 0
    for i in range(n):
        x = max(x, a[i])
        z = x / (a[i] - a[i])
    return z


def greater(u, v):
    return max(v, u)


def calls(a, n):
    x = y = p = q = 0
    for i in range(n):
        x = greater(x, a[i])
        y = greater(max(0, x), y)
        p, q = (x, y)
    return x, y, p, q


def begun_smaller(a, n):
    """What the loop begins with has another size, of which there is no number of Python's."""
    x = least = np.float32(0.5)
    count = 0
    for i in range(n):
        if x < least:
            count += 1
        if a[i] > 5:
            least = 3.0 if a[i] > 6 else a[i] * 1.0
        for _ in range(3):
            count += 1
    return count, least


def last_of_turns(a, n):
    """A number of an unrolled turn is Python's again where the loop around it begins its next one."""
    p = np.int64(n)
    for _ in range(100 * n):
        for k in range(3):
            p = k
    return p


def polynomial(a, x, degree):
    value, terms = 0.0, 0
    for k in range(degree):
        value = value * x + a[k]
        terms = max(terms, a[k])
    return value, terms


def chosen(a, n):
    best = total = 0
    for i in range(n):
        best = max(best, a[i])
        for one in (1.5, best, -0.25, total, 3):
            total = max(one, 2)
    return best, total


def in_functions(a, n):
    out = np.zeros(n)
    value, terms, total = 0.0, 0, 0
    for i in range(n):
        value, terms = polynomial(a, 0.5, i % 3)
        out[i] = value
        for _ in range(2):
            total = total + terms
    return out, value, terms, total


PROGRAMS = [
    best_so_far, sum_of_some, arithmetic, read_for_each, stored, reals, best_of_each, index, overflow,
    division_by_zero, calls, begun_smaller,
    last_of_turns, in_functions, chosen,
]  # fmt: skip
GIVEN = [
    np.array([3, -4, 0, 9, 2, 2, 7, -1, 5, 6]),
    np.arange(12) * 0.7,
    np.array([0, 2**62, 5, 2**63 - 1]),
    np.array([1e308, 0, -1e308, math.nan, 3]),
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_values_and_types(function: Callable[..., Any]) -> None:
    """What a call gives, warns of and raises is eager's, from whichever turn on the number is NumPy's."""
    turns = sum(native_turns(function, lambda a=a: (a.copy(), len(a)), atoms=False) for a in GIVEN)  # type: ignore[misc]
    assert turns > 0 or function in (overflow, division_by_zero)


@pytest.mark.parametrize("function", [best_so_far, best_of_each, in_functions])
def test_one_version(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop over such numbers is in the nest once, and no way leads into its midst."""
    seen: list[Nest] = []
    monkeypatch.setattr(nests, "_made", seen.append)
    compiled = ufuse.compile(function, backend=Improved())
    for _ in range(6):
        compiled(np.arange(40), 40)
    labels = [block.label for block in seen[-1].blocks]
    assert not [one for one in labels if "_2" in one]


def test_versions_with_different_locals_are_two() -> None:
    """Nothing is to be read anew where one version has a value for this local, the other for that one."""
    function = Function(best_so_far.__code__, "")
    one, other = (
        Version(function, 0, ((slot, NumberKind("float", numpy=True)),), (), None)
        for slot in (1, 2)
    )
    either.check_versions([one], other)
