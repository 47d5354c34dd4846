"""What a second core is worth in native loops: `python -m benchmarks.threads [NAMES…]`.

Two processes run a program in turns, one with `UFUSE_THREADS=1`, the other with 2: a pair of calls gives a ratio, of
which the median counts. Then the same while another program keeps one of the cores busy. Two threads are to be 1.5
times as fast where both cores are free, and never below 0.95 where one is not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

import ufuse
from benchmarks.apart import ROOT, seconds_of, warm_up
from benchmarks.cases.loops import GROUP, LOOPS
from benchmarks.report import save_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAMS = {
    "jacobi_2d": 1000,
    "heat_3d": 100,
    "jacobi_2d_slices": 1000,
    "jacobi_2d_swapped": 1000,
    "heat_3d_slices": 100,
}
FREE, STOLEN = 1.5, 0.95  # the least that two threads are worth
PAIRS = 45
WARM_UPS = 5
BUSY = "while True: pass"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results as it is")
    parser.add_argument("--worker", action="store_true", help="a call for each line; prints times")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - PROGRAMS.keys():
        parser.error(f"no program is called {', '.join(sorted(unknown))}")
    return chosen


def main() -> int:
    """Run what was asked for; give 1 where a second thread is worth less than it is to be."""
    chosen = options()
    if chosen.worker:
        serve(chosen.names[0])
        return 0
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("threads: this needs two cores")
        return 0
    os.sched_setaffinity(0, cores)
    print(f"{'program':<24}{'one thread, ms':>16}{'both cores':>14}{'one stolen':>14}", flush=True)
    rows, late = [], []
    for name in chosen.names or PROGRAMS:
        found = measured(name, cores[1])
        cells = f"{found['seconds'] * 1e3:16.1f}{found['free']:14.2f}{found['stolen']:14.2f}"
        print(f"{name:<24}{cells}", flush=True)
        rows.append({"program": name, "size": PROGRAMS[name]} | found)
        if found["free"] < FREE or found["stolen"] < STOLEN:
            late.append(name)
    if not chosen.no_save:
        save_rows("threads", rows)
    print(f"{len(rows) - len(late)} of {len(rows)} hold {' '.join(late)}")
    return int(bool(late))


def measured(name: str, core: int) -> dict[str, float]:
    """How much faster two threads are, with both cores and while one is kept busy."""
    with ExitStack() as opened:
        one, two = (opened.enter_context(worker(name, count)) for count in (1, 2))
        pairs = [(one(), two()) for _ in range(PAIRS)]
        opened.enter_context(kept_busy(core))
        stolen = [one() / two() for _ in range(PAIRS)]
    return {
        "seconds": statistics.median(alone for alone, _ in pairs),
        "free": statistics.median(alone / both for alone, both in pairs),
        "stolen": statistics.median(stolen),
    }


@contextmanager
def worker(name: str, threads: int) -> Iterator[Callable[[], float]]:
    """A process that is warm and gives the seconds of one call."""
    command = [sys.executable, "-m", "benchmarks.threads", name, "--worker"]
    environment = {**os.environ, "UFUSE_THREADS": str(threads)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        text=True,
        bufsize=1,
    ) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None
        told.readline()  # it is warm
        yield lambda: _answer(asked, told)
        asked.close()


def _answer(asked: IO[str], told: IO[str]) -> float:
    asked.write("\n")
    return float(told.readline())


@contextmanager
def kept_busy(core: int) -> Iterator[None]:
    """Another program that wants this core all the time."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        os.sched_setaffinity(process.pid, {core})
        try:
            yield
        finally:
            process.kill()


def serve(name: str) -> None:
    """Say when the program is warm, then time a call for each line."""
    program = LOOPS[f"{GROUP}.{name}"]
    size = PROGRAMS[name]
    compiled = program.decorated(ufuse.compile)
    for _ in range(WARM_UPS):  # threads share nothing before there is better code
        warm_up(compiled, program.make_args(size))
    print(flush=True)
    for _ in sys.stdin:
        print(seconds_of(compiled, lambda: program.make_args(size)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
