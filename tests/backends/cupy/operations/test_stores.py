"""Stores into CuPy's arrays: in place, by item, and with `out=`; into arguments, views and arrays of the graph's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS

RNG = np.random.default_rng(6)
A, B = RNG.normal(size=(2, 6, 8))


def check(host: Host, function: Callable[..., Any], *given: np.ndarray, whole: bool = True) -> Any:
    """Run a function plainly and compiled on copies of arrays: results and arguments are the same, to the bit."""
    cp = host.cupy
    compiled = ufuse.compile(function)
    compiled.reset()
    for _ in range(3):
        ours, plain = [[cp.asarray(one) for one in given] for _ in range(2)]
        result, wanted = compiled(cp, *ours), function(cp, *plain)
        assert (result is None) == (wanted is None)
        pairs = [*zip(ours, plain, strict=True)]
        if isinstance(wanted, tuple):
            pairs += zip(result, wanted, strict=True)
        elif wanted is not None:
            pairs.append((result, wanted))
        for one, other in pairs:
            assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
            assert one.get().tobytes() == other.get().tobytes()
        for place, one in enumerate(plain):
            assert (result is ours[place]) == (wanted is one)
    if whole:
        assert compiled.stats.hits
        assert not compiled.breaks
    return compiled


def step(cp: Any, x: Any, v: Any) -> Any:
    v -= 0.1 * x
    x += v * 0.25
    return x


def parts(cp: Any, x: Any, v: Any) -> None:
    x[1:-1] += v[1:-1] * 2
    x[0] = v[0] - 1
    x[-1, ::2] = 0
    x[..., 3] = v[..., 4]


def own(cp: Any, x: Any, v: Any) -> Any:
    z = x.copy()
    z *= v
    z[::2] = 1
    z[:, 2:4] -= x[:, :2]
    return z, z.sum()


def outs(cp: Any, x: Any, v: Any) -> Any:
    cp.multiply(x, 3.0, out=x)
    cp.add(x, v, out=v)
    return cp.sqrt(abs(v), out=x)


def backwards(cp: Any, x: Any, v: Any) -> None:
    x[:] = x[::-1]
    v[1:] += v[:-1]
    v[:, ::-1] *= v


def read_between(cp: Any, x: Any, v: Any) -> Any:
    before = x * 1.0
    x += 1
    between = x.sum(axis=0) + v
    x *= 2
    return before, between, x[1:]


def made(cp: Any, x: Any, v: Any) -> Any:
    z = cp.empty_like(x)
    z[1:-1] = x[1:-1] * 2 + v[1:-1]
    z[0], z[-1] = 0, x[0]
    counts = cp.zeros(x.shape[1]) + cp.ones((3, 1), "f4") * cp.full((3, 8), 2.0)
    counts[1] += x[0]
    return z, counts, cp.zeros_like(x, dtype="i4"), cp.full(4, 7), cp.ones_like(v)


PROGRAMS = [made, step, parts, own, outs, backwards, read_between]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_programs(host: Host, program: Callable[..., Any], order: str) -> None:
    """What is stored is what eager CuPy stores, in any order of threads."""
    before, host.driver.order = host.driver.order, order
    try:
        check(host, program, A, B)
        check(host, program, A.astype("f4"), B.astype("f4"))
    finally:
        host.driver.order = before


def test_a_step_is_one_kernel(host: Host) -> None:
    """Two stores into arguments are one launch."""
    compiled = check(host, step, A, B)
    assert compiled.graphs[0].source("cupy").count("__global__") == 1
    x, v = host.cupy.asarray(A), host.cupy.asarray(B)
    host.device.counts.clear()
    compiled(host.cupy, x, v)
    assert host.device.counts["launch"] == 1


def test_layouts(host: Host) -> None:
    """Arguments may lie in any way in which no two elements share memory."""
    cp = host.cupy
    compiled = ufuse.compile(step)
    for turn in (
        lambda x: x.T,
        lambda x: x[::-1, ::2],
        lambda x: x[2],
        lambda x: x[:, :0],
        lambda x: x[1, 1],
    ):
        ours, plain = [(cp.asarray(A), cp.asarray(B)) for _ in range(2)]
        for _ in range(2):
            compiled(cp, *map(turn, ours))
            step(cp, *map(turn, plain))
            for one, other in zip(ours, plain, strict=True):
                assert one.get().tobytes() == other.get().tobytes()


def test_arguments_that_share_memory(host: Host) -> None:
    """A graph made for arrays apart is not run for arrays that overlap."""
    cp = host.cupy
    compiled = ufuse.compile(step)
    for places in ((0, 48), (0, 1), (0, 0), (3, 0), (48, 0)):
        ours, plain = [cp.asarray(np.concatenate([A.ravel(), B.ravel()])) for _ in range(2)]
        for _ in range(2):
            compiled(cp, *(ours[place : place + 40] for place in places))
            step(cp, *(plain[place : place + 40] for place in places))
            assert ours.get().tobytes() == plain.get().tobytes()


def test_dtypes(host: Host) -> None:
    """What is computed wider is converted when it is stored; what does not go is CuPy's error."""

    def scaled(cp: Any, x: Any, v: Any) -> None:
        x += v

    for dtype, other in (("f4", "f8"), ("i4", "i8"), ("f8", "f4"), ("i8", "?"), ("f2", "f8")):
        check(host, scaled, (A * 9).astype(dtype), (B * 9).astype(other))
    compiled = ufuse.compile(scaled)
    for dtype, other in (("i4", "f8"), ("?", "i8")):
        arrays = [host.cupy.asarray(A.astype(dtype)), host.cupy.asarray(B.astype(other))]
        for _ in range(2):
            with pytest.raises(TypeError, match=r"Cannot cast|casting|same_kind"):
                compiled(host.cupy, *arrays)


