"""Dicts and sets of whole numbers that a whole call makes are keys and values in memory of the nest's own."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B905, C408, PERF102, PERF402, PERF403, PLC0206
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import contextlib
import operator
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import called, check_kept, check_whole_call, hits
from ufuse.graph.nest_slots import ResultSlot
from ufuse.graph.text.nest_parser import parse_nest

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.random.default_rng(0).integers(-9, 9, 60) * 1000
LISTED = X.tolist()
W = np.random.default_rng(1).normal(size=60)


# Used inside of the call ------------------------------------------------------------------------------------------


def different(values):
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return len(counts)


def repeated(values):
    seen, again = set(), 0
    for value in values:
        if value in seen:
            again += 1
        else:
            seen.add(value)
    return again, len(seen)


def has_pair(values, target):
    where = {}
    for i, value in enumerate(values):
        if target - value in where:
            return where[target - value], i
        where[value] = i
    return -1, -1


def most_weight(values, weights):
    total = defaultdict(float)
    for i in range(len(values)):
        total[values[i]] += weights[i]
    best = -1.0
    for _, weight in total.items():
        best = max(best, weight)
    return best


def most_often(values):
    counts = defaultdict(int)
    for value in values:
        counts[value] += 1
    return max(counts.values()), sum(counts.values()), min(counts)


def collatz(n):
    memo = {1: 1}
    best = 1
    for i in range(1, n):
        k, steps = i, 0
        while k not in memo:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        memo[i] = memo[k] + steps
        if memo[i] > memo[best]:
            best = i
    return best


def sums_to(values, target):
    before, total, found = {0: 1}, 0, 0
    for value in values:
        total += value
        found += before.get(total - target, 0)
        before[total] = before.get(total, 0) + 1
    return found


def read_only_makes_entries(n):
    counts = defaultdict(int)
    total = 0
    for i in range(n):
        total += counts[i % 7]
        counts[i % 3] += i
    return total, len(counts)


def one_of_two(n):
    first, second = {}, {}
    for i in range(n):
        chosen = i % 5
        if chosen in first:
            second[chosen] = i
        else:
            first[chosen] = -i
    return len(first) + len(second), second[3], first[4]


def made_anew(n):
    total = 0
    for i in range(n):
        seen = set()
        for j in range(i):
            seen.add(j * j % 11)
        total += len(seen)
    return total


def with_nothing(n):
    found = {}
    for i in range(n):
        if i > n:
            found[i] = 1
    return len(found), 3 in found, 1 if found else 0


def none_is_there(values):
    found, missing = {}, 0
    for value in values:
        if found.get(value) is None:
            missing += 1
            found[value] = 1.5
    return missing


def default_is_other(values):
    found = {}
    total = 0.0
    for value in values:
        total = total + found.get(value, 1)
        found[value] = total / 2
    return total


def set_by_default(n):
    found = {}
    total = 0
    for i in range(n):
        total += found.setdefault(i % 10, i)
    return total, len(found)


def changed_as_it_is_gone_over(n):
    found = {}
    for i in range(n):
        found[i * 3] = i
    for key in found:
        found[key] += 1
    total = 0
    for key, value in found.items():
        found[3] = value
        total += key * value
    for value in found.values():
        total += value
    return total


def many(n):
    found = dict()
    for i in range(n):
        found[i * i] = i
    total = 0
    for i in range(2 * n):
        if i in found:
            total += found[i]
    return total


def truth(n):
    found, times = {}, 0
    for i in range(n):
        if not found:
            times += 1
        found[i] = i > 3
    return times, found[5], found[2]


def places_of(values):
    places = {value: i for i, value in enumerate(values)}
    total = 0
    for value in values:
        total += places[value]
    return total, len({value % 7 for value in values})


def numbers_among(values, n):
    found, times = set(values), 0
    for i in range(0, n, 1000):
        if i in found:
            times += 1
    return times, len({1, 2, n, len(found)})


def comes_most_often(values):
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    best = max(counts, key=counts.get)
    return best + 0, sum(count > 1 for count in counts.values())


def walk(n):
    x = y = 0
    seen = {(0, 0)}
    for i in range(n):
        step = i * i % 4
        x += (step == 0) - (step == 1)
        y += -1 if i % 5 == 2 else i % 2
        place = x, y
        if place not in seen:
            seen.add(place)
    return len(seen), (x, y) in seen, (n, -1) in seen


def remembered_pairs(n):
    memo = {}
    for i in range(-1, n):
        for j in range(n):
            memo[i, j] = memo.get((i - 1, j - 1), 0) + i * j
    counts = defaultdict(int)
    for i in range(n):
        counts[i % 3, -i % 4] += 1
    return memo[-1, 0], memo[n - 1, n - 1], len(memo), max(counts.values()), sum(memo.values())


INSIDE = [
    (walk, (60,)), (remembered_pairs, (9,)),
    (places_of, (LISTED,)), (places_of, (X,)), (numbers_among, (LISTED, 9000)), (numbers_among, (X, 9000)),
    (comes_most_often, (LISTED,)), (comes_most_often, (X,)),
    (different, (X,)), (different, (LISTED,)), (repeated, (X,)), (repeated, (LISTED,)), (has_pair, (LISTED, 3000)),
    (has_pair, (LISTED, 1)), (most_weight, (X, W)), (most_weight, (LISTED, W.tolist())), (most_weight, (X, W.tolist())),
    (most_often, (X,)), (collatz, (60,)), (sums_to, (LISTED, 2000)), (read_only_makes_entries, (40,)),
    (one_of_two, (40,)), (made_anew, (30,)), (with_nothing, (20,)), (none_is_there, (X,)), (default_is_other, (LISTED,)),
    (set_by_default, (40,)), (changed_as_it_is_gone_over, (30,)), (many, (500,)), (truth, (30,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(INSIDE)))
def test_dicts_and_sets_are_used(number: int) -> None:
    """They are found, changed and gone over as in plain Python, from start to end."""
    check_whole_call(*INSIDE[number])


# Given back -------------------------------------------------------------------------------------------------------


def counted(values):
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def counted_by_default(values):
    counts = defaultdict(int)
    for value in values:
        counts[value] += 1
    return counts


def squares(n):
    found = {}
    for i in range(n):
        found[i] = i * 0.5
    return found, n


def weighed(values, weights):
    total = defaultdict(float)
    for i in range(len(values)):
        total[values[i]] += weights[i]
    return total


def remainders(n):
    found = set()
    for i in range(n):
        found.add(i * i * 1000 % 1048573)
    return found


def truths(n):
    found = {}
    for i in range(n):
        found[i * 1000] = i > 3
    return found


def counted_sometimes(values):
    counts = {}
    for i, value in enumerate(values):
        if i % 3:
            counts[value] = counts.get(value, 0) + 1
    return counts


def pairs(values, weights):
    total = defaultdict(float)
    for value, weight in zip(values, weights):
        total[value] += weight * 2
    return total


def different_ones(values):
    found = set()
    for value in values:
        if value > 0:
            found.add(value)
    return found


def with_new_ones(values):
    found = {}
    for value in values:
        if value > 0:
            found[value] = 1
        else:
            found[value - 1] = 2
    return found


def behind_loops(values, others):
    found = {}
    for value in values:
        for other in others:
            if other == value:
                found[other * 2] = 1
                break
        same = value
        if value > 0:
            found[same] = 3
    return found


def backwards(values):
    found = {}
    for value in reversed(values):
        found[value] = True
    return found


def of_a_part(values, n):
    found = {}
    for value in values[n:]:
        found[value] = True
    return found


def copied(values):
    counts = defaultdict(int)
    for value in values:
        counts[value] += 1
    return dict(counts)


def comprehended(values):
    return {value: i * 1000 for i, value in enumerate(values)}, {value + 1 for value in values}


def with_total(values):
    counts, total = {}, 0
    for value in values:
        counts[value] = counts.get(value, 0) + 1
        total += counts[value]
    return counts, total


def as_set(values):
    for _ in range(2):
        pass
    return set(values)


GIVEN = [
    (with_total, (LISTED,)),
    (copied, (LISTED,)), (copied, (X,)), (comprehended, (LISTED,)), (as_set, (LISTED,)), (as_set, (X,)),
    *((function, (LISTED,)) for function in (counted, counted_by_default, counted_sometimes, different_ones)),
    (with_new_ones, (LISTED,)), (counted, ([np.int64(one) for one in LISTED],)),
    (pairs, (LISTED, W.tolist())), (behind_loops, (LISTED[:20], (X + 1).tolist())), (backwards, (LISTED,)), (of_a_part, (LISTED, 7)),
    (counted, (X,)), (counted_by_default, (X,)), (squares, (300,)), (squares, (0,)), (weighed, (X, W)),
    (weighed, (X, W.tolist())), (remainders, (5000,)), (remainders, (7,)), (truths, (9,)),
]  # fmt: skip


def all_of(found: Any) -> Any:
    """What can be seen of a dict or set: its type, its items with their types, in order, and how large it is."""
    if isinstance(found, tuple):
        return tuple(map(all_of, found))
    if not isinstance(found, dict | set):
        return found
    items = [found.items() if isinstance(found, dict) else found]
    factory = getattr(found, "default_factory", None)
    kinds = [type(one) for one in (found.values() if isinstance(found, dict) else ())]
    return (
        type(found), factory, sys.getsizeof(found), *map(list, items), list(map(type, found)), kinds,
    )  # fmt: skip


@pytest.mark.parametrize("number", range(len(GIVEN)))
def test_dicts_and_sets_are_given_back(number: int) -> None:
    """In the order of plain Python's, with keys and values of its types."""
    function, given = GIVEN[number]
    check_whole_call(function, given)
    compiled = called(function, given)
    for _ in range(2):
        assert all_of(compiled(*given)) == all_of(function(*given))
    assert compiled(*given) is not compiled(*given)


