"""Items are taken out of dicts and sets that a whole call makes: `del`, `pop`, `remove`, `discard`."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import copy
import random
from collections import Counter, defaultdict
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
from tests.support.nests.random_removals import arguments_of, program_of

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

VALUES = [n * n * 7 % 23 for n in range(70)]


def longest_unique(values):
    seen, best, left = set(), 0, 0
    for right, value in enumerate(values):
        while value in seen:
            seen.remove(values[left])
            left += 1
        seen.add(value)
        best = max(best, right - left + 1)
    return best


def fewest_kinds(values):
    counts, best, left = {}, 0, 0
    for right, value in enumerate(values):
        counts[value] = counts.get(value, 0) + 1
        while len(counts) > 3:
            gone = values[left]
            counts[gone] -= 1
            if counts[gone] == 0:
                del counts[gone]
            left += 1
        best = max(best, right - left + 1)
    return best, len(counts)


def queens(values):
    n, columns, ups, downs = len(values) // 12, set(), set(), set()
    at, row, column, found = [0] * n, 0, 0, 0
    while row >= 0:
        while column < n and (column in columns or row + column in ups or row - column in downs):
            column += 1
        if column == n:
            row -= 1
            if row >= 0:
                column = at[row]
                columns.remove(column)
                ups.discard(row + column)
                downs.discard(row - column)
                column += 1
        elif row == n - 1:
            found += 1
            column += 1
        else:
            at[row] = column
            columns.add(column)
            ups.add(row + column)
            downs.add(row - column)
            row, column = row + 1, 0
    return found


def taken_back(values):
    last, total = {}, 0
    for i, value in enumerate(values):
        if value % 3 == 0 and value in last:
            total += last.pop(value)
        elif value % 3 == 1:
            total += last.pop(value, -5)
        else:
            last.pop(value - 1, None)
        last[value] = i
    return total, len(last)


def counted_again(values):
    counts, others, total = defaultdict(int), Counter(), 0
    for value in values:
        counts[value] += 2
        others[value] += 1
        if counts[value] > 4:
            del counts[value]
            del others[value]
        total += counts[value] + others[value]
    return total, len(counts), len(others)


def pairs(values):
    seen, total = set(), 0
    for i, value in enumerate(values):
        if (i % 4, value) in seen:
            seen.discard((i % 4, value))
            total += 1
        else:
            seen.add((i % 4, value))
    return total, len(seen), not seen


PROGRAMS = [longest_unique, fewest_kinds, queens, taken_back, counted_again, pairs]


@pytest.mark.parametrize("function", PROGRAMS)
def test_items_are_taken_out(function) -> None:
    """Such a call is native, and an item may be put in again."""
    check_whole_call(function, (VALUES,))


def with_an_order(values):
    counts = {}
    for value in values:
        counts.pop(value, None)
        counts[value] = value * 2
    return list(counts), counts


def gone_over(values):
    seen, total = {}, 0
    for value in values:
        seen.pop(value, None)
        seen[value] = 1
    for key in seen:
        total = total * 3 % 1009 + key
    return total


@pytest.mark.parametrize("function", [with_an_order, gone_over])
def test_what_needs_the_order_is_left_to_python(function) -> None:
    """An item that is put in again is the last one."""
    compiled = called(function, (VALUES,))
    check_kept(function, compiled, VALUES)
    assert hits(compiled) == 0


def missing(values, key, how):
    known, seen = {}, set()
    for value in values:
        known[value] = value
        seen.add(value)
    known.pop(1, None)
    seen.discard(1)
    if how == 0:
        return known.pop(key)
    if how == 1:
        del known[key]
        return len(known)
    if how == 2:
        seen.remove(key)
        return len(seen)
    return known[key]


def test_a_missing_key_raises() -> None:
    """It may have been there before."""
    compiled = called(missing, *((VALUES, 7, how) for how in range(4)))
    assert hits(compiled) > 0
    for how in range(4):
        for key in (0, 1, 7, 99):
            check_kept(missing, compiled, VALUES, key, how)


def given(values, known):
    total = 0
    for value in values:
        if value in known:
            total += known.pop(value)
    return total


def test_a_dict_that_is_given_is_left_to_python() -> None:
    """Its items are taken out in plain Python."""
    make = (VALUES, {value: value for value in VALUES[::3]})
    compiled = called(given, copy.deepcopy(make))
    check_kept(given, compiled, *make)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    try:
        return repr(function(*arguments))
    except (LookupError, TypeError) as error:
        return repr(error)


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    """What they give, or raise, is plain Python's."""
    rng = random.Random(seed)  # noqa: S311
    for _ in range(4):
        function = program_of(rng)
        compiled = ufuse.compile(function)
        with no_failures_inside():
            for arguments in [arguments_of(rng) for _ in range(4)] * 3:
                assert _outcome(compiled, arguments) == _outcome(function, arguments), (
                    function.__doc__
                )
