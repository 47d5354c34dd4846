"""Threads that call the same compiled functions, with collections, interrupts, forks and error states at random.

`python -m tests.whole.stress --seconds 600 --threads 4`: every result is compared with plain Python's, in the same thread.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import logging
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ufuse
from benchmarks.cases.loops import LOOPS
from tests.programs.arrays import PROGRAMS
from tests.support.comparing.compare import Comparison
from tests.support.comparing.registering import Program
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import loops_of
from ufuse import decorator

MOST_KEPT = 20
A_MOMENT = 0.01  # seconds
LONGEST_FORK = 60  # seconds
OFTEN_FORKED = 0.002  # of the turns
ERROR_STATES = ("ignore", "ignore", "ignore", "warn", "raise")


@dataclass(slots=True)
class Tally:
    """What all threads together have done."""

    calls: int = 0
    interrupts: int = 0
    resets: int = 0
    forks: int = 0
    native_turns: int = 0  # of loops
    found: list[str] = field(default_factory=list)
    is_over: bool = False
    # No interrupt comes while a thread holds this: in what Python runs at a fork it would leave locks taken.
    quiet: threading.RLock = field(default_factory=threading.RLock)


class InternalErrors(logging.Handler):
    """Failures inside ufuse, which it survives and logs."""

    def __init__(self, tally: Tally) -> None:
        super().__init__(logging.ERROR)
        self.tally = tally

    def emit(self, record: logging.LogRecord) -> None:
        """Count one as a difference."""
        if len(self.tally.found) < MOST_KEPT:
            self.tally.found.append(record.getMessage())


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives or raises, and its arguments afterwards."""
    try:
        return function(*args), args
    except Exception as error:  # noqa: BLE001  programs may raise, and then both have to
        return type(error), str(error), args


def is_repeatable(program: Program) -> bool:
    """Whether a program does the same each time, so that threads may run it side by side."""
    first, second = (outcome(program.function, program.make_args()) for _ in range(2))
    comparison = Comparison()
    comparison.visit("outcome", first, second)
    return not comparison.found


def turn(program: Program | Loop, compiled: Callable[..., Any], tally: Tally) -> None:
    """One call of each, compared."""
    plain = outcome(program.function, program.make_args())
    fast = outcome(compiled, program.make_args())
    comparison = Comparison()
    comparison.visit(program.function.__name__, plain, fast)
    tally.calls += 1
    if comparison.found and len(tally.found) < MOST_KEPT:
        tally.found.append("\n  ".join(comparison.found[:5]))


def work(programs: list[tuple[Any, Any]], tally: Tally, seed: int) -> None:
    """Take turns until it is over; an interrupt ends a turn."""
    choose = random.Random(seed)  # noqa: S311  a test
    with contextlib.suppress(KeyboardInterrupt):  # between two turns: it ends the thread
        while not tally.is_over:
            try:
                turns(programs, tally, choose)
            except KeyboardInterrupt:
                tally.interrupts += 1


def turns(programs: list[tuple[Any, Any]], tally: Tally, choose: random.Random) -> None:
    """Take turns until it is over or an interrupt comes."""
    while not tally.is_over:
        program, compiled = choose.choice(programs)
        if choose.random() < 0.002:
            compiled.reset()
            tally.resets += 1
        with np.errstate(all=choose.choice(ERROR_STATES)):  # type: ignore[arg-type]
            if hasattr(os, "fork") and choose.random() < OFTEN_FORKED:
                forked_turn(program, compiled, tally)
            turn(program, compiled, tally)


def forked_turn(program: Program | Loop, compiled: Callable[..., Any], tally: Tally) -> None:
    """One call of each in a process that has this thread alone."""
    try:
        tally.quiet.acquire()
        time.sleep(0)  # an interrupt that came before is answered here
        child = os.fork()
    finally:  # from 3.14 on one may be answered between taking the lock and entering a `with` block
        with contextlib.suppress(RuntimeError):  # it was not taken yet
            tally.quiet.release()
    if child == 0:
        signal.alarm(LONGEST_FORK)
        status = 0
        with contextlib.suppress(KeyboardInterrupt):
            own = Tally()
            turn(program, compiled, own)
            status = len(own.found)
        os._exit(status)
    tally.forks += 1
    _, status = os.waitpid(child, 0)
    if status and len(tally.found) < MOST_KEPT:
        name = program.function.__name__
        tally.found.append(
            f"{name}: a forked process ends with {os.waitstatus_to_exitcode(status)}"
        )


