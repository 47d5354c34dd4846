"""Loops over lists that grow while they go over them, and what goes over slices of lists, in native code."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import pytest

from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import check_whole_call, native_turns
from ufuse import compile as compiled_by_ufuse

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

pytest.importorskip("llvmlite")


def primes(n):
    found = []
    for k in range(2, n):
        for p in found:
            if p * p > k:
                found.append(k)
                break
            if k % p == 0:
                break
        else:
            found.append(k)
    return found


def filtered(n):
    found = [2]
    for k in range(3, n, 2):
        if all(k % p for p in found):
            found.append(k)
    return found


def grows(n):
    found = [3]
    total = 0
    for x in found:
        total += x
        if len(found) < n:
            found.append(x + 1)
            found.append(x * 2 % 17)
    return total, found


def within(n):
    found = [n / 20]
    count = 0
    for x in found:
        for y in found:
            count += 1
            if x + y < 4.0 and len(found) < n:
                found.append(x + 0.5)
    return count, found


def backwards(n):
    found = [1]
    total = 0
    found.append(n + 500)
    for k in range(n):
        for x in reversed(found):
            total += x
            if x % 3 == 1 and len(found) < n:
                found.append(x + k + 1000)
    return total, found


def called(n):
    found = [1]

    def more(x):  # noqa: ANN202
        if x < n:
            found.append(x + 3)

    for x in found:
        more(x)
    return found


@pytest.mark.parametrize("function", [primes, filtered, grows, within, backwards])
def test_loops_over_lists_that_grow(function) -> None:
    """They come to what was appended, as Python's iterator does, unless they go backwards."""
    check_whole_call(function, (40,))


def enumerated(n):
    found = [1]
    total = 0
    for i, x in enumerate(found):
        total += i * x
        if len(found) < n:
            found.append(x + i)
    return total, found


def shrinks(n):
    found = [1]
    for k in range(n):
        found.append(k * k)
    total = 0
    for x in found:
        total += x
        found.pop()
    return total, found


@pytest.mark.parametrize("function", [enumerated, shrinks, called])
def test_other_changes(function) -> None:
    """They are plain Python's, or the same."""
    check_same(function, compiled_by_ufuse(function), lambda: arguments(30))


def windows(depths):
    sums = [sum(depths[i : i + 3]) for i in range(len(depths) - 2)]
    return max(depths[1:]) - min(depths[:-1]), sums


def window_sums(depths):
    total = 0
    for i in range(len(depths) + 3):
        total = total * 3 % 1009 + sum(depths[i : i + 3]) - sum(depths[-i:-1], 2)
    return total


def test_sums_of_slices() -> None:
    """Of a list that does not change."""
    depths = [i * 7919 % 1000 for i in range(60)]
    assert native_turns(window_sums, lambda: (depths,)) > 20
    assert native_turns(window_sums, lambda: ([0.1 * one for one in depths],)) > 20
    check_same(windows, compiled_by_ufuse(windows), lambda: arguments(depths))


def changed(depths):
    total = 0
    for i in range(len(depths) - 3):
        total += sum(depths[i : i + 3])
        depths[i + 1] += i
    return total, depths


def test_a_list_that_changes_is_left() -> None:
    """Its slice is a copy."""
    native_turns(changed, lambda: (list(range(50)),))
