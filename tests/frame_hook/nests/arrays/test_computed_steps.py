"""Slices in native loops whose steps are computed."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_listing import listing
from ufuse.graph.text.nest_parser import parse_nest

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python


def sieve(n):
    is_prime = np.ones(n, bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return is_prime


def strided(a, x, turns):
    for i in range(turns):
        k = i % 5 + 1
        a[i % 7 :: k] += 0.5
        a[: i % 30 : k] = a[-30 : -30 + i % 30 : k] * x[k]
        x[i % 3 : 4] = a[::k][1]
        a[1::k] = a[:-1:k] - 1e-3
    return a, x


def of_matrices(m, turns):
    for i in range(turns):
        k = i % 3 + 1
        m[::k, 1::k] *= 0.999
        m[i % 4, ::k] = m[:, 0][::k] * 1.0
    return m


def odd_steps(x, steps, turns):
    for i in range(turns):
        x[:: steps[i % len(steps)]] += 1.0
    return x


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (sieve, lambda: (4_000_000,)),
        (strided, lambda: (np.linspace(0, 1, 60), np.linspace(1, 2, 9), 600)),
        (strided, lambda: (np.linspace(0, 1, 180)[::-3], np.linspace(1, 2, 9), 600)),
        (of_matrices, lambda: (np.linspace(0, 1, 49).reshape(7, 7), 6000)),
        (of_matrices, lambda: (np.linspace(0, 1, 49).reshape(7, 7).T, 6000)),
        (odd_steps, lambda: (np.linspace(0, 1, 60), np.array([1, 2, 2**62, 3, 59, 60, 61]), 600)),
    ],
)
def test_programs_are_native_and_the_same(function, make) -> None:
    """Targets, operands, and those that share memory; steps beyond the end."""
    assert native_turns(function, make) > 100


def test_steps_that_are_not_positive() -> None:
    """A negative one goes backwards, zero raises: in plain Python."""
    for steps in ([1, 2, -1, 3], [1, 2, 3, 1, 2, 0]):
        native_turns(odd_steps, lambda steps=steps: (np.linspace(0, 1, 60), np.array(steps), 600))


def test_the_nest_as_text() -> None:
    """It keeps the laws, reads back and is listed."""
    compiled = ufuse.compile(of_matrices)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # errors are plain Python's from the start
        for _ in range(3):
            compiled(np.linspace(0, 1, 49).reshape(7, 7), 20000)
    (nest,) = loops_of(compiled)[0].nests
    check_nest(nest)
    assert str(parse_nest(str(nest))) == str(nest)
    assert ":*" in str(nest)
    assert listing(nest)
