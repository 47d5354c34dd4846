"""Traces are paid for by the time that code has taken, or is likely to take."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from types import CellType, SimpleNamespace

import numpy as np
import pytest

from ufuse.frame_hook import budget
from ufuse.frame_hook.budget import Account, Allowance, Budget, Row

FEW = (np.ones(3),)


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Account:
    """What traces of a process have taken: nothing yet. Time does not pass."""
    account = Account()
    monkeypatch.setattr(budget, "PROCESS", account)
    monkeypatch.setattr(budget, "IN_A_ROW", Allowance(60.0, 0.0))
    monkeypatch.setattr(budget, "PART_OF_PAUSES", 0.0)
    monkeypatch.setattr(budget, "ROW", Row(60.0))
    monkeypatch.setattr(budget, "ALTOGETHER", Allowance(60.0, 0.0))
    monkeypatch.setattr(budget, "ALL", Row(60.0))
    monkeypatch.setattr(budget, "OF_PROCESS", budget.OF_PROCESS._replace(part=0.0))
    monkeypatch.setattr(budget, "WITH_PROMISE", budget.WITH_PROMISE._replace(part=0.0))
    return account


def straight(x):
    return x + 1


def looping(x):
    while x < 3:
        x = x + 1
    return x


def left(own: Budget, function=straight, state=FEW, calls_took: float = 0.0) -> float:
    return own.seconds_left(function.__code__, state, calls_took)


def test_the_first_functions_of_a_process_are_traced_at_once() -> None:
    """Until a part of a second is spent."""
    for _ in range(3):
        own = Budget()
        assert left(own) > 0
        own.spend(0.01, traces=1)


def cells():
    x, text = np.ones(3), "a"

    def uses():
        return x, text

    return uses.__closure__


def step(self, factor=1):
    self.x = self.x * factor + self.name


class Key(str):
    """A name whose comparison is the program's own."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError("it is asked")


def keyed_by_objects() -> SimpleNamespace:
    return SimpleNamespace(**{Key("x"): 1})


ARRAYS = {
    "an array": (straight, FEW),
    "in a tuple": (straight, ((1, np.ones(3)),)),
    "in a list": (straight, ("a", [np.ones(3)])),
    "in an attribute": (step, (SimpleNamespace(x=np.ones(3), name=1), 2)),
    "in a cell": (straight, cells()),
}
NO_ARRAYS = {
    "numbers": (straight, (1, 2.0)),
    "nothing": (straight, ()),
    "far in a list": (straight, ([1, 2, 3, 4, np.ones(3)],)),
    "other attributes": (step, (SimpleNamespace(x=1, name="a", y=np.ones(3)),)),
    "only its own code could tell": (step, (keyed_by_objects(),)),
    "an empty cell": (straight, (CellType(),)),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_code_that_arrays_come_to_is_traced_at_once(case: str) -> None:
    """In whatever they come."""
    function, state = ARRAYS[case]
    assert left(Budget(), function, state) > 0


@pytest.mark.parametrize("case", NO_ARRAYS)
def test_code_without_arrays_and_loops_has_to_earn_its_traces(process: Account, case: str) -> None:
    """What makes objects and looks up names gains little, however often it is called."""
    function, state = NO_ARRAYS[case]
    process.seconds, process.traces = 0.1, 10
    own = Budget()
    assert left(own, function, state) == 0
    assert left(own, function, state, calls_took=0.03) > 0
    assert left(Budget(), looping, state) > 0


def test_what_is_spent_is_of_the_process(process: Account) -> None:
    """A function that comes late and runs once is not traced."""
    Budget().spend(budget.OF_PROCESS.at_once, traces=10)
    assert process.traces == 10
    assert left(Budget()) == 0


def test_calls_pay_for_a_trace(process: Account) -> None:
    """As soon as a part of what they took is what a trace usually takes."""
    process.seconds, process.traces = 1.0, 100
    own = Budget()
    assert left(own, calls_took=0.01) == 0
    assert left(own, calls_took=0.01 / budget.PART_OF_CALLS * 1.01) > 0
    own.spend(0.02, traces=1)
    assert left(own, calls_took=0.05) == 0  # a trace of this code takes twice as long


@pytest.mark.parametrize(
    ("function", "state"), [(looping, FEW), (straight, (np.ones(budget.LARGE),))]
)
def test_loops_and_large_arrays_promise_more(process: Account, function, state) -> None:
    """They are traced at their first call a while longer, but not for ever."""
    process.seconds, process.traces = budget.OF_PROCESS.at_once, 10
    own = Budget()
    assert left(own) == 0
    assert left(own, function, state) > 0
    own.spend(budget.AT_LEAST)
    assert left(own, function, state) == 0
    process.seconds = budget.WITH_PROMISE.at_once
    assert left(Budget(), function, state) == 0


def test_a_part_of_the_time_that_passes_is_for_traces(
    process: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much was spent, a process that runs on may trace again."""
    monkeypatch.setattr(budget, "OF_PROCESS", Allowance(0.2, 0.05))
    process.seconds, process.traces, process.began = 1.0, 10, 0.0
    monkeypatch.setattr(budget.time, "perf_counter", lambda: 10.0)
    assert left(Budget()) == 0
    monkeypatch.setattr(budget.time, "perf_counter", lambda: 20.0)
    assert left(Budget()) > 0


def test_little_is_spent_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much calls have earned; it is there again after a while, and never more than at first."""
    monkeypatch.setattr(budget, "IN_A_ROW", Allowance(0.07, 0.0))
    monkeypatch.setattr(budget, "ROW", Row(0.07))
    own = Budget()
    assert left(own, calls_took=100.0) == 0.07
    own.spend(0.1, traces=1)
    assert left(own, calls_took=100.0) == 0
    assert left(Budget(), calls_took=100.0) == 0
    monkeypatch.setattr(budget, "PART_OF_PAUSES", 1e9)
    assert left(own, calls_took=100.0) == 0.07


def test_all_traces_together_are_a_small_part_of_what_a_process_works(
    process: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions that call each other earn by the same time, each of them: together they would spend all of it."""
    monkeypatch.setattr(budget, "ALTOGETHER", Allowance(1.0, 0.05))
    monkeypatch.setattr(budget, "ALL", Row(1.0))
    monkeypatch.setattr(budget, "PART_OF_SAVED", 0.1)
    worked, spent = 0.0, 0.0
    monkeypatch.setattr(budget.time, "process_time", lambda: worked)
    process.seconds, process.traces = 1.0, 100
    sessions = [Budget() for _ in range(4)]
    for _ in range(100):
        worked += 1.0
        for own in sessions:
            if left(own, calls_took=worked):
                own.spend(0.25, traces=1)
                spent += 0.25
    assert 0.05 * worked < spent <= 1.25 + 0.05 * worked
    worked += 1e4
    assert left(sessions[0], calls_took=worked) > 0
    sessions[0].spend(1.01)
    assert left(sessions[1], calls_took=worked) == 0  # no more than a second is kept
    saved = [0.0, 9.0, 21.0]
    monkeypatch.setattr(budget._hook, "saved_nanoseconds", lambda: saved[0] * 1e9)
    sessions[0].spend(1.0)
    for some in saved.copy():
        saved[0] = some
        assert (left(sessions[1], calls_took=worked) > 0) == (some > 20.0)
