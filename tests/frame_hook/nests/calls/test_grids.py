"""Loops over several axes: `itertools.product`, `np.ndindex`, `X.flat`, `np.ndenumerate`."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, B905
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns, no_failures_inside
from tests.support.nests.reference_nests import on_the_reference
from ufuse.frame_hook.nests.entries import whole

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 40  # of each of two axes
RNG = np.random.default_rng(17)
MATRIX = RNG.random((N, N))
CUBE = RNG.random((12, 11, 13))


# The outermost loop -----------------------------------------------------------------------------------------------


def of_ranges(x):
    out = np.zeros(x.shape)
    for i, j in itertools.product(range(x.shape[0]), range(x.shape[1])):
        out[i, j] = x[i, j] * i - j
    return out, i, j


def with_steps(x):
    s = 0.0
    for i, j in itertools.product(range(1, len(x), 2), range(len(x) - 1, -1, -1)):
        s = s * 0.5 + x[i, j] * (i - j)
    return s, i, j


def repeated(x):
    s = 0.0
    for a, b, c in itertools.product(range(len(x)), repeat=3):
        s = s * 0.5 + x[a, b] - x[b, c]
    return s, a, b, c


def of_pools(*pools: Any):
    s = 0.0
    for place in itertools.product(*pools):
        s = s * 0.5 + place[0] - place[-1]
    return s, place


def of_one(pool):
    s = 0
    for (value,) in itertools.product(pool):
        s = s // 2 + value
    return s, value


def indexed(x):
    out = np.zeros(x.shape)
    for i, j in np.ndindex(x.shape):
        out[i, j] = x[i, j] * i + j
    return out


def indexed_by_tuples(x):
    out = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        out[place] = x[place] * 2
    return out, place


def flat(x):
    s = 0.0
    for value in x.flat:
        s = s * 0.5 + value
    return s, value


def counted(x):
    s = 0.0
    for i, value in enumerate(x.flat, 3):
        s = s * 0.5 + value * i
    return s, i, value


def beside_places(x):
    s = 0.0
    for value, (i, j), k in zip(x.flat, np.ndindex(x.shape), range(3, 3 + x.size)):
        s = s * 0.5 + value * i - j * k
    return s, i, j, value, k


def both_flat(x, y):
    s = 0.0
    for a, b in zip(x.flat, y.flat):
        s = s * 0.5 + a * b
    return s, a, b


def enumerated(x):
    s = 0.0
    for (i, j), value in np.ndenumerate(x):
        s = s * 0.5 + value * (i - j)
    return s, i, j, value


def enumerated_in_place(x):
    for place, value in np.ndenumerate(x):
        x[place] = value * 0.5 + x[-1, -1]
    return x, place


def listed(x):
    return [i * 2 + j * value for (i, j), value in np.ndenumerate(x) if value > 0.3]


CASES: list[tuple[Any, Any]] = [
    (of_ranges, lambda: (MATRIX,)),
    (of_ranges, lambda: (MATRIX.T[::-1],)),
    (with_steps, lambda: (MATRIX,)),
    (repeated, lambda: (MATRIX[:15, :15],)),
    (of_pools, lambda: (range(N), list(range(N)))),
    (of_pools, lambda: ([0.5, 1.5] * 20, tuple(range(N)))),
    (of_pools, lambda: (np.arange(N, dtype="i2"), MATRIX[0], [True, False])),
    (of_pools, lambda: (range(6), range(7), range(8), range(9))),
    (of_one, lambda: (range(N * N),)),
    (indexed, lambda: (MATRIX,)),
    (indexed_by_tuples, lambda: (MATRIX,)),
    (indexed_by_tuples, lambda: (CUBE,)),
    (indexed_by_tuples, lambda: (CUBE.ravel(),)),
    (flat, lambda: (MATRIX,)),
    (flat, lambda: (np.asfortranarray(MATRIX),)),
    (flat, lambda: (MATRIX[::-1, 1::2],)),
    (flat, lambda: (MATRIX.ravel(),)),
    (flat, lambda: (MATRIX.ravel()[::-2],)),
    (flat, lambda: (CUBE,)),
    (flat, lambda: (CUBE.transpose(2, 0, 1),)),
    (flat, lambda: (CUBE[::-2, :, 3::2],)),
    (flat, lambda: (np.broadcast_to(MATRIX[0], (N, N)),)),
    (flat, lambda: (np.arange(N * N).reshape(N, 1, N),)),
    (flat, lambda: (MATRIX.astype("f4"),)),
    (flat, lambda: (MATRIX > 0.5,)),
    (flat, lambda: (MATRIX + 1j * MATRIX.T,)),
    (counted, lambda: (CUBE,)),
    (beside_places, lambda: (MATRIX,)),
    (both_flat, lambda: (MATRIX, MATRIX.T)),
    (both_flat, lambda: (MATRIX, CUBE)),
    (enumerated, lambda: (MATRIX,)),
    (enumerated, lambda: (MATRIX[1:, ::-2],)),
    (enumerated_in_place, lambda: (MATRIX.copy(),)),
    (enumerated_in_place, lambda: (np.asfortranarray(MATRIX),)),
    (listed, lambda: (MATRIX,)),
]


@pytest.mark.parametrize(("function", "make"), CASES)
def test_programs_are_native_and_the_same(function, make, monkeypatch) -> None:
    """Results, types, memory and variables."""
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)  # whose turns are not counted
    assert native_turns(function, make, atoms=False) > N


@pytest.mark.parametrize(("function", "make"), CASES)
def test_the_reference_does_the_same(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does."""
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "MATRIX", MATRIX[:7, :7])
    monkeypatch.setitem(globals(), "CUBE", CUBE[:5, :4, :5])
    monkeypatch.setitem(globals(), "N", 7)
    check_same(function, ufuse.compile(function), lambda: arguments(*make()), atoms=False)
    assert sum(one.turns for one in made) > 20


