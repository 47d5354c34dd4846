"""Dicts and sets of whole numbers that a loop is given are read before it, and changed where its turns are committed."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import leave_loops, loops_of, native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

RANDOM = np.random.default_rng(0)
ITEMS = RANDOM.integers(-40, 40, 300).tolist()
LARGE = [one * 10**6 for one in ITEMS]
N = len(ITEMS)


@pytest.fixture(autouse=True)
def _loops_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_loops(monkeypatch)


# Changed ----------------------------------------------------------------------------------------------------------


def counted(counts, items):
    for item in items:
        counts[item] = counts.get(item, 0) + 1


def added_to(counts, items):
    for item in items:
        counts[item] += 1


def summed(total, items):
    for i, item in enumerate(items):
        if item in total:
            total[item] += i / 3
        else:
            total[item] = 0.5


def kept(seen, items):
    again = 0
    for item in items:
        if item in seen:
            again += 1
        else:
            seen.add(item)
    return again, len(seen)


def defaults(found, items):
    total = 0
    for i, item in enumerate(items):
        total += found.setdefault(item, i)
    return total


def read_makes_entries(counts, items):
    total = 0
    for item in items:
        total += counts[item] + counts[item + 1]
    return total


def of_pairs(seen, n):
    i = j = 0
    for k in range(n):
        seen[(i, j)] = seen.get((i, j), 0) + k
        i, j = (i + 3) % 11, (j - 2) % 7
    return len(seen)


def of_numpys(total, items):
    weights = np.linspace(0, 1, len(items))
    for i, item in enumerate(items):
        total[item] = weights[i]


def of_two(first, second, items):
    for item in items:
        if item in first:
            second[item] = first[item]
        first[item] = item
    return len(first) - len(second)


def made_before(items):
    counts = Counter()
    for item in items:
        counts[item] += 1
    return counts


def steps(known, n):
    best = 0
    for i in range(2, n):
        k, count = i, 0
        while k != 1 and k not in known:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            count += 1
        if k != 1:
            count += known[k]
        known[i] = count
        best = max(best, count)
    return best


CHANGED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (counted, ({}, ITEMS)),
    (counted, ({3: 5, -7: 2**40}, ITEMS)),
    (counted, (dict.fromkeys(range(-100, 100, 3), 1), ITEMS)),
    (added_to, (dict.fromkeys(range(-40, 40), 0), ITEMS)),
    (added_to, (defaultdict(int), ITEMS)),
    (added_to, (defaultdict(int, {1000: 3}), LARGE)),
    (added_to, (Counter(), ITEMS)),
    (added_to, (Counter("aab"), ITEMS)),
    (added_to, (Counter([3, 3, 10**9]), LARGE)),
    (summed, ({}, ITEMS)),
    (summed, (defaultdict(float, {5: -0.0}), ITEMS)),
    (kept, (set(), ITEMS)),
    (kept, ({10**9, 3, -5}, LARGE)),
    (defaults, ({}, ITEMS)),
    (read_makes_entries, (defaultdict(int), ITEMS)),
    (read_makes_entries, (Counter(ITEMS[:9]), ITEMS)),
    (of_pairs, ({}, 200)),
    (of_pairs, ({(-3, 2): 7, (2**31 - 1, -(2**31)): 1}, 200)),
    (of_numpys, ({}, ITEMS)),
    (of_two, ({}, {}, ITEMS)),
    (made_before, (ITEMS,)),
    (steps, ({}, 200)),
]
SOME_TURNS = {made_before, summed, of_two, counted, kept, added_to, defaults, of_numpys}


@pytest.mark.parametrize(("function", "given"), CHANGED)
def test_dicts_and_sets_change(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """In eager's order, and with its types; equal ints may be other objects, as in lists that loops change."""
    turns = native_turns(function, lambda: given, atoms=False)
    if not (given and given[0] == Counter("aab")):
        assert turns > 0


def of_floats(counts, x):
    for i in range(len(x)):
        slot = int(x[i] * 1000)
        counts[slot] = counts.get(slot, 0) + 1


def floors(seen, x):
    for v in x:
        seen.add(math.floor(v * 1000) + 0)
        seen.add(round(v * 900))


