"""`choice` with weights, in native loops and whole calls."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import check_whole_call, native_turns

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

WEIGHTS = np.array([[0.2, 0.5, 0.3], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
KINDS = [np.random.Generator, np.random.RandomState]


def chain(rng, weights, n):
    state, out = 0, np.zeros(n, int)
    for i in range(n):
        state = rng.choice(3, p=weights[state])
        out[i] = state + 10 * rng.choice(len(weights), p=weights[1])
    return out, state, rng.random()


def of_values(rng, weights, n):
    values, total = np.array([1.5, -2.0, 4.0]), 0.0
    for _ in range(n):
        total += rng.choice(values, p=weights[0]) * rng.choice([1, -1], p=[0.25, 0.75])
        total += rng.choice((0.5, 2.0, 3.0), None, True, weights[1])
    return total, rng.random()


def several(rng, weights, n):
    values, total = np.array([1.5, -2.0, 4.0]), 0.0
    for i in range(n):
        places = rng.choice(3, size=i % 5, p=weights[0])
        taken = rng.choice(values, 4, p=weights[1])
        total += places.sum() + taken.sum()
    return total, places, taken, rng.random()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [chain, of_values, several])
def test_by_weights(kind, function) -> None:
    """The numbers are eager's, and so is what the generator gives behind the loop."""
    turns = native_turns(function, lambda: (kind(np.random.PCG64(3)), WEIGHTS.copy(), 200))
    assert turns > 150


WRONG = [
    [0.2, 0.5, 0.3 + 1e-7],
    [0.2, 0.5, 0.3 + 1e-9],
    [0.2, -0.1, 0.9],
    [np.nan, 0.5, 0.5],
    [np.inf, 0.0, 0.0],
    [0.0, 0.0, 0.0],
    [-0.0, 1.0, 0.0],
]


@pytest.mark.parametrize("wrong", WRONG)
def test_weights_that_are_none(wrong) -> None:
    """They raise, in the middle, and draw nothing."""

    def make() -> tuple[object, ...]:
        rows = np.tile([0.2, 0.5, 0.3], (90, 1))
        rows[60] = wrong
        return np.random.default_rng(3), rows, 90

    def by_rows(rng, rows, n):
        total = 0
        for i in range(n):
            try_ = rng.choice(3, p=rows[i])
            total = total * 3 % 1000003 + try_
        return total, rng.random()

    native_turns(by_rows, make)


def test_other_arguments() -> None:
    """Of another length, without repetition, of other types."""

    def unlike(rng, weights, n):
        total = 0
        for i in range(n):
            total += rng.choice(3 + i // 50, p=weights[0])
        return total

    def single(rng, weights, n):
        total = 0
        for _ in range(n):
            total += rng.choice(3, 2, replace=False, p=weights[0])[0]
        return total

    def narrow(rng, weights, n):
        total = 0
        for _ in range(n):
            total += rng.choice(3, p=weights[0].astype("f4"))
        return total

    for function in (unlike, single, narrow):
        native_turns(function, lambda: (np.random.default_rng(3), WEIGHTS.copy(), 80))


def test_in_a_whole_call() -> None:
    """With a generator that it makes."""

    def visited(n, seed):
        rng, state = np.random.default_rng(seed), 0
        counts = {0: 0}
        for _ in range(n):
            state = rng.choice(3, p=WEIGHTS[state])
            counts[state] = counts.get(state, 0) + 1
        return len(counts), counts[0]

    check_whole_call(visited, (50, 3))
