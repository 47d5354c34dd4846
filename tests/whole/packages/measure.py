"""One call, plain against compiled: how long each takes, at first and then, and what differs."""

from __future__ import annotations

import contextlib
import gc
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import ufuse
from tests.support.comparing.compare import MODES, Comparison, Difference, check_same
from tests.support.comparing.recording import Call
from tests.whole.packages.calls import Line, Unavailable, takes_decorator
from tests.whole.packages.visible import has_pandas, shown, visible

SAMPLE = 0.001  # seconds: shorter calls are timed several at once
FEWEST = 5  # samples of each side
WARM_CALLS, WARM_SECONDS, WARM_AT_MOST = 30, 0.3, 2.0
CLOSE = 1.03  # above this ratio a pair is timed for longer: the noise of a shared machine is not the compiler's
LONGER = 4
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done with each call."""

    timings: bool = True
    seconds: float = 0.4  # of timing a pair
    modes: int = 3  # how many treatments of warnings the judge tries
    calls: int = 3
    warm: float = WARM_SECONDS  # of calls before they are timed, at least
    processor: bool = False  # the process's time on processors in place of the time that passes


@dataclass(slots=True)
class Row:
    """What became of one call; times are seconds."""

    text: str
    path: str
    package: str
    strict: bool = False
    skipped: str = ""
    difference: str = ""
    plain: float = 0.0
    compiled: float = 0.0
    plain_first: float = 0.0
    compiled_first: float = 0.0
    samples: int = 0
    graphs: int = 0
    breaks: int = 0
    judge: float = 0.0  # what looking for differences took

    @property
    def ratio(self) -> float:
        """The compiled function's time by the plain one's, medians; 0 where nothing was timed."""
        return self.compiled / self.plain if self.plain else 0.0


@dataclass(frozen=True, slots=True)
class Sides:
    """A function as it is, and compiled."""

    plain: Callable[..., Any]
    compiled: Callable[..., Any]
    made: Callable[[], list[Any]]  # the compiled functions there are now
    forget: Callable[[], object]  # what was captured


def sides_of(function: FunctionType) -> Sides:
    """Both ways to run a function."""
    if takes_decorator(function):
        inner: list[Any] = []

        def decorate(made: FunctionType) -> Any:
            inner[:] = [*inner[-20:], ufuse.compile(made)]
            return inner[-1]

        def forget() -> None:
            for each in inner:
                each.reset()

        return Sides(given_first(function, lambda made: made), given_first(function, decorate), lambda: inner, forget)  # fmt: skip
    compiled = ufuse.compile(function)
    return Sides(function, compiled, lambda: [compiled], compiled.reset)


def given_first(function: Callable[..., Any], first: Any) -> Callable[..., Any]:
    """The function with its first argument."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(first, *args, **kwargs)

    return call


def measured(line: Line, wanted: Wanted) -> Row:
    """Everything about one call."""
    row = Row(line.text, line.path, line.package, line.strict)
    try:
        function = line.function()
    except (Unavailable, ImportError) as reason:
        row.skipped = str(reason)
        return row
    sides = sides_of(function)
    sides.forget()  # lines of one function share what was captured
    try:
        with treated(strict=line.strict):
            once(sides.plain, line.arguments())
    except Exception as error:  # noqa: BLE001  it is compared below
        row.skipped = f"it raises {type(error).__name__}: {error}"[:200]
        row.difference = difference_of(line, sides, wanted)
        return row
    if wanted.timings:
        with treated(strict=line.strict), no_collections():
            time_both(line, sides, wanted, row)
    started = time.perf_counter()
    with unhurried(sides):
        row.difference = difference_of(line, sides, wanted)
    row.judge = time.perf_counter() - started
    row.graphs = sum(len(made.graphs) for made in sides.made())
    row.breaks = sum(len(made.breaks) for made in sides.made())
    return row


@contextlib.contextmanager
def treated(*, strict: bool) -> Iterator[None]:
    """Warnings as errors, or as nothing: printing them is no part of what is timed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "ignore")
        yield


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """The collector would run on either side by chance."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def unhurried(sides: Sides) -> Iterator[None]:
    """All that can be captured is, whatever the calls before have left of the process's time for traces."""
    sessions = [made.__ufuse_session__ for made in sides.made()]
    for session in sessions:
        session.unhurried = True
    try:
        yield
    finally:
        for session in sessions:
            session.unhurried = False


def once(function: Callable[..., Any], call: Call, clock: Clock = time.perf_counter) -> float:
    """Seconds of one call."""
    args, kwargs = call.args, call.kwargs
    started = clock()
    function(*args, **kwargs)
    return clock() - started


def several(function: Callable[..., Any], call: Call, count: int, clock: Clock) -> float:
    """Seconds per call, of `count` calls."""
    args, kwargs = call.args, call.kwargs
    repeat = range(count)
    started = clock()
    for _ in repeat:
        function(*args, **kwargs)
    return (clock() - started) / count


def time_both(line: Line, sides: Sides, wanted: Wanted, row: Row) -> None:
    """First calls, warm-up, then both sides in turns, so that a slow moment of the machine hits both."""
    clock = time.process_time if wanted.processor else time.perf_counter
    row.plain_first = once(sides.plain, line.arguments(), clock)
    row.compiled_first = once(sides.compiled, line.arguments(), clock)
    fresh = changes_arguments(line, sides.plain)
    calls = [line.arguments(), line.arguments()]
    both = (sides.plain, sides.compiled)

    def sample(side: int, count: int) -> float:
        return several(both[side], line.arguments() if fresh else calls[side], count, clock)

    started, number = clock(), 0
    while (elapsed := clock() - started) < max(wanted.warm, WARM_AT_MOST):
        if number >= WARM_CALLS and elapsed >= wanted.warm:
            break
        least = min(sample(0, 1), sample(1, 1))
        number += 1
    count = 1 if fresh else max(1, math.ceil(SAMPLE / least))
    kept: tuple[list[float], list[float]] = ([], [])
    for _ in range(LONGER):
        end = clock() + wanted.seconds
        while len(kept[0]) < FEWEST or clock() < end:
            for side in (0, 1) if len(kept[0]) % 2 else (1, 0):
                kept[side].append(sample(side, count))
        row.plain, row.compiled = map(statistics.median, kept)
        row.samples = len(kept[0])
        if row.ratio < CLOSE:
            break


def changes_arguments(line: Line, function: Callable[..., Any]) -> bool:
    """Whether a call leaves its arguments otherwise than they were: each call then needs new ones."""
    used, unused = line.arguments(), line.arguments()
    function(*used.args, **used.kwargs)
    comparison = Comparison()
    comparison.visit("arguments", visible([*used.args, used.kwargs]), visible([*unused.args, unused.kwargs]))  # fmt: skip
    return bool(comparison.found)


def difference_of(line: Line, sides: Sides, wanted: Wanted) -> str:
    """What the judge sees: of calls as they are after those that were timed, then from the first one on."""
    plain, settled, anew = (shown(f, line) for f in (sides.plain, sides.compiled, sides.compiled))
    arguments = Call if has_pandas(line) else line.arguments
    anew.reset = sides.forget  # type: ignore[attr-defined]
    modes = [mode for mode in MODES if mode.warnings == "error"] if line.strict else MODES[:3]
    for compiled, calls in ((settled, 1), (anew, wanted.calls)):
        if compiled is settled and not wanted.timings:
            continue
        tried = modes[:1] if compiled is settled else modes[: wanted.modes]
        try:
            check_same(plain, compiled, arguments, calls=calls, modes=tried, copies=False)
        except Difference as error:
            return str(error)[:3000]
    return ""
