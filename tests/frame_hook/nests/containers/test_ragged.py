"""Lists of lists of several lengths, and dicts that lead to such, which loops read: adjacency lists."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import contextlib
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
    native_turns,
)
from tests.support.nests.random_rows import graph_of, program_of
from tests.support.nests.reference_nests import on_the_reference
from ufuse.graph.text.nest_parser import parse_nest

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

N = 40
RANDOM = random.Random(5)  # noqa: S311
EDGES = [(RANDOM.randrange(N), RANDOM.randrange(N), RANDOM.randint(1, 9)) for _ in range(70)]


def _rows(items: Callable[[int, int], Any]) -> list[list[Any]]:
    """The neighbours of each node, of which some have none."""
    found: list[list[Any]] = [[] for _ in range(N)]
    for a, b, cost in EDGES:
        found[a].append(items(b, cost))
        found[b].append(items(a, cost))
    return found


ROWS = _rows(lambda node, _: node)
COSTS = _rows(lambda node, cost: (node, cost))
TIMES = _rows(lambda node, cost: (cost * 0.5, node, cost))
LARGE = [[one + 1000 for one in row] for row in ROWS]


# Whole calls --------------------------------------------------------------------------------------------------------


def steps_from(rows, start):
    steps = [-1] * len(rows)
    steps[start] = 0
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in rows[u]:
            if steps[v] == -1:
                steps[v] = steps[u] + 1
                queue.append(v)
    return steps


def steps_by_dict(graph, start):
    steps = {start: 0}
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in graph[u]:
            if v not in steps:
                steps[v] = steps[u] + 1
                queue.append(v)
    return steps


def in_depth(graph, start):
    seen, stack, order = set(), [start], []
    while stack:
        u = stack.pop()
        if u in seen:
            continue
        seen.add(u)
        order.append(u)
        for v in graph[u]:
            if v not in seen:
                stack.append(v)
    return order


def parts(rows):
    seen, count = [False] * len(rows), 0
    for start in range(len(rows)):
        if not seen[start]:
            count += 1
            seen[start] = True
            stack = [start]
            while stack:
                for v in rows[stack.pop()]:
                    if not seen[v]:
                        seen[v] = True
                        stack.append(v)
    return count


def shortest(rows, start):
    far = [10**9] * len(rows)
    far[start] = 0
    heap = [(0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > far[u]:
            continue
        for v, cost in rows[u]:
            if d + cost < far[v]:
                far[v] = d + cost
                heapq.heappush(heap, (d + cost, v))
    return sum(far)


def of_three(rows):
    total, parts = 0.0, [0.0]
    for u, row in enumerate(rows):
        for time, node, cost in row:
            total += time * node - cost * u
            parts.append(total)
    return total, len(rows[0]), rows[1][-1][1], len(parts)


def sorted_by_edges(rows):
    before = [0] * len(rows)
    for u, row in enumerate(rows):
        for v in row:
            if v > u:
                before[v] += 1
    queue = deque()
    for u in range(len(rows)):
        if before[u] == 0:
            queue.append(u)
    order = []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v in rows[u]:
            if v > u:
                before[v] -= 1
                if before[v] == 0:
                    queue.append(v)
    return order


def in_two_colours(rows):
    colours = [-1] * len(rows)
    for start in range(len(rows)):
        if colours[start] == -1:
            colours[start] = 0
            queue = deque([start])
            while queue:
                u = queue.popleft()
                for v in rows[u]:
                    if colours[v] == -1:
                        colours[v] = 1 - colours[u]
                        queue.append(v)
                    elif colours[v] == colours[u]:
                        return u, v
    return None


def over_views(graph):
    total = count = 0
    for u, row in graph.items():
        for v in row:
            total += u * v
    for row in graph.values():
        count += len(row)
    for u in graph.keys():  # noqa: SIM118
        if graph[u]:
            total -= u
    return total, count, len(graph), 3 in graph, 300 in graph


def with_default(graph, n):
    total = 0
    for u in range(n):
        for v in graph.get(u, []):
            total += v
        total += len(graph.get(u * u, ()))
    return total


def degree(graph, u):
    return len(graph[u])


def most_by_function(graph):
    most = 0
    for u in graph:
        most = max(most, degree(graph, u))
    return most


def of_items(rows):
    total = 0
    for row in rows:
        if len(row) > 1:
            total += row[0] * row[-2] + sum(row) - max(row)
            total += any(v > 20 for v in row)
            for v in reversed(row):
                total = total * 3 % 10007 + v
    return total


WHOLE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (steps_from, (ROWS, 3)), (steps_from, ([*map(tuple, ROWS)], 3)), (steps_from, ([*map(set, ROWS)], 3)),
    (steps_by_dict, (dict(enumerate(ROWS)), 3)), (steps_by_dict, (dict(enumerate(map(frozenset, ROWS))), 3)),
    (in_depth, (ROWS, 3)), (in_depth, (defaultdict(list, enumerate(ROWS)), 3)), (parts, (ROWS,)),
    (shortest, (COSTS, 3)), (of_three, (TIMES,)), (sorted_by_edges, (ROWS,)), (in_two_colours, (ROWS,)),
    (over_views, (dict(enumerate(ROWS)),)), (with_default, (dict(enumerate(ROWS[5:])), 50)),
    (most_by_function, (dict(enumerate(ROWS)),)), (of_items, (ROWS,)), (of_items, (LARGE,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WHOLE)))
def test_rows_are_read(number: int) -> None:
    """Searches, orders and distances over neighbours are what plain Python gives, from start to end."""
    function, given = WHOLE[number]
    ufuse.compile(function).reset()  # what was made for others
    check_whole_call(function, given)


def test_the_text_of_rows_reads_back() -> None:
    """Lists, sets, what a dict leads to, and items of several types."""
    texts = []
    for function, given in WHOLE:
        ufuse.compile(function).reset()
        nest = called(function, given).__ufuse_cache__.whole_call.data.nest
        assert str(parse_nest(str(nest))) == str(nest)
        texts.append(str(nest))
    for part in (
        "lists of int", "sets of int", "lists of (int int)", "lists of (float int int)", "lists of int in a dict",
    ):  # fmt: skip
        assert any(f"{part}\n" in one for one in texts), part


def test_they_may_be_others_at_each_call() -> None:
    """They are read anew: other numbers, lengths, and other rows that were appended."""
    rows = [[*one] for one in ROWS]
    compiled = called(steps_from, (rows, 0))
    before = hits(compiled)
    for end in (1, 7, 30):
        rows[end].append(0)
        rows[0].insert(0, end)
        check_kept(steps_from, compiled, rows, 0)
        rows.append([end])
        rows[end].append(len(rows) - 1)
        check_kept(steps_from, compiled, rows, end)
    assert hits(compiled) > before


@pytest.mark.parametrize(
    "rows",
    [
        [[1, True], [0]],
        [[1, 2.0], [0], [1]],
        [[1, 10**30], [0]],
        [[1], None],
        [[1], (0,), {0}],
        [[1], [7]],
        [[1], [-1]],
        [[-3], [0]],
        [],
        [[]],
        [[[1]], [0]],
        {0: [1], 1: [0]},
        {0: [1]},
        [[(1, 2)], [(0, 1)]],
    ],
)
def test_other_rows_are_plain_pythons(rows: Any) -> None:
    """Where rows are of other types, or a node has no row, the code that there is leaves it to plain Python."""
    compiled = called(steps_from, (ROWS, 3))
    results = []
    for function in (steps_from, compiled, compiled):
        try:
            results.append(repr(function(rows, 0)))
        except (IndexError, TypeError, KeyError, ValueError) as error:
            results.append(repr(error))
    assert results[0] == results[1] == results[2]


def over_a_set_backwards(rows):
    total = 0
    for row in rows:
        for v in reversed(row):
            total += v
    return total


def item_of_a_set(rows):
    total = 0
    for row in rows:
        total += row[0]
    return total


def item_of_values(graph, n):
    total = 0
    for i in range(n):
        total += len(graph.values()[i])
    return total


def missing_key(graph, n):
    total = 0
    for i in range(n):
        for v in graph[i]:
            total += v
    return total


def entered_by_default(graph, n):
    total = 0
    for i in range(n):
        total += len(graph[i])
    return total, len(graph)


REFUSED: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (over_a_set_backwards, lambda: ([*map(set, ROWS)],)),
    (item_of_a_set, lambda: ([*map(set, ROWS)],)),
    (item_of_values, lambda: (dict(enumerate(ROWS)), 9)),
    (missing_key, lambda: (dict(enumerate(ROWS)), N + 1)),
    (entered_by_default, lambda: (defaultdict(list, enumerate(ROWS)), N + 3)),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_left_to_plain_python(number: int) -> None:
    """Errors are its own, and so is what a defaultdict gets."""
    function, make = REFUSED[number]
    compiled = ufuse.compile(function)
    for _ in range(6):
        with contextlib.suppress(TypeError, KeyError):
            compiled(*make())
    results = []
    for one in (function, compiled, compiled):
        given = make()
        try:
            results.append((repr(one(*given)), repr(given)))
        except (TypeError, KeyError) as error:
            results.append((repr(error), repr(given)))
    assert results[0] == results[1] == results[2]


# Loops --------------------------------------------------------------------------------------------------------------


def reached(rows, seen):
    for start in range(len(rows)):
        if not seen[start]:
            stack = [start]
            while stack:
                u = stack.pop()
                for v in rows[u]:
                    if not seen[v]:
                        seen[v] = start + 1
                        stack.append(v)
    return seen


def summed(rows, out):
    for u in range(len(rows)):
        for v in rows[u]:
            out[v] += u
    return out


def counted(rows, out):
    for row in rows:
        for v in row:
            out[v] = (out[v] + 1) % N
    return out


def test_loops_read_rows_and_change_a_list() -> None:
    """A list that is no row is stored into."""
    assert native_turns(reached, lambda: ([[*one] for one in ROWS], [0] * N)) >= N
    assert native_turns(summed, lambda: ([[*one] for one in ROWS], [0] * N)) >= N


def often(rows, n):
    total = 0
    for i in range(n):
        row = rows[i % len(rows)]
        total += row.count(i if i > 2 else 1)
    return total


def test_a_method_waits_for_its_argument() -> None:
    """Which may be chosen between the two."""
    assert native_turns(often, lambda: ([[*one] for one in ROWS], N * 9)) > 0


def test_a_row_that_changes_is_plain_pythons() -> None:
    """What is stored into it is read behind that."""

    def make() -> tuple[Any, ...]:
        rows = [[*one] for one in ROWS]
        rows[20] = [0] * N
        return rows, rows[20]

    compiled = ufuse.compile(counted)
    for _ in range(4):
        compiled([[*one] for one in ROWS], [0] * N)
    for _ in range(3):
        plain, native = make(), make()
        assert counted(*plain) == compiled(*native)
        assert plain == native


def marked(sets, found):
    for u in range(len(sets)):
        for v in sets[u]:
            found.add(v + u)
    return len(found)


def test_a_set_that_changes_and_is_a_row_is_plain_pythons() -> None:
    """Going over it raises as it changes."""
    compiled = ufuse.compile(marked)
    for _ in range(4):
        compiled([*map(set, ROWS)], set())
    for _ in range(3):
        outcomes = []
        for function in (marked, compiled):
            sets = [*map(set, ROWS)]
            try:
                outcomes.append(repr(function(sets, sets[8])))
            except RuntimeError as error:
                outcomes.append(repr(error))
            outcomes[-1] += repr(sets)
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("function", [reached, summed])
def test_the_reference_does_the_same(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph's own executor reads the same rows."""
    made = on_the_reference(monkeypatch)
    for _ in range(2):
        assert ufuse.compile(function)([[*one] for one in ROWS], [0] * N) == function(ROWS, [0] * N)
    assert sum(one.turns for one in made)


# Random programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    """What they give, or raise, is plain Python's, whatever rows they are given."""
    rng = random.Random(seed)  # noqa: S311
    for _ in range(4):
        kind, item, function = program_of(rng)
        compiled = ufuse.compile(function)
        graphs = [graph_of(rng, kind, item, size) for size in (3, 8, 20)]
        graphs.append(graph_of(rng, kind, "odd", 8))
        for graph in graphs * 3:
            start, outcomes = rng.choice((0, 1, len(graph) - 1)), []
            for one in (function, compiled, compiled):
                given = copy.deepcopy(graph)  # a defaultdict may get more
                try:
                    outcomes.append(repr(one(given, start, len(given))))
                except (LookupError, TypeError, ValueError, RuntimeError) as error:
                    outcomes.append(repr(error))
                outcomes[-1] += repr(given)
            assert outcomes[0] == outcomes[1] == outcomes[2], (graph, function.__doc__)