# Iterators that others see ----------------------------------------------------------------------------------------


def summed(places, limit):
    s = 0
    for i, j in places:
        s += i * 3 - j
        if s > limit:
            break
    return s


def summed_flat(values, limit):
    s = 0.0
    for value in values:
        s += value
        if s > limit:
            break
    return s


def summed_both(pairs, limit):
    s = 0.0
    for (i, j), value in pairs:
        s += value * i - j
        if s > limit:
            break
    return s


def rest_of(iterator: Any) -> list[Any]:
    """What an iterator says of itself, and what it still gives."""
    of_array = getattr(iterator, "iter", iterator)
    says = [of_array.index, of_array.coords] if isinstance(of_array, np.flatiter) else []
    return [*says, next(iterator, None), *says, list(iterator)]


WAYS: list[tuple[Any, Any]] = [
    (summed, lambda: itertools.product(range(N), range(N))),
    (summed, lambda: itertools.product([3, 1, 1, 2] * 10, range(N))),
    (summed, lambda: itertools.product(range(-N, N), repeat=2)),
    (summed, lambda: np.ndindex(N, N)),
    (summed_flat, lambda: MATRIX.flat),
    (summed_flat, lambda: MATRIX.T.flat),
    (summed_flat, lambda: MATRIX.ravel()[::-1].flat),
    (summed_flat, lambda: CUBE.flat),
    (summed_flat, lambda: CUBE.T[:, ::-1].flat),
    (summed_both, lambda: np.ndenumerate(MATRIX)),
    (summed_both, lambda: np.ndenumerate(MATRIX[::2].T)),
]
LIMITS = (10**9, 500, 100, 10, -1)


@pytest.mark.parametrize(("function", "make"), WAYS)
def test_iterators_stand_where_plain_python_leaves_them(function, make) -> None:
    """Behind a `break` and at the end, also where some turns were done before."""
    compiled = ufuse.compile(function)
    with no_failures_inside():
        for limit, before in [(one, before) for one in LIMITS for before in (0, 1, N, N + 1)] * 2:
            iterator, expected = make(), make()
            for one in (iterator, expected):
                list(itertools.islice(one, before))
            assert repr(compiled(iterator, limit)) == repr(function(expected, limit))
            assert repr(rest_of(iterator)) == repr(rest_of(expected))
            assert compiled(iterator, limit) == 0
    assert sum(loop.turns for loop in loops_of(compiled)) > N * N


def test_a_kept_tuple_stays_what_it_is() -> None:
    """A product changes its tuple in place where nobody else has it."""

    def until(places, limit):
        s, kept = 0, []
        for place in places:
            s += place[0] - place[1]
            if s < limit:
                kept.append(place)
        return s, kept, place

    compiled = ufuse.compile(until)
    for limit in (0, -5, 10**6) * 2:
        iterator, expected = (itertools.product(range(N), repeat=2) for _ in range(2))
        first, other = next(iterator), next(expected)
        found = compiled(iterator, limit)
        assert found == until(expected, limit)
        assert first == other == (0, 0)
        assert len({id(one) for one in found[1]}) == len(found[1])
    assert sum(loop.turns for loop in loops_of(compiled)) > N * N


@pytest.mark.parametrize(
    "make", [lambda: np.ndindex(N, N), lambda: itertools.product(range(N), range(N))]
)
def test_others_go_on_from_there(make) -> None:
    """A loop that is left and begun again, and one whose iterator has two names."""

    def in_parts(it, step):
        other, found = it, []
        for _ in range(6):
            s = 0
            for i, j in it:
                s += i + j
                if s > step:
                    break
            found.append((s, next(other, None)))
        return found, list(it)

    compiled = ufuse.compile(in_parts)
    for step in (10, 1000, 3000) * 2:
        assert compiled(make(), step) == in_parts(make(), step)


