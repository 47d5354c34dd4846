"""A program in a process of its own: `python -m benchmarks.apart NAME SIZE SECONDS` prints one line of JSON."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from operator import truediv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ufuse
from benchmarks.cases.loops import LOOPS
from benchmarks.harness import (
    FEWEST,
    MOST,
    Row,
    Timing,
    compared,
    difference_between,
    seconds_per_call,
    timed,
)
from benchmarks.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KNOWN = {**PROGRAMS, **LOOPS}
ROOT = Path(__file__).resolve().parent.parent
WARM_UP = 1.2  # seconds of calls, and so many of them at least: whole calls are one nest after 4000
WARM_CALLS = 40
MOST_CALLS = 4000  # before a function that gets new arguments for each call is timed
CLOSE, LONGER = 1.0, 4  # below this ratio a pair is timed for longer: noise is no loss
LONGEST = 300  # seconds for one program at one size


def measured(name: str, size: int, seconds: float) -> Row:
    """Time a program that nothing in this process has run before; in processor time, as these are short."""
    program = KNOWN[name]
    arguments = program.make_args(size)
    for _ in range(2):
        program.function(*arguments)  # what NumPy imports at first is not ufuse's
    compiled = program.decorated(ufuse.compile)
    row = compared(program, size, compiled, seconds, warm_up, time.process_time)
    if row.paired < CLOSE:
        row = timed(
            program,
            size,
            compiled,
            seconds * LONGER,
            row.first_call,
            row.difference,
            clock=time.process_time,
        )
    return replace(row, loops=tuple(loops_of(compiled))) if name in LOOPS else row


def measured_anew(
    function: Callable[..., Any],
    compiled: Any,
    make_args: Callable[[], tuple[Any, ...]],
    seconds: float,
    shown: Callable[[Any], Any] = lambda result: result,
) -> Row:
    """Time a function that gets new arguments for each call; the size is their bytes.

    `shown`: what is compared of a result.
    """
    for _ in range(2):
        function(*make_args())  # what NumPy imports at first is not ufuse's
    first_call = seconds_of(compiled, make_args)
    calls, end = 0, time.perf_counter() + max(WARM_UP, seconds)
    while calls < MOST_CALLS and time.perf_counter() < end:
        compiled(*make_args())
        calls += 1
    difference = difference_between(
        lambda *args: shown(function(*args)), lambda *args: shown(compiled(*args)), make_args
    )
    samples: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while len(samples[0]) < FEWEST or (time.perf_counter() < end and len(samples[0]) < MOST):
        for kept, one in zip(samples, (function, compiled), strict=True):
            kept.append(seconds_of(one, make_args))
    eager, other = (Timing(statistics.median(kept), min(kept), len(kept)) for kept in samples)
    paired = statistics.median(map(truediv, *samples))
    size = sum(one.nbytes for one in make_args() if isinstance(one, np.ndarray))
    return Row(size, eager, other, first_call, paired, difference, tuple(loops_of(compiled)))


def seconds_of(function: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]]) -> float:
    """Time one call with new arguments."""
    arguments = make_args()
    gc.collect(0)
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def loops_of(compiled: Any) -> Iterator[str]:
    """How the loops of a compiled function ran."""
    for loop in compiled.loops:
        if loop.turns:
            how = f"native, {loop.turns} turns, {loop.doubts} doubts"
        elif loop.inside:
            how = f"inside the native loop of line {loop.inside}"
        else:
            how = f"plain, as {loop.why_not} [{loop.code}]" if loop.why_not else "plain"
        yield f"line {loop.line}: {how}"


def warm_up(function: Any, arguments: tuple[Any, ...]) -> None:
    """Call a function until what is worth its place is decided."""
    end = time.perf_counter() + WARM_UP
    calls = 0
    while calls < WARM_CALLS or time.perf_counter() < end:
        seconds_per_call(function, arguments, 1)
        calls += 1


def row_of(name: str, size: int, seconds: float) -> Row:
    """The row of a program, measured in a process of its own."""
    return printed_row(f"{name} of {size}", ["benchmarks.apart", name, str(size), str(seconds)])


def printed_row(name: str, module: list[str]) -> Row:
    """The row that a module prints, run with its arguments in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", *module],
        check=False,
        capture_output=True,
        cwd=ROOT,
        text=True,
        timeout=LONGEST,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip() or done.returncode}")
    found = json.loads(done.stdout.splitlines()[-1])
    found.pop("ratio", None)
    eager, other = (Timing(**found.pop(side)) for side in ("eager", "other"))
    found["loops"] = tuple(found["loops"])
    return Row(eager=eager, other=other, **found)


def main() -> None:
    """Print the row of one program."""
    name, size, seconds = sys.argv[1:]
    print(json.dumps(measured(name, int(size), float(seconds)).as_json()))


if __name__ == "__main__":
    main()
