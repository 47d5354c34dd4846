"""Whole calls that give something of another form by each way: None, a number, a tuple, a list, an array."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import called, check_kept, check_whole_call, hits

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

pytest.importorskip("llvmlite")

NUMBERS = [int(one) for one in np.random.default_rng(1).permutation(300)]
REALS = [float(one) for one in np.random.default_rng(2).random(12)]


def places(numbers, target):
    seen = {}
    for i, x in enumerate(numbers):
        if target - x in seen:
            return [seen[target - x], i]
        seen[x] = i
    return None


def place_or_less(numbers, target):
    seen = {}
    for i, x in enumerate(numbers):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return -1


def nearest(points):
    best = where = None
    seen = []
    for i, p in enumerate(points):
        seen.append(p * 0.5)
        for j in range(i):
            d = abs(p - points[j])
            if best is None or d < best:
                best, where = d, (i, j)
    return best, where


def doubled(numbers, k):
    out = []
    for x in numbers:
        if x == k:
            return []
        if x > k * 100:
            return None
        out.append(x * 2)
    return out


def anything(n, k):
    x, d = np.zeros(n), {}
    for i in range(n):
        d[i] = i * k + 1000
        if k == 5:
            return None
        x[i] = i * k
    if k == 6:
        return x, len(d)
    if k == 7:
        return d
    return "even" if k == 8 else x[1:] if k == 9 else x


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (places, (NUMBERS, -5)),
        (places, (NUMBERS, NUMBERS[90] + NUMBERS[150])),
        (place_or_less, (NUMBERS, -5)),
        (place_or_less, (NUMBERS, NUMBERS[90] + NUMBERS[150])),
        (nearest, (REALS,)),
        (nearest, (REALS[:1],)),
        (doubled, ([1, 2, 3000], 30)),
        (doubled, ([1, 2], 2)),
        (doubled, ([1, 2, 300], 5)),
        *((anything, (20, k)) for k in range(4, 10)),
        (anything, (0, 9)),
    ],
)
def test_each_form_is_native(function, given) -> None:
    """With the very types that plain Python gives."""
    check_whole_call(function, given)


def test_one_entry_gives_all() -> None:
    """What one way gives is not what another has left."""
    compiled = called(anything, (20, 4))
    for k in (9, 5, 4, 7, 6, 8, 5, 9, 7):
        before = hits(compiled)
        check_kept(anything, compiled, 20, k)
        assert hits(compiled) > before
