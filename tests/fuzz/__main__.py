"""`python -m tests.fuzz`: runs random programs plain and compiled, and prints those that differ, made small."""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.check import difference
from tests.fuzz.generate import compact, generated
from tests.fuzz.shrink import shrunk

CHUNK = 100
LONGEST = 60  # seconds that a program may take, shrinking included


def gist(found: str) -> str:
    """What kind of difference it is, so that shrinking does not slip to another one."""
    lines = found.splitlines()
    if "failed inside" in found:
        return [line for line in lines if line.startswith("  File")][-1]
    line = lines[min(1, len(lines) - 1)].strip()
    return line.split(":")[0].split("[")[0].split(".")[0]


def report(seed: int, backend: str, *, small: bool) -> bool:
    """Run one program; print it where it differs."""
    program = generated(seed)
    found = difference(program, backend)
    if not found:
        return True
    if small:
        kind = gist(found)
        program = shrunk(program, lambda p: bool(d := difference(p, backend)) and gist(d) == kind)
        found = difference(program, backend) or found
    lines = found.splitlines()
    found = "\n".join([*lines[:8], "  …"] if len(lines) > 60 else lines)
    print(f"--- seed {seed}, backend {backend}\n{compact(program)}\n  {found}\n", flush=True)
    return False


def chunk(seeds: range, backend: str, progress: Path, *, small: bool) -> int:
    """Run some programs; the number that differ."""
    faulthandler.enable()
    failed = 0
    for seed in seeds:
        progress.write_text(str(seed))
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        failed += not report(seed, backend, small=small)
        faulthandler.cancel_dump_traceback_later()
    return failed


def in_child(seeds: range, backend: str, progress: Path, *, small: bool) -> tuple[int, int | None]:
    """Run programs in a process of their own: how many differ, and the seed that ended the process."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 120
        try:
            status = min(chunk(seeds, backend, progress, small=small), 119)
        except BaseException:  # noqa: BLE001  the parent reports it as a death
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if 0 <= code < 120:
        return code, None
    return 1, int(progress.read_text())


def main() -> int:
    """Run as asked on the command line; 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed")
    parser.add_argument(
        "--backend", default="numpy", choices=["numpy", "hot", "reference", "eager"]
    )
    parser.add_argument("--show", action="store_true", help="print the program of the seed and end")
    parser.add_argument(
        "--whole", action="store_true", help="print failing programs as they are, not made small"
    )
    parser.add_argument("--most", type=int, default=40, help="stop after this many failures")
    asked = parser.parse_args()
    if asked.show:
        print(generated(asked.seed).source)
        print(compact(generated(asked.seed)))
        return 0
    failures: Counter[str] = Counter()
    started = time.monotonic()
    seed, end = asked.seed, asked.seed + asked.count
    with TemporaryDirectory() as folder:
        progress = Path(folder) / "seed"
        while seed < end and failures.total() < asked.most:
            seeds = range(seed, min(seed + CHUNK, end))
            failed, ended_by = in_child(seeds, asked.backend, progress, small=not asked.whole)
            failures["differ"] += failed
            seed = seeds.stop
            if ended_by is not None:
                failures["crashed"] += 1
                print(f"--- seed {ended_by}, backend {asked.backend}: THE INTERPRETER DIED")
                print(compact(generated(ended_by)), flush=True)
                seed = ended_by + 1
    seconds = time.monotonic() - started
    print(f"{seed - asked.seed} programs, {dict(failures) or 'no differences'}, {seconds:.0f} s")
    return 1 if failures.total() else 0


if __name__ == "__main__":
    sys.exit(main())
