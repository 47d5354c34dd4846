"""Generator expressions that a call goes over, in native loops and in whole calls."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B905, E731
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_in_turn, check_same
from tests.support.nests.native_loops import loops_of, native_turns, no_failures_inside
from ufuse.frame_hook.nests.entries import whole

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python
RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(70, 30)), RNG.normal(size=(30, 70))


def product(a, b, out):
    rows, inner = a.shape
    for i in range(rows):
        for j in range(b.shape[1]):
            out[i, j] = sum(a[i, k] * b[k, j] for k in range(inner))
    return out, i, j


def primes(n):
    found = []
    for p in range(2, n):
        if all(p % d for d in range(2, int(p**0.5) + 1)):
            found.append(p)
    return found, p


def python_floats(n):
    total, first = 0.0, 0
    for i in range(n):
        part = sum((1.0 / (i + j + 1) for j in range(20)), 0.5)
        total += part + sum(1e16 * (1 - j % 2 * 2) for j in range(i % 5))
        first += sum(1 for j in range(20) if (i * j) % 3 == 0)
    return total, first


def floats_and_ints(n):
    total = 0.0
    for i in range(n):
        total += sum((i * 1e15 if k % 2 else k * i for k in range(7)), 1e16)
        total -= sum(k * i if k % 2 else 1e16 for k in range(5))
    return total


def numpy_after_floats(x, n):
    total = 0.0
    for i in range(n):
        total += sum((0.1 if k < 3 else x[k] for k in range(i % 9)), 1.5)
    return total


def with_infinities(x, n):
    total = []
    for i in range(n):
        total.append(sum(v for v in x[i % 5]))
    return total


def extremes(a, n):
    total = 0.0
    for i in range(n):
        row = a[i % len(a)]
        total += max(abs(v) for v in row) - min(v for v in row)
        total += max(i * k % 7 for k in range(1, 5))
    return total


def of_nothing(n):
    total = 0
    for i in range(n):
        total += max(k for k in range(n - 5 - i))
    return total


def none_positive(a, n):
    count = 0
    for i in range(n):
        if any(v > 2 for v in a[i % len(a)]):
            count += 1
        if not all(v < 2 for v in a[i % len(a)]):
            count += 100
        count += any(v for v in (0, 0.0, i % 2))
    return count


def products(n):
    total = 0.5
    for i in range(n):
        total += math.prod(k for k in range(1, i % 12))
        total += math.prod((0.5 * k for k in range(1, i % 7)), start=2)
    return total


def leaves_64_bits(n):
    total = 0
    for i in range(n):
        total = sum(2**61 + k for k in range(i % 6))
    return total


def two_loops(a, n):
    total = 0.0
    for i in range(n):
        total += sum(a[r, c] * i for r in range(4) for c in range(r) if (r + c) % 2)
        total += sum(sum(a[r, c] for c in range(3)) for r in range(2))
    return total


def best_row(points, q):
    best, where = math.inf, -1
    for i in range(len(points)):
        d = sum((points[i, k] - q[k]) ** 2 for k in range(points.shape[1]))
        if d < best:
            best, where = d, i
    return best, where, i


def leaves_early(a, limit):
    for i in range(len(a)):
        if sum(v * i for v in a[i]) > limit:
            break
    else:
        i = -1
    return i, sum(v for v in a[i])


def seen_by_others(n):
    i = -1
    look = lambda: i
    seen = []
    for i in range(n):
        total = sum(i * k for k in range(9))
        if total > 9 * n and i % 11 == 0:
            seen.append(total)
    return seen, look(), i


def number_of_another_type(n):
    count = True
    for i in range(1):
        for j in range(n):
            count += 1 + 0 * j + 0 * i
    return count, i, sum(count for j in range(3))


def seen_by_a_function(x, n):
    weight = 1

    def weighted(v) -> Any:
        return v * weight

    for i in range(n):
        weight = i
        x[i % len(x)] += weighted(i)
        x[0] += sum(weight for k in range(3))
    return x


def hides_a_cell(a, n):
    i = 5.5
    total = sum(i * v for v in a[0])
    made = [i * 2 for i in range(n)]
    rows = [sum(a[i % 3, k] for k in range(4)) for i in range(n)]
    return total, made, rows, i, sum(i for k in range(2))


def one_of_two(a, n):
    total = 0.0
    for i in range(n):
        chosen = min if i % 2 else max
        total += chosen(v * i for v in a[i % len(a)]) + (sum if i % 3 else max)(range(i % 3, 7))
    return total


def of_sequences(x, numbers, n):
    total = 0.0
    for k in range(n):
        total += sum(x) / (max(x) - min(x)) + sum(numbers, k) + sum(range(k % 7))
        total += max(numbers) if any(x) and all(numbers) else math.prod(numbers)
    return total


def powers(n):
    return sum((-1) ** k / (2 * k + 1) + 2 ** (k % 62) for k in range(n))


def named_inside(a, n):
    found = 0.0
    for i in range(n):
        if any((hit := v * i) > 3 for v in a[i % len(a)]):
            found += hit
    return found


def keeps_one(n):
    total = 0
    for i in range(n):
        squares = (k * i for k in range(5))
        total += sum(squares) + sum(squares)
    return total


def scaled(row, weight):
    offset = weight + 1
    return sum(v * weight + offset for v in row)


def in_a_call(a, n):
    total = 0.0
    for i in range(n):
        total += scaled(a[i % len(a)], i)
    return total


def changing_types(a, n):
    total = 0
    for i in range(n):
        total += sum(1 if v > 0 else 0.5 for v in a[i % len(a)])
    return total


def of_bools(a, n):
    total = 0
    for i in range(n):
        total += sum(v > 0 for v in a[i % len(a)])
        total += sum(k > 2 for k in range(5))
    return total


def fails_inside(a, n):
    total = 0.0
    for i in range(n):
        total += sum(a[0, k + (i == n - 2) * 40] for k in range(5))
    return total


LOOPS = [
    (product, lambda: (A, B, np.zeros((70, 70)))),
    (primes, lambda: (1500,)),
    (python_floats, lambda: (1500,)),
    (floats_and_ints, lambda: (1500,)),
    (numpy_after_floats, lambda: (np.arange(9.0), 1500)),
    (extremes, lambda: (A, 1500)),
    (extremes, lambda: (np.array([[np.nan, 1.0, 2], [1, np.nan, 0.5], [0.0, -0.0, 0.0]]), 1500)),
    (of_nothing, lambda: (1500,)),
    (none_positive, lambda: (A, 1500)),
    (products, lambda: (1500,)),
    (leaves_64_bits, lambda: (1500,)),
    (two_loops, lambda: (A, 1500)),
    (best_row, lambda: (A, B[:, 0].copy())),
    (leaves_early, lambda: (np.tile(A, (20, 1)), 9000.0)),
    (leaves_early, lambda: (np.tile(A, (20, 1)), 1e9)),
    (seen_by_others, lambda: (2000,)),
    (number_of_another_type, lambda: (2000,)),
    (hides_a_cell, lambda: (A, 1500)),
    (one_of_two, lambda: (A, 1500)),
    (of_sequences, lambda: (np.arange(9.0) / 3, [1.5, 2.5, 0.1], 1500)),
    (of_sequences, lambda: (np.arange(9), [1, 2, 3], 1500)),
    (in_a_call, lambda: (A, 1500)),
    (changing_types, lambda: (A, 1500)),
    (of_bools, lambda: (A, 1500)),
    (fails_inside, lambda: (A, 1500)),
]


@pytest.mark.parametrize(("function", "make"), LOOPS)
def test_loops(function, make, monkeypatch) -> None:
    """The generator is a part of the native loop; sums add as this Python does."""
    monkeypatch.setattr(whole, "is_needed", lambda _: False)
    assert native_turns(function, make, atoms=False) > 10


ODD = [
    (
        with_infinities,
        lambda: (
            [
                [1e308, 1e308, -1e308],
                [math.inf, 1.0, -math.inf],
                [math.nan, 1.0, 2.0],
                [-0.0, -0.0, 0.0],
                [1.0, 1e100, 1.0],
            ],
            1500,
        ),
    ),
]


@pytest.mark.parametrize(("function", "make"), LOOPS + ODD)
def test_loops_in_whole_calls(function, make) -> None:
    """The same where the function is read as a whole, if it can be."""
    native_turns(function, make, atoms=False)


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (named_inside, lambda: (A, 1500)),
        (keeps_one, lambda: (1500,)),
        (seen_by_a_function, lambda: (np.zeros(9), 1500)),
    ],
)
def test_what_is_left_to_python(function, make) -> None:
    """Generators that are kept, or that give variables of the function around values."""
    assert native_turns(function, make) == 0


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def mean_square(x):
    middle = sum(v for v in x) / len(x)
    return sum((v - middle) ** 2 for v in x) / len(x)


def in_order(x):
    return all(x[i] <= x[i + 1] for i in range(len(x) - 1))


def closest(x):
    return min(abs(x[i] - x[j]) for i in range(len(x)) for j in range(i))


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def scaled_sum(x, scale):
    scale = scale * 2
    return sum(v * scale for v in x), scale


CALLS: list[tuple[Any, Any]] = [
    (dot, lambda n: (np.arange(n) / 3, np.arange(n)[::-1] / 7)),
    (dot, lambda n: ([k / 3 for k in range(n)], [k / 7 for k in range(n)])),
    (dot, lambda n: (np.arange(n), list(range(n)))),
    (mean_square, lambda n: ([k / 3 for k in range(n)],)),
    (in_order, lambda n: (np.arange(n) % 250,)),
    (closest, lambda n: (np.arange(min(n, 40)) ** 2 / 3,)),
    (is_prime, lambda n: (1_000_003 * n,)),
    (powers, lambda n: (n,)),
    (scaled_sum, lambda n: (np.arange(n) / 3, n)),
]


@pytest.mark.parametrize(("function", "make"), CALLS)
def test_whole_calls(function, make) -> None:
    """A function whose time goes into generators runs as one native call; for each size, and for errors."""
    sizes = (300, 300, 300, 200, 1, 0, 300)
    with no_failures_inside():
        compiled = ufuse.compile(function)
        check_same(function, compiled, lambda: make(300), calls=4, atoms=False)
        check_in_turn(function, compiled, map(make, sizes))
        entry = compiled.__ufuse_cache__.whole_call
    assert entry is not None
    assert entry.hits > 4


def test_a_call_that_pays_becomes_native() -> None:
    """After some tens of milliseconds, with no graph beside it."""
    compiled, x = ufuse.compile(mean_square), [k / 3 for k in range(3000)]
    for _ in range(2000):
        compiled(x)
        if compiled.__ufuse_cache__.whole_call is not None:
            break
    assert compiled.__ufuse_cache__.whole_call is not None


def test_a_cell_has_the_last_turn() -> None:
    """Also where a loop is interrupted by an error of a turn that is Python's."""
    kept = []

    def last(a, n) -> Any:
        i = -1
        kept.append(lambda: i)
        for i in range(n):
            a[sum(k * i for k in range(3))] += 1
        return i

    compiled = ufuse.compile(last)
    for size in (9000, 9000, 3000):
        for function in (last, compiled):
            try:
                function(np.zeros(size), 2000)
            except IndexError as error:
                kept.append(str(error))
        if size == 3000:
            plain, text, ours, same = kept[-4:]
            assert (plain(), text) == (ours(), same)
        else:
            plain, ours = kept[-2:]
            assert plain() == ours() == 1999
    assert sum(loop.turns for loop in loops_of(compiled)) >= 1000


def test_sums_are_this_pythons() -> None:
    """From 3.12 on the rounding errors of floats are carried along; ints added to floats from 3.14 on."""
    assert (sum([0.1] * 10) == 1.0) is (sys.version_info >= (3, 12))
