"""Branches behind a write that the program sees: both sides in one graph, of which nothing is done twice or left out."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, SIM108
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.forking import (
    GIVEN,
    TIMES,
    X,
    check_where_warnings_are_errors,
    forks,
    outcome,
    plain,
)
from ufuse import decorator


def several(x):
    if x[0] > 0:
        x[0] = 1
    if x[1] > 0:
        x[1] = 1
    elif x[1] < -20:
        x[1] = -20
    if x[2] > 0:
        x[2] = x[0] + x[1]
    return x * 2


def reads_what_was_written(x):
    x[0] = x[1]
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 2
    x[1] = 4
    return y + x


def gives_numbers(x):
    x[0] = x[1]
    y = x[2] if x[0] > 0.5 else x[1] * 2
    return y + (1.5 if x[1] < 0 else 2.5)


def warns_before_between_and_behind(x):
    x[0] = x[1]
    a = np.sqrt(x)
    if x[1] > 0:
        b = np.log(x - 1)
    else:
        b = 1 / x
    c = np.log(x)
    if x[2] > 0:
        x[2] = 0
        d = np.arccos(x * 4)
    else:
        d = x / (x - x)
    return a, b, c, d, np.log(-x)


def warns_of_numbers(x):
    x[0] = 0
    if x[1] > 0:
        y = x[1] / x[0]
        z = x[0] / x[0] + y
    else:
        y = np.log(x[1])
        z = np.sqrt(y)
    return y - z


def warns_out_of_order(x):
    y = x * 1
    x[0] = x[1]
    a = np.sqrt(x[::2])
    b = np.log(x)
    c = np.sqrt(x[::2] - 1)
    if x[1] > 0:
        y = np.log(y)
        c = c + 1 / (x[0] - x[1])
    else:
        y = np.arcsin(y)
    return a, b, c, y


def nested_and_late(x):
    if x[0] > 0:
        x[0] = 3
        if x[1] > 0.25:
            y = np.log(x - 3)
        else:
            x[1] = 7
            y = np.sqrt(-x)
    else:
        x[2] = -1
        y = x * 2 if x[1] < -1 else np.sqrt(x)
    return y + x


def hidden_memory(x):
    y = x * 2
    x[0] = 5
    if x[1] > 0:
        y[0] = x[0]
        y += np.log(x - 5)
    else:
        y[1] = x[1]
    return y - x


def makes_constants_and_views(x):
    x[0] = 1
    if x[1] > 0:
        y = x[1:] * 3.25 + x[:-1]
    else:
        y = x[:-1] * 4.25 - x[1:]
    z = np.array([5.25, 6.25]) * y
    return z + 7.25


def sizes(x):
    x[0] = 1
    if x[1] > 0:
        y = x / len(x)
    else:
        y = x + x.shape[0]
    return y


def integers(x):
    n = (x * 4).astype(np.int8)
    x[0] = 1
    if n[1] > 0:
        n[1] += 100
        n[2] = n[1]
    else:
        n[0] = n[1] * 3
    return n, n.sum()


def returns_in_a_late_side(x):
    x += 1
    if x[0] > 1:
        return x
    x *= 2
    if x[0] > 0:
        return x * 3
    return np.log(x)


def _helper(x, limit):
    if x[0] > limit:
        x[0] = limit
        return True
    return False


def in_functions_that_are_called(x):
    if _helper(x, 0.25) and _helper(x[1:], 0.125):
        x += 1
    return x


LATE = [
    several, reads_what_was_written, gives_numbers, warns_before_between_and_behind, warns_of_numbers, warns_out_of_order,
    nested_and_late, hidden_memory, makes_constants_and_views, sizes, integers, returns_in_a_late_side,
    in_functions_that_are_called,
]  # fmt: skip


@pytest.mark.parametrize("function", LATE, ids=lambda function: function.__name__)
def test_branches_behind_writes_are_in_one_graph(function: Callable[..., Any]) -> None:
    """Values, what is written, and warnings in plain Python's order."""
    whole = ufuse.compile(function, fullgraph=True)
    for x in GIVEN:
        assert outcome(whole, x) == outcome(function, x)
    assert forks(whole)


