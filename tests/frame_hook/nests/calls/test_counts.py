"""Binomial and Poisson numbers, in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

KINDS = [np.random.Generator, np.random.RandomState]


def coin(rng, p, n):
    heads = 0
    for i in range(n):
        if rng.binomial(1, p) == 1:
            heads += i
        heads += rng.binomial(n=i % 40, p=p)
    return heads, rng.random()


def arrivals(rng, mean, n):
    total = 0.0
    for i in range(n):
        total += rng.poisson(mean) * 0.5 + rng.poisson() + rng.poisson(lam=i % 9)
    return total, rng.random()


def many(rng, p, n):
    """Some of them NumPy draws in another way."""
    total = 0
    for i in range(n):
        total += rng.binomial(3, p) + rng.poisson(2.0)
        if i % 150 == 149:
            total += rng.binomial(900, 0.4) + rng.poisson(70.0)
    return total, rng.random()


def arrays(rng, mean, n):
    total = 0
    for i in range(n):
        found = rng.poisson(mean, 1 + i % 4)
        total += found.sum()
    return total, found, rng.random()


def legacy_arrays(rng, p, n):
    total = 0
    for i in range(n):
        found = rng.binomial(4, p, size=1 + i % 3)
        total += found.sum()
    return total, found, rng.random()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0.5, 0.1, 0.93, 0.0, 1.0, 1, np.float64(0.25), -0.0])
def test_binomial(kind, p) -> None:
    """The numbers are eager's, and so is what the generator gives behind the loop."""
    assert native_turns(coin, lambda: (kind(np.random.PCG64(3)), p, 200)) > 150


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", [0.0, 0.3, 4, 9.99, 1e-300])
def test_poisson(kind, mean) -> None:
    """The same; a mean of 10 and more NumPy draws in another way."""
    assert native_turns(arrivals, lambda: (kind(np.random.MT19937(3)), mean, 200)) > 150


@pytest.mark.parametrize("kind", KINDS)
def test_other_ways_of_drawing(kind) -> None:
    """Those turns are plain Python's."""
    assert native_turns(many, lambda: (kind(np.random.PCG64(3)), 0.3, 400)) > 100


@pytest.mark.parametrize("kind", KINDS)
def test_arrays(kind) -> None:
    """Several at a time."""
    assert native_turns(arrays, lambda: (kind(np.random.PCG64(3)), 2.5, 200)) > 150
    if kind is np.random.RandomState:
        assert native_turns(legacy_arrays, lambda: (kind(np.random.PCG64(3)), 0.3, 200)) > 150


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [1.5, -0.1, np.nan, np.inf])
def test_what_is_no_probability(kind, wrong) -> None:
    """It raises, in the middle, and draws nothing; for Poisson numbers it may be a mean."""

    def by_rows(rng, rows, n):
        total = 0
        for i in range(n):
            total = total * 3 % 1000003 + rng.binomial(2, rows[i])
        return total, rng.random()

    def by_means(rng, rows, n):
        total = 0
        for i in range(n):
            total = total * 3 % 1000003 + rng.poisson(rows[i])
        return total, rng.random()

    def make() -> tuple[object, ...]:
        rows = np.full(90, 0.4)
        rows[60] = wrong
        return kind(np.random.PCG64(3)), rows, 90

    for function in (by_rows, by_means):
        native_turns(function, make)


def test_of_the_module() -> None:
    """`np.random.binomial` itself."""

    def flipped(seed, n):
        np.random.seed(seed)
        total = 0
        for i in range(n):
            if np.random.binomial(1, 0.3) == 1:
                total += i
            total += np.random.poisson(1.5)
        return total, np.random.random()

    assert native_turns(flipped, lambda: (3, 200)) > 150
