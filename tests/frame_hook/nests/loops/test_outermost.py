"""Outermost loops over arrays, lists and tuples, and these enumerated, zipped or reversed."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, B905
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
import weakref
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns
from tests.support.nests.reference_nests import on_the_reference
from ufuse import decorator
from ufuse.frame_hook.nests.entries import whole

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000  # turns: more than a trace unrolls
RNG = np.random.default_rng(11)
FLOATS = RNG.random(N).tolist()
MATRIX = RNG.random((N, 4))


def decayed(items):
    s = 0.0
    for value in items:
        s = s * 0.5 + value if value > 0.3 else s - value
    return s, value


def counted(items, out):
    for i, value in enumerate(items):
        out[i] = value * 2 + i
    return out, i, value


def together(x, items, n):
    s = 0.0
    for a, b, k in zip(x, items, range(n)):
        s += a * b - k
    return s, a, b, k


def counted_together(x, items):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, items), -5):
        s += a * b - i
    return s, a, b, i


def backwards(items):
    s = 0.0
    for value in reversed(items):
        s = s * 0.5 + value
    return s, value


def rows(a):
    s = 0.0
    for row in a:
        for j in range(len(row)):
            s = s * 0.9 + row[j]
        row[0] = s
        row[1:] *= 2
    return s, a, row


def unpacked(a):
    s = 0.0
    for i in range(len(a)):
        x, y, z, _ = a[i]
        s += x * y - z
    for x, y, _, z in a:
        s -= x * y - z
    return s, x, y, z


def indexed(items, weights, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + items[i % len(items)] - weights[-1]
        for weight in weights:
            s += weight
    return s


def written_meanwhile(x):
    """What is looked at next was written before."""
    for i, value in enumerate(x):
        x[(i + 1) % len(x)] = value * 0.5 + 1.0
    return x, i, value


CASES: list[tuple[Any, Any]] = [
    (decayed, lambda: (np.array(FLOATS),)),
    (decayed, lambda: (np.array(FLOATS)[::-3],)),
    (decayed, lambda: (np.arange(N),)),
    (decayed, lambda: (np.arange(N) % 2 == 0,)),
    (decayed, lambda: (list(FLOATS),)),
    (decayed, lambda: (tuple(FLOATS),)),
    (decayed, lambda: (list(range(N)),)),
    (decayed, lambda: ([True, False] * N,)),
    (decayed, lambda: (list(np.array(FLOATS)),)),
    (decayed, lambda: (list(np.arange(N, dtype="i2")),)),
    (counted, lambda: (np.array(FLOATS), np.zeros(N))),
    (counted, lambda: (list(FLOATS), np.zeros(N))),
    (together, lambda: (np.array(FLOATS), list(FLOATS), N - 10)),
    (together, lambda: (np.array(FLOATS), list(FLOATS), N + 10)),
    (together, lambda: (list(FLOATS), tuple(FLOATS), N + 10)),
    (together, lambda: (np.array(FLOATS)[:-1], list(FLOATS), N)),
    (counted_together, lambda: (np.array(FLOATS), list(FLOATS))),
    (backwards, lambda: (np.array(FLOATS),)),
    (backwards, lambda: (list(FLOATS),)),
    (backwards, lambda: (tuple(FLOATS),)),
    (backwards, lambda: (range(N),)),
    (rows, lambda: (MATRIX.copy(),)),
    (rows, lambda: (np.asfortranarray(MATRIX)[::-1],)),
    (unpacked, lambda: (MATRIX.copy(),)),
    (indexed, lambda: (FLOATS[:50], [1, 2, 3], N)),
    (written_meanwhile, lambda: (np.array(FLOATS),)),
]


@pytest.mark.parametrize(("function", "make"), CASES)
def test_programs_are_native_and_the_same(function, make, monkeypatch) -> None:
    """Results, types, memory and variables; items of lists may be other objects of the same value."""
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)  # whose turns are not counted
    assert native_turns(function, make, atoms=False) > N


@pytest.mark.parametrize(("function", "make"), CASES)
def test_the_reference_does_the_same(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does."""
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "N", 40)
    for name in ("FLOATS", "MATRIX"):
        monkeypatch.setitem(globals(), name, globals()[name][:40])
    check_same(function, ufuse.compile(function), lambda: arguments(*make()), atoms=False)
    assert sum(one.turns for one in made) > 40


# Iterators that others see -------------------------------------------------------------------------------------


def summed(values, limit):
    s = 0.0
    for value in values:
        s += value
        if s > limit:
            break
    return s


def summed_pairs(pairs, limit):
    s = 0.0
    for i, (value, k) in pairs:
        s += value * k - i
        if s > limit:
            break
    return s, i, k


SHARED: list[Any] = [
    lambda: iter(np.array(FLOATS)),
    lambda: iter(list(FLOATS)),
    lambda: iter(tuple(FLOATS)),
    lambda: reversed(list(FLOATS)),
    lambda: reversed(tuple(FLOATS)),
    lambda: reversed(np.array(FLOATS)),
    lambda: iter(range(N)),
]
LIMITS = (1e9, 100.0, 20.0, -1.0)


@pytest.mark.parametrize("make", SHARED)
def test_iterators_stand_where_plain_python_leaves_them(make) -> None:
    """Behind a `break`, and at the end."""
    compiled = ufuse.compile(summed)
    for limit in LIMITS * 2:
        iterator, expected = make(), make()
        assert compiled(iterator, limit) == summed(expected, limit)
        assert list(iterator) == list(expected)
    assert sum(loop.turns for loop in loops_of(compiled)) > N


