"""`itertools.pairwise` in generators, comprehensions and inner loops of whole calls."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import called, check_kept, check_whole_call

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

A = np.random.default_rng(7).normal(size=(7, 9))
X = A[0].copy()
LISTED = X.tolist()


def of_elements(x):
    return sum((b - a) ** 2 for a, b in pairwise(x)), np.array([b - a for a, b in pairwise(x)])


def given_back(x):
    return [b - a for a, b in pairwise(x)]


def of_a_list(values):
    return max(abs(b - a) for a, b in pairwise(values)), all(a < b for a, b in pairwise(values))


def of_a_range(x):
    return sum(1 for i, j in pairwise(range(len(x))) if x[i] < x[j])


def of_rows(a):
    return np.array([np.abs(v - u).max() for u, v in pairwise(a)]), sum(
        v - u for row in a for u, v in pairwise(row)
    )


def of_made_lists(x):
    return sum(a * b for a, b in pairwise([v * 2 for v in x])), len(
        [1 for _ in pairwise(x.tolist())]
    )


def changed_meanwhile(x):
    """The item of the turn before is what it was then."""
    s = 0.0
    for i, (a, b) in enumerate(pairwise(x)):
        x[i + 1] += 1.0
        s = s * 0.5 + a * b
    return s, x, len([1 for _ in range(3)])


def of_pairs(x):
    return sum((c - b) * (b - a) for (a, b), (_, c) in pairwise(pairwise(x))), sum(
        c - a for (_, a), (_, c) in pairwise(enumerate(x))
    )


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (X,)) for function in (
        of_elements, given_back, of_a_range, of_made_lists, changed_meanwhile, of_pairs,
    )),
    (of_a_list, (LISTED,)), (of_rows, (A,)), (of_elements, (X[::-2],)), (given_back, (np.arange(9),)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_results(number: int) -> None:
    """What a call gives is as in plain Python, and machine code does it."""
    check_whole_call(*PROGRAMS[number])


@pytest.mark.parametrize("length", [0, 1, 2, 3, 50])
@pytest.mark.parametrize(
    "function", [of_elements, given_back, of_a_range, of_made_lists, changed_meanwhile, of_pairs]
)
def test_lengths(function: Callable[..., Any], length: int) -> None:
    """Of one item there is no pair, and of none."""
    compiled = called(function, (X,))
    for _ in range(2):
        check_kept(function, compiled, np.sin(np.arange(1.0, length + 1.0)))
