"""Lists of numbers that a whole call makes and gives back: new lists of new objects, made when the call has ended."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B905, C416, PERF402, UP034
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import called, check_kept, check_whole_call, hits
from ufuse.graph.nest_slots import ResultSlot
from ufuse.graph.text.nest_parser import parse_nest

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.random.default_rng(0).normal(size=9)
LISTED = X.tolist()


def scaled(value):
    if value > 0:
        return value * value + 1.0
    return -value


def itself(value):
    return value


def comprehension(x):
    return [scaled(value) for value in x]


def positive(x):
    out = []
    for value in x:
        if value > 0:
            out.append(value)
    return out


def smoothed(x):
    level, out = 0.0, []
    for value in x:
        level = 0.9 * level + value
        out.append(level)
    return out


def of_python_numbers(x):
    for _ in range(2):
        pass
    return [scaled(value) for value in x.tolist()], x.tolist(), len(x)


def places(x):
    return [i + 1000 for i, value in enumerate(x) if value > 0]


def small_and_large(n):
    return [i * 100 for i in range(n)], [i for i in range(n)], [-i for i in range(n)]


def truths(x):
    return [value > 0 for value in x], [bool(value > 0) for value in x]


def by_way_of_functions(x):
    return [itself(value) for value in x], list(map(scaled, x))


def from_the_last(x):
    out = [x[0]]
    for value in x[1:]:
        out.append(0.5 * out[-1] + value)
    return out


def twice_itself(x):
    out = []
    for value in x:
        out.append(value)
    return out, out


def two_lists(x):
    low, high = [], []
    for value in x:
        if value < 0:
            low.append(value)
        else:
            high.append(value)
    return low, high


def delayed(x):
    before, out = x[0], []
    for value in x:
        out.append(before)
        before = value
    return out


def of_functions(x):
    return [math.sqrt(abs(value)) for value in x], [np.exp(value) for value in x]


def of_rows(a):
    return [row.sum() for row in a], [u - v for u, v, _ in a]


def differences(x):
    return [x[i + 1] - x[i] for i in range(len(x) - 1)]


def by_condition(x):
    return [value * 2 if value > 0 else value - 1 for value in x], [2.0**v for v in x]


def not_kept(x):
    doubled = [value * 2 for value in x]
    return [value + 1 for value in doubled], np.array(doubled)


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (X,)) for function in (
        comprehension, positive, smoothed, of_python_numbers, places, truths, by_way_of_functions, from_the_last,
        twice_itself, two_lists, delayed, of_functions, differences, by_condition, not_kept,
    )),
    (small_and_large, (9,)), (of_rows, (X.reshape(3, 3),)), (comprehension, (X.astype("f4"),)), (not_kept, (np.arange(-300, 300, 100),)),
    (positive, (np.arange(5, dtype="u1"),)), (not_kept, (np.arange(9, dtype="i2"),)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_results(number: int) -> None:
    """What a call gives is as in plain Python, also which of its items are one object."""
    check_whole_call(*PROGRAMS[number])


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4000])
@pytest.mark.parametrize("function", [comprehension, positive, smoothed, two_lists, places])
def test_lengths(function: Callable[..., Any], length: int) -> None:
    """Empty lists, too."""
    compiled = called(function, (X,))
    given = np.sin(np.arange(1.0, length + 1.0))
    before = hits(compiled)
    for one in (given, -abs(given), given):
        assert repr(compiled(one)) == repr(function(one))
    assert hits(compiled) == before + 3


def test_what_numpy_does_alone_is_left_to_it() -> None:
    """`tolist` makes the same objects as fast."""

    def alone(x) -> tuple[list[float], int]:
        return x.tolist(), len(x)

    compiled = called(alone, (X,))
    check_kept(alone, compiled, X)
    assert not hits(compiled)


def test_lists_are_new() -> None:
    """Each call gives lists of its own, which the garbage collector knows, and which may be changed."""
    compiled = called(positive, (X,))
    before = hits(compiled)
    one, other = compiled(X), compiled(X)
    assert hits(compiled) == before + 2
    assert one == other
    assert one is not other
    assert all(first is not second for first, second in zip(one, other))
    assert gc.is_tracked(one)
    plain = positive(X)
    assert sys.getrefcount(one) == sys.getrefcount(plain)
    assert sys.getrefcount(one[-1]) == sys.getrefcount(plain[-1])
    one.append(None)
    one.sort(key=str)
    assert other == positive(X)


# Items that other names have, too -----------------------------------------------------------------------------------


def of_an_argument(values):
    return [value for value in values if value > 0]


def appended_twice(x):
    out = []
    for value in x:
        double = value * 2
        out.append(double)
        out.append(double)
    return out


def other_name_appended(x):
    out = []
    for value in x:
        other = value
        out.append(other)
        if value > 0:
            out.append(value)
    return out


def greatest_so_far(x):
    best, out = x[0], []
    for value in x:
        best = max(best, value)
        out.append(best)
    return out


def with_its_last(x):
    total, out = 0.0, []
    for value in x:
        total += value
        out.append(total)
    return out, total


def constants(x):
    return [0.5 if value > 0 else 1.5 for value in x]


def repeated(n):
    out = []
    for i in range(1000, 1000 + n):
        for _ in range(2):
            out.append(i)
    return out


def copied(x):
    doubled = [value * 2 for value in x]
    return doubled, [value for value in doubled]


def sometimes_new(x):
    before, out = x[0], []
    for value in x:
        out.append(before)
        before = value * 1.0 if value > 0 else before
    return out


def as_it_is(n):
    return [abs(i) for i in range(n)], [int(i) for i in range(n)], [i % 2**40 for i in range(n)]


def kept_by_another(x):
    out = []
    for value in x:
        pair = value, 1
        out.append(value)
        if value > 0:
            out.append(pair[0])
    return out


def named_and_used(x):
    out = []
    for value in x:
        out.append((w := value * 2))
        out.append(w)
    return out


def chained(x):
    out = []
    for value in x:
        a = b = value * 2
        out.append(a)
        out.append(b)
    return out


def given_to_a_function(x):
    out = []
    for value in x:
        out.append(itself(value))
        out.append(value)
    return out


def stored(x):
    out = [value * 2 for value in x]
    out[0] = out[-1]
    return out


def rebound_meanwhile(x):
    out = []
    value = x[0]
    for one in x:
        out.append(value)
        out.append(_second(value, (value := one * 2)))
    return out


def _second(_, value):  # noqa: ANN202
    return value


SHARING = [
    (of_an_argument, LISTED), (of_an_argument, tuple(LISTED)),
    *((function, X) for function in (
        appended_twice, other_name_appended, greatest_so_far, with_its_last, constants, copied, sometimes_new,
        kept_by_another, named_and_used, chained, given_to_a_function, stored,
    )),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SHARING)))
def test_shared_items_are_plain_pythons(number: int) -> None:
    """An object that is in a list twice, or in another place, too, is none that such a call gives."""
    function, given = SHARING[number]
    compiled = called(function, (given,))
    check_kept(function, compiled, given, atoms=False)  # native loops make them anew
    assert "have, too" in compiled.__ufuse_session__.record(function.__code__).why_not_whole


@pytest.mark.parametrize("function", [repeated, as_it_is])
def test_shared_ints_are_in_doubt(function) -> None:
    """Where they are not small such a call is plain Python's."""
    compiled = called(function, (9,))
    check_kept(function, compiled, 1200, atoms=False)
    assert function is as_it_is or not hits(compiled)


