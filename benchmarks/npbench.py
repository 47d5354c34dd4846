"""NPBench's programs, unmodified: `python -m benchmarks.npbench CHECKOUT [NAMES…] [--preset S]`.

CHECKOUT is a copy of https://github.com/spcl/npbench (BSD license). Each program runs in a process of its own, gets new
arguments for every call, and is compared with plain NumPy to the bit, in what it gives and in what it writes.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from operator import truediv
from pathlib import Path
from typing import Any

import numpy as np

import ufuse
from benchmarks.apart import WARM_CALLS, WARM_UP, loops_of, printed_row
from benchmarks.harness import FEWEST, MOST, Row, Timing, difference_between
from benchmarks.report import heading, line, save_group, summary

SEED = 42


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a folder with `bench_info` and `npbench`")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all programs")
    parser.add_argument("--preset", default="S", choices=("S", "M", "L", "paper"))
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to time each")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results as it is")
    parser.add_argument("--apart", action="store_true", help="one, here; prints a line of JSON")
    chosen = parser.parse_args()
    chosen.checkout = chosen.checkout.resolve()
    known = sorted(path.stem for path in chosen.checkout.glob("bench_info/*.json"))
    if not known:
        parser.error(f"{chosen.checkout} is no copy of NPBench: it has no bench_info/*.json")
    if unknown := set(chosen.names) - set(known):
        parser.error(
            f"no program is called {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    chosen.names = chosen.names or known
    return chosen


def main() -> int:
    """Run what was asked for; give 1 where any result differs from eager."""
    chosen = options()
    if chosen.apart:
        row = measured(chosen.checkout, chosen.names[0], chosen.preset, chosen.seconds)
        print(json.dumps(row.as_json()))
        return 0
    print(heading([]), flush=True)
    rows = []
    for name in chosen.names:
        row = row_of(chosen, name)
        print("\n    ".join([line(name, row, {}), *row.loops]), flush=True)
        rows.append({"program": name} | row.as_json())
    print(summary(rows))
    if not chosen.no_save:
        save_group(f"npbench_{chosen.preset}", rows)
    return int(any(row["difference"] for row in rows))


def row_of(chosen: argparse.Namespace, name: str) -> Row:
    """The row of a program, measured in a process of its own."""
    settings = ["--preset", chosen.preset, "--seconds", str(chosen.seconds), "--apart"]
    return printed_row(name, ["benchmarks.npbench", str(chosen.checkout), name, *settings])


def measured(checkout: Path, name: str, preset: str, seconds: float) -> Row:
    """Time a program that nothing in this process has run before; the size is the bytes of its arguments."""
    function, make_args = program(checkout, name, preset)
    for _ in range(2):
        function(*make_args())  # what NumPy imports at first is not ufuse's
    compiled = ufuse.compile(function)
    first_call = seconds_of(compiled, make_args)
    calls, end = 0, time.perf_counter() + max(WARM_UP, seconds / 2)
    while calls < WARM_CALLS and time.perf_counter() < end:
        compiled(*make_args())
        calls += 1
    difference = difference_between(function, compiled, make_args)
    samples: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while len(samples[0]) < FEWEST or (time.perf_counter() < end and len(samples[0]) < MOST):
        for kept, one in zip(samples, (function, compiled), strict=True):
            kept.append(seconds_of(one, make_args))
    eager, other = (Timing(statistics.median(kept), min(kept), len(kept)) for kept in samples)
    paired = statistics.median(map(truediv, *samples))
    size = sum(one.nbytes for one in make_args() if isinstance(one, np.ndarray))
    return Row(size, eager, other, first_call, paired, difference, tuple(loops_of(compiled)))


def program(
    checkout: Path, name: str, preset: str
) -> tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]:
    """A program and what makes its arguments, anew each time."""
    sys.path.insert(0, str(checkout))
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text())["benchmark"]
    place = ".".join(
        ["npbench.benchmarks", *Path(info["relative_path"]).parts, info["module_name"]]
    )
    values = dict(info["parameters"][preset])
    if makes := info.get("init"):
        np.random.seed(SEED)  # noqa: NPY002 - some of the programs draw from it
        make = getattr(importlib.import_module(place), makes["func_name"])
        made = make(*(values[each] for each in makes["input_args"]))
        made = made if len(makes["output_args"]) > 1 else (made,)
        values |= zip(makes["output_args"], made, strict=True)
    function = getattr(importlib.import_module(f"{place}_numpy"), info["func_name"])
    return function, lambda: tuple(deepcopy(values[each]) for each in info["input_args"])


def seconds_of(function: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]]) -> float:
    """Time one call with new arguments."""
    arguments = make_args()
    gc.collect(0)
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
