"""Generator expressions and calls that go over several axes, in whole calls."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B905
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import called, check_kept, check_whole_call

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

A = np.random.default_rng(7).normal(size=(7, 9))
X = A[0].copy()
LISTED = X.tolist()


def of_ranges(a):
    n, m = a.shape
    return sum(a[i, j] * i for i, j in itertools.product(range(n), range(m)) if i != j)


def of_places(a):
    return any(a[place] > 10 for place in np.ndindex(a.shape)), all(
        a[i, j] < 9 for i, j in np.ndindex(*a.shape)
    )


def of_elements(a):
    return max(v * v for v in a.flat if v > 0), min(v * (i - j) for (i, j), v in np.ndenumerate(a))


def of_all(a):
    return (
        sum(a.flat),
        max(a.flat),
        min(a.flat),
        any(a.flat),
        all(a.flat),
        math.prod(v for v in a.flat),
    )


def of_views(a):
    return (
        sum(v for v in a[1:, :3].flat),
        max((a * 2).flat),
        min(a.T.flat),
        sum(v * i for (i, _), v in np.ndenumerate(a[::-1, ::2])),
        sum(u * v for u, v in zip(a.flat, a.T.flat)),
        a.size + a[1:].T.size,
    )


def into_arrays(a):
    return (
        np.array([a[i, j] * i for i, j in np.ndindex(a.shape)]),
        np.fromiter((v * 2 for v in a.flat), float),
        np.array(list(a.flat)),
        np.array([i * v for (i, _), v in np.ndenumerate(a) if v > 0]),
    )


def in_a_loop(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = sum(a[(i + p) % 7, q] for p, q in itertools.product((-1, 0, 1), range(3)))
        out[i] -= max(v * i for v in a[i:].flat)
    return out


def of_vectors(x):
    return sum(p * q for p, q in itertools.product(x, x)), max(
        abs(p - q) for p, q in itertools.product(x[1:], range(3))
    )


def of_rows(a):
    return sum(p * q for p, q in itertools.product(a[0], a[1] * 2))


def of_lists(values):
    return max(p - q for p, q in itertools.product(values, repeat=2)), sum(
        p * i for i, p in itertools.product((1, 2, 5), values)
    )


def of_tuples():
    s = 0.0
    for i, x, k in itertools.product(range(7), (0.5, 1.5), (1, 2, 3)):
        s += i * x - k
    return s + sum(1 for i, x in itertools.product((1, 2), (0.25, 0.75)) if i * x > 0.6)


def changed_meanwhile(x):
    """The product has its items since it was made."""
    s = 0.0
    for p, q in itertools.product(x, range(2)):
        x[-1] += 1.0
        s = s * 0.5 + p * q
    return s, x


def read_meanwhile(a):
    """Elements are read when their turn comes."""
    s = 0.0
    for v in a[1:].flat:
        a[-1, -1] += 1.0
        s = s * 0.5 + v
    return s, a


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (A,)) for function in (
        of_ranges, of_places, of_elements, of_all, of_views, into_arrays, in_a_loop, of_rows, read_meanwhile,
    )),
    *((function, (X,)) for function in (of_vectors, changed_meanwhile)),
    (of_lists, (LISTED,)), (of_tuples, ()), (of_all, (A > 0,)), (of_all, (np.arange(12).reshape(3, 4),)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_results(number: int) -> None:
    """What a call gives is as in plain Python, and machine code does it."""
    check_whole_call(*PROGRAMS[number])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (2, 5)])
@pytest.mark.parametrize("function", [of_ranges, of_places, of_elements, of_all, of_views])
def test_other_shapes(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """Of nothing there is no largest element."""
    compiled = called(function, (A,))
    given = np.arange(math.prod(shape)).reshape(shape) - 2.5
    for _ in range(2):
        check_kept(function, compiled, given)
        check_kept(function, compiled, A)


def test_a_product_of_other_items() -> None:
    """Lists that are empty, of other types or of several."""
    compiled = called(of_lists, (LISTED,))
    for given in ([], [1, 2], [1, 2.5], [True], LISTED, [2**70, 1], [None]):
        for _ in range(2):
            check_kept(of_lists, compiled, given)
