"""Times two callables against one another, and refuses a ratio where their results differ."""

from __future__ import annotations

import gc
import math
import statistics
import time
from dataclasses import asdict, dataclass
from operator import truediv
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tests.support.comparing.compare import MODES, Difference, check_same

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.cases import Case
    from benchmarks.programs import Program

Clock: TypeAlias = "Callable[[], float]"

SAMPLE_SECONDS = 0.002  # shorter calls are timed several at once
FEWEST, MOST = 7, 400  # samples of each side


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call."""

    median: float
    least: float
    samples: int


@dataclass(frozen=True, slots=True)
class Row:
    """One program at one size: eager against another way to run it, in one run."""

    size: int
    eager: Timing
    other: Timing
    first_call: float
    paired: float  # the median, over pairs of neighbouring samples, of their quotients
    difference: str = ""  # empty: identical, to the bit and in all else
    loops: tuple[str, ...] = ()  # how each loop over a range ran

    @property
    def ratio(self) -> float:
        """How many times faster than eager, by pairs; only where the results are the same."""
        if self.difference:
            message = f"no ratio: {self.difference}"
            raise ValueError(message)
        return self.paired

    @property
    def speed(self) -> float:
        """The quotient of the medians, whatever was computed."""
        return self.eager.median / self.other.median

    def as_json(self) -> dict[str, Any]:
        """Give plain data; `ratio` is there only where the results are the same."""
        return asdict(self) | ({} if self.difference else {"ratio": self.ratio})


def compared(
    case: Case | Program,
    size: int,
    compiled: Callable[..., Any],
    seconds: float,
    warm_up: Callable[[Callable[..., Any], tuple[Any, ...]], None] | None = None,
    clock: Clock = time.perf_counter,
) -> Row:
    """Time a compiled function against the eager one; what differs is found before."""
    arguments = case.make_args(size)
    first_call = seconds_per_call(compiled, arguments, 1, clock)
    if warm_up is not None:
        warm_up(compiled, arguments)
    difference = difference_of(case, size, compiled)
    return timed(case, size, compiled, seconds, first_call, difference, clock=clock)


def difference_of(case: Case | Program, size: int, compiled: Callable[..., Any]) -> str:
    """Say what the compiled function does that the eager one does not; empty: nothing."""
    return difference_between(case.function, compiled, lambda: case.make_args(size))


def difference_between(
    function: Callable[..., Any],
    compiled: Callable[..., Any],
    make_args: Callable[[], tuple[Any, ...]],
) -> str:
    """As `difference_of`, for arguments that are made anew."""

    def already_compiled(*args: Any) -> Any:
        return compiled(*args)  # hides `reset`: what is compared is what is timed

    try:
        check_same(function, already_compiled, make_args, modes=MODES[:1])
    except Difference as error:
        return str(error)
    return ""


def timed(
    case: Case | Program,
    size: int,
    other: Callable[..., Any],
    seconds: float,
    first_call: float,
    difference: str,
    convert: Callable[[Any], Any] = lambda argument: argument,
    clock: Clock = time.perf_counter,
) -> Row:
    """Time both sides in turns, A B A B, so that a slow moment of the machine hits both."""
    sides = [
        (case.function, case.make_args(size)),
        (other, tuple(map(convert, case.make_args(size)))),
    ]
    loops = [calls_per_sample(function, args) for function, args in sides]
    samples: tuple[list[float], list[float]] = ([], [])
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        while len(samples[0]) < FEWEST or (time.perf_counter() < end and len(samples[0]) < MOST):
            for (function, args), count, kept in zip(sides, loops, samples, strict=True):
                kept.append(seconds_per_call(function, args, count, clock))
    finally:
        if collecting:
            gc.enable()
    eager, fast = (Timing(statistics.median(kept), min(kept), len(kept)) for kept in samples)
    paired = statistics.median(map(truediv, *samples))
    return Row(size, eager, fast, first_call, paired, difference)


def seconds_per_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    count: int,
    clock: Clock = time.perf_counter,
) -> float:
    """Time `count` calls; results are dropped at once, as a loop over them would."""
    repeat = range(count)
    started = clock()
    for _ in repeat:
        function(*args)
    return (clock() - started) / count


def calls_per_sample(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Count the calls that fill one sample, after a few that warm up."""
    least = min(seconds_per_call(function, args, 1) for _ in range(3))
    if least * 10 < SAMPLE_SECONDS:
        least = seconds_per_call(function, args, math.ceil(SAMPLE_SECONDS / 10 / least))
    return max(1, math.ceil(SAMPLE_SECONDS / least))


def same_bits(one: Any, other: Any) -> bool:
    """Tell whether two results have equal dtypes, shapes and bits, whatever holds them."""
    if isinstance(one, dict):
        return same_bits([*one.items()], [*other.items()])
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same_bits, one, other))
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