# What is odd ------------------------------------------------------------------------------------------------------


def inverses(x):
    s = 0.0
    for i, j in np.ndindex(x.shape):
        s += 1.0 / x[i, j]
    return s


def python_inverses(places, k):
    s = 0.0
    for i, j in places:
        s += 1.0 / (i * j - k)
    return s


def test_warnings_and_errors_are_those_of_their_turns() -> None:
    """A division by zero in the middle; the iterator stands behind the turn that failed."""
    compiled = ufuse.compile(inverses)
    x = MATRIX + 1.0
    x[N // 2, 3] = 0.0
    for _ in range(3):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert compiled(x) == math.inf
        assert ["divide by zero" in str(one.message) for one in seen] == [True]
    failing = ufuse.compile(python_inverses)
    for k in (-1, 77, 39 * 39, 78) * 2:
        both = itertools.product(range(N), repeat=2), itertools.product(range(N), repeat=2)
        outcomes = []
        for function, places in zip((failing, python_inverses), both):
            try:
                outcomes.append(function(places, k))
            except ZeroDivisionError as error:
                outcomes.append(str(error))
            outcomes.append(list(places))
        assert outcomes[:2] == outcomes[2:]


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (indexed, lambda: (np.zeros((0, 3)),)),
        (indexed, lambda: (np.zeros((3, 0)),)),
        (indexed_by_tuples, lambda: (np.ones((1, 1)),)),
        (flat, lambda: (np.zeros((3, 0)),)),
        (flat, lambda: (np.ones((1, 1)),)),
        (flat, lambda: (np.array(3.0),)),
        (enumerated, lambda: (np.ones((1, 2)),)),
        (of_pools, lambda: ((), range(N))),
        (of_pools, lambda: (range(N), ())),
        (of_pools, lambda: ((5,), (6,))),
        (of_pools, lambda: ()),
        (of_pools, lambda: ([1, 2.5, True] * 9, range(N))),
        (of_pools, lambda: (range(N), [1] * 30 + [2**70])),
        (of_pools, lambda: (range(N), [1] * 30 + [None])),
    ],
)
def test_few_turns_and_other_items(function, make) -> None:
    """No turn, one, or items of several types."""
    with no_failures_inside():
        check_same(function, ufuse.compile(function), lambda: arguments(*make()), atoms=False)
        compiled = ufuse.compile(function)
        for _ in range(2):
            wide = (range(N),) * 2 if function is of_pools else (MATRIX,)
            assert repr(compiled(*wide)) == repr(function(*wide))
        check_same(function, compiled, lambda: arguments(*make()), atoms=False)


class Index(np.ndindex):
    """One of the program's own."""

    def __next__(self) -> tuple[int, ...]:
        return tuple(one + 1 for one in super().__next__())


class Array(np.ndarray):
    """The same."""


def test_what_is_not_numpys_is_plain_pythons() -> None:
    """A subclass; an instance that goes over something else; arrays of a subclass, or reshaped meanwhile."""
    compiled, plain = ufuse.compile(summed), summed
    for _ in range(2):
        assert compiled(np.ndindex(N, N), 10**9) == plain(np.ndindex(N, N), 10**9)
        assert compiled(Index(N, N), 10**9) == plain(Index(N, N), 10**9)
        changed = [np.ndindex(N, N) for _ in range(2)]
        for one in changed:
            one._iter = iter([(1, 2), (3, 4)])  # type: ignore[attr-defined]
        assert compiled(changed[0], 10**9) == plain(changed[1], 10**9)
    compiled = ufuse.compile(summed_flat)
    for _ in range(2):
        assert compiled(MATRIX.flat, 1e9) == summed_flat(MATRIX.flat, 1e9)
        assert compiled(MATRIX.view(Array).flat, 1e9) == summed_flat(MATRIX.flat, 1e9)
        arrays = [MATRIX[:, ::2].copy() for _ in range(2)]
        found = []
        for function, x in zip((compiled, summed_flat), arrays):
            values = x.T.flat
            next(values)
            found += [function(values, 3.0), list(values)]
        assert found[:2] == found[2:]


