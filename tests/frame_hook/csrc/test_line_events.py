"""Whoever watches lines sees those of compiled functions: trace functions, debuggers, monitoring tools."""

from __future__ import annotations

import io
import pdb  # noqa: T100  a debugger is the subject
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.pieces import in_pieces

X = np.arange(3.0)
COMPILERS: list[Callable[[Any], Any]] = [ufuse.compile, lambda f: in_pieces(f, 1, 0, "numpy")]
both_ways = pytest.mark.parametrize("compiler", COMPILERS, ids=["whole", "pieces"])
with_monitoring = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12"
)
monitoring: Any = getattr(sys, "monitoring", None)

Event = tuple[str, str, int]


def halved(x: Any) -> Any:
    """A callee, which a trace inlines."""
    z = x / 2
    return z + 0


def numeric(x: Any, log: list[Any]) -> Any:
    """A graph, an inlined call, a loop with a break of the graph in it, a handler, and a graph again."""
    y = halved(x) + 1
    for each in range(2):
        log.append(memoryview(y).nbytes + each)
        y = y * 2
    try:
        y = y + log.index("none")
    except ValueError:
        y = y - 1
    return y


NAMES = {"numeric": numeric.__code__.co_firstlineno, "halved": halved.__code__.co_firstlineno}


def traced(function: Any, *args: Any) -> list[Event]:
    """The events of the functions above that a trace function sees during a call, lines as in their source."""
    seen: list[Event] = []

    def tracer(frame: Any, event: str, _argument: Any) -> Any:
        name = frame.f_code.co_name
        if name not in NAMES:
            return None
        seen.append((name, event, frame.f_lineno - NAMES[name]))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return seen


@both_ways
def test_a_trace_function_sees_every_line(compiler: Any) -> None:
    """All events of a call are those of plain Python, of inlined callees too, on the first call and on later ones."""
    expected = traced(numeric, X, [])
    assert ("halved", "line", 2) in expected
    compiled = compiler(numeric)
    assert traced(compiled, X, []) == expected
    compiled(X, [])
    assert traced(compiled, X, []) == expected
    hits = compiled.__ufuse_hits__
    compiled(X, [])
    assert compiled.__ufuse_hits__ == hits + 1


@both_ways
def test_tracing_that_begins_inside(compiler: Any) -> None:
    """From where a callee installs a trace function on, its caller is one frame that shows every further line."""
    seen: list[Event] = []

    def tracer(frame: Any, event: str, _argument: Any) -> Any:
        seen.append((frame.f_code.co_name, event, frame.f_lineno))
        return tracer

    def begin() -> None:
        frame = sys._getframe(1)
        frame.f_trace = tracer
        sys.settrace(tracer)

    def work(x: Any) -> Any:
        y = x + 1
        begin()
        for _ in range(2):
            y = y * 2
            y = y - 1
        sys.settrace(None)
        return y + 1

    before = sys.gettrace()
    compiled = compiler(work)
    try:
        expected = work(X)
        plainly = seen.copy()
        for _ in range(3):
            seen.clear()
            assert compiled(X).tolist() == expected.tolist()
            assert seen == plainly
    finally:
        sys.settrace(before)
    assert len([event for event in plainly if event[:2] == ("work", "line")]) >= 6


def test_stepping_from_a_breakpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """After `breakpoint()` in a compiled function a debugger steps to its end, shows its variables and changes them."""
    commands = "p ('shown', y.tolist())\nn\nn\np ('stepped', y.tolist())\n!y = y * 10\nn\nc\n"
    outputs = []

    def stop() -> None:
        out = io.StringIO()
        debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=out, nosigint=True, readrc=False)
        outputs.append(out)
        debugger.set_trace(sys._getframe(1))

    def asks(x: Any) -> Any:
        y = x + 1
        breakpoint()  # noqa: T100
        y = y * 2
        y = y - 1
        return y / 2

    monkeypatch.setattr(sys, "breakpointhook", stop)
    before = sys.gettrace()
    compiled = ufuse.compile(asks)
    results = []
    for function in (asks, compiled, compiled):
        try:
            results.append(function(X).tolist())
        finally:
            sys.settrace(before)
    plainly, *others = [out.getvalue() for out in outputs]
    assert results[0] != ((X + 1) * 2 - 1).tolist()
    assert results[1:] == results[:1] * 2
    assert "('shown', [1.0, 2.0, 3.0])" in plainly
    assert "('stepped', [2.0, 4.0, 6.0])" in plainly or "('stepped', [1.0, 3.0, 5.0])" in plainly
    assert others == [plainly] * 2


