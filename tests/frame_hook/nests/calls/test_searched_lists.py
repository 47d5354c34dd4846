"""`in`, `index`, `count`, `insert`, `pop(place)` and `bisect` of lists of numbers in native code."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, S311
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import bisect
import functools
import heapq
import math
import random
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import (
    called,
    check_kept,
    check_whole_call,
    hits,
    native_turns,
)
from ufuse.frame_hook.nests.entries import screening

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

INTS = np.random.default_rng(0).integers(0, 40, 120).tolist()
REALS = (np.random.default_rng(1).integers(0, 40, 60) * 0.5).tolist()


def common(values, others):
    return sum(1 for value in values if value in others)


def unlike(values, others):
    count = 0
    for value in values:
        count += value not in others
    return count


def first_ones(values):
    seen = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return np.array(seen)


def places(values, others):
    total = 0
    for value in others:
        if value in values:
            total += values.index(value)
    return total


def often(values, count):
    best = 0
    for i in range(count):
        best = max(best, values.count(i))
    return best


def made_and_searched(count):
    squares = [i * i % 11 for i in range(count)]
    found = 0
    for i in range(count):
        if i in squares:
            found += squares.index(i) + squares.count(i)
    return found


def counted_out(count, step):
    circle, place = list(range(count)), 0
    while len(circle) > 1:
        place = (place + step - 1) % len(circle)
        circle.pop(place)
    return circle[0]


def in_order(values):
    out = []
    for value in values:
        place = 0
        while place < len(out) and out[place] < value:
            place += 1
        out.insert(place, value)
    return np.array(out)


def longest_rising(values):
    ends = []
    for value in values:
        place = bisect_left(ends, value)
        if place == len(ends):
            ends.append(value)
        else:
            ends[place] = value
    return len(ends)


def medians(values):
    known, total = [], 0
    for value in values:
        insort(known, value)
        total += known[len(known) // 2]
    return total


def below(borders, values):
    return sum(bisect.bisect(borders, value) - bisect_left(borders, value) for value in values)


def queue(count):
    waiting, out = [0], 0
    while waiting:
        first = waiting.pop(0)
        out = out * 3 % 1009 + first
        if first < count:
            waiting.append(2 * first + 1)
            waiting.append(2 * first + 2)
    return out


def from_the_ends(values):
    known = []
    for value in values:
        known.insert(-1, value)
        known.insert(0, value + 1)
        known.insert(100, value + 2)
        known.insert(-200, value + 3)
        known.pop(-2)
    return np.array(known)


WHOLE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (common, (INTS, [3, 5, 7])), (common, (INTS, REALS)), (common, (REALS, INTS)), (unlike, (INTS, REALS)),
    (unlike, (np.array(INTS), INTS[:9])), (first_ones, (INTS,)), (first_ones, (REALS,)), (places, (INTS, list(range(50)))),
    (places, (REALS, list(range(50)))), (often, (INTS, 45)), (often, (REALS, 45)), (made_and_searched, (40,)), (counted_out, (60, 7)),
    (in_order, (INTS,)), (in_order, (REALS,)), (longest_rising, (INTS,)), (longest_rising, (REALS,)), (medians, (INTS,)),
    (medians, (REALS,)), (below, (sorted(INTS), REALS)), (below, (sorted(REALS), INTS)), (queue, (60,)), (from_the_ends, (INTS[:30],)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given"), WHOLE)
def test_calls_are_native(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """From start to end, with what plain Python gives."""
    check_whole_call(function, given)


@pytest.mark.parametrize(
    ("function", "given"), [one for one in WHOLE if one[0] in (unlike, places, often)]
)
def test_loops_are_native(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Also where the call is not."""
    assert native_turns(function, lambda: given) > 0


def test_empty_lists_have_nothing() -> None:
    """Of what type its items would be is not known."""
    compiled = called(common, (INTS, REALS))
    check_kept(common, compiled, INTS, [])
    check_kept(common, called(common, (INTS, [])), INTS, [])


def test_an_item_that_is_not_there_raises() -> None:
    """`index` of what is not in the list, and `pop` from where nothing is: plain Python raises."""

    def found(values, others):
        total = 0
        for value in others:
            total += values.index(value)
        return total

    def popped(count, place):
        values = list(range(count))
        total = 0
        while count > 0:
            total += values.pop(place)
            count -= 1
        return total

    compiled = called(found, (INTS, INTS))
    check_kept(found, compiled, INTS, [*INTS, 1000])
    check_kept(found, compiled, INTS, INTS)
    compiled = called(popped, (20, 0))
    for place in (0, 3, -1, -4, 25, -25):
        check_kept(popped, compiled, 20, place)


