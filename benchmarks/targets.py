"""`python -m benchmarks.targets`: what native loops are held to, each figure beside its target."""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from operator import truediv
from typing import Any

import ufuse
from benchmarks.apart import ROOT, row_of, warm_up
from benchmarks.cases.loops import GROUP, LOOPS
from benchmarks.harness import Clock, seconds_per_call
from benchmarks.report import save_rows
from ufuse import sharing
from ufuse.backends.numpy import nests as nest_objects
from ufuse.backends.numpy import set_threads, threads
from ufuse.backends.numpy.llvm import object_cache
from ufuse.backends.numpy.nest_code import nests
from ufuse.frame_hook.session import Session

FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
SECONDS = 1.0  # for each pair
PAIRS = 15
FEW, MANY = 10_000, 10_000_000  # turns of a loop: how many is not to matter to compiling
# fmt: off
#   program,                 size, times eager at least
SPEEDS = (
    ("cholesky_dots",          350,  40), ("lu_dots",       280,  40), ("seidel_2d",             90, 40),
    ("crc_16",               15000,  40), ("rank_k_rows",   120,  40), ("symmetric_product_rows", 90, 40),
    ("nussinov",                80, 200), ("smith_waterman_int32", 300, 200),
)
# Programs of one loop nest, and sizes at which a call takes more than five milliseconds.
LONG = (
    ("cholesky",               350), ("floyd_warshall", 250), ("kalman", 400_000), ("smoothing", 2_000_000),
    ("smith_waterman_int32",  2000), ("crc_16",     400_000), ("seidel_2d",     400), ("jacobi_2d",      1500),
)
CHECKED = (
    ("cholesky",               150), ("lu",             100), ("seidel_2d",     150), ("crc_16",        10000),
    ("rank_k_update",           80), ("nussinov",       120), ("floyd_warshall", 80), ("smith_waterman_int32", 200),
    ("kalman",               20000), ("thomas",       20000),
)
# fmt: on
PLAIN = (
    (
        re.compile(
            r"call (\w+) @llvm\.experimental\.constrained\.(f(?:add|sub|mul|div))\.\w+\((\w+ [^,]+), \w+ ([^,]+), "
            r'metadata !"[^"]*", metadata !"[^"]*"\)(?: #\d+)?'
        ),
        r"\2 \3, \4",
    ),
    (
        re.compile(
            r"call i1 @llvm\.experimental\.constrained\.fcmp\.\w+\((\w+ [^,]+), \w+ ([^,]+), "
            r'metadata !"(\w+)", metadata !"[^"]*"\)(?: #\d+)?'
        ),
        r"fcmp \3 \1, \2",
    ),
)  # fmt: skip
UNCHECKED = (
    (re.compile(r"br i1 [^,]+, label %doubt, label (%\w+)"), r"br label \1"),
    (re.compile(r"br i1 [^,]+, label (%\w+), label %doubt"), r"br label \1"),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, and what it is held to."""

    name: str
    value: float
    unit: str
    target: float
    is_least: bool = False  # whether the target is the least that it may be, not the most

    @property
    def holds(self) -> bool:
        """Whether it is as good as its target."""
        return self.value >= self.target if self.is_least else self.value <= self.target

    def __str__(self) -> str:
        sign = ">=" if self.is_least else "<="
        end = "" if self.holds else "   MISSED"
        return f"{self.name:<62}{self.value:>10.3g} {self.unit:<3} {sign} {self.target:g}{end}"


# --- how much faster than eager


def speeds() -> Iterator[Figure]:
    """The programs of the first stage."""
    for name, size, least in SPEEDS:
        row = row_of(f"{GROUP}.{name}", size, SECONDS)
        yield Figure(f"speed of {name} of {size}", row.ratio, "x", least, is_least=True)


# --- compiling


@contextmanager
def replaced(owner: Any, name: str, other: Callable[..., Any]) -> Iterator[None]:
    """A function in the place of another, which it is given."""
    own = getattr(owner, name)

    def call(*given: Any, **named: Any) -> Any:
        return other(own, *given, **named)

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, own)


def timed_into(
    seconds: list[float], clock: Clock, own: Callable[..., Any], *given: Any, **named: Any
) -> Any:
    """The call, its time noted."""
    begun = clock()
    try:
        return own(*given, **named)
    finally:
        seconds.append(clock() - begun)


def compile_times() -> Iterator[Figure]:
    """How long LLVM takes for the nests of all programs."""
    first: list[float] = []
    better: list[float] = []
    run(LOOPS["loops.smoothing"], 200_000, ufuse.compile)  # LLVM is loaded
    for program in LOOPS.values():
        with (
            replaced(nests, "compiled_nest", partial(timed_into, first, time.thread_time)),
            replaced(nests, "improved_nest", partial(timed_into, better, time.thread_time)),
        ):
            run(program, program.sizes[0], ufuse.compile)
    for what, seconds, most in (("first", first, 5), ("better", better, 25)):
        times = [1e3 * one for one in seconds if one > 1e-4]
        late = sum(one > most for one in times)
        yield Figure(
            f"{what} code, median of {len(times)} nests", statistics.median(times), "ms", most
        )
        yield Figure(f"{what} code, nests that take longer", 100 * late / len(times), "%", 5)


def run(program: Any, size: int, compile_: Callable[[Any], Any]) -> Any:
    """The program compiled anew and run until all is decided, its better code made."""
    sharing.forget()  # else it would have the machine code of the last time
    with replaced(object_cache, "cache_in_use", lambda _: None):  # nor that which is kept on disk
        compiled = program.decorated(compile_)
        warm_up(compiled, program.make_args(size))
    return compiled


def total(count: int) -> float:
    """A loop that may have any number of turns."""
    found = 0.0
    for i in range(count):
        found += i * 0.5
    return found


def seconds_of_captures(count: int) -> float:
    """What a first call spends in reading and compiling, in a process of its own that compiles at once."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.targets", "--captures", str(count)],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "UFUSE_MEASURE": "0"},
        text=True,
    )
    return float(done.stdout)


