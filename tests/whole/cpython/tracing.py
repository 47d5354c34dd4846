"""A session that traces every frame, and counts what became of each."""

from __future__ import annotations

import functools
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import ufuse
from tests.support.frames.pieces import OWN
from ufuse.backends import protocol
from ufuse.frame_hook import _hook
from ufuse.frame_hook.session import Session

HERE = str(Path(__file__).resolve().parent)
# Left alone: ufuse, this harness, and the loop that runs tests (but not unittest's assertions).
RUNNER = tuple(
    sys.modules[f"unittest.{name}"].__file__ or "" for name in ("suite", "result", "case")
)
RUNNER_FUNCTIONS = frozenset(
    "__call__ run debug _callSetUp _callTestMethod _callTearDown _callCleanup doCleanups".split()
)


def is_left_alone(code: CodeType) -> bool:
    """Whether a frame is ufuse's, the harness's, or unittest's loop over the tests."""
    file = code.co_filename
    if file.startswith((HERE, *OWN)):
        return True
    if file in RUNNER[:2]:
        return True
    return file == RUNNER[2] and code.co_qualname.partition(".")[0] in ("TestCase", "_Outcome") and code.co_name in RUNNER_FUNCTIONS  # fmt: skip


class EveryFrame(Session):
    """Traces what plain Python runs, with or without arrays; failures of the tracer are kept."""

    def __init__(self) -> None:
        backend = protocol.backend_named("numpy")
        super().__init__(
            functools.partial(_compiled, backend),
            should_trace=lambda code: not is_left_alone(code),
            every_frame=True,
        )
        self.failures: list[str] = []

    def internal_error(self, error: BaseException) -> None:
        """Keep what went wrong inside."""
        self.failures.append("".join(traceback.format_exception(error))[-3000:])


def _compiled(backend: Any, graph: Any) -> Any:
    return backend.compile(graph)


def traced_call(function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Call a function while every frame of what it calls is traced; the counts."""
    session = EveryFrame()
    dispatcher = _hook.Dispatcher(ufuse.disable(function), session)
    started = time.perf_counter()
    dispatcher(*arguments)
    return counts(session, time.perf_counter() - started)


def counts(session: EveryFrame, seconds: float) -> dict[str, Any]:
    """What became of frames and code objects, and why."""
    frames: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for cache in session.caches:
        eager = cache.frames - cache.whole - cache.mixed
        frames.update(whole=cache.whole, mixed=cache.mixed, eager=eager)
        if cache.frames:
            kind = "whole" if cache.whole == cache.frames else "mixed" if cache.whole + cache.mixed else "eager"  # fmt: skip
            codes[kind] += 1
        if eager:
            reasons[session.record(cache.code).given_up.get(0, "unknown")] += eager
    generators, bodies, refused = _hook.passed_frames()
    frames.update(generator=generators, body=bodies, left=refused)
    breaks = Counter(f"{found.code}: {found.reason}" for found in session.breaks)
    return {
        "frames": frames,
        "codes": codes,
        "eager": reasons,
        "breaks": dict(breaks.most_common(40)),
        "failures": session.failures,
        "seconds": seconds,
        "tracing": session.stats.trace_seconds,
        "traces": session.stats.traces,
        "instructions": session.stats.instructions,
    }