def test_dicts_are_as_large_as_plain_pythons() -> None:
    """They have room for all from the start, and no more than they would have got."""
    compiled = called(truths, (9,))
    before = hits(compiled)
    sizes = [*range(24), 42, 43, 85, 86, 170, 171, 5461, 5462]
    for n in sizes:
        assert all_of(compiled(n)) == all_of(truths(n))
    assert hits(compiled) == before + len(sizes)


def test_the_text_of_a_dict_reads_back() -> None:
    """As that of other results."""
    for function, given in GIVEN:
        compiled = called(function, given)
        nest = compiled.__ufuse_cache__.whole_call.data.nest
        assert any(isinstance(one, ResultSlot) and one.container for one in nest.slots)
        assert str(parse_nest(str(nest))) == str(nest)


# Plain Python's ---------------------------------------------------------------------------------------------------


def missing(values, key):
    found = {}
    for value in values:
        found[value] = 1
    return found[key]


def grows_as_it_is_gone_over(n):
    found = {}
    for i in range(n):
        found[i] = i
    for key in found:
        found[key + 1] = 0
    return len(found)


def overflowing(n):
    found = {}
    for i in range(n):
        found[i % 3] = found.get(i % 3, 1) * 1000
    return found[0]


def keys_of_two_types(values):
    found = {}
    for value in values:
        found[value] = 1
        found[int(value)] = 2
    return len(found)


