"""NumPy functions that cannot fail stay in a graph behind a store that is seen outside; others end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same


def simplex(s: Any, q: Any) -> Any:
    s[-1] = q.sum()
    order = np.argsort(s)
    return order, np.sort(s), np.cumsum(s) + order


def products(s: Any, q: Any) -> Any:
    s[0] = 2.0
    total = np.dot(s, q)
    s[1] = total
    return np.outer(s, q), s.dot(q), np.inner(q, s), np.vdot(s, q)


def parts(s: Any, q: Any) -> Any:
    s[:] = q * 3
    return np.count_nonzero(s), s.conj(), s.flatten()


def taken(s: Any, q: Any) -> Any:
    s[0] = 2.0
    return q.take(s.astype(int))


@pytest.mark.parametrize("function", [simplex, products, parts])
@pytest.mark.parametrize("factor", [1.0, 1e200, np.nan])
def test_one_graph(function: Callable[..., Any], factor: float) -> None:
    """With overflows and NaNs too: warnings and what they raise come behind the store, as NumPy's do."""
    compiled = ufuse.compile(function)

    def make() -> tuple[Any, ...]:
        return np.arange(1.0, 7.0) * factor, np.linspace(2.0, 3.0, 6) * factor

    check_same(function, compiled, make)
    assert len(compiled.graphs) == 1
    assert not compiled.breaks


def test_what_may_fail_ends_the_graph() -> None:
    """An index may be out of range: the store must have been done then."""
    compiled = ufuse.compile(taken)
    check_same(taken, compiled, lambda: (np.arange(1.0, 4.0), np.linspace(2.0, 3.0, 6)))
    check_same(taken, compiled, lambda: (np.arange(5.0, 9.0), np.linspace(2.0, 3.0, 6)))
    assert compiled.breaks


def negative_powers(s: Any, q: Any) -> Any:
    s[-1] = s[0]
    return q[0] ** s[1]


def large_ints(s: Any, q: Any) -> Any:
    number = int(q[0])
    s[-1] = s[0]
    return s[1] + number


def compared(s: Any, q: Any) -> Any:
    number = int(q[0])
    s[-1] = s[0]
    return s[1] < number


@pytest.mark.parametrize("function", [negative_powers, large_ints, compared])
@pytest.mark.parametrize("number", [3, -5, 10**6])
def test_numbers_that_may_fail_end_the_graph(function: Callable[..., Any], number: int) -> None:
    """Negative powers of NumPy's ints, and Python's that do not fit them: the error has the line that raised it."""
    compiled = ufuse.compile(function)
    check_same(
        function, compiled, lambda: (np.array([3, -5, 2], np.int16), np.array([number, 2, 1]))
    )
    assert bool(compiled.breaks) == (function is not compared)