def print_captures(count: int) -> None:
    """Such a process: run, and print the seconds."""
    run(LOOPS["loops.smoothing"], 20_000, ufuse.compile)  # LLVM is loaded
    seconds: list[float] = []
    # LLVM works in a thread of its own; the better code, which comes later, is left out.
    timed = partial(timed_into, seconds, time.thread_time)
    with replaced(Session, "capture", timed), replaced(nests, "compiled_nest", timed):
        ufuse.compile(total)(count)
    print(sum(seconds))


def trip_counts() -> Iterator[Figure]:
    """Compiling for many turns beside compiling for few."""
    pairs = [(seconds_of_captures(MANY), seconds_of_captures(FEW)) for _ in range(5)]
    yield Figure(
        f"capturing a loop of {MANY:,} turns, against {FEW:,}",
        statistics.median(many for many, _ in pairs) / statistics.median(few for _, few in pairs),
        "x",
        1.15,
    )


# --- what runs beside the computing


def noted(seconds: list[float], found: tuple[int, object] | None) -> tuple[int, object] | None:
    """Machine code that notes its time."""
    if found is None:
        return None
    address, owner = found
    function = FUNCTION(address)

    def run_noted(*words: int) -> int:
        begun = time.perf_counter()
        verdict = function(*words)
        seconds.append(time.perf_counter() - begun)
        return int(verdict)

    called = FUNCTION(run_noted)
    address = ctypes.cast(called, ctypes.c_void_p).value or 0
    return address, (owner, called)


@contextmanager
def alone() -> Iterator[None]:
    """On this thread only: machine code that notes its time calls Python, for which other threads would wait."""
    before = threads()
    set_threads(1)
    try:
        yield
    finally:
        set_threads(before)


def share_outside(inside: Sequence[float], whole: float) -> float:
    """Which part of a call, in per cent, was outside of machine code.

    Raises:
        RuntimeError: no machine code that notes its time was entered.

    """
    if not inside:
        raise RuntimeError("no machine code was measured")
    return 100 * (1 - sum(inside) / whole)


