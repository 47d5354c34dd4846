"""Graphs that hand a frame back to plain Python: it goes on to where the graph would have ended, and is not read anew."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse import decorator
from ufuse.compiled import loops_of
from ufuse.frame_hook.entries.entry import is_idle


@ufuse.disable
def silent() -> None:
    """A call that no graph can hold."""


def smoothed(x: Any, turns: int) -> Any:
    """Array elements are written in a loop that is left to plain Python at every turn."""
    y = x.copy()
    for k in range(turns):
        y[1:-1] = y[2:] * 0.5 + y[:-2] * 0.5
        y[0] = k
        y[-1] = y[-2] - y[0]
        silent()
    return y


def caught(x: Any) -> Any:
    """What is written raises in the middle, and the rest goes on behind the handler."""
    y = x.copy()
    silent()
    try:
        y[0] = 5.0
        y[1:] = y[1:] / (y[1:] - y[1:])
        y[1] = 7.0
    except (RuntimeWarning, FloatingPointError):
        y[2] = 8.0
        y[0] = 9.0
    y[3] = 1.0
    return y


def long(x: Any) -> Any:
    """Many elements are written behind a call."""
    y = x + 1
    silent()
    y[0] = 1.0
    y[1] = y[0] + 2.0
    y[2] = y[1] * 2.0
    y[3] = y[2] - y[1]
    return y


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


STRICT: dict[str, Callable[[], Any]] = {
    "errors": warnings_as_errors,
    "raise": lambda: np.errstate(all="raise"),
}
X = np.linspace(1.0, 2.0, 12)


@pytest.mark.parametrize("strict", STRICT.values(), ids=STRICT)
@pytest.mark.parametrize(
    ("program", "arguments"), [(smoothed, (X, 9)), (caught, (X,)), (long, (X,))]
)
def test_graphs_that_may_not_run_are_not_captured_again_at_every_position(
    strict: Callable[[], Any], program: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Where warnings are errors, a frame is read as often as where they are not, and gives the same."""
    lenient, compiled = ufuse.compile(program, dynamic=True), ufuse.compile(program)
    with np.errstate(all="ignore"):
        for _ in range(3):
            lenient(*arguments)
    for _ in range(50):
        with strict():
            expected = program(*arguments)
            assert compiled(*arguments).tobytes() == expected.tobytes()
    assert compiled.stats.eager_calls
    assert compiled.stats.traces <= lenient.stats.traces + 2


@pytest.mark.filterwarnings("default")
def test_afterwards_graphs_run_again() -> None:
    """A graph that had to stand back a few times is used as soon as it may run."""
    compiled = ufuse.compile(smoothed)
    with np.errstate(all="raise"):
        compiled(X, 3)
    declined = compiled.stats.eager_calls
    for _ in range(3):
        assert compiled(X, 9).tobytes() == smoothed(X, 9).tobytes()
    assert compiled.stats.eager_calls == declined


def _counts_what_is_positive(x: Any, errors: float) -> Any:
    y = np.log(x)
    total, last = 0.0, 0.0
    for i in range(len(y)):
        if y[i] > 0:
            total += y[i]
        else:
            total -= 1
        last = 1 / (y[i] - errors)
    if total > errors:
        raise ValueError(total)
    return total, last, y


@pytest.mark.parametrize("measures", [False, True])
def test_loops_behind_a_graph_that_always_warns_are_native(
    measures: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call is left to plain Python at its start, and goes on in native code at the loop."""
    monkeypatch.setattr(decorator, "MEASURING", measures)
    made = ufuse.compile(_counts_what_is_positive)
    x = np.linspace(-1, 4, 5000)
    for turn in range(60):
        ends = []
        for function in (made, _counts_what_is_positive):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    total, last, y = function(x, 1e9 if turn % 9 else 1.0)
                    found: Any = total, last, y.tobytes()
                except ValueError as error:
                    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__)]
                    found = str(error), lines[1:]
                ends.append((found, [(str(one.message), one.lineno) for one in caught]))
        assert ends[0] == ends[1]
    (loop,) = loops_of(made)
    assert loop.turns > 50 * 4000


def test_what_a_given_up_graph_has_is_not_captured_piece_by_piece() -> None:
    """Only its loops are looked at."""

    def warns(x: Any) -> Any:
        y = np.log(x)
        y = y - np.sqrt(x)
        y = y * np.arccos(x)
        for i in range(len(y)):
            y[i] = i
        return y

    made = ufuse.compile(warns)
    x = np.linspace(-5, 5, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(50):
            made(x)
    computing = [one for one in made.__ufuse_session__.specialisations if not is_idle(one.graph)]
    assert {one.position for one in computing} == {0}
    assert loops_of(made)[0].turns
