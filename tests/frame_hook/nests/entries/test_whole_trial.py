"""Calls are tried as machine code, timed, and left to graphs again where those were not slower."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.unlimited import lift_limits
from ufuse import decorator
from ufuse.frame_hook import _hook
from ufuse.frame_hook.nests.entries import whole_trial

pytest.importorskip("llvmlite")

TRIAL, OTHER = 1, 2
X = np.linspace(0.5, 2.0, 10)
SCALE = 2.0


def normed(x):
    return x / np.sqrt(x @ x)


def formatted(x):
    return f"{(x + 1).sum():.3f}"


@pytest.fixture(autouse=True)
def _calls_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    lift_limits(monkeypatch)
    monkeypatch.setattr(decorator, "MEASURING", True)
    monkeypatch.setattr(whole_trial, "TRIED_AFTER", 0)


@pytest.fixture(autouse=True)
def _no_trial_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests say what calls have taken: what they really took is left out."""
    own = whole_trial.decided

    def decided(cache: Any, record: Any, way: str, nanoseconds: int, trial: int) -> bool:
        return trial in (TRIAL, OTHER) and own(cache, record, way, nanoseconds, trial)

    monkeypatch.setattr(whole_trial, "decided", decided)


class Calls:
    """A function compiled and called, whose trials end as a test says."""

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        self.function, self.given = function, given
        self.compiled = ufuse.compile(function)
        self.cache = self.compiled.__ufuse_cache__
        for _ in range(4):
            self.compiled(*given)

    @property
    def hits(self) -> int:
        """How many calls ran as machine code."""
        entry = self.cache.whole_call
        return 0 if entry is None else entry.hits - entry.declined

    def decide(self, way: str, nanoseconds: int, trial: int = TRIAL) -> bool:
        """End a trial; whether it is to be held again."""
        times = (nanoseconds, 2000) if way == "compiled" else (3000, nanoseconds)
        session = self.compiled.__ufuse_session__
        again: bool = session.decided(self.cache, None, way, *times, False, trial)
        return again

    def call_until_made(self) -> None:
        """Call until the machine code is there, which a thread makes."""
        end = time.monotonic() + 60
        while not self.hits and time.monotonic() < end:
            self.cache.loops_wait = 1 << 20  # what calls really take decides nothing
            found = self.compiled(*self.given)
            assert found.tobytes() == self.function(*self.given).tobytes()
            if self.cache.whole_call is not None and not self.hits:
                assert self.cache.loops_wait == 0  # it decides from then on
        assert self.hits

    def ran_whole(self, *given: Any) -> bool:
        """Whether machine code runs a call."""
        before = self.hits
        for _ in range(16):  # some calls are plain
            self.compiled(*given)
        return self.hits > before


def test_machine_code_stays_where_it_is_faster() -> None:
    """The trial is held again with it, and decides."""
    calls = Calls(normed, X)
    assert calls.decide("compiled", 1000)
    calls.call_until_made()
    assert not calls.decide("compiled", 500)
    assert calls.ran_whole(X)
    assert not calls.decide("compiled", 500)  # it is there
    told = [one.way for one in calls.compiled.__ufuse_session__.decisions if one.plain == 2000]
    assert told == ["compiled", "native", "native"]


@pytest.mark.parametrize(("way", "nanoseconds"), [("compiled", 950), ("plain", 400)])
def test_graphs_run_again_where_it_is_not(way: str, nanoseconds: int) -> None:
    """They were there all the time; the trial is held once more. Larger calls may still gain by machine code."""
    calls, large = Calls(normed, X), np.linspace(0.5, 2.0, 1000)
    calls.decide("compiled", 1000)
    calls.call_until_made()
    for _ in range(2):  # something else may have held it up
        assert calls.ran_whole(X)
        assert calls.decide(way, nanoseconds)
        assert not calls.ran_whole(X)
        again = calls.decide("compiled", 1000)
    assert not again
    assert not calls.ran_whole(large)
    assert calls.decide("compiled", 3000, OTHER)
    assert calls.ran_whole(large)


def test_calls_that_plain_python_does_faster_are_tried() -> None:
    """What a graph costs around a few operations, machine code may not."""
    calls = Calls(normed, X)
    assert calls.decide("plain", 400)
    calls.call_until_made()
    assert not calls.decide("compiled", 300)
    assert calls.ran_whole(X)


def test_a_trial_of_other_calls_says_nothing() -> None:
    """What calls took before is compared with what they take now."""
    calls = Calls(normed, X)
    calls.decide("compiled", 1000)
    calls.call_until_made()
    assert not calls.decide("plain", 400, OTHER)
    assert calls.ran_whole(X)


