"""`python -m tests.whole.fuzz`: runs random programs plain and compiled, and prints those that differ, made small."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.nests.sharing import always_shared, loops_shared_at_once
from tests.support.nests.whole_calls import whole_at_once
from tests.whole.fuzz.kinds import KINDS, Kind
from tests.whole.fuzz.limits import limited
from tests.whole.fuzz.shrink import shrunk

CHUNK = 100
THREADS = 3  # where they share what they can: in every other chunk
LONGEST = 30  # seconds that a program may take
LONGEST_SMALLER = 2  # seconds that a program may take that was made of one that differs
STILL = 600  # seconds without a next program after which a process is killed; less would end slow compilers
LOOKING = 0.05  # seconds between two looks at the processes
PREPARING = "preparing "  # before the seed, in what a process writes of its progress
DIED = 120  # the exit status of a process that cannot go on
ENDED = 1  # and of one that was ended as a program took too long; as many that differ are one more


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for."""

    kind: Kind
    backend: str
    small: bool
    whole_calls: bool


def gist(found: str) -> str:
    """What kind of difference it is, so that shrinking does not slip to another one."""
    lines = found.splitlines()
    if "failed inside" in found:
        return [line for line in lines if line.startswith("  File")][-1]
    line = lines[min(1, len(lines) - 1)].strip()
    return line.split(":")[0].split("[")[0].split(".")[0]


def differs_like(asked: Asked, kind: str) -> Callable[[Any], bool]:
    """Whether a program differs in the same way."""

    def fails(program: Any) -> bool:
        try:
            with limited(LONGEST_SMALLER):
                found = asked.kind.difference(program, asked.backend)
        except BaseException:  # noqa: BLE001  what is made smaller may do anything
            return False
        return bool(found) and gist(found) == kind

    return fails


def report(seed: int, asked: Asked) -> bool:
    """Run one program; print it where it differs."""
    program = asked.kind.generated(seed)
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    found = asked.kind.difference(program, asked.backend)
    if not found:
        return True
    if asked.small:
        faulthandler.dump_traceback_later(asked.kind.seconds + LONGEST, exit=True)
        fails = differs_like(asked, gist(found))
        program = shrunk(
            program, fails, asked.kind.smaller, asked.kind.is_usable, asked.kind.seconds
        )
        found = asked.kind.difference(program, asked.backend) or found
    lines = found.splitlines()
    found = "\n".join([*lines[:8], "  …"] if len(lines) > 60 else lines)
    text = asked.kind.shown(program)
    print(f"--- seed {seed}, backend {asked.backend}\n{text}\n  {found}\n\n", end="", flush=True)
    return False


def chunk(seeds: range, asked: Asked, progress: Path) -> int:
    """Run some programs; the number that differ."""
    faulthandler.enable()
    sys.unraisablehook = lambda _: None  # programs made small fail in __del__ a lot
    failed = 0

    def generated(seed: int) -> Any:
        progress.write_text(f"{PREPARING}{seed}")
        return asked.kind.generated(seed)

    asked.kind.prepare(map(generated, seeds))
    for seed in seeds:
        progress.write_text(str(seed))
        with contextlib.ExitStack() as opened:
            if seed // CHUNK % 2:
                opened.enter_context(always_shared(THREADS))
            if seed // CHUNK % 4 == 1:
                opened.enter_context(loops_shared_at_once())
            if asked.whole_calls:
                opened.enter_context(whole_at_once())
            failed += not report(seed, asked)
        faulthandler.cancel_dump_traceback_later()
    return failed


