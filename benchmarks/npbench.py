"""NPBench's programs, unmodified: `python -m benchmarks.npbench CHECKOUT [NAMES…] [--preset S]`.

CHECKOUT is a copy of https://github.com/spcl/npbench (BSD license). Each program runs in a process of its own, gets new
arguments for every call, and is compared with plain NumPy to the bit, in what it gives and in what it writes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

import ufuse
from benchmarks.apart import measured_anew, printed_row
from benchmarks.harness import Row
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
    """Time a program that nothing in this process has run before."""
    function, make_args = program(checkout, name, preset)
    return measured_anew(function, ufuse.compile(function), make_args, seconds)


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


if __name__ == "__main__":
    sys.exit(main())
