"""Programs on a GPU, written with CuPy: compiled, eager, and by rivals (`make gpu-bench [BENCH="names"]`).

Each row is checked before it is timed: what is compiled equals eager CuPy to the bit; with `exact=False`, nearly. Times
are medians of batches of calls, each batch long enough for one wait at its end to be nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ufuse

RESULTS = Path(__file__).resolve().parent / "results" / "gpu"
CALLS = 64  # at most, until a loop is captured, too
BATCHES = 7
SECONDS = 0.05  # of a batch, at least
TIMED_SECONDS = 400  # after which no more rivals are begun


def chain11(xp: Any, x: Any, y: Any) -> Any:
    """Eleven operations, two arrays in and one out."""
    a = x * x + y
    b = a * 0.5 - x
    c = xp.sqrt(abs(b) + 1.5)
    return (c * y + a) / (b * b + 2.0)


def squared_distance(xp: Any, x: Any, y: Any) -> Any:
    """A sum of squares."""
    d = x - y
    return (d * d).sum()


def softmax(xp: Any, x: Any) -> Any:
    """Rows with their own maximum and sum."""
    e = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, weight: Any) -> Any:
    """Rows with their own mean and variance."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * weight


def standard_score(xp: Any, x: Any) -> Any:
    """Rows less their mean, by their deviation."""
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def stencil(xp: Any, x: Any) -> Any:
    """Five points."""
    inner = x[1:-1, 1:-1] * 0.5
    return inner + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


def hundred(xp: Any, x: Any, y: Any) -> Any:
    """A hundred operations on short arrays."""
    for _ in range(20):
        x = (x * 0.5 + y) * 0.99 - x * y
    return x


def columns(xp: Any, x: Any, y: Any) -> Any:
    """Sums down the columns."""
    return (x * y).sum(axis=0)


def turned(xp: Any, x: Any, y: Any) -> Any:
    """A transposed operand."""
    return x + y.T * 0.5


def jacobi(xp: Any, x: Any, y: Any) -> Any:
    """Ten sweeps, each into a new array."""
    for _ in range(10):
        x = 0.25 * (x[:, ::-1] + x[::-1] + y) + 0.25 * x
    return x


@dataclass(frozen=True)
class Row:
    """A program, the shapes of its arrays at full size, and the microseconds that were asked for (None: none were)."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str = "f4"
    target: float | None = None
    is_map: bool = True  # which cupy.fuse takes
    has_sums: bool = False  # of floats along rows: `exact=False` adds in another order


# fmt: off
ROWS = {
    "chain11":          Row(chain11,          ((10**8,), (10**8,)),        target=328),
    "chain11_f8":       Row(chain11,          ((10**8,), (10**8,)), "f8",  target=657),
    "chain11_short":    Row(chain11,          ((10**4,), (10**4,)),        target=5),
    "hundred_short":    Row(hundred,          ((10**4,), (10**4,)),        target=15),
    "squared_distance": Row(squared_distance, ((10**8,), (10**8,)),        target=219, is_map=False, has_sums=True),
    "softmax":          Row(softmax,          ((8192, 4096),),             target=73,  is_map=False, has_sums=True),
    "layer_norm":       Row(layer_norm,       ((8192, 4096), (4096,)),     target=73,  is_map=False, has_sums=True),
    "standard_score":   Row(standard_score,   ((8192, 4096),),             is_map=False, has_sums=True),
    "stencil":          Row(stencil,          ((8192, 8192),),             target=147, is_map=False),
    "jacobi":           Row(jacobi,           ((1024, 1024), (1024, 1024)), target=60, is_map=False),
    "columns":          Row(columns,          ((8192, 8192), (8192, 8192)), is_map=False),
    "turned":           Row(turned,           ((8192, 8192), (8192, 8192)), is_map=False),
}
# fmt: on


def arrays(cp: Any, row: Row, largest: int | None = None) -> list[Any]:
    """The row's arrays, of lengths up to `largest` along each axis."""
    shapes = [[min(length, largest or length) for length in shape] for shape in row.shapes]
    made = []
    for seed, shape in enumerate(shapes):
        count = cp.arange(cp.prod(cp.asarray(shape)).item(), dtype=row.dtype)
        made.append(cp.sin(count * 0.37 + seed).reshape(shape))
    return made