@pytest.mark.parametrize("make", SHARED)
def test_all_parts_of_an_iterator_move(make) -> None:
    """What is zipped and enumerated stands where plain Python leaves it, the count too."""
    compiled = ufuse.compile(summed_pairs)
    for limit in (limit * 50 for limit in LIMITS * 2):
        both = [(make(), iter(range(2 * N))) for _ in range(2)]
        pairs, expected = (enumerate(zip(*parts), 3) for parts in both)
        assert compiled(pairs, limit) == summed_pairs(expected, limit)
        assert next(pairs, None) == next(expected, None)
        assert [list(one) for one in both[0]] == [list(one) for one in both[1]]
    assert sum(loop.turns for loop in loops_of(compiled)) > N


# Lists that are not what they were -------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, N // 2, N - 1])
@pytest.mark.parametrize("odd", [7, True, 2**80, np.float64(0.25), None, "x"])
@pytest.mark.parametrize("way", [list, tuple, reversed])
def test_an_item_of_another_type_is_left_to_plain_python(place: int, odd: Any, way: Any) -> None:
    """It may be of another type, too large, or no number at all."""
    compiled = ufuse.compile(summed)
    for _ in range(3):
        compiled(way(list(FLOATS)), 1e9)
    items = list(FLOATS)
    items[place] = odd
    outcomes = []
    for function in (compiled, summed):
        iterator = iter(way(items))
        try:
            outcomes.append(repr(function(iterator, 1e9)))
        except TypeError as error:
            outcomes.append(str(error))
        outcomes.append(list(iterator))
    assert outcomes[:2] == outcomes[2:]


def last_of(items, n):
    s = 0
    for i in range(n):
        s += items[-1] + items[i % 3]
    return s


def test_lists_may_change_between_calls() -> None:
    """Their items are read anew."""
    compiled = ufuse.compile(last_of)
    items: list[Any] = [1, 2, 3, 4]
    for added in ([], [5], [6, 7]):
        items += added
        for _ in range(3):
            assert repr(compiled(items, N)) == repr(last_of(items, N))
    assert sum(loop.turns for loop in loops_of(compiled)) > N
    for added in ([0.5], [1]):
        items += added
        assert repr(compiled(items, N)) == repr(last_of(items, N))
    with pytest.raises(IndexError):
        compiled([1], N)


def test_a_list_that_its_own_loop_cannot_reach_is_as_long_as_it_was() -> None:
    """An append in a turn that is plain Python's is seen by the next ones."""

    def grown(items):
        s = 0
        for value in items:
            s += value
            if value == N - 7:
                items.extend(range(5))
        return s, len(items)

    assert ufuse.compile(grown)(list(range(N))) == grown(list(range(N)))


def test_zip_tells_of_unequal_lengths() -> None:
    """Plain Python takes the last items."""

    def product(x, items):
        s = 0.0
        for a, b in zip(x, items, strict=True):
            s += a * b
        return s

    compiled = ufuse.compile(product)
    x = np.array(FLOATS)
    for _ in range(3):
        assert compiled(x, list(FLOATS)) == product(x, list(FLOATS))
        with pytest.raises(ValueError, match="shorter"):
            compiled(x, FLOATS[:-1])
    assert sum(loop.turns for loop in loops_of(compiled)) > N


@pytest.mark.parametrize("measures", [False, True])
def test_what_a_loop_goes_over_may_die(measures: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a loop keeps its array alive, also where an error ended it."""
    monkeypatch.setattr(decorator, "MEASURING", measures)

    def indexed_by(x, k):
        s = 0.0
        for i, value in enumerate(x):
            s += value * x[i + k]
        return s

    compiled = ufuse.compile(indexed_by)
    for k in (0, 0, 1):
        x = np.array(FLOATS)
        alive = weakref.ref(x)
        with suppress(IndexError):
            compiled(x, k)
        del x
        assert alive() is None


def test_warnings_name_the_turn() -> None:
    """A division by zero in the middle of a list."""

    def inverses(x, items):
        s = 0.0
        for a, b in zip(x, items):
            s += a / b
        return s

    compiled = ufuse.compile(inverses)
    x, y = np.array(FLOATS), np.array(FLOATS)
    y[N // 2] = 0.0
    for _ in range(3):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            compiled(x, y)
        assert ["divide by zero" in str(one.message) for one in seen] == [True]
        with pytest.raises(ZeroDivisionError):
            compiled(FLOATS, y.tolist())


def pairs(items):
    it = iter(items)
    total = 0
    for a, b in zip(it, it):
        total += a * 3 - b
    return total


def pairs_counted(items):
    total, it = 0, iter(items)
    for i, (a, b) in enumerate(zip(it, it)):
        total += (a == b) + i
    return total


def of_two(a, b):
    total = 0
    for x, y in zip(a, b):
        total += x * 3 - y
    return total


@pytest.mark.parametrize(
    "items", [list(range(N)), range(N), bytes(range(200)) * 9, "ab" * N, np.arange(N)], ids=type
)
def test_one_iterator_twice_gives_items_in_turn(items: Any) -> None:
    """Such a loop is plain Python's, also where a nest was made for two iterators."""
    for function in (pairs, pairs_counted) if not isinstance(items, str) else (pairs_counted,):
        assert native_turns(function, lambda: (items,)) == 0
    if isinstance(items, str):
        return
    compiled = ufuse.compile(of_two)
    for _ in range(2):
        assert compiled(iter(items), iter(items)) == of_two(iter(items), iter(items))
    assert sum(one.turns for one in loops_of(compiled)) > 0
    one, other = iter(items), iter(items)
    assert compiled(one, one) == of_two(other, other)