def test_nan_is_one_of_the_very_objects() -> None:
    """It equals nothing, but a list has it."""
    nan = math.nan
    for values in ([1.0, nan, 2.0], [1.0, float("nan")], [nan] * 5):
        compiled = called(common, (REALS, REALS))
        check_kept(common, compiled, values, values)
        check_kept(common, compiled, values, [nan, 3.0])
        compiled = called(first_ones, (REALS,))
        check_kept(first_ones, compiled, values)


def test_large_numbers_are_compared_as_what_they_are() -> None:
    """An int beside floats is not rounded."""
    large = [2.0**53, 2.0**53 + 2, 1.0]
    compiled = called(common, (INTS, REALS))
    check_kept(common, compiled, [2**53, 2**53 + 1, 2**53 + 2, 1], large)
    check_kept(common, compiled, [2**70, 1], large)


STEPS = (
    "values.append(value)", "values.insert({i}, value)", "values.insert(0, value)", "total += value in values", "total += values.count({i})",
    "total += values.pop({i}) if len(values) > {i} else {j}", "total += values.index(value) if value in values else -1",
    "insort(values, value)", "total += bisect_left(values, value)", "total += bisect_right(values, {j})", "total += value not in [{i}, {j}]",
    "values[len(values) // 2] = {j}", "total += values.pop(-{j}) if len(values) >= {j} else 0", "total += values[-1]", "total += len(values)",
)  # fmt: skip


def program(seed: int, result: str) -> tuple[Callable[..., Any], str]:
    """A function of random steps with a list."""
    choose = random.Random(seed)
    kind = choose.choice((int, float))

    def number() -> str:
        return repr(kind(choose.randint(1, 9)))

    body = [
        choose.choice(STEPS).format(i=choose.randint(0, 5), j=choose.randint(1, 9))
        for _ in range(choose.randint(2, 6))
    ]
    if kind is float:
        body = [one.replace("] = ", "] = 0.5 * ") for one in body]
    start = ", ".join(number() for _ in range(choose.randint(1, 4)))
    lines = "\n        ".join(body)
    text = f"def f(given, others):\n    values, total = [{start}], 0\n    for value in given:\n        {lines}\n    return total, {result}\n"
    names: dict[str, Any] = {
        "np": np,
        "insort": insort,
        "bisect_left": bisect_left,
        "bisect_right": bisect_right,
    }
    exec(compile(text, f"<searched {seed}>", "exec"), names)
    return names["f"], text


@pytest.mark.parametrize("result", ["np.array(values)", "values"])
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs(first: int, result: str) -> None:
    """They give what plain Python does, the very objects where they give a list, and most others are native."""
    native = 0
    for seed in range(first, first + 10):
        function, text = program(seed, result)
        choose = random.Random(-seed)
        kind = choose.choice((int, float))
        rows = [[kind(choose.randint(0, 12)) for _ in range(n)] for n in (30, 5, 1, 0, 40)]
        compiled = called(function, *((row, rows[0]) for row in rows[:2]))
        for row in rows:
            try:
                # What loops alone append are new objects: docs/differences.md.
                check_kept(function, compiled, row, rows[0], atoms=hits(compiled) > 0)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}\n{text}\n{row}") from error
        native += hits(compiled) > 0
    assert native > 5 or result == "values"


def left_of_each(values, others):
    total = 0
    for i in range(len(others)):
        total += bisect.bisect_left(values, others[i]) + bisect.bisect_right(values, i)
    return total


def shortest(n, weights):
    total = 0
    for begin in range(n):
        heap, seen = [(0, begin)], np.zeros(n, bool)
        while heap:
            distance, u = heapq.heappop(heap)
            if seen[u]:
                continue
            seen[u] = True
            total += distance
            for v in range(n):
                if not seen[v]:
                    heapq.heappush(heap, (distance + int(weights[u, v]), v))
    return total


def folded(x, count):
    total = 0.0
    for i in range(count):
        total += functools.reduce(lambda one, other: 2.0 * one + other, x[i : i + 5])
    return total


FOUND_IN_MODULES = [
    (left_of_each, lambda: (sorted(INTS), INTS * 5)),
    (shortest, lambda: (12, np.random.default_rng(0).integers(1, 20, (12, 12)))),
    (folded, lambda: (np.random.default_rng(2).random(600), 500)),
]


@pytest.mark.parametrize(("function", "make"), FOUND_IN_MODULES, ids=lambda one: one.__name__)
def test_functions_of_modules(function: Any, make: Callable[[], tuple[Any, ...]]) -> None:
    """They are found where a program names their module, too."""
    native_turns(function, make)
    assert screening.why_not(function.__code__, first_loop(function), function) is None


def first_loop(function: Any) -> int:
    """Where the outermost loop of a function begins."""
    return min(screening.outermost_headers(function.__code__))