def test_each_order_of_magnitude_is_tried() -> None:
    """Machine code that is faster with ten elements may be slower with a thousand."""
    calls, large = Calls(normed, X), np.linspace(0.5, 2.0, 1000)
    calls.decide("compiled", 1000)
    calls.call_until_made()
    calls.decide("compiled", 500)
    assert not calls.ran_whole(large)
    assert calls.decide("compiled", 3000, OTHER)
    assert calls.ran_whole(large)
    assert calls.decide("compiled", 3100, OTHER)
    assert not calls.ran_whole(large)
    assert calls.ran_whole(X)


def test_machine_code_that_declines_every_call_is_given_up() -> None:
    """What it doubts runs by the graphs as well: such a call takes as long as two."""
    zeros, tries = np.zeros(10), 5  # of a busy machine a trial may find that calls are to be plain
    while tries:
        calls = Calls(FunctionType(normed.__code__.replace(), globals()), X)  # nothing is decided
        calls.decide("compiled", 1000)
        calls.call_until_made()
        calls.decide("compiled", 500)
        entry = calls.cache.whole_call
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2000):
                assert np.isnan(calls.compiled(zeros)).all()
        tries = 0 if entry.declined >= 256 else tries - 1
    assert entry.declined >= 256
    assert calls.cache.whole_call is None


def test_functions_that_are_no_nest_stay_graphs() -> None:
    """They are read once."""
    calls = Calls(formatted, X)
    assert not calls.decide("compiled", 1000)
    assert calls.cache.whole_call is None
    assert calls.compiled(X) == formatted(X)


def test_long_and_rare_calls_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long computes more than it manages; what runs seldom never pays for the machine code."""
    calls = Calls(normed, X)
    assert not calls.decide("compiled", whole_trial.LONGEST + 1)
    monkeypatch.setattr(whole_trial, "TRIED_AFTER", 10**15)
    assert not calls.decide("compiled", 1000)
    monkeypatch.undo()


def folded(x):
    s = 0.0
    for v in x:
        s = s * 0.5 + v
    return np.float64(s)


def test_parts_that_plain_python_beats_do_not_keep_a_call_from_being_tried_as_a_whole() -> None:
    """Native loops of few turns cost more around them than they gain: plain calls never come to be counted."""
    calls = Calls(folded, np.ones(3000))
    record = calls.compiled.__ufuse_session__.record(folded.__code__)
    end = time.monotonic() + 60
    while not record.begins and time.monotonic() < end:
        calls.compiled(*calls.given)
    assert not calls.decide("compiled", 1000)  # it is asked for by calls
    assert calls.decide("plain", 1000)
    calls.call_until_made()


class Watching(type):
    """A class of classes with code of its own."""

    def __getattribute__(cls, name: str) -> Any:
        return super().__getattribute__(name)


class Watched(metaclass=Watching):
    """A class that is asked by code."""


class Bare:
    """An object with attributes."""


def uses_module(x):
    return np.sin(x) * SCALE + math.pi


def uses_class(x):
    return Watched.factor * x


def uses_function(x):
    return uses_module(x) + 1


def uses_that_function(x):
    return uses_class(x) + 1


def goes_round(x):
    return goes_round(x) if x else x


@pytest.mark.parametrize(
    ("value", "is_plain"),
    [
        (X, True), (1, True), (1.5, True), (np.float32(1), True), (np.dtype("f4"), True), (None, True), ((X, (1, 2)), True),
        ([1.0, 2], True), (np, True), (len, True), (np.float64, True), (int, True), (_hook.NULL, True),
        (Watched, False), (Watched(), False), (Bare(), False), (Bare, False), ((1, Bare()), False),
        (np.ma.masked_array(X), False), ({}, False), (iter(()), False),
    ],
)  # fmt: skip
def test_what_arguments_machine_code_is_tried_with(value: object, *, is_plain: bool) -> None:
    """To read others may run code of the program's."""
    assert whole_trial.is_plain(normed, (value,)) is is_plain


@pytest.mark.parametrize(
    ("function", "is_plain"),
    [(uses_module, True), (uses_class, False), (uses_function, True), (uses_that_function, False), (goes_round, True)],
)  # fmt: skip
def test_which_functions_are_tried(function: Callable[..., Any], *, is_plain: bool) -> None:
    """The globals that they use, and those of the functions that they call, are looked at."""
    assert whole_trial.is_plain(function, (X,)) is is_plain


def test_cells_are_looked_into() -> None:
    """A variable of the function around is as an argument."""

    def around(held: object) -> Any:
        return lambda: held

    full, other = around(2).__closure__[0], around(Bare()).__closure__[0]
    assert whole_trial.is_plain(normed, (full,))
    assert not whole_trial.is_plain(normed, (other,))
    del full.cell_contents
    assert whole_trial.is_plain(normed, (full,))
