"""What is computed in the kernel that takes it, and not in the one that makes what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse.backends.numpy.rules import plan_of

VECTOR = ufuse.Spec((None,), "f8")
RNG = np.random.default_rng(23)


def kernels(function: Callable[..., Any], count: int) -> list[tuple[int, int]]:
    """How many operations and how many results each kernel has, of a function of vectors."""
    graph = ufuse.compile(function).trace(*[VECTOR] * count)
    plans = [step.kernel for step in plan_of(graph._captured).steps if step.kernel is not None]
    return [(len(plan.operations), len(plan.results)) for plan in plans]


def same(function: Callable[..., Any], count: int) -> None:
    """The compiled function gives the plain one's bits, on the first call and the second."""
    compiled = ufuse.compile(function)
    for length in (7, 7, 4000):
        given = RNG.normal(size=(count, length))
        result, wanted = compiled(*given), function(*given)
        for one, other in zip(np.atleast_1d(result), np.atleast_1d(wanted), strict=True):
            assert one.tobytes() == other.tobytes()


def test_a_term_of_the_next_step_is_made_there() -> None:
    """Each step writes one array: what the last one is multiplied by is not written beside it."""

    def swept(x: Any, y: Any) -> Any:
        for _ in range(3):
            x = 0.25 * (x[::-1] + y) + 0.25 * x
        return x

    assert [results for _, results in kernels(swept, 2)] == [1, 1, 1]
    same(swept, 2)


def test_several_operations_are_moved_together() -> None:
    """Of a wave's next state, all that is about this one and the last."""

    def waved(u: Any, v: Any) -> Any:
        for _ in range(3):
            u, v = 2 * u - v * 0.5 + 0.1 * (u[::-1] + v), u
        return u

    assert [results for _, results in kernels(waved, 2)] == [1, 1, 1]
    same(waved, 2)


def test_what_saves_nothing_stays() -> None:
    """Values that several kernels take, or that are results, are made once; two arrays are not read for one."""

    def taken_twice(x: Any, y: Any) -> Any:
        z = x + y
        part = z * 0.5
        first = z[::-1] + part
        return first[::-1] * part

    def returned(x: Any, y: Any) -> Any:
        z = x + y
        part = z * 0.5
        return z[::-1] + part, part

    def of_two(x: Any, y: Any) -> Any:
        z, w = x + y, x - y
        part = z * w
        return z[::-1] + w[::-1] + part, z, w

    assert [results for _, results in kernels(taken_twice, 2)] == [2, 1, 1]
    assert sorted(results for _, results in kernels(returned, 2)) == [1, 2]
    assert sorted(results for _, results in kernels(of_two, 2)) == [1, 3]
    for function in (taken_twice, returned, of_two):
        same(function, 2)


def test_what_is_overwritten_meanwhile_stays() -> None:
    """A value is computed before its source is written, or there would be a kernel more."""

    def written(x: Any, y: Any) -> Any:
        z = x + y
        part = z * 0.5
        turned = z[::-1] * 1.0
        z += 1
        return turned[::-1] + part, z

    same(written, 2)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Sums of views and of values, some of them written into."""
    draw = np.random.default_rng(seed)
    steps = [tuple(draw.integers(0, 6, size=4)) for _ in range(12)]

    def program(x: Any, y: Any) -> Any:
        values = [x + 1, y - 1]
        for kind, one, other, last in steps:
            a, b, c = (values[place % len(values)] for place in (one, other, last))
            if kind < 2:
                values.append(a * 0.5 + b[::-1])
            elif kind < 4:
                values.append(a - b * c[::-1])
            elif kind < 5:
                values.append(np.sqrt(np.abs(a)) + b)
            else:
                values[one % len(values)] += b[::-1] * 0.25
        return values[-1], values[-2]

    same(program, 2)
