"""Lists of lists that a whole call makes, and dicts that lead to lists, which grow one by one."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import copy
import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

import ufuse
from tests.support.nests.native_loops import (
    called,
    check_kept,
    check_whole_call,
    hits,
    no_failures_inside,
)
from tests.support.nests.random_own_lists import arguments_of, program_of

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

N = 30
RANDOM = random.Random(3)  # noqa: S311
EDGES = [(RANDOM.randrange(N), RANDOM.randrange(N)) for _ in range(60)]
COSTS = [(a, b, (a * 7 + b) % 5 + 1) for a, b in EDGES]
VALUES = [RANDOM.randrange(-50, 50) for _ in range(80)]


# Lists of lists -----------------------------------------------------------------------------------------------------


def steps_from(edges, n, start):
    near = [[] for _ in range(n)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    steps, queue = [-1] * n, deque([start])
    steps[start] = 0
    while queue:
        u = queue.popleft()
        for v in near[u]:
            if steps[v] < 0:
                steps[v] = steps[u] + 1
                queue.append(v)
    return steps


def shortest(edges, n, start):
    near = []
    for _ in range(n):
        near.append([])
    for a, b, cost in edges:
        near[a].append((b, cost))
        near[b].append((a, cost))
    best, heap = [10**6] * n, [(0, start)]
    best[start] = 0
    while heap:
        d, u = heapq.heappop(heap)
        if d > best[u]:
            continue
        for v, cost in near[u]:
            if d + cost < best[v]:
                best[v] = d + cost
                heapq.heappush(heap, (d + cost, v))
    return sum(best)


def order_of(edges, n, _):
    after, before = [[] for _ in range(n)], [0] * n
    for a, b in edges:
        if a < b:
            after[a].append(b)
            before[b] += 1
    ready, order = [i for i in range(n) if before[i] == 0], []
    while ready:
        u = ready.pop()
        order.append(u)
        for v in after[u]:
            before[v] -= 1
            if before[v] == 0:
                ready.append(v)
    return order


def weights(edges, n, share):
    rows = [[] for _ in range(n)]
    for a, b in edges:
        rows[a].append((b, (a + b) * 0.5))
    total = share * 1.5
    for i, row in enumerate(rows):
        for b, weight in row:
            total += i * weight - b
    return total


def emptied(edges, n, _):
    rows = [[] for _ in range(n)]
    for a, b in edges:
        rows[a].append(b)
    total = 0
    for i in range(n):
        while rows[i]:
            total = (total * 3 + rows[i].pop()) % 1009
    return total, len(rows[0])


def ways(_, n, m):
    table = [[0] * (m + 2) for _ in range(n)]
    for j in range(m + 2):
        table[0][j] = 1
    for i in range(1, n):
        row = table[i]
        row[0] = 1
        for j in range(1, m + 2):
            row[j] = (table[i - 1][j] + row[j - 1]) % 1009
    return table[-1][-1], sum(table[1]), max(table[n - 1])


def seen_places(edges, n, _):
    seen, again = [[False] * n for _ in range(n)], 0
    for a, b in edges:
        again += seen[a][b]
        seen[a][b] = seen[b][a] = True
    return again


def merged(edges, n, _):
    groups, group_of = [[i] for i in range(n)], list(range(n))
    for a, b in edges:
        one, other = group_of[a], group_of[b]
        if one != other:
            if len(groups[one]) < len(groups[other]):
                one, other = other, one
            while groups[other]:
                v = groups[other].pop()
                group_of[v] = one
                groups[one].append(v)
    return max(len(group) for group in groups), sum(group_of)


def triangle(_, n, m):
    rows = []
    for i in range(n):
        row = [1]
        for j in range(1, i + 1):
            above = rows[i - 1]
            row.append((above[j - 1] + (above[j] if j < i else 0)) % (m + 97))
        rows.append(row)
    return rows[-1][n // 2], len(rows)


def pushed(row, value):
    row.append(value)
    return len(row)


def of_a_generator(edges, n, _):
    rows = list([0] for _ in range(n))  # noqa: C400
    for a, b in edges:
        rows[a][0] += b
        rows[b].append(a)
    return sum(row[0] - row[-1] for row in rows)


def by_a_function(edges, n, _):
    rows, total = [[] for _ in range(n)], 0
    for a, b in edges:
        total += pushed(rows[a], b)
        total += b in rows[b]
        total += rows[a].index(b) + rows[a].count(a)
    return total


def in_turn(edges, n, _):
    total = 0
    for k in range(3):
        rows = [[] for _ in range(n)]
        for a, b in edges:
            if (a + b) % 3 == k:
                rows[a].append(b)
        total += sum(len(row) * i for i, row in enumerate(rows))
    return total


LISTS = [
    steps_from, order_of, weights, emptied, ways, seen_places, merged, triangle, by_a_function, in_turn, of_a_generator,
]  # fmt: skip


@pytest.mark.parametrize("function", LISTS)
def test_lists_that_grow_in_a_list(function) -> None:
    """They are part of native calls, filled and read in any order."""
    check_whole_call(function, (EDGES, N, 3))


def test_lists_of_tuples() -> None:
    """Their items may be tuples of ints."""
    check_whole_call(shortest, (COSTS, N, 3))


# Dicts of lists -----------------------------------------------------------------------------------------------------


def parted(values):
    groups = defaultdict(list)
    for i, value in enumerate(values):
        groups[value % 7].append(i)
    return max(len(group) for group in groups.values()), len(groups)


def set_by_default(values):
    groups, total = {}, 0
    for i, value in enumerate(values):
        groups.setdefault(value % 7, []).append(i * 0.5)
    for key, group in groups.items():
        for one in group:
            total += key * one
    return total


def asked_first(values):
    groups = {}
    for i, value in enumerate(values):
        key = value % 7
        if key not in groups:
            groups[key] = []
        groups[key].append((i, value))
    return sum(len(groups[key]) * key for key in groups), sum(v - i for i, v in groups[3])


def begun_with_one(values):
    groups = dict()  # noqa: C408
    for i, value in enumerate(values):
        if value % 7 in groups:
            groups[value % 7].append(i)
        else:
            groups[value % 7] = [i, -i]
    return sum(sum(group) for group in groups.values())


def by_pairs(values):
    groups = defaultdict(list)
    for i, value in enumerate(values):
        groups[value % 3, value % 2].append(i)
    return sum(group[-1] for group in groups.values()), (1, 1) in groups


def reached(values):
    near, seen, stack = defaultdict(list), {0}, [0]
    for i, value in enumerate(values):
        near[i % 20].append(value % 20)
    while stack:
        for v in near[stack.pop()]:
            if v not in seen:
                seen.add(v)
                stack.append(v)
    return len(seen), len(near)


@pytest.mark.parametrize(
    "function", [parted, set_by_default, asked_first, begun_with_one, by_pairs, reached]
)
def test_dicts_that_lead_to_lists(function) -> None:
    """Each key has a list, in the order in which keys came."""
    check_whole_call(function, (VALUES,))


# What plain Python does ---------------------------------------------------------------------------------------------


def longer_while_gone_over(edges, n):
    rows = [[i] for i in range(n)]
    for a, _ in edges:
        for v in rows[a]:
            if len(rows[a]) < 4:
                rows[a].append(v + 1)
    return sum(sum(row) for row in rows)


def with_a_name(edges, n):
    rows = []
    for i in range(n):
        row = [i]
        rows.append(row)
        row.append(i + 1)
    total = 0
    for a, b in edges:
        rows[a][0] += b
        total += len(rows[a])
    return total, rows[2][0]


def named_and_empty(edges, n):
    rows, total = [], 0
    for i in range(n):
        row = []
        rows.append(row)
        rows[i].append(i)
        total += len(row)
    for a, b in edges:
        rows[a].append(b)
    return total, len(rows[2])


def named_default(edges, n):
    groups, total = {}, n
    for a, b in edges:
        row = []
        groups.setdefault(a, row).append(b)
        total += len(row) * 3 + len(groups[a])
    return total


def one_twice(edges, n):
    row = [0]
    rows = [row, row]
    for a, b in edges:
        rows[a % 2].append(b)
    return len(rows[0]) + n


def in_a_deque(edges, n):
    rows, total = deque(), n
    for _, b in edges:
        rows.append([])
        rows[0].append(b)
        total += len(rows[0])
    return total


def of_both_types(edges, n):
    rows = [[] for _ in range(n)]
    for a, b in edges:
        rows[a].append(b if b % 2 else b * 0.5)
    return rows[3], sum(len(row) for row in rows)


@pytest.mark.parametrize(
    "function",
    [
        longer_while_gone_over,
        with_a_name,
        named_and_empty,
        named_default,
        one_twice,
        in_a_deque,
        of_both_types,
    ],
)
def test_other_lists_are_left_to_python(function) -> None:
    """Lists that have names, or get longer while a loop goes over them."""
    compiled = called(function, (EDGES, N))
    check_kept(function, compiled, EDGES, N)
    assert hits(compiled) == 0


@pytest.mark.parametrize("pair", [(-1, 2), (N, 2), (-N - 1, 2), (2, N)])
def test_places_out_of_range(pair) -> None:
    """A place counts from the end where it is negative; one that is none raises as ever."""
    for function in (steps_from, emptied, merged, seen_places):
        compiled = called(function, (EDGES, N, 3))
        check_kept(function, compiled, [*EDGES, pair], N, 3)
        assert hits(compiled) > 0


def test_what_is_missing_raises() -> None:
    """An empty list has no item, and a dict no list under another key."""

    def taken(values, key) -> int:
        rows, groups = [[] for _ in range(4)], {}
        for i, value in enumerate(values):
            rows[value % 3].append(i)
            groups.setdefault(value % 3, []).append(i)
        return rows[key].pop() + groups[key][0]

    compiled = called(taken, (VALUES, 1))
    assert hits(compiled) > 0
    for key in (2, 3, 4):
        check_kept(taken, compiled, VALUES, key)


# Random programs ----------------------------------------------------------------------------------------------------


def _outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> str:
    try:
        return repr(function(*copy.deepcopy(given)))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return repr(error)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    """What they give, or raise, is plain Python's."""
    rng = random.Random(seed)  # noqa: S311
    for _ in range(4):
        function = program_of(rng)
        compiled = ufuse.compile(function)
        with no_failures_inside():
            for given in [arguments_of(rng) for _ in range(4)] * 3:
                assert _outcome(compiled, given) == _outcome(function, given), function.__doc__
