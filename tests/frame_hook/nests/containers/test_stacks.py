"""Lists and deques that native code makes and takes items from: stacks and queues of numbers, and of tuples."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B905
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_in_turn
from tests.support.nests.native_loops import check_whole_call, native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

MASK = np.random.default_rng(0).random((30, 30)) < 0.6


def regions(mask):
    labels, found = np.zeros(mask.shape, dtype=int), 0
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] and labels[i, j] == 0:
                found += 1
                stack = [(i, j)]
                labels[i, j] = found
                while stack:
                    y, x = stack.pop()
                    for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                        a, b = y + dy, x + dx
                        if 0 <= a < mask.shape[0] and 0 <= b < mask.shape[1]:
                            if mask[a, b] and labels[a, b] == 0:
                                labels[a, b] = found
                                stack.append((a, b))
    return labels, found


def widest(heights):
    best, stack = 0, []
    for i in range(len(heights)):
        while stack and heights[stack[-1]] >= heights[i]:
            k = stack.pop(-1)
            best = max(best, int(heights[k]) * (i - k))
        stack.append(i)
    return best, len(stack)


def reached(graph, start):
    seen, order, stack = np.zeros(len(graph), bool), [], [start]
    while stack:
        u = stack.pop()
        if seen[u]:
            continue
        seen[u] = True
        order.append(u)
        for v in range(len(graph)):
            if graph[u, v] and not seen[v]:
                stack.append(v)
    return np.array(order)


def computed(tokens):
    stack = []
    for token in tokens:
        if token >= 0:
            stack.append(token * 1.5)
        else:
            b = stack.pop()
            a = stack.pop()
            stack.append(a + b if token == -1 else a * b)
    return stack.pop() + len(stack)


def tokens(count):
    found = [1.0]
    for k in range(count):
        found += [float(k % 7), -1.0 if k % 3 else -2.0]
    return found


def flooded(mask):
    labels, found = np.zeros(mask.shape, dtype=int), 0
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] and labels[i, j] == 0:
                found += 1
                queue = deque([(i, j)])
                labels[i, j] = found
                while queue:
                    y, x = queue.popleft()
                    for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                        a, b = y + dy, x + dx
                        if 0 <= a < mask.shape[0] and 0 <= b < mask.shape[1]:
                            if mask[a, b] and labels[a, b] == 0:
                                labels[a, b] = found
                                queue.append((a, b))
    return labels, found


def distances(graph, start):
    found = np.full(len(graph), -1)
    found[start] = 0
    queue, longest = deque([start]), 0
    while queue:
        u = queue.popleft()
        for v in range(len(graph)):
            if graph[u, v] and found[v] < 0:
                found[v] = found[u] + 1
                queue.append(v)
        longest = max(longest, len(queue))
    return found, longest


def greatest_in_windows(x, n):
    places, out = deque(), np.zeros(len(x))
    for i in range(len(x)):
        while places and places[0] <= i - n:
            places.popleft()
        while places and x[places[-1]] <= x[i]:
            places.pop()
        places.append(i)
        out[i] = x[places[0]] + len(places)
    return out


def served(arrivals, services):
    waiting, free, total, most = deque(), 0.0, 0.0, 0
    for arrived, takes in zip(arrivals, services):
        while waiting and waiting[0] <= arrived:
            waiting.popleft()
        free = max(arrived, free) + takes
        total += free - arrived
        waiting.append(free)
        most = max(most, len(waiting))
    return total, most, waiting[-1] - waiting[0]


def emptied(x, n):
    queue = deque()
    for i in range(len(x)):
        queue.append(x[i])
        if x[i] < 0.5:
            queue.pop()
        if len(queue) > n:
            x[i] += queue.popleft() + queue[-1] * queue[0]
    for _ in range(n - 3):
        x[0] += queue.popleft()
    return x, len(queue)


def test_queues_within_a_loop() -> None:
    """Of tuples, made anew in many turns."""
    assert native_turns(flooded, lambda: (MASK,)) > 10


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (distances, (np.random.default_rng(2).random((40, 40)) < 0.1, 0)),
        (greatest_in_windows, (np.random.default_rng(3).random(600), 7)),
        (served, (np.arange(600.0), np.random.default_rng(4).random(600) * 1.8)),
        (emptied, (np.random.default_rng(5).random(600), 9)),
    ],
)
def test_queues_of_whole_calls(function, given) -> None:
    """Of numbers: from both ends, looked at, and empty now and then."""
    check_whole_call(function, given)


def test_empty_queues() -> None:
    """What is taken from an empty one is plain Python's error."""
    compiled = ufuse.compile(emptied)
    given = np.random.default_rng(5).random(600)
    for _ in range(8):
        compiled(given.copy(), 9)
    rows = [(given, 9), (given, 599), (given * 0.4, 9), (given[:0], 9), (given[:0], 3), (given, 9)]
    check_in_turn(emptied, compiled, rows)


def test_stacks_within_a_loop() -> None:
    """Of tuples, made anew in many turns."""
    assert native_turns(regions, lambda: (MASK,)) > 10


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (widest, (np.random.default_rng(1).integers(0, 50, 600),)),
        (reached, (np.random.default_rng(2).random((40, 40)) < 0.1, 0)),
        (computed, (tokens(600),)),
    ],
)
def test_stacks_of_whole_calls(function, given) -> None:
    """Of numbers."""
    check_whole_call(function, given)


def test_empty_stacks() -> None:
    """What is taken from an empty one is plain Python's error."""
    compiled = ufuse.compile(computed)
    rows = [tokens(600)] * 8 + [[1.0, -1.0, *tokens(600)], [], tokens(600), [-1.0]]
    for row in rows[:8]:
        compiled(row)
    check_in_turn(computed, compiled, [(row,) for row in rows])
