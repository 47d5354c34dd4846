"""`python -m benchmarks.gpu_host`: what programs of CuPy's cost the host, measured on the test device, without a GPU.

Three figures: a trace of about a hundred operations up to CUDA C++; the guards of an array; a call of one kernel with a
launch that does nothing, where what CuPy's allocator takes is told apart.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ufuse
from benchmarks.gpu import chain11, hundred
from benchmarks.report import save_rows
from tests.support.cupy_host import Host, build, install
from ufuse.frame_hook import _hook

NOTHING = "int nothing(int first) { return 0; }"  # as `cuLaunchKernel` that succeeds, and as the number of the device
DEVICE = b"int (int __pyx_skip_dispatch)"
SPEC = ufuse.Spec((None,), "f4", device="cuda")
ARRAYS = 9


@dataclass(frozen=True)
class Figure:
    """What was measured, in its unit, beside the goal."""

    name: str
    value: float
    goal: float | None
    unit: str

    def __str__(self) -> str:
        goal = "" if self.goal is None else f" (goal {self.goal:g})"
        return f"{self.name:<44}{self.value:8.2f} {self.unit}{goal}"


def steps_of_a_model(xp: Any, x: Any, y: Any) -> Any:
    """A hundred operations with functions, numbers and stores of its own lines."""
    total = x * 0.0
    for step in range(8):
        force = xp.sqrt(abs(x)) - y * (0.5 + 0.1 * step)
        y = y + 0.01 * force
        x = xp.where(y > 0.0, x + 0.01 * y, x)
        total += force * force
    return x, y, total


def tracing(cupy: Any, function: Callable[..., Any], rounds: int = 21) -> float:
    """Milliseconds from bytecode to CUDA C++."""
    times = []
    for _ in range(rounds):
        compiled = ufuse.compile(function)
        begun = time.perf_counter()
        compiled.trace(cupy, SPEC, SPEC).source("cupy")
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3


def nanoseconds(call: Callable[[], object], calls: int = 20_000, batches: int = 9) -> float:
    """The median of batches, for one call."""
    times = []
    for _ in range(batches):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begun) / calls)
    return statistics.median(times) * 1e9


def guards(array: Any, order: tuple[int, ...], gapless: bool) -> float:
    """Nanoseconds for each array that lies in memory like this one."""
    times = []
    for count in (1, ARRAYS):
        given = tuple(array[:] for _ in range(count))
        kind = _hook.GUARD_KINDS["DEVICE_LAYOUT"]
        rows = [(kind, place, array.dtype, 0, order, gapless) for place in range(count)]
        entry = _hook.Entry(rows, [], None, 0, [], ("return", 0))
        assert entry.first_failing(given) is None
        times.append(nanoseconds(partial(entry.first_failing, given)))
    return (times[1] - times[0]) / (ARRAYS - 1)


def calls_of_one_kernel(host: Host) -> tuple[float, float]:
    """Microseconds of a call with a launch that does nothing, and of CuPy's memory for its result."""
    from ufuse.backends.cupy import native  # noqa: PLC0415  it imports CuPy

    cupy = host.cupy
    x, y = cupy.ones(1000, "f4"), cupy.ones(1000, "f4")
    capsules = native.capsules()
    library = ctypes.CDLL(str(_compiled()))
    address = ctypes.cast(library.nothing, ctypes.c_void_p).value or 0
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    found = {**capsules, "getDevice": make(address, DEVICE, None)}
    native.capsules, before = lambda: found, native.capsules
    native.launch_by(address)
    try:
        compiled = ufuse.compile(chain11)
        for _ in range(3):
            compiled(cupy, x, y)
        assert compiled.stats.hits
        assert not compiled.breaks
        whole = nanoseconds(lambda: compiled(cupy, x, y), 5000)
    finally:
        native.capsules = before
        native.launch_by(host.driver.launch_entry(), host.driver.failed)
    memory = nanoseconds(lambda: cupy.cuda.alloc(4000), 5000)
    return whole / 1e3, memory / 1e3


def _compiled() -> Any:
    path = build.CACHE / f"nothing-{build.key_of(NOTHING)}.so"
    return build.compiled(path, NOTHING, ".c", "gcc", "-O2", "-fPIC", "-shared")


def measured(host: Host, rounds: int = 21) -> list[Figure]:
    """All figures."""
    cupy = host.cupy
    rows = [
        Figure(f"from bytecode to CUDA C++: {one.__name__}", tracing(cupy, one, rounds), 10.0, "ms")
        for one in (hundred, steps_of_a_model)
    ]
    x = cupy.ones((30, 40), "f4")
    for name, array, order, gapless in (
        ("in C order", x, (0, 1), True),
        ("that is transposed", x.T, (1, 0), True),
        ("with gaps", x[:, ::2], (0, 1), False),
    ):
        figure = guards(array, order, gapless)
        rows.append(Figure(f"guards of an array {name}", figure, 10.0, "ns"))
    whole, memory = calls_of_one_kernel(host)
    rows.append(Figure("a call of one kernel but for memory and launch", whole - memory, 2.0, "us"))
    rows.append(Figure("CuPy's memory for its result", memory, None, "us"))
    return rows


def main() -> None:
    """Print and keep the figures."""
    rows = measured(install())
    print(*rows, sep="\n")
    save_rows("gpu_host", [vars(row) for row in rows])


if __name__ == "__main__":
    main()
