"""`ufuse.explain`: a function is called compiled, and what was captured becomes a report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ufuse.compiled import CompiledFunction, loops_of
from ufuse.decorator import GraphCompiler, compiled_alone, eager
from ufuse.diagnostics.graphs import Graph
from ufuse.diagnostics.program import ProgramReport
from ufuse.diagnostics.report import NOTHING_CAPTURED, Report
from ufuse.frame_hook import _hook, device_clock
from ufuse.frame_hook.code import markers
from ufuse.frame_hook.code.stops import GENERATORS, why_not_code
from ufuse.frame_hook.entries.entry import Specialisation, is_idle
from ufuse.frame_hook.nests.reading.refused import in_words
from ufuse.frame_hook.session import Session

MOST_CALLS = 5  # that are made only to time them
MOST_SECONDS = 0.5  # for these, where none takes longer than plain Python


def explain(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """Call a function compiled, twice, then plain, and report what was captured and what it brings.

    Where plain Python was faster than the second call, in which code may still have been compiled, a few calls more are
    timed, where they are short. A function that has native code for whole calls alone is called three times
    more, to make that and to time it.

    Args:
        fn: a function, compiled or not. It is compiled anew, so that the report is of these arguments alone; with the
            options that it has, but for `fullgraph`, so that the report has every break.
        *args: its arguments. All calls get them: an argument that the function changes is changed each time.
        **kwargs: its keyword arguments.

    Returns:
        A `Report`, which a Python prompt shows as text, and a notebook with the graphs.

    Raises:
        TypeError: `fn` is not a Python function, or the arguments do not fit it.
        Exception: whatever the function itself raises.

    Example:
        >>> import numpy as np, ufuse
        >>> report = ufuse.explain(lambda x: (x + 1) * x, np.ones(3))
        >>> print(str(report).splitlines()[0])
        <lambda>() runs as one graph, from start to end.

    """
    compiled = compiled_alone(fn)
    inner: CompiledFunction = _function_inside(compiled)
    inner.__ufuse_session__.unhurried = True  # two calls are all there are
    seconds = []
    result = None
    for _ in range(2):
        started = time.perf_counter()
        result = compiled(*args, **kwargs)
        device_clock.wait()
        seconds.append(time.perf_counter() - started)
    with eager():
        started = time.perf_counter()
        compiled(*args, **kwargs)
        device_clock.wait()
        seconds.append(time.perf_counter() - started)
    whole_seconds = _seconds_whole(inner, lambda: compiled(*args, **kwargs))
    seen = _seen(inner)
    later_seconds = None
    if whole_seconds is None:
        later_seconds = _seconds_later(seconds, lambda: compiled(*args, **kwargs))
    code, session = inner.__code__, inner.__ufuse_session__
    return Report(
        name=inner.__name__,
        file=code.co_filename,
        line=code.co_firstlineno,
        seconds=(seconds[0], seconds[1]),
        plain_seconds=seconds[2],
        why_plain="" if seen["graphs"] else _why_plain(inner),
        result=result,
        whole_seconds=whole_seconds,
        why_not_whole=in_words(session.record(code).why_not_whole),
        later_seconds=later_seconds,
        is_measured=session.measures,
        **seen,
    )


def _seen(inner: CompiledFunction) -> dict[str, Any]:
    """The fields of a `Report` that say what was captured so far, by name."""
    session: Session = inner.__ufuse_session__
    found = [(kept, kept.code_reference()) for kept in session.specialisations]
    living = [(kept, traced) for kept, traced in found if traced is not None]
    specialisations = tuple(kept for kept, _ in living)
    stats = session.stats
    return {
        "graphs": tuple(Graph(kept.graph) for kept in specialisations if not is_idle(kept.graph)),
        "breaks": tuple(session.breaks),
        "retraces": tuple(session.retraces),
        "specialisations": specialisations,
        "runs": _runs(inner, specialisations),
        "places": tuple(_place(session, kept) for kept in specialisations),
        "decisions": tuple(session.decisions),
        "eager_runs": stats.eager_calls,
        "traces": stats.traces,
        "trace_seconds": stats.trace_seconds,
        "compile_seconds": stats.compile_seconds,
        "codes": tuple(traced for _, traced in living),
        "loops": loops_of(inner),
    }


def program_report(
    compiled: CompiledFunction, name: str, file: str, line: int, seconds: float
) -> ProgramReport:
    """What was captured so far of all that a compiled function has called, which is no program's own."""
    seen = _seen(compiled)
    own = compiled.__code__.co_filename
    seen["breaks"] = tuple(one for one in seen["breaks"] if one.file != own)
    return ProgramReport(
        name=name,
        file=file,
        line=line,
        seconds=(seconds, seconds),
        plain_seconds=math.nan,
        why_plain="",
        result=None,
        **seen,
    )


