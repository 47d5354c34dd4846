"""Array statements of loops that threads share: nothing shows how many there are."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import ufuse
from tests.support.alarms import called_with_alarm, on_alarm
from tests.support.nests.native_loops import native_turns
from tests.support.nests.nest_code import Machine
from tests.support.nests.random_maps import Draw, outcome
from tests.support.nests.sharing import always_shared, in_python_threads
from ufuse.backends.numpy import _tiles
from ufuse.graph.nest_types import TURNS

THREADS = (1, 2, 3, 4)
MANY = 400  # turns: fewer are unrolled


@pytest.fixture(autouse=True)
def all_are_shared() -> Iterator[None]:
    """Threads share every statement."""
    with always_shared():
        yield


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("seed", range(24))
def test_statements_drawn_by_chance(seed: int, threads: int) -> None:
    """Every operation, dtype, layout and overlap has the same bits and flags."""
    _tiles.set_threads(threads)
    draw = Draw(seed)
    machine = Machine(draw.nest())
    turn = {"i.next": 0, "i.step": 1, "i.left": 1, TURNS: 1}
    for wildness in (0.0, 0.0, 0.02, 0.5):
        parts, cells = draw.given(wildness)
        is_left = outcome(machine, parts, {**cells, **turn})
        assert is_left or wildness > 0 or draw.plain, machine.nest


def numbers(*shape: int) -> np.ndarray:
    """Ordinary numbers."""
    return np.random.default_rng(0).random(shape)


def neighbours(x, turns):
    y = x.copy()
    for _ in range(turns):
        y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
        x[1:-1, 1:-1] = 0.25 * (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:])


def in_place(x, turns):
    for _ in range(turns):
        x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


def vectors(x, turns):
    x = x.reshape(-1)
    for turn in range(turns):
        x[1:] = 0.5 * (x[1:] + x[:-1]) + turn
        x[:-1] -= 0.25 * x[1:]


def gaps(x, turns):
    for _ in range(turns):
        x[::2, 1::2] = 0.5 * (x[1::2, ::2] + x[::2, ::2])
        x.T[1:, ::-1] *= 0.99


def functions(x, turns):
    x = x.reshape(-1)
    for _ in range(turns):
        x[1:] = np.exp(-x[1:]) + np.hypot(x[:-1], 0.5)


def thin(x, turns):
    x = x.reshape(2, -1, 2)
    for _ in range(turns):
        x[:, 1:] = 0.5 * (x[:, :-1] + x[:, 1:])


def temporaries(x, turns):
    for _ in range(turns):
        change = x[2:, 1:-1] - 2 * x[1:-1, 1:-1] + x[:-2, 1:-1]
        x[1:-1, 1:-1] += 0.1 * change


def turning(x, turns):
    u, v = x.copy(), x.copy()
    for _ in range(turns):
        u[1:-1] = v[2:] + v[:-2] - u[1:-1]
        u, v = v, u
    x[...] = u


SWEEPS = (neighbours, in_place, vectors, gaps, functions, thin, temporaries, turning)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("threads", THREADS)
def test_sweeps(sweep: Callable[..., None], threads: int) -> None:
    """Loops over slices give plain Python's bits."""
    _tiles.set_threads(threads)
    assert native_turns(sweep, lambda: (numbers(100, 102), MANY)) > MANY


def divided(x, y, turns):
    for turn in range(turns):
        y[1:-1] = 1.0 / (x[1:-1] - turn) + 0.5 * (x[2:] + x[:-2])


@pytest.mark.parametrize("row", [3, 50, 96])
@pytest.mark.parametrize("threads", THREADS)
def test_flags_of_any_part(row: int, threads: int) -> None:
    """A flag that is raised in any thread's part is a warning or an error of its turn."""
    _tiles.set_threads(threads)
    x = numbers(100, 102) + 1000
    x[row, 7] = 317
    assert native_turns(divided, lambda: (x.copy(), np.zeros_like(x), MANY)) > 317


def test_flags_are_forgotten() -> None:
    """What a worker has raised for one statement is not another's."""
    _tiles.set_threads(4)
    x = numbers(100, 102) + 1000
    x[:, 7] = 317
    with np.errstate(divide="ignore"):
        assert native_turns(divided, lambda: (x.copy(), np.zeros_like(x), MANY)) > MANY
    x[:, 7] = 1317
    compiled = ufuse.compile(divided)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(x, np.zeros_like(x), MANY)


def test_several_python_threads() -> None:
    """Loops of several Python threads share the workers one after another."""
    _tiles.set_threads(3)
    wanted = numbers(100, 102)
    neighbours(wanted, MANY)
    compiled = ufuse.compile(neighbours)

    def call() -> bytes:
        x = numbers(100, 102)
        compiled(x, MANY)
        return x.tobytes()

    assert in_python_threads(call, 4) == {wanted.tobytes()}


def test_fork() -> None:
    """A forked child makes its own workers."""
    _tiles.set_threads(2)
    wanted = numbers(100, 102)
    neighbours(wanted, MANY)
    compiled = ufuse.compile(neighbours)
    assert native_turns(neighbours, lambda: (numbers(100, 102), MANY)) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    x = numbers(100, 102)
    compiled(x, MANY)
    if child == 0:
        os._exit(0 if x.tobytes() == wanted.tobytes() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tobytes() == wanted.tobytes()


def test_signals() -> None:
    """A signal arrives between turns: what is shared was finished."""
    _tiles.set_threads(4)
    x = numbers(100, 102)
    compiled = ufuse.compile(neighbours)
    assert native_turns(neighbours, lambda: (x.copy(), MANY)) > 0

    def stop(*_: Any) -> None:
        raise InterruptedError

    with on_alarm(stop), pytest.raises(InterruptedError):
        called_with_alarm(0.2, compiled, x, 10**7)


def tasks() -> set[Path]:
    """The threads of this process."""
    return set(Path("/proc/self/task").iterdir())


def test_the_number_of_threads_is_respected() -> None:
    """With one thread no worker is made."""
    _tiles.set_threads(1)
    draw = Draw(4)
    machine = Machine(draw.nest())
    parts, cells = draw.given(0.0)
    here = tasks()
    outcome(machine, parts, {**cells, "i.next": 0, "i.step": 1, "i.left": 1, TURNS: 1})
    assert tasks() <= here


def alone(x, turns):
    for _ in range(turns):
        x *= 0.99
        x += 0.25


def swept(x, turns):
    for _ in range(turns):
        x *= 0.99
        x[1:] = 0.5 * (x[:-1] + x[1:])


@pytest.mark.parametrize("reads_neighbours", [False, True])
def test_long_statements(reads_neighbours: bool) -> None:
    """Those that a graph can do in one pass are left to it; where one reads neighbours they are a native loop."""
    function = swept if reads_neighbours else alone
    x = numbers(120_000)
    assert (native_turns(function, lambda: (x.copy(), MANY)) > 0) == reads_neighbours