def values_of_two_types(n):
    found = {}
    for i in range(n):
        found[i] = i if i % 2 else 0.5
    return found[3], found[4]


def truths_as_keys(n):
    found = {}
    for i in range(n):
        found[i > 3] = i
    return len(found)


def real_keys(values):
    found = set()
    for value in values:
        found.add(value * 0.5)
    return len(found)


def over_a_set(n):
    found, total = set(), 0
    for i in range(n):
        found.add(i * 37 % 101)
    for key in found:
        total = total * 3 % 1009 + key
    return total


def key_is_given_twice(n):
    first, second = {}, {}
    for i in range(1000, 1000 + n):
        first[i] = 1
        second[i] = 2
    return first, second


def value_is_given_twice(n):
    found, out = {}, []
    for i in range(1000, 1000 + n):
        double = i * 2
        found[i] = double
        out.append(double)
    return found, out


def value_of_a_dict(n):
    found, out = {}, []
    for i in range(1000, 1000 + n):
        found[i] = i * 2
    for value in found.values():
        out.append(value)
    for key in found:
        out.append(found[key])
    return out


def of_two_lists(values, others):
    found = {}
    for value in values:
        found[value] = 1
    for other in others:
        found[other] = 2
    return found


def the_one_before(values):
    found = {}
    before = 5000
    for value in values:
        found[before] = 1
        before = value
    return found