def test_numbers_are_looked_at_before_anything_is_written(host: Host) -> None:
    """Where the second of two numbers does not fit, CuPy's error comes, and the first store is done once."""
    cp = host.cupy

    def added(x: Any, y: Any, n: int, m: int) -> None:
        x += n
        y += m

    compiled = ufuse.compile(added)
    x, y = cp.zeros(5, "i1"), cp.zeros(5, "i1")
    for _ in range(3):
        compiled(x, y, 1, 2)
    with pytest.raises(OverflowError):
        compiled(x, y, 1, 1000)
    assert x.tolist() == [4] * 5
    assert y.tolist() == [6] * 5


def test_choices_behind_a_store(host: Host) -> None:
    """They raise for no values, so what was written does not end the graph."""

    def chosen(cp: Any, x: Any, v: Any) -> Any:
        x[1:] += v[:-1]
        y = cp.where(x > v, x, 0.25)
        v[:] = cp.where(y > 0, y, v)
        return cp.clip(v, -1, y)

    check(host, chosen, A, B)


def random_program(seed: int) -> Callable[..., Any]:
    """Stores, elementwise operations and reductions over three arrays of 6 by 8, of which views overlap."""
    rng = np.random.default_rng(seed)
    views = [
        "[1:5]",
        "[:4]",
        "[2:]",
        "[::-1]",
        "[:, 1:]",
        "[:, :-1]",
        "[::2]",
        "",
        "[0]",
        "[:, ::3]",
    ]
    names = ["x", "v", "z"]
    lines = ["    z = x * 0.5 + v"]

    def one(view: str) -> str:
        return str(rng.choice(names)) + view

    for _ in range(int(rng.integers(3, 10))):
        view = str(rng.choice(views))
        sign = str(rng.choice(["+", "-", "*"]))
        match int(rng.integers(5)):
            case 0:
                lines.append(f"    {one(view)} {sign}= {one(view)} * 0.5")
            case 1:
                lines.append(f"    {one('')}{view} = {one(view)} {sign} {one(view)}")
            case 2:
                lines.append(f"    {one('')}[1:4] = {one('')}[2:5]")
            case 3:
                lines.append(f"    {one('')}[:] = {one('[:1]')} + {one('')}.max(axis=0)")
            case 4:
                lines.append(f"    z = {one('')} {sign} cp.tanh({one('')})")
    text = "\n".join(["def run(cp, x, v):", *lines, "    return z, x[1:].sum(axis=1)"])
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return namespace["run"]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_stores(host: Host, first: int) -> None:
    """Random programs leave in memory what eager CuPy leaves there."""
    cp = host.cupy
    programs = [random_program(seed) for seed in range(first, first + 20)]
    compiled = [ufuse.compile(program) for program in programs]
    with host.compiler.gathering():
        for one in compiled:
            one(cp, cp.asarray(A), cp.asarray(B))
    hits = 0
    for number, (program, one) in enumerate(zip(programs, compiled, strict=True)):
        for order in ORDERS:
            host.driver.order = order
            ours, plain = [[cp.asarray(A), cp.asarray(B)] for _ in range(2)]
            results, wanted = one(cp, *ours), program(cp, *plain)
            host.driver.order = next(iter(ORDERS))
            for got, expected in zip((*results, *ours), (*wanted, *plain), strict=True):
                assert got.get().tobytes() == expected.get().tobytes(), first + number
        hits += one.stats.hits
    assert hits > 20


