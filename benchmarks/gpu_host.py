"""`python -m benchmarks.gpu_host`: what programs of CuPy's cost the host, measured on the test device, without a GPU.

A trace of about a hundred operations up to CUDA C++; the guards of an array; calls of one kernel and of ten by a driver
that does nothing.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import ufuse
from benchmarks.gpu import chain11, hundred, jacobi
from benchmarks.report import save_rows
from tests.support.cupy_host import Host, build, install
from ufuse.backends import _launch
from ufuse.frame_hook import _hook

# As functions of the driver that succeed, and as the number of the device; two make something.
NOTHING = """
int nothing(int first) { return 0; }
int made(void **out) { *out = out; return 0; }
int no_capture(void *stream, int *status) { *status = 0; return 0; }
"""
MADE = {
    "cuGraphCreate": "made",
    "cuGraphAddKernelNode": "made",
    "cuGraphInstantiateWithFlags": "made",
    "cuStreamIsCapturing": "no_capture",
}
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


def sweeps(xp: Any, u: Any) -> Any:
    """A hundred turns of a stencil, in place: a kernel for what is read, and one that stores."""
    for _ in range(100):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def rolls(xp: Any, x: Any) -> Any:
    """Ten turns of a stencil of rolled arrays."""
    for _ in range(10):
        x = x + 0.1 * (xp.roll(x, 1) - 2.0 * x + xp.roll(x, -1))
    return x


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


@contextmanager
def launching_nothing(host: Host) -> Iterator[None]:
    """Launches and graphs of a driver that does nothing and takes no time."""
    from ufuse.backends.cupy.launching import native  # noqa: PLC0415  it imports CuPy

    capsules = native.capsules()
    library = ctypes.CDLL(str(_compiled()))
    addresses = {
        name: ctypes.cast(getattr(library, MADE.get(name, "nothing")), ctypes.c_void_p).value or 0
        for name in (native.LAUNCH, native.EARLY, *native.GRAPHS)
    }
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    found = {**capsules, "getDevice": make(addresses[native.LAUNCH], DEVICE, None)}
    native.capsules, before = lambda: found, native.capsules
    native.launch_by(native.Functions(addresses))
    try:
        yield
    finally:
        native.capsules = before
        native.launch_by(host.driver.functions_for_c())


def call(function: Callable[..., Any], *given: Any) -> float:
    """Microseconds of a compiled call."""
    compiled = ufuse.compile(function)
    for _ in range(20):  # a loop is unrolled once the calls have taken as long as that will
        compiled(*given)
    assert compiled.stats.hits
    assert not compiled.breaks
    return nanoseconds(lambda: compiled(*given), 5000) / 1e3


def calls(host: Host) -> Iterator[Figure]:
    """What calls of one kernel and of ten take, but for the driver and for CuPy's memory."""
    cupy = host.cupy
    x, y = cupy.ones(1000, "f4"), cupy.ones(1000, "f4")
    u, v = cupy.ones((30, 30), "f4"), cupy.ones((30, 30), "f4")
    with launching_nothing(host):
        one = call(chain11, cupy, x, y)
        ten = {}
        for how in ("never", "always"):
            _launch.replay(how)
            ten[how] = call(jacobi, cupy, u, v)
        _launch.replay("never")
        hundred_turns, rolled = call(sweeps, cupy, u), call(rolls, cupy, x)
        _launch.replay("measured")
    memory = nanoseconds(lambda: cupy.cuda.alloc(4000), 5000) / 1e3
    yield Figure("a call of one kernel but for memory and launch", one - memory, 2.0, "us")
    yield Figure("a call of ten kernels but for launches", ten["never"], None, "us")
    yield Figure("the same, where one graph is launched", ten["always"], None, "us")
    yield Figure("a hundred turns of a stencil but for launches", hundred_turns, None, "us")
    yield Figure("ten turns of rolled arrays but for launches", rolled, None, "us")
    yield Figure("CuPy's memory for a result", memory, None, "us")


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
    return [*rows, *calls(host)]


def main() -> None:
    """Print and keep the figures."""
    rows = measured(install())
    print(*rows, sep="\n")
    save_rows("gpu_host", [vars(row) for row in rows])


if __name__ == "__main__":
    main()
