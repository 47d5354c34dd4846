"""Calls and turns of loops are timed compiled and plain, and run in the way that is faster."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.frames.hooking import K, Session, dispatcher, entry
from ufuse.frame_hook import _hook

SLOW = 0.003  # seconds: far more than anything else here takes, however busy the machine


def slow(value: object) -> object:
    """An artefact that does not pay."""
    time.sleep(SLOW)
    return value


def measured(session: Session, function: Callable[..., Any], *entries: Any) -> Any:
    """A dispatcher whose calls are timed."""
    session.measures = True
    return dispatcher(function, session, *entries)


def call_until(decided: Callable[[], bool], compiled: Any, *arguments: Any) -> int:
    """Call until a decision was made; how often that was."""
    for count in range(1, 1000):
        compiled(*arguments)
        if decided():
            return count
    raise AssertionError("1000 calls decided nothing")


def test_calls_that_are_slower_compiled_run_plainly(session) -> None:
    """After a few calls the entry is not used any more."""

    def f(x):
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=slow, outputs=1, ending=("return", 1))
    )
    assert call_until(lambda: bool(session.decisions), compiled, 1) < 24
    assert session.decisions == [(None, "plain")]
    before = compiled.__ufuse_hits__
    started = time.perf_counter()
    for _ in range(100):
        assert compiled(1) == 1
    assert compiled.__ufuse_hits__ == before
    assert time.perf_counter() - started < 100 * SLOW


def spin(seconds: float) -> None:
    """Take so long."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_what_calls_save_is_counted_once_it_is_known(session) -> None:
    """By the difference that the trial found, for each call behind it."""

    def f(x):
        time.sleep(SLOW)
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=lambda x: x, outputs=1, ending=("return", 1))
    )
    before = _hook.saved_nanoseconds()
    for _ in range(40):
        compiled(1)
    assert _hook.saved_nanoseconds() - before > 10 * 0.9 * SLOW * 1e9
    assert _hook.saved_nanoseconds() - before < 40 * 10 * SLOW * 1e9


@pytest.mark.parametrize(("own", "way"), [(12e-6, "compiled"), (120e-6, "plain")])
def test_the_sum_of_calls_decides(session, own, way) -> None:
    """Most calls end early in plain Python, and one of four takes sixteen times as long: their median tells nothing."""
    calls = itertools.count()

    def f(x):
        spin(5e-6 if next(calls) % 4 else 80e-6)
        return x

    def artefact(value: object) -> object:
        spin(own)
        return value

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=artefact, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, 1)
    assert session.decisions == [(None, way)]


def test_ways_are_not_in_step_with_arguments(session) -> None:
    """Odd numbers take long in both ways and come in turn with even ones: plain Python is faster with each of them."""

    def f(x):
        spin(90e-6 if x % 2 else 10e-6)
        return x

    def artefact(x: int) -> int:
        spin(120e-6 if x % 2 else 40e-6)
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=artefact, outputs=1, ending=("return", 1))
    )
    for number in range(1, 1000):
        if session.decisions:
            break
        compiled(8 + number % 2)
    assert session.decisions == [(None, "plain")]


def test_being_timed_counts_for_nothing(session) -> None:
    """No native code gains anything on a function that takes less than calling the hook does."""

    def f(x):
        return x

    compiled = measured(session, f, entry(ending=("return", 0)))
    call_until(lambda: bool(session.decisions), compiled, 1)
    assert session.decisions == [(None, "plain")]


@pytest.mark.parametrize("is_own", [True, False])
def test_calls_that_were_given_back_are_so_within_others(session, is_own) -> None:
    """They are counted, in a region of the same session and of another one, and that is there behind them."""

    def f(x):
        return [x]

    def around(x):
        return inner(x), behind(x)

    def behind(x):
        return x

    inner = measured(session, f, entry(inputs=(0,), artefact=slow, outputs=1, ending=("return", 1)))
    call_until(lambda: bool(session.decisions), inner, 1)
    assert session.decisions == [(None, "plain")]
    before = inner.__ufuse_calls__, inner.__ufuse_eager_calls__
    outer_session = session if is_own else Session()
    outer_session.measures = False
    outer_session.asked.clear()
    outer = _hook.Dispatcher(around, outer_session)
    for _ in range(5):
        assert outer(1) == ([1], 1)
    assert (inner.__ufuse_calls__, inner.__ufuse_eager_calls__) == (before[0] + 5, before[1] + 5)
    assert not outer_session.decisions[is_own:]