def test_graphs_without_arguments(host: Host) -> None:
    """Arrays that a graph makes itself are on the device too."""
    cp = host.cupy

    def filled(n: int) -> Any:
        z = cp.zeros((n, 2)) + 1.5
        z *= 2
        return z

    compiled = ufuse.compile(filled)
    for n in (3, 4, 0):
        result = compiled(n)
        assert type(result) is cp.ndarray
        assert (result.get() == np.full((n, 2), 3.0)).all()
    assert compiled.stats.hits
    assert not compiled.breaks
    text = str(compiled.graphs[0])
    assert str(ufuse.Graph.parse(text)) == text


@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_numbers_for_complex_arrays(host: Host, dtype: str) -> None:
    """Whole, real and complex ones, by slices and masks; of a zero the sign goes where CuPy clears memory."""
    z = (A + 1j * B).astype(dtype)

    def filled(cp: Any, z: Any, x: Any) -> Any:
        y = z * 2
        y[x > 0] = 2
        y[0] = 0.5
        y[1, ::2] = 1.5 - 2j
        y[x < -1] = 1j
        y[2] = True
        return y + 1

    def cleared(cp: Any, z: Any, x: Any) -> Any:
        y, w, v = z * 2, z * 3, z * 4
        y[0] = complex(-0.0, -0.0)
        y[1, ::2] = -0.0
        y[2, ::2] = complex(-0.0, 0.0)
        y[3] = complex(-0.0, 1.0)
        w[x > 0] = -0.0
        w[x < -1] = complex(0.0, -0.0)
        v[...] = complex(1.0, -0.0)
        return y, w, v

    def whole(cp: Any, z: Any, x: Any) -> Any:
        y = z * 1
        y[len(x) - 1] = len(x)
        y[0, 0] = x.shape[1] * 3
        x[1] = len(x)
        x[x > 0.5] = z.shape[1] - 20
        return y

    for function in (filled, cleared, whole):
        check(host, function, z, A)


def test_whole_numbers_that_round_twice(host: Host) -> None:
    """A whole number goes through a double, as in CuPy; what does not fit raises or warns there."""

    def stored(cp: Any, x: Any, n: int) -> Any:
        y = x * 2
        y[0] = n
        y[1:][x[1:] > 0] = n
        return y

    cp, x = host.cupy, A[0]
    for dtype in ("f4", "c8", "f8", "f2", "i8"):
        compiled = ufuse.compile(stored)
        for n in (3, -7, 2**53 + 1, 2**62 + 2**38 + 1, -(2**63), 5, 70000, 2**70, 10**40):
            given = cp.asarray(x.astype(dtype))
            results: list[Any] = []
            for function in (stored, compiled):
                try:
                    results.append(function(cp, given, n).get().tobytes())
                except (OverflowError, RuntimeWarning) as error:
                    results.append(str(error))
            assert results[0] == results[1], (dtype, n)