def why_wrong(cp: Any, row: Row, given: list[Any]) -> str | None:
    """Why what is compiled is not eager's to the bit, or why it is not compiled."""
    compiled = ufuse.compile(row.function)
    wanted = row.function(cp, *given)
    for _ in range(CALLS):
        result = compiled(cp, *given)
        if (result.dtype, result.shape) != (wanted.dtype, wanted.shape):
            return "another dtype or shape"
        if not (result.view(f"u{row.dtype[1]}") == wanted.view(f"u{row.dtype[1]}")).all():
            return "other bits"
        if compiled.stats.hits > 1:
            break
    if not compiled.stats.hits or compiled.breaks:
        return f"not one graph: {compiled.breaks}"
    if row.has_sums:
        near = ufuse.compile(row.function, exact=False)(cp, *given)
        if not cp.allclose(near, wanted, rtol=1e-5, atol=1e-6):
            return "sums in another order are far off"
    return None


def microseconds(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """How long a call takes on the device or on the host, whichever is longer."""
    call()
    wait()
    count, took = 1, 0.0
    while True:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        took = time.perf_counter() - begun
        if took >= SECONDS:
            break
        count = max(count * 2, int(count * SECONDS / max(took, 1e-6)))
    times = [took]
    for _ in range(BATCHES - 1):
        begun = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) / count * 1e6


def contenders(cp: Any, row: Row, given: list[Any]) -> dict[str, Callable[[], tuple[Any, Any]]]:
    """What makes each contender's call and its wait."""
    compiled = ufuse.compile(row.function)
    near = ufuse.compile(row.function, exact=False)
    wait = cp.cuda.get_current_stream().synchronize
    made: dict[str, Callable[[], tuple[Any, Any]]] = {
        "ufuse": lambda: (lambda: compiled(cp, *given), wait),
        "eager": lambda: (lambda: row.function(cp, *given), wait),
    }
    if row.has_sums:
        made["ufuse, exact=False"] = lambda: (lambda: near(cp, *given), wait)
    if row.is_map:
        fused = cp.fuse(lambda *some: row.function(cp, *some))
        made["cupy.fuse"] = lambda: (lambda: fused(*given), wait)
    if importlib.util.find_spec("jax"):
        made["jax.jit"] = lambda: _by_jax(row, given)
    if importlib.util.find_spec("torch"):
        made["torch.compile"] = lambda: _by_torch(row, given)
    return made


def _by_jax(row: Row, given: list[Any]) -> tuple[Any, Any]:
    import jax  # noqa: PLC0415  it is not always there

    jax.config.update("jax_enable_x64", True)
    arguments = [jax.dlpack.from_dlpack(one) for one in given]
    jitted = jax.jit(lambda *some: row.function(jax.numpy, *some))
    last: list[Any] = [None]

    def call() -> None:
        last[0] = jitted(*arguments)

    def wait() -> None:
        last[0].block_until_ready()

    return call, wait


def _by_torch(row: Row, given: list[Any]) -> tuple[Any, Any]:
    import torch  # noqa: PLC0415  it is not always there

    arguments = [torch.from_dlpack(one) for one in given]
    if row.function is jacobi:
        raise ValueError("it has no negative steps")
    compiled = torch.compile(lambda *some: row.function(torch, *some))
    return lambda: compiled(*arguments), torch.cuda.synchronize


def measured(cp: Any, names: list[str]) -> dict[str, dict[str, Any]]:
    """Each row's times in microseconds, or why there are none."""
    begun = time.monotonic()
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        row = ROWS[name]
        given = arrays(cp, row)
        why = why_wrong(cp, row, given)
        times: dict[str, Any] = {}
        for rival, make in contenders(cp, row, given).items():
            if (
                rival not in ("ufuse", "ufuse, exact=False", "eager")
                and time.monotonic() - begun > TIMED_SECONDS
            ):
                times[rival] = "no time was left"
                continue
            try:
                times[rival] = round(microseconds(*make()), 2)
            except Exception as error:  # noqa: BLE001  a rival that fails is a row without a time
                times[rival] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        found[name] = {"microseconds": times, "target": row.target, "wrong": why}
        print(name, json.dumps(found[name]), flush=True)
        del given
        cp.get_default_memory_pool().free_all_blocks()
    return found


def main() -> int:
    """Run the rows; gives 1 where a result differs from eager CuPy's."""
    parser = argparse.ArgumentParser(prog="make gpu-bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ROWS)}")
    names = parser.parse_args().names or list(ROWS)
    if unknown := set(names) - set(ROWS):
        parser.error(f"no row is called {', '.join(sorted(unknown))}")
    import cupy as cp  # noqa: PLC0415  --help needs none

    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    found = {"device": device, "cupy": cp.__version__, "rows": measured(cp, names)}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "gpu.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(any(row["wrong"] for row in found["rows"].values()))


if __name__ == "__main__":
    sys.exit(main())