@pytest.fixture
def tool(request: pytest.FixtureRequest) -> Iterator[tuple[int, list[Any]]]:
    """A tool of `sys.monitoring` with the id that a test asks for, and what its line events say."""
    number = getattr(monitoring, request.param)
    if monitoring.get_tool(number) is not None:
        pytest.skip(f"{monitoring.get_tool(number)} is there already")
    seen: list[Any] = []
    monitoring.use_tool_id(number, "test_line_events")
    events = monitoring.events

    def line(code: Any, number: int) -> None:
        if code.co_name in NAMES:
            seen.append((code.co_name, number))

    monitoring.register_callback(number, events.LINE, line)
    yield number, seen
    monitoring.set_events(number, 0)
    monitoring.register_callback(number, events.LINE, None)
    monitoring.register_callback(number, events.PY_START, None)
    monitoring.free_tool_id(number)


@with_monitoring
@both_ways
@pytest.mark.parametrize("tool", ["DEBUGGER_ID", "OPTIMIZER_ID"], indirect=True)
def test_line_events_of_everything(compiler: Any, tool: Any) -> None:
    """A tool that asks for all lines sees those of compiled functions, and nothing is amiss when it is gone."""
    number, seen = tool
    compiled = compiler(numeric)
    compiled(X, [])
    monitoring.set_events(number, monitoring.events.LINE)
    numeric(X, [])
    plainly = seen.copy()
    seen.clear()
    compiled(X, [])
    monitoring.set_events(number, 0)
    assert seen == plainly
    hits = compiled.__ufuse_hits__
    compiled(X, [])
    assert compiled.__ufuse_hits__ == hits + 1


@with_monitoring
@both_ways
@pytest.mark.parametrize("tool", ["DEBUGGER_ID", "COVERAGE_ID"], indirect=True)
def test_line_events_of_what_begins(compiler: Any, tool: Any) -> None:
    """A debugger or coverage tool that asks for the lines of functions when they begin is told of compiled ones."""
    number, seen = tool
    events = monitoring.events

    def started(code: Any, _offset: int) -> None:
        if code.co_name in NAMES:
            monitoring.set_local_events(number, code, events.LINE)

    compiled = compiler(numeric)
    compiled(X, [])
    monitoring.register_callback(number, events.PY_START, started)
    monitoring.set_events(number, events.PY_START)
    try:
        compiled(X, [])
    finally:
        monitoring.set_events(number, 0)
        for function in (numeric, halved):
            monitoring.set_local_events(number, function.__code__, 0)
    assert {name for name, _ in seen} == set(NAMES)


@with_monitoring
@both_ways
@pytest.mark.parametrize("tool", ["PROFILER_ID"], indirect=True)
def test_line_events_of_one_function(compiler: Any, tool: Any) -> None:
    """Line events set on the function's own code come; calls are compiled again when they are taken back."""
    number, seen = tool
    compiled = compiler(numeric)
    compiled(X, [])
    monitoring.set_local_events(number, numeric.__code__, monitoring.events.LINE)
    compiled(X, [])
    monitoring.set_local_events(number, numeric.__code__, 0)
    assert len(seen) == 1 + 2 * 3 + 1 + 5
    hits = compiled.__ufuse_hits__
    compiled(X, [])
    assert compiled.__ufuse_hits__ == hits + 1


def test_profilers_measure_the_compiled_program() -> None:
    """A profile function leaves a function compiled."""
    compiled = ufuse.compile(numeric)
    compiled(X, [])
    hits = compiled.__ufuse_hits__
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        compiled(X, [])
    finally:
        sys.setprofile(before)
    assert compiled.__ufuse_hits__ == hits + 1


@with_monitoring
@pytest.mark.parametrize("tool", ["PROFILER_ID"], indirect=True)
def test_monitoring_profilers_measure_the_compiled_program(tool: Any) -> None:
    """A tool that watches calls only leaves a function compiled."""
    number, seen = tool
    compiled = ufuse.compile(numeric)
    compiled(X, [])
    hits = compiled.__ufuse_hits__
    monitoring.set_events(number, monitoring.events.PY_START | monitoring.events.PY_RETURN)
    compiled(X, [])
    monitoring.set_events(number, 0)
    assert compiled.__ufuse_hits__ == hits + 1
    assert not seen


def test_explain_says_who_is_in_the_way() -> None:
    """Under a trace function, and where ufuse is off, a report says why nothing is compiled."""
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        watched = ufuse.explain(halved, X)
    finally:
        sys.settrace(before)
    assert "somebody watches its lines" in str(watched)
    with ufuse.eager():
        switched_off = ufuse.explain(halved, X)
    assert "ufuse is switched off" in str(switched_off)
    assert len(ufuse.explain(halved, X).graphs) == 1
