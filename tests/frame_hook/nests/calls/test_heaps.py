"""Heaps, and lists of tuples of several types, that a whole call makes."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import heapq
import math
from collections import deque
from heapq import heappop, heappush

import numpy as np
import pytest

from tests.support.nests.native_loops import (
    called,
    check_kept,
    check_whole_call,
    hits,
)

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.random.default_rng(0).integers(-50, 50, 80) * 1.5
LISTED = X.tolist()
COSTS = np.random.default_rng(1).integers(0, 9, (14, 14)) * 0.5
GRID = np.random.default_rng(2).integers(1, 9, (9, 11))


# Functions of heapq -----------------------------------------------------------------------------------------------


def least(values, count):
    heap = []
    for value in values:
        heapq.heappush(heap, value)
        if len(heap) > count:
            heapq.heappop(heap)
    return np.array(heap)


def arranged(values, others):
    heap = values.tolist()
    heapq.heapify(heap)
    first = np.array(heap)
    out = [heapq.heapreplace(heap, other) for other in others]
    passed = [heapq.heappushpop(heap, other) for other in others]
    return first, np.array(out), np.array(passed), np.array(heap)


def in_order(values):
    heap, out = [], []
    for value in values:
        heappush(heap, (value % 7, value))
    while heap:
        key, value = heappop(heap)
        out.append(key * 1000 + value)
    return np.array(out)


def nearest(costs, start):
    distance = np.full(len(costs), np.inf)
    distance[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        far, at = heapq.heappop(heap)
        if far > distance[at]:
            continue
        for other in range(len(costs)):
            if costs[at, other] > 0 and far + costs[at, other] < distance[other]:
                distance[other] = far + costs[at, other]
                heapq.heappush(heap, (distance[other], other))
    return distance


def cheapest(grid):
    rows, columns = grid.shape
    best = np.full((rows, columns), 10**9)
    best[0, 0] = grid[0, 0]
    queue = [(int(grid[0, 0]), 0, 0)]
    while queue:
        cost, y, x = heappop(queue)
        if y == rows - 1 and x == columns - 1:
            return cost
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = y + dy, x + dx
            if 0 <= a < rows and 0 <= b < columns and cost + grid[a, b] < best[a, b]:
                best[a, b] = cost + grid[a, b]
                heappush(queue, (cost + int(grid[a, b]), a, b))
    return -1


def served(count, seed):
    rng = np.random.default_rng(seed)
    events, now, done, waiting = [(rng.exponential(1.0), 0)], 0.0, 0, 0
    while done < count:
        now, kind = heappop(events)
        if kind == 0:
            waiting += 1
            heappush(events, (now + rng.exponential(1.0), 0))
        else:
            waiting, done = waiting - 1, done + 1
        if waiting and kind in (0, 1):
            heappush(events, (now + rng.exponential(0.8), 1))
    return now, done, waiting


@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_pushed_and_popped(count) -> None:
    """Numbers of one type; the heap is laid out as CPython lays it out."""
    check_whole_call(least, (LISTED, count))
    check_whole_call(least, (X, count))
    check_whole_call(least, ([*range(20), *range(10)], count))


def test_replaced() -> None:
    """Also where one is given back that is no less, and of many."""
    check_whole_call(arranged, (X, LISTED[::-1]))
    many = np.random.default_rng(4).normal(size=3001)
    check_whole_call(arranged, (many, [0.5, -1.0, 3.0]))


def test_tuples() -> None:
    """They are compared by their first unequal members."""
    check_whole_call(in_order, ([n * n % 101 for n in range(70)],))
    check_whole_call(nearest, (COSTS, 3))
    check_whole_call(cheapest, (GRID,))
    check_whole_call(served, (60, 5))


def test_what_raises_and_nan() -> None:
    """Of an empty heap nothing is popped; a NaN is less than nothing."""

    def emptied(values):
        heap = []
        for value in values:
            heappush(heap, value)
        return [heappop(heap) for _ in range(5)][-1]

    compiled = called(emptied, (LISTED,))
    check_kept(emptied, compiled, LISTED[:4])
    check_kept(emptied, compiled, [])
    odd = [math.nan, 1.0, -0.0, 0.0, math.nan, -math.inf]
    check_kept(least, called(least, (LISTED, 3)), odd, 4)
    check_kept(in_order, called(in_order, (LISTED,)), odd)


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, -(2**60), 2**62])
def test_ints_among_floats(value) -> None:
    """One that is no float exactly is what it was."""

    def through(number, weight):
        heap = [(weight, number)]
        heappush(heap, (weight * 0.5, number + 1))
        total = 0
        while heap:
            _, one = heappop(heap)
            total ^= one
        return total, one

    compiled = called(through, (5, 0.25))
    assert hits(compiled)
    check_kept(through, compiled, value, 0.25)


def test_a_heap_of_the_program_is_pythons() -> None:
    """Its items are objects that it has."""

    def drained(heap):
        total = 0.0
        while heap:
            total = total * 0.5 + heappop(heap)
        return total

    heap = sorted(LISTED)
    check_kept(drained, called(drained, (list(heap),)), heap)


# Tuples of several types ------------------------------------------------------------------------------------------


def halved(depth):
    stack, total = [(1.0, 0)], 0.0
    while stack:
        size, level = stack.pop()
        total += size * level
        if level < depth:
            stack.append((size * 0.5, level + 1))
            stack.append((size * 0.25, level + 1))
    return total


def in_turn(count):
    queue, out = deque([(1, 1.0)]), []
    while queue:
        number, size = queue.popleft()
        out.append(number * size)
        if number < count:
            queue.append((2 * number, size * 0.5))
            queue.append((2 * number + 1, size / 3))
    return np.array(out)


def changed(values):
    pairs = [(0, 0.0)]
    for i, value in enumerate(values):
        pairs.append((i, value * 0.5))
    for i in range(1, len(pairs)):
        number, value = pairs[i]
        pairs[i] = number + 1, value + pairs[i - 1][1]
    pairs[-1], pairs[0] = pairs[0], pairs[-1]
    total = 0.0
    for number, value in pairs:
        total += number * value
    return total, pairs[0][0], np.array(pairs)


def whose(values):
    stack = [(0.5, 1)]
    for value in values:
        stack.append((value, 2))
    out = []
    while stack:
        value, _ = stack.pop()
        out.append(1.0 / value if value else -1.0)
    return np.array(out)


def test_stacks_queues_and_lists() -> None:
    """Ints and floats lie beside each other in a tuple."""
    check_whole_call(halved, (5,))
    check_whole_call(in_turn, (40,))
    check_whole_call(changed, (LISTED,))
    check_whole_call(changed, (X,))


def test_pythons_numbers_and_numpys() -> None:
    """In one place of the tuples there may be both: where that matters each is what it was."""
    check_whole_call(whose, (X[X != 0],))
    check_kept(whose, called(whose, (X[X != 0],)), X)


def compared(values, limit):
    found = 0
    for i in range(len(values) - 1):
        if (values[i], i) < (values[i + 1], limit):
            found += 1
        if (values[i] % 3, values[i]) >= (1, limit, 2):
            found += 100
        if ((values[i], 1), i) > ((limit, 1), 2) and not (values[i],) <= (limit, 0):
            found += 10000
    return found


@pytest.mark.parametrize("values", [LISTED, X, [n % 5 for n in range(40)], [1.0, math.nan, 2.0]])
def test_tuples_are_compared(values) -> None:
    """Of the same length and of others, within one another, with a NaN."""
    check_kept(compared, called(compared, (values, 2)), values, 2)


def kept(values):
    found = []
    for i in range(len(values) - 1):
        found.append((values[i], i) < (values[i + 1], 2))
    return found


def test_the_result_of_a_comparison_is_an_object() -> None:
    """It is NumPy's bool where members are that decide."""
    check_kept(kept, called(kept, (X,)), X)
    check_kept(kept, called(kept, (LISTED,)), LISTED)
