"""A short, repeatable search: random programs do compiled what they do plain. `make fuzz` searches longer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.cupy_host import Host
from tests.support.real_device import RealDevice
from tests.whole.fuzz.kinds import KINDS

AT_ONCE = 10
COUNTS = {"numpy": 150, "python": 100, "loops": 60, "sweeps": 60, "branches": 30}
BACKENDS = {
    "numpy": "numpy",
    "python": "mixed",
    "loops": "numpy",
    "sweeps": "numpy",
    "branches": "numpy",
}


@pytest.mark.any_python
@pytest.mark.parametrize(
    ("kind", "first"),
    [(kind, first) for kind, count in COUNTS.items() for first in range(0, count, AT_ONCE)],
)
def test_random_programs_are_the_same_compiled(kind: str, first: int) -> None:
    """Nothing that can be observed tells a random program compiled from the same one plain."""
    programs = KINDS[kind]
    for seed in range(first, first + AT_ONCE):
        program = programs.generated(seed)
        found = programs.difference(program, BACKENDS[kind])
        assert not found, f"{programs.shown(program)}\n{found}"


@pytest.mark.any_python
@pytest.mark.parametrize("first", [0, 6])
def test_random_programs_of_cupys_arrays(host: Host | RealDevice, first: int) -> None:
    """The same of programs of CuPy's arrays; launches are replayed, in other orders of threads and late."""
    programs = KINDS["cupy"]
    several = [programs.generated(seed) for seed in range(first, first + 6)]
    programs.prepare(several)
    for program in several:
        found = programs.difference(program, "numpy")
        assert not found, f"{programs.shown(program)}\n{found}"


HANGING = """
import sys, threading, time
from dataclasses import replace
from tests.whole.fuzz import __main__ as fuzz, kinds

def prepare(programs):
    for program in programs:
        if program.seed == 2:
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()  # as of a thread that a fork has left behind

def stuck(self, program, backend):
    if program.seed == 4:
        time.sleep(1000)
    return ""

fuzz.STILL, fuzz.LONGEST = 4, 1
kinds.Kind.difference = stuck
fuzz.KINDS["branches"] = replace(kinds.KINDS["branches"], prepare=prepare)
sys.argv[1:] = ["--kind", "branches", "--count", "6", "--processes", "2"]
sys.exit(fuzz.main())
"""


@pytest.mark.any_python
def test_the_search_does_not_hang() -> None:
    """A process that no longer goes on is killed, its program named, and all others run."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", HANGING],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert "seed 2, backend numpy: THE INTERPRETER DIED (killed" in ended.stdout, ended.stderr
    assert "\n6 programs, 1 of them without an end, {'crashed': 1}, " in ended.stdout
    assert ended.returncode == 1


def test_python_programs_run_alike_twice() -> None:
    """A random Python program depends on nothing but its arguments: run twice plain, it does the same."""
    for seed in range(20):
        program = KINDS["python"].generated(seed)
        assert not KINDS["python"].difference(program, "eager")
