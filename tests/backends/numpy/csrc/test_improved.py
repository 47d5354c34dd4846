"""Better machine code of a nest in transactions: what it doubts is done again by the nest's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.nests.executed import FLAGS, DoubtError, State, address_of, native, nest

ARRAY, RANGE = ("array", "d", 1, True), ("range",)


def improve(one: Any, turn: Callable[[State, int], None], slots: tuple[Any, ...]) -> list[int]:
    """Give a nest better code; how many turns that was asked for, in each call of it."""
    calls: list[int] = []
    function = native(slots, turn, calls)
    one.improve(address_of(function), function)
    return calls


def add_one(state: State, number: int) -> None:
    """A turn."""
    state.arrays[0][number] += 1.0


def test_better_code_is_used() -> None:
    """The nest's own is not called any more."""
    own: list[int] = []
    one = nest((ARRAY, RANGE), add_one, own)
    better = improve(one, add_one, (ARRAY, RANGE))
    x = np.zeros(10)
    one(x, iter(range(10)))
    assert x.tolist() == [1.0] * 10
    assert sum(better) == 10
    assert own == []


@pytest.mark.parametrize("flags", [0, FLAGS["over"]])
def test_what_better_code_cannot_do_is_done_again(flags: int) -> None:
    """A doubt or a flag of better code undoes its chunk; the nest's own decides, and warns of nothing."""

    def odd(state: State, number: int) -> None:
        state.arrays[0][number] = -5.0
        state.flags |= flags
        if not flags:
            raise DoubtError

    one = nest((ARRAY, RANGE), add_one)
    better = improve(one, odd, (ARRAY, RANGE))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for times in range(1, 9):
            x, iterator = np.zeros(10), iter(range(10))
            while iterator.__length_hint__():
                assert one(x, iterator) is None
            assert x.tolist() == [1.0] * 10
            assert one.doubts == 0
            # In a chunk each: of a doubt that is one turn. Then it is given up.
            assert min(times, 4) <= len(better) <= 4


def test_turns_before_a_doubt_are_kept() -> None:
    """A search that ends again and again is no reason to give better code up; a stall of the machine may be one."""

    def search(state: State, number: int) -> None:
        add_one(state, number)
        if number == 70:
            raise DoubtError

    def runs_of_better_code() -> int:
        own: list[int] = []
        one = nest((ARRAY, RANGE), search, own)
        better = improve(one, search, (ARRAY, RANGE))
        for times in range(1, 9):
            x, iterator = np.zeros(100), iter(range(100))
            one(x, iterator)
            assert x.tolist() == [1.0] * 70 + [0.0] * 30
            assert iterator.__length_hint__() == 30
            assert one(x, iterator) is NotImplemented  # the turn in doubt is for plain Python
            assert one.doubts == times
        return len(better)

    assert any(runs_of_better_code() >= 8 for _ in range(5))


def test_arrays_that_share_memory_are_not_for_better_code() -> None:
    """Where one of them is written."""

    def shift(state: State, number: int) -> None:
        state.arrays[0][number] = state.arrays[1][number] + 1.0

    for is_written, is_better in ((True, False), (False, True)):
        slots = (("array", "d", 1, is_written), ("array", "d", 1, False), RANGE)
        turn = shift if is_written else lambda state, number: None
        one = nest(slots, turn)
        better = improve(one, turn, slots)
        memory = np.zeros(11)
        one(memory[1:], memory[:-1], iter(range(10)))
        assert bool(better) == is_better
        assert memory.tolist() == [float(i if is_written else 0) for i in range(11)]
        one(memory[6:], memory[:6][::-1], iter(range(5)))
        assert better


def test_better_code_is_asked_for_once() -> None:
    """When the nest has worked for some time."""
    asked: list[Any] = []
    one = nest((ARRAY, RANGE), add_one)
    one.improver = asked.append
    x = np.zeros(10**6)
    one(x, iter(range(10)))
    one(x, iter(range(10)))
    assert asked == []
    for _ in range(20):
        one(x, iter(range(20_000)))
    assert asked == [(one,)]
    assert one.improver is None


