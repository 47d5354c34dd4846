"""Graphs that hand a frame back to plain Python: it goes on to where the graph would have ended, and is not read anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ufuse


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