def kept(found: list[Any], own: Callable[..., Any], *given: Any) -> Any:
    """What a function gives, which is noted."""
    made = own(*given)
    found.append(made)
    return made


def transactions() -> Iterator[Figure]:
    """Of loops that take long: the time outside of machine code, where memory is saved and numbers become objects.

    Beside it which part of the whole call that is: a program's own copies and zeros are no transaction's.
    """
    for name, size in LONG:
        program = LOOPS[f"{GROUP}.{name}"]
        seconds: list[float] = []
        made: list[Any] = []

        def with_notes(own: Any, nest: Any, seconds: list[float] = seconds, **named: Any) -> Any:
            return noted(seconds, own(nest, **named))

        with (
            alone(),
            replaced(nests, "compiled_nest", with_notes),
            replaced(nests, "improved_nest", with_notes),
            replaced(nest_objects, "_made", partial(kept, made)),
        ):
            compiled = run(program, size, ufuse.compile)
        arguments = program.make_args(size)
        shares, parts, calls = [], [], []
        for _ in range(PAIRS):
            seconds.clear()
            before = sum(one.call_ns for one in made)
            with alone():
                whole = seconds_per_call(compiled, arguments, 1)
            loops = 1e-9 * (sum(one.call_ns for one in made) - before)
            shares.append(share_outside(seconds, loops))
            parts.append(share_outside(seconds, whole))
            calls.append(1e3 * whole)
        print(
            f"{name} of {size}: {statistics.median(calls):.3g} ms a call,"
            f" {statistics.median(parts):.3g} % of it outside of machine code"
        )
        yield Figure(
            f"{name} of {size}, outside of machine code", statistics.median(shares), "%", 5
        )


# --- what exactness costs


def rewritten(rules: Sequence[tuple[re.Pattern[str], str]], text: str) -> str:
    """The text with all these changes."""
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def cost(name: str, size: int, rules: Sequence[tuple[re.Pattern[str], str]]) -> float:
    """The program's time beside that of code that was changed by rules."""
    program = LOOPS[f"{GROUP}.{name}"]
    arguments = program.make_args(size)
    ours = run(program, size, ufuse.compile)

    def changed(own: Any, *given: Any, **named: Any) -> str:
        return rewritten(rules, own(*given, **named))

    with replaced(nests, "nest_text", changed):
        other = run(program, size, ufuse.compile)
    count = max(1, int(2e-3 / seconds_per_call(ours, arguments, 3)))
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(4 * PAIRS):
        for function, kept in zip((ours, other), samples, strict=True):
            kept.append(seconds_per_call(function, arguments, count, time.process_time))
    return float(statistics.median(map(truediv, *samples)))


def costs() -> Iterator[Figure]:
    """Of strict floating point, and of checks."""
    for what, rules, most in (("strict, against plain", PLAIN, 1.05), ("checks", UNCHECKED, 1.1)):
        found = {name: cost(name, size, rules) for name, size in CHECKED}
        for name, value in found.items():
            yield Figure(f"{what}: {name}", value, "x", most)
        yield Figure(
            f"{what}: geometric mean", statistics.geometric_mean(found.values()), "x", most
        )


FIGURES: dict[str, Callable[[], Iterator[Figure]]] = {
    "speeds": speeds,
    "compiling": compile_times,
    "turns": trip_counts,
    "transactions": transactions,
    "costs": costs,
}


def report(names: Sequence[str] = tuple(FIGURES), *, saves: bool = False) -> None:
    """Print the figures while they come, and save them."""
    rows = []
    for name in names:
        for figure in FIGURES[name]():
            print(figure, flush=True)
            rows.append(asdict(figure) | {"holds": figure.holds})
    print(f"{sum(row['holds'] for row in rows)} of {len(rows)} hold")
    if saves:
        save_rows("targets", rows)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.targets", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--captures", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.captures:
        print_captures(chosen.captures)
        return
    report(chosen.names or tuple(FIGURES), saves=not chosen.names)


if __name__ == "__main__":
    main()
