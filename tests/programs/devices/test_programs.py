"""Programs written with CuPy, of which much is not captured: what they give is what eager CuPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import why_different

RNG = np.random.default_rng(11)
A, B = RNG.normal(size=(2, 5, 6))


def loops(cp: Any, x: Any, y: Any) -> Any:
    for _ in range(7):
        x = x * 0.5 + y
    return x


def stores(cp: Any, x: Any, y: Any) -> Any:
    z = x.copy()
    z += y
    z[1:, ::2] *= 2
    z[0] = y[0] - 1
    z[z > 1] = 0
    return z, x


def reductions(cp: Any, x: Any, y: Any) -> Any:
    centred = x - x.mean(axis=0)
    return centred / x.std(axis=0), (centred * y).sum(), abs(y).max(axis=1), x.argmax()


def softmax(cp: Any, x: Any, y: Any) -> Any:
    e = cp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def read_by_the_host(cp: Any, x: Any, y: Any) -> Any:
    total = float(x.sum())
    if (y > 2).any():
        return x * total
    return y * total + int(x.argmax()) + x[0, 0].item(), cp.asnumpy(x + 1), (y * 2).get()


def choices(cp: Any, x: Any, y: Any) -> Any:
    return cp.where(x > y, x * 2, y - 1), cp.clip(x, -1, 1), cp.minimum(x, 0), x[y > 0]


def made(cp: Any, x: Any, y: Any) -> Any:
    z = cp.zeros_like(x) + cp.arange(6) * cp.ones((5, 1), "f4")
    return z + cp.asarray(A), cp.linspace(0, 1, 5)[:, None] * x, cp.eye(3) * 2, cp.full((2, 2), 7)


def converted(cp: Any, x: Any, y: Any) -> Any:
    return (
        x.astype("f4") * 2,
        (x * 3).astype(cp.int32),
        x.astype("F").real,
        x.reshape(6, 5) + 1,
        x.ravel() * 2,
    )


def joined(cp: Any, x: Any, y: Any) -> Any:
    return (
        cp.concatenate([x * 2, y]),
        cp.stack([x, -y]),
        [row * 2 for row in x],
        cp.cumsum(x + y, axis=0),
    )


def asked(cp: Any, x: Any, y: Any) -> Any:
    if x is None or not isinstance(x, cp.ndarray) or isinstance(y, np.ndarray):
        return 0
    kind = type(x).__name__, x.dtype, len(x), x.shape[0] * 2, x.nbytes, x.ndim, hasattr(x, "get")
    return kind, x is y, x * x.shape[1]


def by_numpys_functions(cp: Any, x: Any, y: Any) -> Any:
    return np.exp(x), np.add(x, 1) * 2, np.sum(y), np.float64(2) * x, np.maximum(x, y)


def streams(cp: Any, x: Any, y: Any) -> Any:
    with cp.cuda.Stream() as stream:
        z = x * 2 + y
        z = cp.sqrt(abs(z))
    stream.synchronize()
    return z


def objects(cp: Any, x: Any, y: Any) -> Any:
    held = {"x": x * 2, "y": [y + 1, (x, y)]}
    held["z"] = held["x"] - held["y"][0]
    a, *rest = held["y"]
    return held, a, rest


def unary(cp: Any, x: Any, y: Any) -> Any:
    n = cp.asarray([3, -2, 5], "i4")
    return -x, +x, abs(y), ~n, ~(x > 0), n << 2, n % 3, n // 2, divmod(n, 2), 2**n, x @ y.T, n & 6


def numbers(cp: Any, x: Any, y: Any, n: float = 3.0, k: int = 4) -> Any:
    return x * (n * 2 + 1) / k, y + n / (k - 3), x * (k + 1) - n**2


def both(cp: Any, x: Any, y: Any) -> Any:
    return x * 2 + 1, A * 2 + B, y - float(A[0, 0]), np.float64(0.5) * A[1]


PROGRAMS = [
    loops, stores, reductions, softmax, read_by_the_host, choices, made, converted, joined, asked, by_numpys_functions,
    streams, objects, unary, numbers, both,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_a_program(host: Host, program: Callable[..., Any]) -> None:
    """Called three times, and once with arrays of other kinds."""
    cp = host.cupy
    compiled = ufuse.compile(program)
    arrays = cp.asarray(A), cp.asarray(B)
    wanted = program(cp, *arrays)
    for _ in range(3):
        assert why_different(compiled(cp, *arrays), wanted) is None
    others = cp.asarray(A, order="F"), cp.asarray(np.vstack([B, B]))[::2]
    assert why_different(compiled(cp, *others), program(cp, *others)) is None
    assert compiled.stats.traces


def test_why_sides_on_a_device_are_graphs_of_their_own(host: Host) -> None:
    """What is behind a branch is part of the kernels of each side: one launch less than where the sides meet."""
    cp = host.cupy

    def chosen(x: Any, y: Any) -> Any:
        z = x * 2 + y if float(x[0]) > 0 else x - y * 3
        return z * z

    compiled = ufuse.compile(chosen)
    x, y = cp.asarray(A[0]), cp.asarray(B[0])
    for _ in range(100):
        for given in (x, -x):
            assert why_different(compiled(given, y), chosen(given, y)) is None
    with host.device.counting() as counts:
        compiled(x, y)
    assert counts["launch"] == 1
    assert "sides compute on a device" in " ".join(one.reason for one in compiled.breaks)