def test_calls_that_are_faster_compiled_stay_so(session) -> None:
    """Every call runs the entry."""

    def f(x):
        time.sleep(SLOW)
        return x

    compiled = measured(session, f, entry(ending=("return", 0)))
    call_until(lambda: bool(session.decisions), compiled, 1)
    assert session.decisions == [(None, "compiled")]
    before = compiled.__ufuse_hits__
    for _ in range(100):
        assert compiled(1) == 1
    assert compiled.__ufuse_hits__ == before + 100


def test_only_calls_of_like_size_are_compared(session) -> None:
    """Small calls that run compiled say nothing of larger ones that run plainly: recursion mixes them."""

    def f(x):
        time.sleep(SLOW * len(x))
        return x

    def twice_as_long(x):
        time.sleep(2 * SLOW * len(x))
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=twice_as_long, outputs=1, ending=("return", 1))
    )
    for size in (1, 1, 6, 6):
        compiled([0] * size)
    call_until(lambda: bool(session.decisions), compiled, [0] * 6)
    assert session.decisions == [(None, "plain")]


def decision_of_slow_beginner(session: Session) -> object:
    """What is decided of a function whose first two runs in plain Python are slow, and that is fast then."""
    runs = 0

    def f(x):
        nonlocal runs
        runs += 1
        if runs <= 2:
            time.sleep(0.0005)
        return x

    def steady(x):
        time.sleep(0.0001)
        return x

    session.decisions.clear()
    compiled = measured(
        session, f, entry(inputs=(0,), artefact=steady, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, 1)
    return session.decisions[0]


def test_short_runs_count_once_they_are_warm(session) -> None:
    """CPython specialises what it interprets in the first runs: those of a turn took a hundred times as long."""
    found = [decision_of_slow_beginner(session) for _ in range(3)]  # a busy machine may delay any
    assert (None, "plain") in found


def test_each_order_of_magnitude_is_timed_by_itself(session) -> None:
    """What is found for small arrays says nothing of large ones."""

    def f(x):
        return len(x)

    def only_large(x: Any) -> int:
        if len(x) < 100:
            time.sleep(SLOW)
        return len(x)

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=only_large, outputs=1, ending=("return", 1))
    )
    call_until(lambda: len(session.decisions) == 1, compiled, np.zeros(3))
    assert session.decisions[0] == (None, "plain")
    call_until(lambda: len(session.decisions) == 2, compiled, np.zeros(1000))


def test_calls_with_other_types_are_timed_by_themselves(session) -> None:
    """What pays with arrays may not with numbers; with types never seen, loops that were given back may pay, too."""

    def f(x):
        if type(x) is float:
            return x
        time.sleep(2 * SLOW)
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=slow, outputs=1, ending=("return", 1))
    )
    arrays = np.ones(3), np.ones(3, np.float32), np.ones((1, 3))
    call_until(lambda: bool(session.decisions), compiled, 1.0)
    call_until(lambda: len(session.decisions) == 2, compiled, arrays[0])
    assert session.decisions == [(None, "plain"), (None, "compiled")]
    before = compiled.__ufuse_hits__
    compiled(1.0)
    assert compiled.__ufuse_hits__ == before
    compiled(arrays[0])
    assert compiled.__ufuse_hits__ == before + 1
    for count, array in enumerate(arrays[1:], 3):
        call_until(lambda count=count: len(session.decisions) == count, compiled, array)


def test_a_decision_is_looked_at_again(session) -> None:
    """After many calls both ways are timed again."""

    def f(x):
        time.sleep(0.0001)
        return x

    cost = [0.0005]

    def sometimes_slow(value: object) -> object:
        if cost[0]:
            time.sleep(cost[0])
        return value

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=sometimes_slow, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, 1)
    hits = compiled.__ufuse_hits__
    cost[0] = 0
    for _ in range(20_000):
        compiled(1)
        if compiled.__ufuse_hits__ > hits:
            break
    assert compiled.__ufuse_hits__ > hits


def test_looking_again_takes_a_small_part_of_the_time(session) -> None:
    """A call of less than a microsecond is not timed against one of milliseconds every 2000 calls."""

    def f(x):
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=slow, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, 1)
    hits = compiled.__ufuse_hits__
    for _ in range(20_000):
        compiled(1)
    assert compiled.__ufuse_hits__ == hits