def _place(session: Session, kept: Specialisation) -> str:
    compiler = session.compile_graph
    is_ours = isinstance(compiler, GraphCompiler) and kept.nest is None
    return compiler.place(kept.graph) if is_ours else ""  # type: ignore[attr-defined]


def _seconds_later(seconds: list[float], call: Callable[[], Any]) -> float | None:
    """How long the fastest of a few calls more takes; None: no more are needed, or there is no time for them.

    What is hot is compiled at the second call, and perhaps at the third.
    """
    _, fastest, plain = seconds
    spent = 0.0
    for _ in range(MOST_CALLS):
        if fastest < plain or spent + plain > MOST_SECONDS:
            break
        started = time.perf_counter()
        call()
        device_clock.wait()
        took = time.perf_counter() - started
        spent += took
        fastest = min(fastest, took)
    return fastest if spent else None


def _seconds_whole(inner: CompiledFunction, call: Callable[[], Any]) -> float | None:
    """How long a call takes as one piece of native code, which is made now; None: the function needs or has none."""
    cache, session = inner.__ufuse_cache__, inner.__ufuse_session__
    if not session.record(inner.__code__).needs_whole:
        return None
    cache.whole_call_after = 1
    call()
    entry = cache.whole_call
    if entry is None:
        return None
    declined = entry.declined
    call()
    started = time.perf_counter()
    call()
    seconds = time.perf_counter() - started
    return seconds if entry.declined == declined else None


def _function_inside(compiled: Any) -> Any:
    """The compiled function inside bound methods and partials."""
    while not isinstance(compiled, CompiledFunction):
        compiled = compiled.__func__ if hasattr(compiled, "__func__") else compiled.func
    return compiled


def _runs(inner: CompiledFunction, specialisations: tuple[Specialisation, ...]) -> tuple[int, ...]:
    """How often each specialisation ran, its first run included."""
    caches = (inner.__ufuse_cache__, *inner.__ufuse_session__.caches)
    counts = []
    for kept in specialisations:
        found = [
            e.hits
            for c in caches
            if c.code is kept.code
            for e in c.entries(kept.position)
            if e.data is kept
        ]
        counts.append(max(1, sum(found)))  # an entry that was evicted has run too
    return tuple(counts)


def _why_plain(inner: CompiledFunction) -> str:
    code = inner.__code__
    if code in markers.DISABLED:
        return "it is marked with ufuse.disable"
    if code.co_flags & GENERATORS:
        return "it is a generator or coroutine, whose frame lives on between its values"
    if _hook.runs_eagerly():
        return "ufuse is switched off (ufuse.set_eager, ufuse.eager or UFUSE_EAGER)"
    if _hook.lines_are_traced(code):
        return "somebody watches its lines: a debugger, a trace function (sys.settrace) or a coverage tool"
    if inner.__ufuse_session__.breaks:
        return NOTHING_CAPTURED[1]
    return why_not_code(code) or NOTHING_CAPTURED[0]