def child_process(work: Callable[[], int]) -> int:
    """Run in a process of its own: its number."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = DIED
    try:
        failed = work()
        status = min(failed + ENDED, DIED - 1) if failed else 0
    except BaseException:  # noqa: BLE001  the parent reports it as a death
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def dies(asked: Asked) -> Callable[[Any], bool]:
    """Whether a program ends the interpreter."""

    def quiet(program: Any) -> int:
        sys.unraisablehook = lambda _: None
        with Path(os.devnull).open(
            "w"
        ) as nowhere:  # an alarm is not heard by what never comes back from C
            os.dup2(nowhere.fileno(), 2)
            faulthandler.dump_traceback_later(2 * LONGEST_SMALLER, exit=True, file=nowhere)
            with limited(LONGEST_SMALLER):
                asked.kind.difference(program, asked.backend)
        return 0

    def fails(program: Any) -> bool:
        child = child_process(lambda: quiet(program))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) < 0

    return fails


def ends_plainly(asked: Asked, program: Any) -> bool:
    """Whether the program comes to an end where nothing compiles it."""

    def plainly() -> int:
        sys.unraisablehook = lambda _: None
        with Path(os.devnull).open("w") as nowhere:
            faulthandler.dump_traceback_later(LONGEST, exit=True, file=nowhere)
            asked.kind.difference(program, "eager")
            faulthandler.cancel_dump_traceback_later()
        return 0

    return os.waitstatus_to_exitcode(os.waitpid(child_process(plainly), 0)[1]) != ENDED


@dataclass(slots=True)
class Search:
    """Processes that each run some of the programs."""

    asked: Asked
    folder: Path
    waiting: list[range]
    failures: Counter[str] = field(default_factory=Counter)
    running: dict[int, tuple[range, float]] = field(default_factory=dict)  # with when it began
    done: int = 0
    endless: int = 0  # programs that do not end in plain Python either

    def progress(self, seeds: range) -> Path:
        """Where a process writes which program it is at."""
        return self.folder / str(seeds.start)

    def start(self) -> None:
        """Give the next programs to a process of their own."""
        seeds = self.waiting.pop(0)
        progress = self.progress(seeds)
        progress.write_text(f"{PREPARING}{seeds.start}")
        child = child_process(lambda: chunk(seeds, self.asked, progress))
        self.running[child] = seeds, time.time()

    def ended(self) -> tuple[int, int]:
        """A process that has ended, and its status; one that stands still is killed."""
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child:
                return child, status
            for one, (seeds, started) in self.running.items():
                last = max(started, self.progress(seeds).stat().st_mtime)
                if time.time() - last > STILL:
                    os.kill(one, signal.SIGKILL)
                    return os.waitpid(one, 0)
            time.sleep(LOOKING)

    def finish_one(self) -> None:
        """Wait until a process ends; where it died, its other programs that have not run yet run again."""
        child, status = self.ended()
        seeds, _ = self.running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        self.done += len(seeds)
        if code == 0 or ENDED < code < DIED:
            self.failures["differ"] += max(code - ENDED, 0)
            return
        wrote = self.progress(seeds).read_text()
        died_at = int(wrote.removeprefix(PREPARING))
        before = range(seeds.start, died_at if wrote.startswith(PREPARING) else seeds.start)
        for rest in (range(died_at + 1, seeds.stop), before):
            self.done -= len(rest)
            if rest:
                self.waiting.insert(0, rest)
        if code == ENDED and not ends_plainly(self.asked, self.asked.kind.generated(died_at)):
            self.endless += 1
            return
        self.failures["crashed"] += 1
        self.report_death(died_at, code)

    def report_death(self, seed: int, code: int) -> None:
        """Print the program that ended its process, made small where it does so alone."""
        asked = self.asked
        program = asked.kind.generated(seed)
        if asked.small and dies(asked)(program):
            program = shrunk(
                program, dies(asked), asked.kind.smaller, asked.kind.is_usable, asked.kind.seconds
            )
        how = f"signal {-code}" if code < 0 else "it did not end, or could not go on"
        if code == -signal.SIGKILL:
            how = f"killed; for {STILL} seconds nothing went on, perhaps"
        print(f"--- seed {seed}, backend {asked.backend}: THE INTERPRETER DIED ({how})")
        print(asked.kind.shown(program), flush=True)


def main() -> int:
    """Run as asked on the command line; 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.whole.fuzz", description=__doc__)
    parser.add_argument("--kind", default="numpy", choices=KINDS, help="the kind of programs")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed")
    parser.add_argument(
        "--backend",
        default="",
        choices=["numpy", "hot", "improved", "reference", "eager", "mixed"],
        help="mixed: numpy for every fourth program, reference for the others; improved: native loops "
        "begin with the code that they else get while they run",
    )
    parser.add_argument("--show", action="store_true", help="print the program of the seed and end")
    parser.add_argument(
        "--whole", action="store_true", help="print failing programs as they are, not made small"
    )
    parser.add_argument(
        "--whole-calls",
        action="store_true",
        help="run whole calls as machine code where that can be",
    )
    parser.add_argument("--most", type=int, default=40, help="stop after this many failures")
    parser.add_argument("--processes", type=int, default=1, help="how many run at a time")
    given = parser.parse_args()
    backend = given.backend or ("mixed" if given.kind == "python" else "numpy")
    asked = Asked(KINDS[given.kind], backend, not given.whole, given.whole_calls)
    reason = asked.kind.why_not()
    if reason is not None:
        print(f"no programs of the kind {given.kind}: {reason}")
        return 0
    if given.show:
        program = asked.kind.generated(given.seed)
        print(program.source)
        print(asked.kind.shown(program))
        return 0
    started = time.monotonic()
    end = given.seed + given.count
    chunks = [range(at, min(at + CHUNK, end)) for at in range(given.seed, end, CHUNK)]
    with TemporaryDirectory() as folder:
        search = Search(asked, Path(folder), chunks)
        while search.running or (search.waiting and search.failures.total() < given.most):
            while (
                search.waiting
                and len(search.running) < given.processes
                and search.failures.total() < given.most
            ):
                search.start()
            search.finish_one()
    seconds = time.monotonic() - started
    found = dict(+search.failures) or "no differences"
    endless = f", {search.endless} of them without an end" if search.endless else ""
    print(f"{search.done} programs{endless}, {found}, {seconds:.0f} s")
    return 1 if search.failures.total() else 0


if __name__ == "__main__":
    sys.exit(main())