def around(values, n):
    out = []
    for i in range(n):
        out.append(values[i % len(values)])
        out.append(values[i % len(values)])
    return out


def test_shared_small_ints_are_given_back() -> None:
    """There is one object of each from -5 to 256."""
    small = [*range(-5, 257)]
    check_whole_call(around, (small, 300))
    compiled = called(around, (small, 300))
    for value in (-6, 257, 10**30, 10**6):
        found = compiled([1, value, 2], 9)
        assert found == around([1, value, 2], 9)


def test_calls_that_are_always_in_doubt_are_soon_left_alone() -> None:
    """Native code that has given nothing yet is given up after a few calls, not after hundreds."""
    compiled = ufuse.compile(around)
    compiled.reset()
    for _ in range(40):
        assert compiled([1000, 2000], 30) == around([1000, 2000], 30)
    assert compiled.__ufuse_cache__.whole_call is None


def many_times(value, n):
    first = [value] * n
    first[0] = 7
    second = n * [0]
    for i in range(n):
        second[i] += first[i] * 3
    second.append(-1)
    none = [False] * (n - 100)
    return second, len(first), none


def given_many_times(value, n):
    found = [value] * n
    for i in range(0, n, 3):
        found[i] = i
    return found


def test_a_list_of_one_number_many_times() -> None:
    """It is a new list, of which no item is one object with another but by what it is."""
    for n in (1, 50, 120):
        check_whole_call(many_times, (5, n))
    check_whole_call(given_many_times, (5, 40))
    check_whole_call(given_many_times, (-1, 200))
    compiled = called(given_many_times, (-1, 40))
    for given in ((1000, 9), (2.5, 9), (True, 9), (1, 0), (1, -3), ("a", 2), (10**40, 3), (1, 2.0)):
        outcomes = []
        for one in (given_many_times, compiled):
            try:
                outcomes.append(repr(one(*given)))
            except TypeError as error:
                outcomes.append(repr(error))
        assert outcomes[0] == outcomes[1]
    assert len({*map(id, compiled(1000, 9)[1:3])}) == 1


def test_what_is_rebound_while_it_is_on_the_stack() -> None:
    """A value that was loaded before stays the object that it was."""
    compiled = called(rebound_meanwhile, (X,))
    check_kept(rebound_meanwhile, compiled, X, atoms=bool(hits(compiled)))


def test_doubts_are_done_again() -> None:
    """A turn that warns is plain Python's, with what was appended before."""

    def inverses(x) -> list[float]:
        return [1.0 / value for value in x]

    compiled = called(inverses, (X,))
    given = X.copy()
    given[4] = 0.0
    for _ in range(2):
        check_kept(inverses, compiled, given)
        check_kept(inverses, compiled, X)


def test_the_text_of_a_list_reads_back() -> None:
    """As that of other results."""
    compiled = called(comprehension, (X,))
    nest = compiled.__ufuse_cache__.whole_call.data.nest
    (slot,) = (one for one in nest.slots if isinstance(one, ResultSlot))
    assert (slot.items, slot.is_numpy) == ("float", True)
    assert str(parse_nest(str(nest))) == str(nest)