def test_code_that_was_made_with_more_effort_is_used() -> None:
    """It takes the place of the nest's own: better code falls back to it, and all arrays are for it."""

    def doubt(state: State, number: int) -> None:
        raise DoubtError

    first: list[int] = []
    tuned: list[int] = []
    slots = (("array", "d", 1, True), ("array", "d", 1, False), RANGE)
    one = nest(slots, add_one, first)
    function = native(slots, add_one, tuned)
    one.tune(address_of(function), function)
    with pytest.raises(ValueError, match="no address"):
        one.tune(0, None)
    with pytest.raises(TypeError, match="int"):
        one.tune("0", None)
    x = np.zeros(10)
    one(x, x, iter(range(10)))
    assert sum(tuned) == 10
    better = improve(one, doubt, slots)
    one(x, np.zeros(10), iter(range(10)))
    assert better
    assert sum(tuned) == 20
    assert x.tolist() == [2.0] * 10
    assert first == []


def test_more_effort_is_asked_for_before_better_code() -> None:
    """Each once, when the nest has worked for some time."""
    asked: list[str] = []
    one, x = nest((ARRAY, RANGE), add_one), np.zeros(20_000)
    one.tuner = lambda given: asked.append("tuner")
    one.improver = lambda given: asked.append("improver")
    one(x, iter(range(1)))
    one(x, iter(range(1)))
    assert asked == []
    for _ in range(20):
        one(x, iter(range(20_000)))
    assert asked == ["tuner", "improver"]
    assert one.tuner is one.improver is None


def test_who_is_asked_says_when_it_is_done() -> None:
    """Code does not: who makes it may be asked for more, or have none; and an error is an answer."""

    def fails(given: Any) -> None:
        raise LookupError(given)

    one, x = nest((ARRAY, RANGE), add_one), np.zeros(20_000)
    one.tuner = one.improver = id
    function = native((ARRAY, RANGE), add_one)
    for _ in range(20):
        one(x, iter(range(20_000)))
    assert one.awaited == 2
    one.tune(address_of(function), function)
    one.improve(address_of(function), function)
    assert one.awaited == 2
    for left in (1, 0, 0):
        one.answered()
        assert one.awaited == left
    one.tuner = fails
    assert one(x, iter(range(20_000))) is NotImplemented
    assert one.awaited == 0


def test_the_first_call_is_short_where_more_effort_is_to_be_asked_for() -> None:
    """As that is done between calls."""
    asked: list[Any] = []
    one, x, iterator = nest((ARRAY, RANGE), add_one), np.zeros(20_000), iter(range(20_000))
    one.tuner = asked.append
    calls = 0
    while iterator.__length_hint__():
        one(x, iterator)
        calls += 1
    assert calls > 1
    assert asked == [(one,)]
    assert x.tolist() == [1.0] * 20_000


def test_an_error_of_the_improver_is_lost() -> None:
    """As there is code. What no program expects to be lost is not."""

    def fail(error: type[BaseException]) -> Callable[[Any], None]:
        def improver(given: Any) -> None:
            raise error

        return improver

    one, x = nest((ARRAY, RANGE), add_one), np.zeros(500)
    for _ in range(200):
        one(x, iter(range(500)))
    one.improver = fail(ValueError)
    assert one(x, iter(range(5))) is NotImplemented
    one.improver = fail(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        one(x, iter(range(5)))
    assert one(x, iter(range(5))) is None


@pytest.mark.parametrize(
    ("arguments", "error"), [((), TypeError), (("1", None), TypeError), ((0, None), ValueError)]
)
def test_what_is_no_better_code(arguments: Any, error: type[Exception]) -> None:
    """An address and an owner are."""
    with pytest.raises(error):
        nest((RANGE,), lambda state, number: None).improve(*arguments)
