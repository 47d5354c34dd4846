"""The kinds of random programs: how they are made, shown, looked at and made small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support import cupy_host
from tests.whole.fuzz import branches, devices, generate, loops, shrink, sweeps
from tests.whole.fuzz.check import World, difference
from tests.whole.fuzz.device_world import DeviceWorld, prepare
from tests.whole.fuzz.python import programs
from tests.whole.fuzz.python import shrink as python_shrink
from tests.whole.fuzz.python.world import PythonWorld


def never() -> None:
    """Nothing keeps programs of a kind from running."""


def unprepared(programs: Iterable[Any]) -> None:
    """Programs of most kinds are run one by one, and nothing is done before."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the search needs to know of a kind of program."""

    generated: Callable[[int], Any]
    shown: Callable[[Any], str]
    smaller: Callable[[Any], Iterator[Any]]
    is_usable: Callable[[Any], bool]
    world: type[World]
    seconds: float  # for making a program small
    why_not: Callable[[], str | None] = never  # why no program can run on this machine
    prepare: Callable[[Iterable[Any]], None] = unprepared  # for some programs, before they run

    def difference(self, program: Any, backend: str) -> str:
        """What the compiled program does otherwise; empty where nothing."""
        return difference(program, backend_for(program.seed, backend), self.world)


KINDS = {
    "numpy": Kind(
        generate.generated, generate.compact, shrink.candidates, shrink.can_be_made, World, 15
    ),
    "python": Kind(
        programs.generated,
        programs.shown,
        python_shrink.smaller,
        python_shrink.is_usable,
        PythonWorld,
        40,
    ),
    "loops": Kind(
        loops.generated, loops.shown, python_shrink.smaller, loops.is_usable, loops.LoopsWorld, 20
    ),
    "branches": Kind(
        branches.generated,
        branches.shown,
        python_shrink.smaller,
        branches.is_usable,
        branches.BranchesWorld,
        20,
    ),
    "sweeps": Kind(
        sweeps.generated,
        sweeps.shown,
        python_shrink.smaller,
        sweeps.is_usable,
        sweeps.SweepsWorld,
        20,
    ),
    "cupy": Kind(
        devices.generated,
        devices.shown,
        shrink.candidates,
        shrink.can_be_made,
        DeviceWorld,
        60,
        cupy_host.why_not,
        prepare,
    ),
}


def backend_for(seed: int, backend: str) -> str:
    """The backend of a program; `mixed` is the quick one for most."""
    if backend == "mixed":
        return "reference" if seed % 4 else "numpy"
    return backend