def of_inner_loops(values, others):
    found = {}
    other = values[0]
    for value in values:
        if value > 0:
            found[other] = 1
        for other in others:
            if other > value:
                break
    return found


def in_two_dicts(values):
    first, second = {}, {}
    for value in values:
        first[value] = 1
        second[value] = 2
    return first, second


def large_pairs(n):
    found = set()
    for i in range(n):
        found.add((i, 2**31 + i))
        found.add((i << 32, i))
    return len(found)


def pairs_given_back(n):
    found = {}
    for i in range(n):
        found[i, i + 1] = i
    return found


def over_pairs(n):
    found, total = {}, 0
    for i in range(n):
        found[i, i + 1] = i
    for i, j in found:
        total += i * j
    return total


def pairs_and_ints(n):
    found = set()
    for i in range(n):
        found.add(i)
        found.add((i, 0))
    return len(found), (1, 2, 3) in found


PLAIN = [
    (large_pairs, (9,)), (pairs_given_back, (9,)), (over_pairs, (9,)), (pairs_and_ints, (9,)),
    (of_two_lists, (LISTED, LISTED[9:])), (the_one_before, (LISTED,)), (of_inner_loops, (LISTED[:9], LISTED[9:])),
    (in_two_dicts, (LISTED,)),
    (missing, (LISTED, 5)), (missing, (LISTED, LISTED[7])), (grows_as_it_is_gone_over, (9,)), (overflowing, (40,)),
    (keys_of_two_types, (X,)), (values_of_two_types, (9,)), (truths_as_keys, (9,)), (real_keys, (LISTED,)),
    (over_a_set, (80,)), (key_is_given_twice, (20,)), (value_is_given_twice, (20,)), (value_of_a_dict, (20,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_what_is_left_to_plain_python(number: int) -> None:
    """Errors, ints that do not fit, keys of other types, orders that are not known, and objects in two places."""
    function, given = PLAIN[number]
    compiled = ufuse.compile(function)
    for _ in range(6):
        with contextlib.suppress(KeyError, RuntimeError):
            compiled(*given)
    for _ in range(2):  # native loops make numbers anew
        check_kept(function, compiled, *given, atoms=bool(hits(compiled)))


def test_a_missing_key_raises_after_calls_that_had_it() -> None:
    """Machine code is in doubt; plain Python raises."""
    compiled = called(missing, (LISTED, LISTED[7]))
    before = hits(compiled)
    with pytest.raises(KeyError, match="5"):
        compiled(LISTED, 5)
    assert compiled(LISTED, LISTED[7]) == 1
    assert hits(compiled) >= before


def test_operations_that_make_new_ints() -> None:
    """What `identity.py` says of CPython: no operand is given back, but by `%` of large ones."""
    large = (1 << 40, (1 << 62) + 5, 100_003, -(1 << 40), -100_003)
    for name in ("add", "sub", "mul", "floordiv", "and_", "or_", "xor"):
        for left in (*large, 300):
            for right in (*large, 1, -1, 300):
                found = getattr(operator, name)(left, right)
                assert found is not left or left in range(-5, 257), name
                assert found is not right or right in range(-5, 257), name
    for left in large:
        for right in (7, 1009, (1 << 30) - 1):
            assert left % right is not left
