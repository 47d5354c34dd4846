"""A first call that goes over a long argument item by item runs as native code, where that gives what Python does."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import hits
from ufuse import decorator
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.nests.entries import whole

pytest.importorskip("llvmlite")

X = np.linspace(-1.0, 2.0, 300)
LONG = 1e-3  # seconds that a test's items are said to take


@pytest.fixture(autouse=True)
def _measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorator, "MEASURING", True)


@pytest.fixture
def _items_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "ITEM", LONG)


def response(v):
    return v * 2 if v > 0 else v - 1


def vectorised(x):
    return np.vectorize(response)(x)


def from_iterator(x):
    return np.fromiter((v * v for v in x), float)


def appended(x):
    """The list's method waits on the stack for what a branch chooses."""
    out = []
    for v in x:
        out.append(v * 2 if v > 0 else v - 1)
    return np.array(out)


def begun(x):
    """The same of a list that has items already."""
    out = [x[0], 1.0]
    for v in x:
        out.append(v * 2 if v > 0 else v - 1)
    return np.array(out)


def summed(x):
    return sum(v for v in x if v > 0)


def of_a_list(x):
    return max(v * v for v in x)


def divided(x):
    """An item is zero: a warning of NumPy's."""
    return np.array([1 / (v - x[3]) for v in x])


def raising(x):
    """An item is zero: an error of Python's."""
    return sum(1 / (v - 3) for v in x)


CASES: list[tuple[Callable[..., Any], Any]] = [
    (vectorised, X),
    (from_iterator, X),
    (appended, X),
    (begun, X),
    (summed, X),
    (of_a_list, X.tolist()),
    (divided, X),
    (raising, list(range(300))),
]


@pytest.mark.usefixtures("_items_are_slow")
@pytest.mark.parametrize(("function", "x"), CASES, ids=lambda one: getattr(one, "__name__", ""))
def test_the_first_call_gives_what_python_does(function, x) -> None:
    """Results, warnings and errors, also of the calls behind it."""
    compiled = ufuse.compile(function)
    for _ in range(3):
        check_same(function, compiled, lambda: arguments(x))


@pytest.mark.usefixtures("_items_are_slow")
@pytest.mark.parametrize("case", CASES[:6], ids=lambda one: one[0].__name__)
def test_the_first_call_is_native(case) -> None:
    """It is not run twice, nor are the next ones plain."""
    function, x = case
    compiled = ufuse.compile(function)
    compiled(x)
    assert hits(compiled) == 1
    compiled(x)
    assert hits(compiled) == 2


@pytest.mark.usefixtures("_items_are_slow")
def test_of_what_cannot_be_native_the_first_call_is_plain() -> None:
    """It is read once, and its calls are looked at as those of others are."""

    def printed(x):
        return [repr(v) for v in x]

    compiled = ufuse.compile(printed)
    assert compiled(X) == printed(X)
    assert hits(compiled) == 0


@pytest.mark.usefixtures("_items_are_slow")
def test_where_one_graph_is_wanted_nothing_runs_in_its_place() -> None:
    """What breaks it is an error, however long a call is."""
    compiled = ufuse.compile(vectorised, fullgraph=True)
    with pytest.raises(ufuse.GraphBreakError, match="_NoValue"):
        compiled(X)


def test_a_second_call_is_native_where_the_first_was_long() -> None:
    """What it goes over does not show how long it is."""

    def slow(x):
        return sum(v * v + k for v in x for k in range(4000))

    compiled = ufuse.compile(slow)
    assert compiled(X) == slow(X)
    assert hits(compiled) == 0
    assert compiled(X) == slow(X)
    assert hits(compiled) == 1


@pytest.mark.parametrize(
    ("function", "given", "items"),
    [
        (vectorised, (X,), 300),
        (from_iterator, (X.reshape(30, 10),), 30),
        (of_a_list, ([1.0, 2.0],), 2),
        (summed, (np.float64(1.0),), 0),
        (summed, ("text",), 0),
        (lambda x, n: [x[i] for i in range(n)], (X, 3), 0),
    ],
)
def test_what_a_call_takes_is_known_by_what_it_goes_over(function, given, items) -> None:
    """The longest argument that loops, or functions for each item, go over."""
    state = (*given, *[_hook.NULL] * (len(slot_names(function.__code__)) - len(given)))
    assert whole.expected_seconds(function, state) == items * whole.ITEM
