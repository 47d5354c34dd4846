"""First calls of programs with loops: `python -m benchmarks.first_calls [NAMES…]`.

Each runs in three processes of its own over a folder for machine code that is empty at first: a cold one, one that
works for a while and so keeps what it compiles, and a warm one. What eager takes is taken off. A cold first call is
to take 60 ms more than eager in the median, a warm one at most 40 ms anywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import ufuse
from benchmarks.apart import LONGEST, ROOT, seconds_of
from benchmarks.cases.loops import GROUP, LOOPS
from benchmarks.report import save_rows

COLD, WARM = 0.060, 0.040  # seconds: of the median, and of any
WORK = 1.0  # seconds of calls, for code to be made and kept
EAGER = 5  # calls, of which the median is taken


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all programs with loops")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results as it is")
    parser.add_argument("--apart", type=float, metavar="SECONDS", help="one, here; prints JSON")
    chosen = parser.parse_args()
    known = [name.removeprefix(f"{GROUP}.") for name in LOOPS]
    chosen.names = [name.removeprefix(f"{GROUP}.") for name in chosen.names] or known
    if unknown := set(chosen.names) - set(known):
        parser.error(f"no program is called {', '.join(sorted(unknown))}")
    return chosen


def main() -> int:
    """Run what was asked for; give 1 where a warm call takes too long, or the cold ones do in the median."""
    chosen = options()
    if chosen.apart is not None:
        print(json.dumps(measured(chosen.names[0], chosen.apart)))
        return 0
    print(f"{'program':<28}{'eager ms':>12}{'cold ms':>12}{'warm ms':>12}", flush=True)
    rows = []
    for name in chosen.names:
        rows.append({"program": name} | cold_and_warm(name))
        cells = (f"{rows[-1][column] * 1e3:12.1f}" for column in ("eager", "cold", "warm"))
        print(f"{name:<28}{''.join(cells)}", flush=True)
    if not chosen.no_save:
        save_rows("first_calls", rows)
    cold = statistics.median(row["cold"] for row in rows)
    late = [row["program"] for row in rows if row["warm"] > WARM]
    print(f"cold: {cold * 1e3:.1f} ms in the median ({COLD * 1e3:.0f} wanted)")
    print(f"warm: {len(late)} of {len(rows)} above {WARM * 1e3:.0f} ms {' '.join(late)}")
    return int(cold > COLD or bool(late))


def cold_and_warm(name: str) -> dict[str, float]:
    """What first calls of a program take beyond eager's calls, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        cold, _, warm = (_run(name, folder, seconds) for seconds in (0.0, WORK, 0.0))
    return {
        "eager": warm["eager"],
        "cold": cold["first"] - cold["eager"],
        "warm": warm["first"] - warm["eager"],
    }


def _run(name: str, folder: str, seconds: float) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_calls", name, "--apart", str(seconds)],
        check=True,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
        timeout=LONGEST,
        env=os.environ | {"UFUSE_CACHE": "1", "UFUSE_CACHE_DIR": folder},
    )
    return json.loads(done.stdout)


def measured(name: str, work: float) -> dict[str, float]:
    """Seconds that a first call takes in this process, and eager's; then call it for some seconds more."""
    program = LOOPS[f"{GROUP}.{name}"]

    def make_args() -> tuple[Any, ...]:
        return program.make_args(program.sizes[0])

    program.function(*make_args())  # what NumPy imports at first is not ufuse's
    eager = statistics.median(seconds_of(program.function, make_args) for _ in range(EAGER))
    compiled = program.decorated(ufuse.compile)
    first = seconds_of(compiled, make_args)
    end = time.perf_counter() + work
    while time.perf_counter() < end:
        compiled(*make_args())
    return {"eager": eager, "first": first}


if __name__ == "__main__":
    sys.exit(main())
