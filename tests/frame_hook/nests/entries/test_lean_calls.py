"""Short whole calls that change nothing begin at once, and give what plain Python does."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import called

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.linspace(0.5, 2.0, 7)
BIG = 1 << 62


def common(a, b):
    for _ in range(100):
        if b == 0:
            break
        a, b = b, a % b
    return a


def root(x, most):
    """A float, and how many steps it took."""
    g = x / 2 + 0.5
    for step in range(most):  # noqa: B007
        h = (g + x / g) / 2
        if abs(h - g) < 1e-12:
            break
        g = h
    return g, step


def weighed(x, w):
    """An array that is only read, and a number of NumPy's."""
    s = w
    for value in x:
        s = s * w + value
    return s


def is_within(x, low, high):
    found = 0
    for i in range(len(x)):
        if low < x[i] < high:
            found += 1
    return found > 2, found


def normed(x):
    s = 0.0
    for value in x:
        s += value * value
    return x / np.sqrt(s)


def prefix(x):
    out, s = np.zeros_like(x), 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
    return out, s


def halves(x):
    """Two views of one new array, and one of what was given."""
    y, s = x * 2.0, 0.0
    for value in y:
        s += value
    middle = len(x) // 2
    return y[:middle], y[middle:], x[1:], s


def grown(n, step):
    """Beyond 64 bits from some argument on."""
    s = 1
    for _ in range(n):
        s = s * step + 1
    return s


CALLS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (
        common,
        [
            (832040, 514229),
            (1071, 462),
            (-12, 18),
            (0, 0),
            (7, 0),
            (BIG, 3),
            (BIG * 8, 12),
            (True, 2),
        ],
    ),
    (root, [(2.0, 20), (1e300, 30), (0.0, 9), (math.inf, 5), (-4.0, 40), (3, 8), (2.0, 0)]),
    (weighed, [(X, 0.5), (X[::2], np.float64(0.5)), (X, math.nan), (X, np.float32(2)), (X, 3)]),
    (is_within, [(X, 0.6, 1.6), (X[:0], 0.0, 1.0), (X, math.nan, 1.0), (X, 0, 2)]),
    (normed, [(X,), (X[::-1],), (np.zeros(3),), (X[:0],), (np.full(9, 1e300),), (np.arange(4),)]),
    (
        prefix,
        [(X,), (X[::3],), (X[:0],), (np.full(3, 1e308),), (np.arange(4),), (X.reshape(7, 1),)],
    ),
    (halves, [(X,), (X[::-2],), (X[:0],), (X[:1],), (np.float32([1, 2, 3]),)]),
    (grown, [(5, 3), (39, 3), (41, 3), (60, 3), (5, -3), (12, True)]),
]


def outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call comes to: its values with their types, its error, its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = function(*given)
        except (ArithmeticError, UnboundLocalError, TypeError) as error:
            found = (type(error), str(error))
    parts = found if type(found) is tuple else (found,)
    values = [(type(one), getattr(one, "dtype", None), repr(one)) for one in parts]
    arrays = [one for one in (*given, *parts) if type(one) is np.ndarray]
    layouts = [(one.strides, str(one.flags), one.base is None) for one in arrays]
    shared = [np.shares_memory(one, other) for one in arrays for other in arrays]
    return (type(found), values, layouts, shared, [str(one) for one in told])


@pytest.mark.parametrize(("function", "calls"), CALLS, ids=[f.__name__ for f, _ in CALLS])
def test_calls_in_any_order(function, calls) -> None:
    """Usual ones, and such that only the whole of a nest, or plain Python, can do."""
    usual = calls[0]
    compiled = called(function, usual)
    nest = compiled.__ufuse_cache__.whole_call.artefact
    for one in calls:
        for _ in range(20):
            assert outcome(compiled, usual) == outcome(function, usual)
        for given in (one, one, usual, one):
            assert outcome(compiled, given) == outcome(function, given)
    assert nest.lean_runs > 20


def test_flags_that_are_not_ignored_are_not_lost() -> None:
    """A call that would warn is left to NumPy, after many that did not."""
    compiled = called(weighed, (X, np.float64(0.5)))
    nest = compiled.__ufuse_cache__.whole_call.artefact
    huge = np.full(7, 1e308)
    for _ in range(40):
        compiled(X, np.float64(0.5))
    before = nest.lean_runs
    with pytest.warns(RuntimeWarning, match="overflow"):
        found = compiled(huge, np.float64(1e300))
    assert found == math.inf
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        compiled(huge, np.float64(1e300))
    with np.errstate(over="ignore"):
        assert compiled(huge, np.float64(1e300)) == math.inf
    assert before > 20


@pytest.mark.parametrize(
    ("function", "usual", "odd"), [(root, (2.0, 20), (0.0, 9)), (grown, (5, 3), (60, 3))]
)
def test_better_code_begins_so_too(function, usual, odd) -> None:
    """What it doubts is done as it is elsewhere, and it is used again."""
    compiled = ufuse.compile(function, backend=Improved())
    for _ in range(200):
        compiled(*usual)
    nest = compiled.__ufuse_cache__.whole_call.artefact
    assert nest.improved_turns >= nest.lean_runs > 150
    before = nest.lean_runs
    for given in (odd, usual, odd, *[usual] * 40):
        assert outcome(compiled, given) == outcome(function, given)
    assert nest.lean_runs > before + 20


def test_longer_calls_are_run_in_parts() -> None:
    """What is many times as much may take long: it is timed, and signals come through."""
    compiled = called(weighed, (X, 0.5))
    nest = compiled.__ufuse_cache__.whole_call.artefact
    for _ in range(40):
        compiled(X, 0.5)
    long = np.ones(200_000)
    before = nest.lean_runs
    assert compiled(long, 0.5) == weighed(long, 0.5)
    assert nest.lean_runs == before > 20


def test_what_changes_something_is_not_lean() -> None:
    """Where a chunk may be undone, that is saved before."""

    def counted(x, out):  # noqa: ANN202
        s = 0.0
        for i in range(len(x)):
            out[i] = x[i]
            s += x[i]
        return s

    out = np.zeros(7)
    compiled = called(counted, (X, out))
    for _ in range(40):
        compiled(X, out)
    assert compiled.__ufuse_cache__.whole_call.artefact.lean_runs == 0
    assert out.tobytes() == X.tobytes()