def test_long_calls_that_run_plainly_are_looked_at_again_soon(session) -> None:
    """Machine code may only not have been ready: 2000 calls of 20 ms would be 40 s."""

    def f(x):
        time.sleep(0.02)
        return x

    def artefact(x: object) -> object:
        time.sleep(0.03)
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=artefact, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, 1)
    assert session.decisions == [(None, "plain")]
    assert call_until(lambda: len(session.decisions) > 1, compiled, 1) < 200


def test_what_hardly_gains_runs_plainly(session) -> None:
    """A fiftieth is no gain. Of many trials some may be decided by other things that the machine does."""

    def f(x):
        time.sleep(2 * SLOW)
        return x

    def artefact(x: object) -> object:
        time.sleep(2 * SLOW * 0.98)
        return x

    compiled = measured(session, f)
    cache = compiled.__ufuse_cache__
    for trials in range(7):
        cache.clear()
        cache.add(0, entry(inputs=(0,), artefact=artefact, outputs=1, ending=("return", 1)))
        while len(session.decisions) == trials:
            compiled(1)
    assert session.decisions.count((None, "plain")) >= 2


def test_calls_that_are_given_back_are_counted(session) -> None:
    """Each is a call that ran the function; larger arguments are timed all the same."""

    def f(x):
        return x

    compiled = measured(
        session, f, entry(inputs=(0,), artefact=slow, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, 1)
    calls, eager = compiled.__ufuse_calls__, compiled.__ufuse_eager_calls__
    for _ in range(50):
        assert compiled(x=1) == compiled(1) == 1
    assert compiled.__ufuse_calls__ == calls + 100
    assert compiled.__ufuse_eager_calls__ == eager + 100
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        compiled()
    call_until(lambda: len(session.decisions) == 2, compiled, 10**6)


def test_a_function_that_is_given_back_nests_as_deep_as_ever(session) -> None:
    """Recursion ends with RecursionError, not with the stack."""

    def f(n):
        return compiled(n - 1) if n else n

    compiled = measured(session, f)
    compiled.__ufuse_cache__.give_up(0)
    call_until(lambda: bool(session.decisions), compiled, 3)
    assert session.decisions == [(None, "plain")]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(RecursionError):
            compiled(0.5)
    finally:
        sys.setrecursionlimit(limit)


def test_what_is_captured_later_is_timed_anew(session) -> None:
    """A new entry opens the trial again."""

    def f(x):
        time.sleep(SLOW)
        return x

    compiled = measured(session, f, entry(ending=("return", 0)))
    call_until(lambda: bool(session.decisions), compiled, 1)
    compiled.__ufuse_cache__.add(
        0,
        entry(inputs=(0,), artefact=lambda x: slow(slow(slow(x))), outputs=1, ending=("return", 1)),
    )
    call_until(lambda: len(session.decisions) == 2, compiled, 1)
    assert session.decisions[1] == (None, "plain")


def test_calls_that_raise_decide_nothing(session) -> None:
    """How long an error takes is no measure."""

    def f(x):
        raise ValueError(x)

    compiled = measured(session, f)
    compiled.__ufuse_cache__.give_up(0)
    for _ in range(50):
        with pytest.raises(ValueError, match="1"):
            compiled(1)
    assert not session.decisions


def test_recursive_calls_run_as_the_call_around_them(session) -> None:
    """Only the outermost call is timed."""

    def f(n):
        return n if n == 0 else compiled(n - 1)

    compiled = measured(session, f)
    compiled.__ufuse_cache__.give_up(0)
    for _ in range(200):
        assert compiled(5) == 0
    assert {positions for positions, _ in session.decisions} == {None}


def test_callees_are_timed_too(session) -> None:
    """A frame that the hook takes is given back like a call; until then most calls around it are plain."""
    runs = []

    def noted(x):
        runs.append(x)
        return slow(x)

    def callee(x):
        return x

    def caller(x):
        return callee(x)

    def answer(cache: Any, position: int, function: Any, _state: Any) -> Any:
        if function.__name__ == "callee" and position == 0:
            return entry(inputs=(0,), artefact=noted, outputs=1, ending=("return", 1))
        cache.give_up(position)
        return None

    session.answer = answer
    session.takes = lambda code: code.co_name == "callee"
    compiled = measured(session, caller)
    array = np.ones(2)
    for _ in range(1000):
        assert compiled(array) is array
    assert len(runs) < 40
    assert (None, "plain") in session.decisions


def test_callees_alone_are_not_tried_where_compiled_calls_are_far_faster(session) -> None:
    """Each such call may stall the program, and be discarded, as something is captured in it."""
    ran = []

    def callee(x):
        return x

    def caller(x, n):
        ran.append(_hook.hook_installed())
        time.sleep(SLOW)
        return callee(x)

    session.takes = lambda code: code.co_name == "callee"
    session.cache_for(callee.__code__).add(
        0, entry(inputs=(0,), artefact=lambda x: x, outputs=1, ending=("return", 1))
    )
    whole = entry(
        [(K.INT, 1, 5)], inputs=(0,), artefact=lambda x: x, outputs=1, ending=("return", 1)
    )
    compiled = measured(session, caller, whole)
    array = np.ones(8)
    assert compiled(array, 0) is array  # by the callee's entry: such calls may pay
    assert ran == [True]
    call_until(lambda: bool(session.decisions), compiled, array, 5)
    assert session.decisions == [(None, "compiled")]
    assert not any(ran[1:])


def test_what_runs_plainly_runs_without_the_hook(session) -> None:
    """Nothing below a frame that is given back is dearer than without us; behind it the hook is there again."""
    inside: list[bool] = []
    behind: list[bool] = []

    def inner(x):
        inside.append(_hook.hook_installed())
        return x

    def outer(x):
        inner(x)
        behind.append(_hook.hook_installed())
        return x

    compiled = dispatcher(outer, session)
    session.measures = True
    session.takes = lambda code: code is inner.__code__
    session.cache_for(inner.__code__).add(
        0, entry(inputs=(0,), artefact=slow, outputs=1, ending=("return", 1))
    )
    call_until(lambda: bool(session.decisions), compiled, np.zeros(3))
    assert session.decisions == [(None, "plain")]
    inside.clear()
    behind.clear()
    for _ in range(5):
        compiled(np.zeros(3))
    assert (inside, behind) == ([False] * 5, [True] * 5)
    assert not _hook.hook_installed()


def test_calls_whose_callees_no_longer_run_entries_open_no_region(session) -> None:
    """A callee that ran one once is no reason for the hook for ever: each call of a Python function costs it."""
    inside = []

    def inner(x):
        return x

    def other(x):
        return x

    def outer(x, many):
        inside.append(_hook.hook_installed())
        for _ in range(600 * many):
            other(x)
        return inner(x) if not many else x

    session.takes = lambda code: code is inner.__code__
    session.cache_for(inner.__code__).add(
        0, entry(inputs=(0,), artefact=lambda x: x, outputs=1, ending=("return", 1))
    )
    session.measures = True
    compiled = dispatcher(outer, session)
    compiled.__ufuse_cache__.loops_wait = 1000  # nothing is decided by timing
    compiled(np.zeros(3), 0)
    for _ in range(8):
        compiled(np.zeros(3), 1)
    assert all(inside)
    compiled(np.zeros(3), 1)
    assert not inside[-1]
    assert session.decisions == []


def test_an_interrupt_while_a_decision_is_told_comes_again(session) -> None:
    """There no error can be raised: the program gets it as soon as it goes on."""

    def interrupted(*_given: Any):
        raise KeyboardInterrupt

    def program(x):
        return x

    session.decided = interrupted
    compiled = measured(session, program, entry(inputs=(0,), artefact=slow, outputs=1))
    # A shell has programs in the background ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            call_until(lambda: False, compiled, np.zeros(3))
    finally:
        signal.signal(signal.SIGINT, before)


def test_loops_that_were_given_back_are_looked_at_again(session) -> None:
    """The session is told after a second, once, and behind the next time after two; or when calls get larger."""

    def f(x):
        return x

    def told_within(seconds: float, given: Any) -> bool:
        session.asked.clear()
        until = time.monotonic() + seconds
        while time.monotonic() < until and not session.asked:
            compiled(given)
        return session.asked == [("f", -1)]

    compiled = measured(session, f, entry(inputs=(0,), artefact=lambda x: x, outputs=1))
    cache = compiled.__ufuse_cache__
    given = np.zeros(3)
    assert not told_within(0.1, given)
    cache.give_back()
    assert not told_within(0.5, given)
    assert told_within(10.0, given)
    assert not told_within(1.2, given)
    cache.give_back()
    assert not told_within(1.2, given)
    cache.give_back()
    assert told_within(10.0, given)
    cache.give_back()
    assert told_within(1.0, np.zeros(10**6))