@pytest.mark.parametrize("measures", [False, True])
@pytest.mark.parametrize("function", LATE, ids=lambda function: function.__name__)
def test_branches_behind_writes_while_graphs_grow(
    function: Callable[..., Any], measures: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With entries in between that end at a branch."""
    monkeypatch.setattr(decorator, "MEASURING", measures)
    made = ufuse.compile(function)
    for _ in range(TIMES):
        for x in GIVEN:
            assert outcome(made, x) == outcome(function, x)


@pytest.mark.parametrize("function", LATE, ids=lambda function: function.__name__)
@pytest.mark.parametrize("mode", ["raise", "ignore"])
def test_late_branches_in_other_error_states(function: Callable[..., Any], mode: Any) -> None:
    """Where a warning is an error nothing is written that plain Python would not have written."""
    made = ufuse.compile(function, fullgraph=True)
    for _ in range(2):
        for x in GIVEN:
            with np.errstate(all=mode):
                assert outcome(made, x) == outcome(function, x)


@pytest.mark.parametrize("function", LATE, ids=lambda function: function.__name__)
def test_late_branches_where_warnings_are_errors(function: Callable[..., Any]) -> None:
    """As Python's own filters make them."""
    check_where_warnings_are_errors(function)


def raises_in_a_late_side(x):
    x[0] = 1
    if x[1] > 0:
        raise ValueError(x[0])
    return x


def inverts_in_a_late_side(x):
    table = x * np.ones((3, 1)) + np.eye(3)
    x[0] = 1
    if x[1] > 0:
        y = np.linalg.inv(table)
    else:
        y = table
    return y


def adds_a_size_to_small_numbers(x):
    small = np.zeros(3, np.uint8)
    x[0] = 1
    if x[1] > 0:
        small = small + len(x)
    return small


@pytest.mark.parametrize(
    "function", [raises_in_a_late_side, inverts_in_a_late_side, adds_a_size_to_small_numbers]
)
def test_what_may_fail_behind_a_write_is_not_in_its_graph(function: Callable[..., Any]) -> None:
    """A failing side could not be left to plain Python any more."""
    made = ufuse.compile(function)
    for _ in range(TIMES):
        for x in GIVEN:
            assert outcome(made, x) == outcome(function, x)
    assert not forks(made)
    (refused,) = (one for one in made.breaks if one.code == "sides")
    assert ("could fail" in refused.reason) is (function is not raises_in_a_late_side)


def takes_an_int(x, n):
    x[0] = 1
    if x[1] > 0:
        y = x + n
    else:
        y = x * n
    return y


def test_whole_numbers_that_fit_no_dtype_behind_a_write() -> None:
    """Python raises then, with the write done."""
    made = ufuse.compile(takes_an_int)
    for number in (2, 3, 4, 300, -1, *range(TIMES), 1 << 70, 10**400, 5, -(10**400)):
        for x in (X, -X):
            assert outcome(made, x, number) == outcome(takes_an_int, x, number)


def test_a_warning_that_changes_what_warnings_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The side behind it finds the error state that the call began with, and is not run twice."""
    said: list[str] = []

    def show(message: Any, *_: Any) -> None:
        said.append(str(message))
        np.seterr(invalid="raise")

    ends = []
    monkeypatch.setattr(warnings, "showwarning", show)
    for function in (
        warns_before_between_and_behind,
        ufuse.compile(warns_before_between_and_behind),
    ):
        said.clear()
        with np.errstate(), warnings.catch_warnings():
            warnings.simplefilter("always")
            x = -X
            try:
                result: Any = plain(function(x))
            except FloatingPointError as error:
                result = str(error)
            ends.append((result, x.tobytes(), list(said)))
    assert ends[0] == ends[1]


def test_the_reference_backend_runs_late_branches() -> None:
    """Its graphs are the definition."""
    for function in LATE:
        made = ufuse.compile(function, fullgraph=True, backend="reference")
        for x in GIVEN:
            assert outcome(made, x) == outcome(function, x)