def whole_items(counts, items):
    for item in items:
        counts[int(item)] = 1


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (of_floats, ({}, RANDOM.random(300))),
        (of_floats, ({3: 1}, RANDOM.random(300).tolist())),
        (floors, (set(), RANDOM.random(300).tolist())),
    ],
)
def test_ints_made_of_floats_are_keys(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """They are new objects."""
    assert native_turns(function, lambda: given, atoms=False) > 0


def pairs_of_numpys(seen, known, x):
    for i in range(len(x)):
        seen.add((x[i] % 5, i % 7))
        known[i % 3, x[i]] = i


def test_tuples_of_numpys_numbers_are_no_keys_of_ints() -> None:
    """A set or dict that is given tuples with NumPy's numbers has these."""
    given = {(3, 2), (-1, 1)}, {(0, 0): 1}, RANDOM.integers(-40, 40, 300)
    native_turns(pairs_of_numpys, lambda: given)


def test_ints_that_are_given_as_they_are_stay_the_keys() -> None:
    """`int` of an int is that int."""
    items = [10**9 + one for one in range(300)]
    compiled = ufuse.compile(whole_items)
    for _ in range(5):
        counts: dict[int, int] = {}
        compiled(counts, items)
        assert all(one is other for one, other in zip(counts, items, strict=True))


def failing(found, items):
    total = 0
    for item in items:
        found[item] = found.get(item, 0) + 2**61
        total += found[item] % 7
    return total


def missing(found, items):
    total = 0
    for item in items:
        total += found[item]
        found[item] = total
    return total


def of_other_values(found, items):
    for item in items:
        found[item] = item / 2


def shared(first, second, items):
    for item in items:
        first[item] = 1
        if item + 1 in second:
            second[item + 1] = 2


def long(first, second, items):
    total = 0
    for item in items:
        first[item] = 1
        total += len(second)
    return total


def gone_over(found, n):
    total = 0
    for key in found:
        for i in range(n):
            found[key + i] = i
            total += 1
    return total


HOSTILE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (failing, ({}, [1, 2, 3, 1, 2, 1] * 9)),
    (missing, ({one: one for one in range(-40, 39)}, ITEMS)),
    (missing, ({}, ITEMS)),
    (missing, (defaultdict(lambda: 3), ITEMS)),
    (missing, (defaultdict(None, {1: 2}), ITEMS)),
    (of_other_values, (dict.fromkeys(range(80), 1), ITEMS)),
    (of_other_values, ({"a": 1}, ITEMS)),
    (of_other_values, ({True: 1.0, 2.0: 1.0}, ITEMS)),
    (of_other_values, ({2**70: 1.0}, ITEMS)),
    (of_other_values, ({3: 1, 4: 2.5}, ITEMS)),
    (of_other_values, (3, ITEMS)),
    (kept, (frozenset(ITEMS), ITEMS)),
    (kept, (frozenset(ITEMS[:5]), ITEMS)),
    (kept, (set("abc"), ITEMS)),
    (kept, ({(1, 2), 3}, ITEMS)),
    (gone_over, ({5: 1}, 50)),
    (of_pairs, ({(1,): 1}, 100)),
    (of_pairs, ({(2**31, 1): 1}, 100)),
]


