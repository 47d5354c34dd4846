"""Lists of numbers that a loop appends to, reads, and stores into."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns
from tests.support.nests.reference_nests import on_the_reference
from ufuse import decorator

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000  # turns: more than a trace unrolls
RNG = np.random.default_rng(12)
FLOATS = RNG.random(N).tolist()
INTS = RNG.integers(0, 3, N)


def doubled(x):
    out = []
    for value in x:
        out.append(value * 2)
    return out


def spikes(x):
    v, times, trace = 0.0, [], np.zeros(len(x))
    for t in range(len(x)):
        v += 0.1 * (x[t] * 3 - v)
        if v >= 1.0:
            times.append(t)
            v = 0.0
        trace[t] = v
    return times, trace


def epidemic(n):
    s, i, r, out = 0.99, 0.01, 0.0, []
    for k in range(n):
        new, recovered = 0.3 * s * i, 0.1 * i
        s, i, r = s - new, i + new - recovered, r + recovered
        out.append((s, i, k, i > 0.2))
    return out


def smoothed(x, a):
    out = [x[0]]
    for value in x:
        out.append(a * value + (1 - a) * out[-1])
    return out


def runs(x):
    values, counts, current, n = [], [], x[0], 1
    for value in x[1:]:
        if value == current:
            n += 1
        else:
            values.append(current)
            counts.append(n)
            current, n = value, 1
    return values, counts, current, n


def means(x, w):
    out = []
    for i in range(len(x) - w + 1):
        out.append(x[i : i + w].mean())
    return out


def looked_back(n):
    out = []
    for i in range(n):
        if not out or out[-1] < i * 0.5:
            out.append(i * 1.0)
        if len(out) > 5 and i % 3:
            out.append(out[len(out) // 2] - 1)
    return out


def truths(x):
    out = []
    for value in x:
        out.append(value > 0.5)
    return out


def rows(n):
    """The outermost loop has no nest; the inner one has."""
    out = []
    for i in range(n // 40):
        row = []
        for j in range(40):
            row.append(i * j)
        out.append(row)
    return out


def helped(n):
    out = []
    for i in range(n):
        keep(out, i)
    return out


def keep(out, i):
    if i % 3 == 0:
        out.append(i // 3)


def sieve(n):
    is_prime = [True] * n
    for i in range(2, n):
        if is_prime[i]:
            for j in range(i * i, n, i):
                is_prime[j] = False
    return is_prime


def table(n):
    best = [0] * n
    best[1] = 1
    for i in range(2, n):
        best[i] = (best[i - 1] + best[i - 2]) % 1000007
    return best


def stored_reals(n):
    a = [0.5] * 50
    for i in range(n):
        a[i % 50] = a[i % 7] * 0.5 + a[-1]
    return a


CASES: list[tuple[Any, Any]] = [
    (doubled, lambda: (np.array(FLOATS),)),
    (doubled, lambda: (list(FLOATS),)),
    (doubled, lambda: (np.arange(N),)),
    (doubled, lambda: (np.arange(N, dtype="i2") % 50,)),
    (doubled, lambda: (np.array(FLOATS, "f4"),)),
    (doubled, lambda: (list(range(N)),)),
    (truths, lambda: (np.array(FLOATS),)),
    (truths, lambda: (list(FLOATS),)),
    (spikes, lambda: (np.array(FLOATS),)),
    (epidemic, lambda: (N,)),
    (smoothed, lambda: (list(FLOATS), 0.1)),
    (smoothed, lambda: (np.array(FLOATS), 0.1)),
    (runs, lambda: (INTS,)),
    (means, lambda: (np.array(FLOATS), 8)),
    (looked_back, lambda: (N,)),
    (rows, lambda: (4 * N,)),
    (helped, lambda: (N,)),
    (sieve, lambda: (N,)),
    (table, lambda: (N,)),
    (stored_reals, lambda: (N,)),
]


@pytest.mark.parametrize(("function", "make"), CASES)
def test_programs_are_native_and_the_same(function, make) -> None:
    """Items, their types, and the lists' order."""
    assert native_turns(function, make, atoms=False) > N


