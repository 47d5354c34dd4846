"""Native loops over lists of tuples whose items are numbers of several types, or arrays."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B905, PLW2901
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_in_turn
from tests.support.nests.native_loops import loops_of, native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 600


def ratings(count=N):
    return [(k % 20, k * 7 % 15, k % 5 + 0.5) for k in range(count)]


def factorised(rows, p, q):
    total = 0.0
    for u, i, r in rows:
        e = r - p[u] @ q[i]
        total += e * e
        p[u] += 0.05 * (e * q[i] - 0.01 * p[u])
        q[i] += 0.05 * (e * p[u] - 0.01 * q[i])
    return total, p, q


def joined(edges, parents):
    total = 0.0
    for weight, a, b in edges:
        while parents[a] != a:
            a = parents[a]
        while parents[b] != b:
            b = parents[b]
        if a != b:
            parents[b] = a
            total += weight
    return total, parents


def filled(items, room):
    best = np.zeros(room + 1)
    for place, (weight, value, is_there) in enumerate(items):
        if is_there:
            for c in range(room, weight - 1, -1):
                best[c] = max(best[c], best[c - weight] + value) + 0.125 * place
    return best


def by_index(points):
    best, where = 1e9, -1
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            d = abs(points[i][1] - points[j][-2]) + points[-1][0]
            if d < best:
                best, where = d, i
    return best, where


def learned(data, w):
    hits = 0
    for x, y in data:
        if y * (w @ x) <= 0:
            w = w + y * x
        else:
            hits += 1
    return w, hits


def nearest(rows, x):
    best = rows[0]
    for _ in range(40):
        for row in rows:
            if abs(row[0] - x) < abs(best[0] - x):
                best = row
    return best


def swapped(rows):
    total = 0
    for one, other in zip(rows, reversed(rows)):
        total += one[0] * other[1] - other[0]
    return total


LOOPS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (factorised, lambda: (ratings(), np.full((20, 4), 0.1), np.full((15, 4), 0.2))),
    (joined, lambda: (sorted((k * 7 % 61 / 8, k % 50, k * 3 % 50) for k in range(N)), [*range(50)])),
    (filled, lambda: ([(k % 7 + 1, k * 3 % 11 / 2, k % 3 > 0) for k in range(40)], 60)),
    (by_index, lambda: ([(k, k * 7 % 13 / 4, np.float64(k)) for k in range(50)],)),
    (learned, lambda: ([(np.cos(np.arange(4.0) * k), k % 2 * 2 - 1) for k in range(N)], np.zeros(4))),
    (nearest, lambda: ([(k * 7 % 31 / 4, k, True) for k in range(31)], 3.1)),
    (swapped, lambda: (tuple((k, np.int64(3 * k)) for k in range(N)),)),
    (swapped, lambda: ([(k, np.nan if k % 9 else -0.0) for k in range(N)],)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "make"), LOOPS)
def test_loops(function, make) -> None:
    """They have native code; what they give and change is as in plain Python."""
    assert native_turns(function, make) > 20


def test_lists_that_are_others_from_call_to_call() -> None:
    """Of other types, of tuples of other lengths, empty, or none of tuples: plain Python does it, or another loop."""
    p, q = np.full((20, 4), 0.1), np.full((15, 4), 0.2)
    odd = ratings()
    odd[400] = (1, 2)  # type: ignore[call-overload]
    longer = [(*one, 1) for one in ratings()]
    whole = [(u, i, int(r)) for u, i, r in ratings()]
    mixed = ratings()
    mixed[300] = (1, 2, 3)
    lists = [list(one) for one in ratings()]
    rows = [ratings(), ratings(), odd, ratings(), longer, [], whole, mixed, ratings(), lists, lists]
    check_in_turn(
        factorised, ufuse.compile(factorised), [(one, p.copy(), q.copy()) for one in rows]
    )


def appended(rows, turns):
    for k in range(turns):
        if k % 3:
            rows.append((k, k * 0.5))
    return rows, len(rows)


def test_lists_that_grow() -> None:
    """Tuples are appended behind those that are there."""
    compiled = ufuse.compile(appended)
    check_in_turn(appended, compiled, [([(1, 0.5)], 3000) for _ in range(3)])
    assert any(loop.turns for loop in loops_of(compiled))


def strictly(rows, x, y):
    total = 0.0
    for u, i, r in rows:
        for a, b in zip(x, y, strict=True):
            total += a * b * r
            if total > 1e6:
                return total
        total += sum(a - b for a, b in zip(x[:u], y[:u], strict=False)) + i
    return total


def test_strict_pairs() -> None:
    """Arrays of other lengths are an error in an inner loop, or are not looked at as far as that."""
    x = np.arange(6.0) / 8
    assert native_turns(strictly, lambda: (ratings(), x, x[::-1])) > 100
    rows = [(ratings(), x, x), (ratings(), x, x), (ratings(), x, x[:5]), (ratings(), x[:2], x)]
    rows += [([], x, x[:1]), (ratings(), x * 1e7, x[:5] + 1), (ratings(), x, x)]
    check_in_turn(strictly, ufuse.compile(strictly), rows)


class Kept:
    """Something of the program's own: a function that makes one is no whole call."""


def counted(b):
    rows = []
    one = Kept()
    for i in range(len(b)):
        b[2] = len(rows)
        one.last = 1.5
        rows.append((i, True))
    return rows


def test_how_long_a_list_is_that_grows() -> None:
    """Its tuples that were there before the loop became native count."""
    native_turns(counted, lambda: (np.zeros(N),))