@pytest.mark.parametrize(("function", "given"), HOSTILE)
def test_what_is_left_to_plain_python(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Errors leave dicts and sets as eager does; other containers are not read."""
    native_turns(function, lambda: given, atoms=False)


def test_one_dict_by_two_names() -> None:
    """What is put in by one name is found by the other."""
    for same in ({}, {3: 1}, dict.fromkeys(range(100), 0)):
        native_turns(shared, lambda same=same: (same, same, ITEMS), atoms=False)  # type: ignore[misc]
    native_turns(shared, lambda: ({3: 1}, {4: 1}, ITEMS), atoms=False)
    for same in ({}, {3: 1}, dict.fromkeys(range(100), 0)):
        native_turns(long, lambda same=same: (same, same, ITEMS), atoms=False)  # type: ignore[misc]
    one = {3: 1}
    _check_in_turn(long, [({5: 1}, {3: 1}, ITEMS * 20), (one, one, ITEMS), (one, {3: 1}, ITEMS)])


def test_other_containers_in_later_calls() -> None:
    """What was compiled for one is left where it does not fit."""
    rows: list[tuple[Any, ...]] = [
        ({}, ITEMS * 20), ({3: 4}, ITEMS), ({3: 4.5}, ITEMS), ({"a": 1}, ITEMS), (Counter(), ITEMS),
        (defaultdict(int), ITEMS), (defaultdict(float), ITEMS), ({2**80: 2**80}, ITEMS), ({3: np.int64(4)}, ITEMS),
    ]  # fmt: skip
    _check_in_turn(counted, rows)
    _check_in_turn(kept, [(set(), ITEMS * 20), ({1}, ITEMS), ({1.5}, ITEMS)])


def _check_in_turn(function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> None:
    """Other arguments at each call, and nothing forgotten between the calls."""
    row = iter(rows)
    make = lambda: arguments(*next(row))  # noqa: E731
    compiled = partial(ufuse.compile(function))
    check_same(function, compiled, make, calls=len(rows), modes=MODES[:1], atoms=False)


def test_sizes_and_orders_are_those_of_plain_python() -> None:
    """Entries are put in one after the other, so that tables grow as they would."""
    compiled = ufuse.compile(kept)
    for n in (5, 40, 300):
        one, other = {10**9}, {10**9}
        for _ in range(3):
            kept(one, LARGE[:n])
            compiled(other, LARGE[:n])
        assert list(one) == list(other)
        assert sys.getsizeof(one) == sys.getsizeof(other)
    counting = ufuse.compile(counted)
    for n in (5, 40, 300):
        first: dict[int, int] = {}
        second: dict[int, int] = {}
        counted(first, LARGE[:n])
        counting(second, LARGE[:n])
        assert list(first.items()) == list(second.items())
        assert sys.getsizeof(first) == sys.getsizeof(second)


def test_bytes_are_counted() -> None:
    """They are no list of objects that keys could be."""
    for function in (counted, lambda counts, data: counted(counts, data) or counts):
        for data in (bytes(range(256)) * 4, bytearray(b"abca" * 300)):
            native_turns(function, lambda data=data: ({}, data))  # type: ignore[misc]
    compiled = ufuse.compile(bytes_counted)
    for data in (bytes(range(256)) * 40, b"abca" * 300, bytes(range(256)) * 40) * 40:
        assert compiled(data) == bytes_counted(data)


def bytes_counted(data):
    counts = {}
    for one in data:
        counts[one] = counts.get(one, 0) + 1
    return counts


# Only read --------------------------------------------------------------------------------------------------------


def looked_up(table, items):
    total = 0
    for item in items:
        if item in table:
            total += table[item]
    return total


def chosen(table, items):
    total = 0
    for item in items:
        total += table.get(item, -1)
    return total


def within(members, items):
    count = 0
    for item in items:
        if item not in members:
            count += item
    return count


def weighed(table):
    total = 0
    for key, value in table.items():
        total += key * value
    return total, len(table)


def largest(table):
    best = 0
    for key in table:
        best = max(best, table[key])
    return best


def gives_it(table, items):
    for item in items:
        if item in table:
            return table
    return items


SQUARES = {one: one * one for one in range(-40, 41)}
READ: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (looked_up, (SQUARES, ITEMS)),
    (looked_up, ({one: one * one for one in range(7)}, ITEMS)),
    (looked_up, ({one: one / 3 for one in range(50)}, ITEMS)),
    (chosen, (SQUARES, ITEMS)),
    (within, ({1, 5, 9}, ITEMS)),
    (within, (frozenset(ITEMS[:30]), ITEMS)),
]


@pytest.mark.parametrize(("function", "given"), READ)
def test_dicts_and_sets_are_read(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Whatever is looked for; numbers that come out are equal."""
    assert native_turns(function, lambda: given, atoms=False) > 0


@pytest.mark.parametrize("function", [weighed, largest])
@pytest.mark.parametrize("table", [SQUARES, {}, {3: 2.5}, {"a": 2}])
def test_dicts_are_gone_over(function: Callable[..., Any], table: dict[Any, Any]) -> None:
    """In their order; or that is left to plain Python."""
    check_same(function, ufuse.compile(function), lambda: arguments(table), calls=5, atoms=False)


def test_what_is_given_is_given_back() -> None:
    """The same object."""
    compiled = ufuse.compile(gives_it)
    for _ in range(6):
        table = dict(SQUARES)
        assert compiled(table, ITEMS * 20) is table


KNOWN: dict[int, int] = {}


def remembered(n):
    total = 0
    for i in range(n):
        k = i * i % 1009
        if k not in KNOWN:
            KNOWN[k] = i
        total += KNOWN[k]
    return total


def test_a_global_dict_is_a_memory() -> None:
    """What one call puts in the next one finds."""
    compiled = ufuse.compile(remembered)
    KNOWN.clear()
    expected = [remembered(n) for n in (300, 100, 600)], list(KNOWN.items())
    KNOWN.clear()
    assert ([compiled(n) for n in (300, 100, 600)], list(KNOWN.items())) == expected
    assert loops_of(compiled)


def test_counters_that_do_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program may replace what a Counter gives for a missing key."""
    compiled = ufuse.compile(made_before)
    assert compiled(ITEMS * 9) == made_before(ITEMS * 9)
    monkeypatch.setattr(Counter, "__missing__", lambda _, key: key)
    for _ in range(4):
        assert compiled(ITEMS * 9) == made_before(ITEMS * 9)