def test_a_replaced_method_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program gives `np.ndindex` a `__next__` of its own, also one of another code."""
    compiled = ufuse.compile(summed)
    for _ in range(2):
        assert compiled(np.ndindex(N, N), 10**9) == summed(np.ndindex(N, N), 10**9)
    assert sum(loop.turns for loop in loops_of(compiled)) > N

    def reversed_next(self):
        return next(self._iter)[::-1]

    own = np.ndindex.__next__
    for name, target, value in (
        ("__next__", np.ndindex, reversed_next),
        ("__code__", own, reversed_next.__code__),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(target, name, value)
            assert compiled(np.ndindex(N, 3), 10**9) == summed(np.ndindex(N, 3), 10**9)
            assert compiled(np.ndindex(N, 3), 10**9) != summed(
                itertools.product(range(N), range(3)), 10**9
            )


def test_one_iterator_twice_is_plain_pythons() -> None:
    """It gives items in turn."""

    def in_pairs(a, b):
        s = 0
        for (i, j), (k, m) in zip(a, b):
            s += i * m - j * k * 3
        return s

    compiled = ufuse.compile(in_pairs)
    for make in (lambda: np.ndindex(N, N), lambda: itertools.product(range(N), range(N))):
        for _ in range(2):
            assert compiled(make(), make()) == in_pairs(make(), make())
        one, other = make(), make()
        assert compiled(one, one) == in_pairs(other, other)


# Inner loops ------------------------------------------------------------------------------------------------------


def inner_products(x, n):
    s = 0.0
    for t in range(n):
        for i, j in itertools.product(range(len(x)), range(t % 5)):
            s = s * 0.5 + x[i, j]
        for i, j, k in itertools.product(range(3, 9, 2), range(8, t % 7, -2), range(3)):
            s += i * j - k
    return s


def neighbours(x):
    out = np.zeros(x.shape)
    for i in range(1, len(x) - 1):
        for j in range(1, len(x) - 1):
            for a, b in itertools.product((-1, 0, 1), repeat=2):
                out[i, j] += x[i + a, j + b] * (2 - a * b)
    return out


def inner_indexes(x, n):
    s = 0.0
    for t in range(n):
        for place in np.ndindex(x.shape):
            s = s * 0.5 + x[place] * t
        for i, j in np.ndindex(3, t % 4):
            s += x[i, j]
        for (i,) in np.ndindex(t % 6):
            s -= i
    return s


def spread(a, b=0):
    return a * 2 - b


def with_stars(x, n):
    s = 0.0
    for t in range(n):
        for place in np.ndindex(*x.shape):
            s = s * 0.5 + x[place] * spread(*place)
        pair = t, n
        s += spread(*pair) - spread(*(t,))
    return s


def inner_flat(x, n):
    s = 0.0
    for t in range(n):
        for value in x.flat:
            s = s * 0.5 + value * t
        for k, value in enumerate(x[t].flat):
            x[t, k] = value * 0.25 + s
        for (i, j), value in np.ndenumerate(x):
            if value > 0.75:
                s += i - j
                break
    return s, x


def inner_tuples(weights, n):
    s = 0.0
    for t in range(n):
        for a, b in itertools.product(weights, range(t % 4)):
            s = s * 0.5 + a * b
    return s


def too_long(x, n):
    s = 0.0
    for t in range(n):
        for i, j in np.ndindex(3, n - t - 3):
            s += x[i, j]
    return s


def over_generated(x, n):
    s = 0.0
    for t in range(n):
        s += sum(x[i, j] * t for i, j in itertools.product(range(4), range(5)))
        s += max(v for v in x.flat)
    return s


INNER: list[tuple[Any, Any]] = [
    (inner_products, lambda: (MATRIX, 60)),
    (neighbours, lambda: (MATRIX,)),
    (inner_indexes, lambda: (MATRIX, 30)),
    (inner_indexes, lambda: (MATRIX[::-1, ::2].T, 30)),
    (with_stars, lambda: (MATRIX, 30)),
    (inner_flat, lambda: (MATRIX.copy(), 30)),
    (inner_flat, lambda: (np.asfortranarray(MATRIX), 30)),
    (inner_tuples, lambda: (tuple(MATRIX[0].tolist()), 60)),
    (over_generated, lambda: (MATRIX, 60)),
]


@pytest.mark.parametrize(("function", "make"), INNER)
def test_inner_loops_are_native_and_the_same(function, make, monkeypatch) -> None:
    """They are part of the nest around them."""
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)  # whose turns are not counted
    assert native_turns(function, make, atoms=False) >= 20


@pytest.mark.parametrize(("function", "make"), INNER)
def test_inner_loops_on_the_reference(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does."""
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "MATRIX", MATRIX[:9, :9])

    def few():
        first, *others = make()
        return (first, *(9 for _ in others))

    check_same(function, ufuse.compile(function), lambda: arguments(*few()), atoms=False)
    assert sum(one.turns for one in made) > 5


def test_a_negative_length_is_an_error() -> None:
    """Of an inner np.ndindex, in the turn that makes it."""
    compiled = ufuse.compile(too_long)
    for _ in range(3):
        for function in (compiled, too_long):
            with pytest.raises(ValueError, match="negative dimensions"):
                function(MATRIX, 30)