def interrupt(thread: threading.Thread) -> None:
    """Let a KeyboardInterrupt be raised in a thread, wherever it is."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
        )


@dataclass(frozen=True, slots=True)
class Loop:
    """A benchmark of loops, of one size."""

    function: Callable[..., Any]
    make_args: Callable[[], tuple[Any, ...]]


def native_loops() -> list[tuple[Any, Any]]:
    """The benchmarks of loops, of the largest sizes that take a moment only, compiled without being timed.

    Each twice: with the code that a loop begins with, and with the better code that it gets while it runs.
    """
    found = []
    measuring, decorator.MEASURING = decorator.MEASURING, False
    try:
        for program in LOOPS.values():
            loops = [
                Loop(program.function, partial(program.make_args, size)) for size in program.sizes
            ]
            chosen = next((loop for loop in loops if seconds_of(loop) < A_MOMENT), loops[-1])
            found.append((chosen, ufuse.compile(chosen.function)))
            found.append((chosen, ufuse.compile(chosen.function, backend=Improved())))
    finally:
        decorator.MEASURING = measuring
    return found


def seconds_of(loop: Loop) -> float:
    """How long a plain call takes."""
    arguments = loop.make_args()
    started = time.perf_counter()
    loop.function(*arguments)
    return time.perf_counter() - started


def run(seconds: float, threads: int, seed: int, *, interrupts: bool) -> Tally:
    """Let threads work for so long."""
    tally = Tally()
    logging.getLogger("ufuse").addHandler(InternalErrors(tally))
    warnings.simplefilter("ignore")
    repeatable = [program for program in PROGRAMS.rows if is_repeatable(program)]
    programs: list[tuple[Any, Any]] = [
        (program, ufuse.compile(program.function)) for program in repeatable
    ]
    for _, compiled in programs:
        compiled.__ufuse_session__.unhurried = True  # all that can be captured is
    programs += native_loops()
    choose = random.Random(seed)  # noqa: S311  a test
    before = gc.get_threshold()
    gc.set_threshold(1)
    workers = [begun(programs, tally, seed * threads + i) for i in range(threads)]
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(tally.found) < MOST_KEPT:
        time.sleep(choose.uniform(0.001, 0.2))
        place = choose.randrange(threads)
        if not workers[place].is_alive():  # an interrupt came between two turns
            workers[place] = begun(programs, tally, choose.randrange(10**9))
        elif interrupts:
            with tally.quiet:
                interrupt(workers[place])
    tally.is_over = True
    for worker in workers:
        worker.join(60)
    gc.set_threshold(*before)
    if any(worker.is_alive() for worker in workers):
        tally.found.append("a thread does not end")
    tally.native_turns = sum(loop.turns for _, one in programs for loop in loops_of(one))
    return tally


def begun(programs: list[tuple[Any, Any]], tally: Tally, seed: int) -> threading.Thread:
    """A thread that takes turns."""
    worker = threading.Thread(target=work, args=(programs, tally, seed), daemon=True)
    worker.start()
    return worker


def main() -> int:
    """Run from the command line; the exit status says whether there was a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-interrupts", action="store_true")
    given = parser.parse_args()
    faulthandler.dump_traceback_later(given.seconds + 90, exit=True)
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        tally = run(given.seconds, given.threads, given.seed, interrupts=not given.no_interrupts)
    for text in tally.found:
        print(text)
    print(
        f"{given.seconds:.0f} s, {given.threads} threads: {tally.calls} calls compared, {tally.interrupts} interrupts, "
        f"{tally.resets} resets, {tally.forks} forks, {tally.native_turns} native turns of loops, {len(tally.found)} differences"
    )
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main())
