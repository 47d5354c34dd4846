"""Tracing that may take no longer ends where it is, and what was read is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse.frame_hook import _hook, paid_traces, tracing
from ufuse.frame_hook.session import Session
from ufuse.frame_hook.tracing import Attempt, Tracer, Wanted

X = np.arange(6.0)


def within(deadline: float) -> Callable[..., Attempt]:
    trace = Tracer.trace

    def method(tracer: Tracer, wanted: Wanted) -> Attempt:
        return trace(tracer, replace(wanted, deadline=deadline))

    return method


def turned(x: Any, turns: int) -> Any:
    for k in range(turns):
        x = x * 0.5 + k
    return x


def calling(x: Any) -> Any:
    y = x * 3
    return turned(y, 60) + y


def test_a_trace_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends between two instructions of the frame, where plain Python goes on."""
    compiled = ufuse.compile(turned)
    with monkeypatch.context() as patched:
        patched.setattr(Tracer, "trace", within(0.0))
        assert compiled(X, 300).tobytes() == turned(X, 300).tobytes()
    assert "slow" in {found.code for found in compiled.breaks}
    assert compiled.stats.instructions < 200


def test_a_call_that_is_read_for_too_long_is_left_to_plain_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The graph ends in front of the call, and is made of what comes before."""
    compiled = ufuse.compile(calling)
    with monkeypatch.context() as patched:
        patched.setattr(Tracer, "trace", within(0.0))
        patched.setattr(tracing, "end_at", lambda *_: lambda *_: False)
        assert compiled(X).tobytes() == calling(X).tobytes()
    slow = [found for found in compiled.breaks if found.code == "slow"]
    assert slow
    assert slow[0].function == "turned"
    assert "in calling()" in slow[0].called_from
    assert "x" in [name for kept in compiled.specialisations for name in kept.inputs]


def test_a_loop_that_is_unrolled_for_too_long_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is that of its body, not of as many turns as there was time for."""
    compiled = ufuse.compile(turned)
    late = iter([False] * 40)
    with monkeypatch.context() as patched:
        patched.setattr(Tracer, "trace", within(0.0))
        patched.setattr(tracing, "end_at", lambda *_: lambda *_: next(late, True))
        assert compiled(X, 300).tobytes() == turned(X, 300).tobytes()
    assert "loop" in {found.code for found in compiled.breaks}


def test_a_frame_is_not_stopped_where_no_trace_may_begin() -> None:
    """While there is no time for traces it goes on to the next graph that is there already."""
    session = Session(lambda _: lambda *_: None, measures=True)
    cache = _hook.CodeCache(turned.__code__, session)
    record = session.record(turned.__code__)
    session.resume_code(cache, 0)
    assert record.stops[0]
    assert session._traces.put_off(cache, 0, record) > 0
    session.resume_code(cache, 0)
    assert not record.stops[0]


def test_what_is_put_off_again_waits_longer() -> None:
    """To be asked takes time, too; a trace that is made ends that."""
    session = Session(lambda _: lambda *_: None, measures=True)
    cache = _hook.CodeCache(turned.__code__, session)
    record = session.record(turned.__code__)
    waits = [session._traces.put_off(cache, 0, record) for _ in range(10)]
    assert waits[:3] == [
        paid_traces.ASK_AGAIN,
        2 * paid_traces.ASK_AGAIN,
        4 * paid_traces.ASK_AGAIN,
    ]
    assert waits[-1] == waits[-2] < 2e9
    session.unhurried = True
    session.capture(cache, 0, turned, (X, 1, *[_hook.NULL] * (turned.__code__.co_nlocals - 2)))
    assert session._traces.put_off(cache, 0, record) == paid_traces.ASK_AGAIN


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_recursion_that_computes_nothing_is_not_followed_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A graph would have nothing of it; where there is no deadline, as in a report, all of it is read."""
    compiled = ufuse.compile(lambda n: fibonacci(n) + 1)
    with monkeypatch.context() as patched:
        patched.setattr(Tracer, "trace", within(float("inf")))
        assert compiled(14) == 378
    assert [found.code for found in compiled.breaks] == ["recursion"]
    assert compiled.stats.instructions < 3000


def test_time_enough_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that is far away is not noticed."""
    monkeypatch.setattr(Tracer, "trace", within(float("inf")))
    compiled = ufuse.compile(calling)
    assert compiled(X).tobytes() == calling(X).tobytes()
    assert not compiled.breaks
    assert len(compiled.graphs) == 1


def test_a_loop_of_a_function_that_would_be_too_long_is_left_at_once() -> None:
    """A few turns tell how long it becomes: a comprehension over a list is not traced up to the limit."""

    def program(numbers: list[float], factors: list[float]) -> list[float]:
        return [sum(c * x**k for k, c in enumerate(factors)) for x in numbers]

    compiled = ufuse.compile(program)
    given = [float(i) for i in range(300)], [1.0, 2.0, 3.0, 4.0]
    assert compiled(*given) == program(*given)
    assert compiled.stats.instructions < 1000
