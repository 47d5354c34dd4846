"""Times two callables against one another, and refuses a ratio where their results differ."""

from __future__ import annotations

import gc
import math
import statistics
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.compare import MODES, Difference, check_same

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.cases import Case

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
    difference: str = ""  # empty: identical, to the bit and in all else

    @property
    def ratio(self) -> float:
        """How many times faster than eager, by medians; only where the results are the same."""
        if self.difference:
            message = f"no ratio: {self.difference}"
            raise ValueError(message)
        return self.speed

    @property
    def speed(self) -> float:
        """The quotient of the medians, whatever was computed."""
        return self.eager.median / self.other.median

    def as_json(self) -> dict[str, Any]:
        """Give plain data; `ratio` is there only where the results are the same."""
        return asdict(self) | ({} if self.difference else {"ratio": self.ratio})


def compared(case: Case, size: int, compiled: Callable[..., Any], seconds: float) -> Row:
    """Time a compiled function against the eager one; what differs is found before."""
    arguments = case.make_args(size)
    started = time.perf_counter()
    compiled(*arguments)
    first_call = time.perf_counter() - started
    return timed(case, size, compiled, seconds, first_call, difference_of(case, size, compiled))


def difference_of(case: Case, size: int, compiled: Callable[..., Any]) -> str:
    """Say what the compiled function does that the eager one does not; empty: nothing."""

    def already_compiled(*args: Any) -> Any:
        return compiled(*args)  # hides `reset`: what is compared is what is timed

    try:
        check_same(case.function, already_compiled, lambda: case.make_args(size), modes=MODES[:1])
    except Difference as error:
        return str(error)
    return ""


def timed(
    case: Case,
    size: int,
    other: Callable[..., Any],
    seconds: float,
    first_call: float,
    difference: str,
    convert: Callable[[Any], Any] = lambda argument: argument,
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
                kept.append(seconds_per_call(function, args, count))
    finally:
        if collecting:
            gc.enable()
    eager, fast = (Timing(statistics.median(kept), min(kept), len(kept)) for kept in samples)
    return Row(size, eager, fast, first_call, difference)


def seconds_per_call(function: Callable[..., Any], args: tuple[Any, ...], count: int) -> float:
    """Time `count` calls; results are dropped at once, as a loop over them would."""
    repeat = range(count)
    started = time.perf_counter()
    for _ in repeat:
        function(*args)
    return (time.perf_counter() - started) / count


def calls_per_sample(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Count the calls that fill one sample, after a few that warm up."""
    least = min(seconds_per_call(function, args, 1) for _ in range(3))
    if least * 10 < SAMPLE_SECONDS:
        least = seconds_per_call(function, args, math.ceil(SAMPLE_SECONDS / 10 / least))
    return max(1, math.ceil(SAMPLE_SECONDS / least))


def same_bits(one: Any, other: Any) -> bool:
    """Tell whether two results have equal dtypes, shapes and bits, whatever holds them."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same_bits, one, other))
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
