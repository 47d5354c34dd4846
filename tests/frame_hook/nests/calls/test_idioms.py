"""Functions that call a function for each item are native in whole calls: `map`, `filter`, `reduce`, `np.vectorize`."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, B905, C417, RUF007
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import called, check_kept, check_whole_call, hits

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.linspace(-1.0, 2.0, 40)
I = np.arange(-20, 20)  # noqa: E741  (whole numbers)
A = X.reshape(8, 5)


def scaled(value):
    if value > 0:
        return value * value + 1.0
    return -value


def difference(a, b):
    return a - b if a > b else a + b


def mapped(x):
    return np.array(list(map(scaled, x)))


def mapped_twice(x):
    s = 0.0
    for value in map(difference, x, x[1:]):
        s = s * 0.5 + value
    return s, sum(map(scaled, x)), max(map(abs, x))


def mapped_made(x, limit):
    return list(map(lambda value: value if value < limit else x[0], x))[3] + sum(map(math.floor, x))


def filtered(x):
    return np.array(list(filter(lambda value: value > 0.25, x)))


def accumulated(x):
    return np.array(list(accumulate(x, lambda a, b: 0.9 * a + b)))


def reduced(x):
    return reduce(lambda a, b: a * 0.5 + b, x)


def place_of_best(x):
    return max(range(len(x)), key=lambda i: x[i] * x[i]), min(x, key=lambda value: abs(value - 0.3))


def from_iter(x):
    return np.fromiter((scaled(value) for value in x), float), np.fromiter(
        map(scaled, x), dtype=float, count=len(x)
    )


def from_iter_short(x, count):
    return np.fromiter((value * 2 for value in x), float, count)


def from_list(x):
    s = 0.0
    for value in x.tolist():
        s += scaled(value)
    return s, np.array(x.tolist())


def slices(x):
    s = 0.0
    for a, b in zip(x[:-1], x[1:]):
        s += (b - a) ** 2
    for value in x[::-3]:
        s = s * 0.5 + value
    for value in x * 2 + 1:
        s -= value
    return s


def vectorized(x):
    return np.vectorize(scaled)(x)


def vectorized_typed(x):
    return np.vectorize(difference, otypes=[float])(x, 0.5)


def vectorized_lambda(x, limit):
    clip = np.vectorize(lambda value: min(limit, value))
    return clip(x) + clip(x * 2)


over = np.vectorize(difference)
typed = np.vectorize(scaled, otypes="d")
listed = np.vectorize(scaled, otypes=[np.float64])


@np.vectorize
def decorated(value):
    return math.sin(value) if value > 0 else 0.0


def outside(x):
    return over(x, x[::-1]), typed(x), listed(x), decorated(x)


def types_seen(x):
    """The first elements are NumPy's numbers, those of the results Python's."""
    return np.vectorize(_half)(x)


def _half(value):
    return value // 2 if isinstance(value, np.generic) else value // 2 + 0


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (X,)) for function in (
        mapped, mapped_twice, filtered, accumulated, reduced, place_of_best, from_iter, from_list, slices, vectorized,
        vectorized_typed, outside, types_seen,
    )),
    (mapped_made, (X, 0.5)), (from_iter_short, (X, 40)), (from_iter_short, (X, -1)), (vectorized_lambda, (X, 0.75)),
    (vectorized, (A,)), (vectorized, (A[::2, 1:3],)), (vectorized, (X.astype("f4"),)), (vectorized_typed, (A,)),
    (outside, (A,)), (types_seen, (I,)), (from_list, (I,)), (from_list, (X.astype("f4"),)), (slices, (I,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_results(number: int) -> None:
    """What a call gives is as in plain Python, and machine code does it."""
    check_whole_call(*PROGRAMS[number])


@pytest.mark.parametrize(
    "function",
    [
        mapped,
        filtered,
        accumulated,
        reduced,
        place_of_best,
        from_iter,
        slices,
        vectorized,
        vectorized_typed,
        outside,
    ],
)
@pytest.mark.parametrize("length", [0, 1, 2, 3000])
def test_lengths(function: Callable[..., Any], length: int) -> None:
    """Nothing at all, of which some raise; one item; many."""
    compiled = called(function, (X,))
    given = np.sin(np.arange(1.0, length + 1.0))
    for _ in range(2):
        check_kept(function, compiled, given)


def root(value):
    return math.sqrt(value)


def inverse(value):
    return 1.0 / value


@pytest.mark.parametrize("one", [root, inverse])
def test_errors_and_warnings_are_plain_pythons(one: Callable[..., Any]) -> None:
    """Of the first element, which is NumPy's number, and of others, which are Python's."""

    def all_of(x):
        return np.vectorize(one)(x)

    compiled = called(all_of, (X + 5.0,))
    assert hits(compiled)
    for place in (0, 7):
        for bad in (0.0, -1.0, math.nan):
            given = X + 5.0
            given[place] = bad
            check_kept(all_of, compiled, given)


def test_fromiter_of_nothing() -> None:
    """It has the stride of an element, where other arrays of no elements have none."""
    compiled = called(from_iter_short, (X, -1))
    assert hits(compiled)
    for _ in range(3):
        found, expected = compiled(X[:0], -1), from_iter_short(X[:0], -1)
        assert (found.strides, found.dtype) == (expected.strides, expected.dtype)


def test_counts_of_fromiter() -> None:
    """Too few items raise, more are not asked for."""
    compiled = called(from_iter_short, (X, 40))
    for count in (40, 39, 41, 0, 1, -1, -2):
        check_kept(from_iter_short, compiled, X, count)


def whole_or_not(value):
    return 1 if value > 0 else 0.5


def test_results_of_several_types() -> None:
    """The dtype is that of the first result; what another way would truncate is left to NumPy."""

    def all_of(x):
        return np.vectorize(whole_or_not)(x)

    compiled = called(all_of, (X,))
    for given in (X, -X, np.abs(X) + 1.0):
        check_kept(all_of, compiled, given)


def test_an_object_that_changes() -> None:
    """A function, a type or names that are excluded may be set later."""
    one = np.vectorize(scaled)

    def all_of(x):
        return one(x)

    compiled = ufuse.compile(all_of)
    for _ in range(6):
        compiled(X)
    assert hits(compiled)
    one.pyfunc = difference
    one.excluded = {1}
    with pytest.raises(TypeError):
        compiled(X)
    one.excluded = set()
    one.pyfunc = inverse
    check_kept(all_of, compiled, X + 5.0)
    one.otypes = "f"
    check_kept(all_of, compiled, X + 5.0)
    one.signature = "(n)->(n)"
    check_kept(all_of, compiled, X + 5.0)


@pytest.mark.parametrize(
    "response",
    [
        lambda v: v > 0.5,
        lambda v: v == v + 0,
        lambda v: max(v, 0.5),
        lambda v: v if v <= 2 else 0.0,
        lambda v: math.floor(v) if v < 10 else 1,
        lambda v: v * 2,
    ],
)
@pytest.mark.parametrize("place", [0, 3, None])
def test_numpy_warns_where_a_vectorized_function_compares_a_nan(response, place) -> None:
    """Python's comparison leaves a flag, which the ufunc around it finds."""
    x = np.linspace(0.1, 3.0, 12)
    if place is not None:
        x[place] = np.nan

    def each(x):
        return np.vectorize(response)(x)

    check_kept(each, called(each, (X,)), x)


NAN = math.nan


def test_one_that_compares_with_a_nan_is_left_to_numpy() -> None:
    """It warns of each call."""

    def each(x):
        return np.vectorize(lambda v: v > NAN)(x)

    compiled = ufuse.compile(each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(6):
            compiled(X)
    check_kept(each, compiled, X)