@pytest.mark.parametrize(("function", "make"), CASES)
def test_the_reference_does_the_same(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does; and nests with lists keep the laws, and read back."""
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "N", 60)
    for name in ("FLOATS", "INTS"):
        monkeypatch.setitem(globals(), name, globals()[name][:60])
    check_same(function, ufuse.compile(function), lambda: arguments(*make()), atoms=False)
    assert sum(one.turns for one in made) > 40


# Turns that plain Python does ------------------------------------------------------------------------------------


def inverses(items, out, other):
    for i in range(len(items)):
        other[i % 5] = i
        out.append(1 / items[i])
    return out


@pytest.mark.parametrize("place", [0, 1, N // 2, N - 1])
def test_an_error_shows_what_was_appended_before(place: int) -> None:
    """Nothing of the turn that failed, and everything before."""
    compiled = ufuse.compile(inverses)
    for _ in range(3):
        compiled([0.5] * N, [], [0] * 5)
    items = [0.5] * N
    items[place] = 0.0
    kept, expected = [([], [0] * 5) for _ in range(2)]
    for function, (out, other) in ((compiled, kept), (inverses, expected)):
        with pytest.raises(ZeroDivisionError):
            function(items, out, other)
    assert kept == expected
    assert sum(loop.turns for loop in loops_of(compiled)) > N


def last_but(n, k):
    out = [1, 2, 3]
    for i in range(n):
        out.append(out[-k] + i)
    return out


def test_an_index_out_of_range_raises() -> None:
    """As plain Python does, in the turn where it is."""
    compiled = ufuse.compile(last_but)
    for _ in range(3):
        assert compiled(N, 3) == last_but(N, 3)
    with pytest.raises(IndexError):
        compiled(N, 4)


def powers(n, factor):
    out, x = [0], 1
    for i in range(n):
        x = x * factor if i % 70 else 1
        out.append(x)
    return out


def test_ints_beyond_64_bits_are_exact() -> None:
    """The turns are plain Python's."""
    compiled = ufuse.compile(powers)
    for factor in (1, 1, 1, 2):
        assert compiled(N, factor) == powers(N, factor)


# Lists that are known otherwise ----------------------------------------------------------------------------------


def both(a, b, n):
    for i in range(n):
        a.append(i)
        b.append(-i)
    return a


def test_two_names_of_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is appended to both comes in turns."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(both)
    for _ in range(3):
        compiled([], [], N)
    assert sum(loop.turns for loop in loops_of(compiled)) > N
    for _ in range(4):
        assert compiled([], [], N) == both([], [], N)
        one: list[int] = []
        other: list[int] = []
        assert compiled(one, one, N) == both(other, other, N)


def fed(items, limit):
    total = 0
    for value in items:
        total += value
        if len(items) < limit:
            items.append(value + 1)
    return total, items


def changed_under_way(items):
    for i, value in enumerate(items):
        items[(i + 1) % len(items)] = value + 1
    return items


def inner(items, n):
    total = 0
    for _ in range(n):
        items.append(1)
        for value in items:
            total += value
    return total


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (fed, lambda: ([1, 2, 3], N)),
        (changed_under_way, lambda: (list(range(N)),)),
        (inner, lambda: ([], 300)),
    ],
)
def test_a_list_that_is_gone_over_may_change(function, make) -> None:
    """Iterators find what is new."""
    native_turns(function, make, atoms=False)


def gathered(out, x):
    for value in x:
        out.append(value)
    return out


@pytest.mark.parametrize("before", [[], [1], [None, "x"], [0.5, 1], [[]], [2**80]])
def test_other_items_stay(before: list[Any]) -> None:
    """What is only appended to may hold anything."""
    compiled = ufuse.compile(gathered)
    for _ in range(3):
        found = compiled(list(before), FLOATS)
        assert found == before + FLOATS
        assert [*map(id, found[: len(before)])] == [*map(id, before)]
    assert sum(loop.turns for loop in loops_of(compiled)) > N


class Listed(list):  # type: ignore[type-arg]
    """No list of Python's own."""

    def append(self, item: Any) -> None:
        """Twice."""
        super().append(item)
        super().append(item)


def test_a_subclass_has_its_own_append() -> None:
    """Its method is called."""
    compiled = ufuse.compile(gathered)
    for _ in range(3):
        assert compiled([], FLOATS) == FLOATS
    assert len(compiled(Listed(), FLOATS)) == 2 * N


def test_types_of_stored_items_are_kept() -> None:
    """A list of others than before is read, or left to plain Python."""

    def put(a, value, n):
        for i in range(n):
            a[i % 10] = value
        return a

    compiled = ufuse.compile(put)
    for items, value in [
        ([1], 2),
        ([1], 2),
        ([1], 0.5),
        ([1.0], 2),
        ([True], 1),
        ([0.5, 1], 2),
    ] * 2:
        assert repr(compiled(items * 10, value, N)) == repr(put(items * 10, value, N))
    with pytest.raises(TypeError):
        compiled(tuple(range(10)), 1, N)


def test_items_that_stay_are_the_same_objects() -> None:
    """Only what has changed is made anew."""

    def put(a, n):
        for i in range(n):
            a[i % 3] = i + 0.5
        return a

    compiled = ufuse.compile(put)
    items = [float(i) + 1e9 for i in range(50)]
    for _ in range(3):
        assert [*map(id, compiled(list(items), N)[3:])] == [*map(id, items[3:])]


def test_nothing_is_left_or_lost() -> None:
    """Of the memory of what is appended and replaced; a thread that makes better code meanwhile is done at some time."""
    compiled = ufuse.compile(inverses)

    def left_by(calls: int) -> int:
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(calls):
            compiled([0.5] * N, [], [0] * 5)
        return len(gc.get_objects()) - before

    left_by(5)
    assert min(left_by(20) for _ in range(3)) < 20
    assert gc.isenabled()


# Slices ----------------------------------------------------------------------------------------------------------


def differences(x, steps):
    total = 0.0
    for k in range(steps):
        for one in x[k % 5 : -1]:
            total += one
        for one, other in zip(x[:-1], x[1:]):  # noqa: B905, RUF007 - as people write it
            total -= one * other
        for i, one in enumerate(reversed(x[-k:k])):
            total += i * one
    return total


def of_rows(table, steps):
    total = 0
    for k in range(steps):
        for row in table[k % 4 :]:
            total += row[0]
            row[1] += k
    return total, table


def itself(x, steps):
    for k in range(steps):
        for one in x[1:]:
            x[k % 4] += one % 7
    return x


def test_slices_are_gone_over() -> None:
    """Of lists of numbers, and of rows; what changes while a slice of it is gone over is plain Python's."""
    for count in (6, 1):
        numbers = [0.5 * i - 1 for i in range(count)]
        assert native_turns(differences, lambda numbers=numbers: (numbers, 3000)) > 2000
    native_turns(differences, lambda: ([], 3000))
    assert native_turns(of_rows, lambda: ([[1, 2], [3, 4], [5, 6]], 90000), atoms=False) > 2000
    native_turns(itself, lambda: ([1, 2, 3, 4], 3000), atoms=False)
