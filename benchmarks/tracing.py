"""`python -m benchmarks.tracing`: how fast bytecode is traced, over the corpus and a long function."""

from __future__ import annotations

import argparse
import contextlib
import copy
import cProfile
import inspect
import io
import pstats
import time
import warnings
from types import FunctionType
from typing import Any

import numpy as np

from benchmarks.report import save_rows
from tests.support.frames.pieces import should_trace
from tests.whole.corpus.everything import CASES
from ufuse.backends import protocol
from ufuse.compiled import CompiledFunction, state_of
from ufuse.frame_hook.session import Session

LINES = 1000
GOAL_PER_SECOND = 20_000
GOAL_SECONDS = 2.0


class Timed(Session):
    """A session that takes the processor time of its traces; the backend's, next to none, is in it."""

    seconds = 0.0

    def capture(self, cache: Any, position: int, function: Any, state: tuple[Any, ...]) -> Any:
        """Trace a frame, and take the time."""
        started = time.process_time()
        try:
            return super().capture(cache, position, function, state)
        finally:
            self.seconds += time.process_time() - started


def compiled(function: Any) -> CompiledFunction:
    """The function, with a backend that takes no time."""
    assert isinstance(function, FunctionType)
    reference = protocol.backend_named("reference")
    return CompiledFunction(
        function, Timed(reference.compile, should_trace=should_trace, every_frame=True)
    )


def over_the_corpus() -> tuple[int, float]:
    """Instructions traced in a first call of every function of the corpus, and the seconds that took."""
    instructions, seconds = 0, 0.0
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        for case in CASES:
            function = compiled(case.function)
            call = copy.deepcopy(case.call)
            with contextlib.suppress(Exception, SystemExit):  # an error is a result, too
                function(*call.args, **call.kwargs)
            instructions += function.stats.instructions
            seconds += function.__ufuse_session__.seconds
    return instructions, seconds


def long_function(lines: int) -> Any:
    """A function of so many lines of array arithmetic."""
    body = [
        f"    x{i % 7} = x{(i + 1) % 7} * {i % 5 + 1}.5 + x{(i + 3) % 7}\n" for i in range(lines)
    ]
    names = ", ".join(f"x{i}" for i in range(7))
    namespace: dict[str, Any] = {}
    source = f"def long({names}):\n{''.join(body)}    return x0\n"
    exec(compile(source, "<a long function>", "exec"), namespace)  # noqa: S102
    return namespace["long"]


def of_a_long_function() -> tuple[int, float]:
    """Instructions of a function of LINES lines, and the seconds that tracing it took."""
    function = compiled(long_function(LINES))
    function(*[np.ones(3)] * 7)
    return function.stats.instructions, function.__ufuse_session__.seconds


def show_profile() -> None:
    """Print where tracing the beginnings of all functions takes its time; C traces where no profiler sees it."""
    profile = cProfile.Profile()
    for case in CASES:
        function = compiled(case.function)
        call = copy.deepcopy(case.call)
        bound = inspect.signature(case.function).bind(*call.args, **call.kwargs)
        bound.apply_defaults()
        assert isinstance(case.function, FunctionType)
        state = state_of(case.function, bound)
        with profile:
            function.__ufuse_session__.capture(function.__ufuse_cache__, 0, case.function, state)
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def main() -> None:
    """Print both figures, or where the time goes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracing", description=__doc__)
    parser.add_argument("--profile", action="store_true", help="show the slowest functions")
    if parser.parse_args().profile:
        show_profile()
        return
    started = time.perf_counter()
    count, seconds = over_the_corpus()
    long_count, long_seconds = of_a_long_function()
    print(
        f"{len(CASES)} functions: {count} instructions traced in {seconds:.2f} s, "
        f"{count / seconds:.0f} a second (goal {GOAL_PER_SECOND})"
    )
    print(
        f"a function of {LINES} lines: {long_count} instructions traced in {long_seconds:.2f} s "
        f"(goal {GOAL_SECONDS:.0f} s)"
    )
    print(f"{time.perf_counter() - started:.1f} s in all")
    rows = [
        {"program": f"{len(CASES)} functions", "instructions": count, "seconds": seconds},
        {"program": f"{LINES} lines", "instructions": long_count, "seconds": long_seconds},
    ]
    save_rows("tracing", rows)


if __name__ == "__main__":
    main()
