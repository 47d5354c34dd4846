"""Kernels of which nobody knows what they write: `RawKernel`s in one graph with what is around, and waits for streams."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import why_different
from tests.support.restated import check_restated
from tests.support.unlimited import lift_limits

TEXTS = r"""
__device__ int calls = 0;
extern "C" __global__ void add(const double* x, double* y, int n, double factor) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] += x[i] * factor;
}
extern "C" __global__ void add_there(double** pointers, long long n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) pointers[0][i] += pointers[1][i];
}
extern "C" __global__ void count(int* n) {
    n[0] = calls += 1;
}
"""
BLOCK = (32,)


@pytest.fixture
def kernels(host: Host, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernels of one module, as attributes."""
    lift_limits(monkeypatch)
    module = host.cupy.RawModule(code=TEXTS)

    class Kernels:
        add = module.get_function("add")
        add_there = module.get_function("add_there")
        count = module.get_function("count")

    return Kernels


def test_launches_in_their_places(host: Host, kernels: Any) -> None:
    """Into new arrays, arguments and views of both, with numbers of all kinds, in a loop; then a wait."""
    cp, add = host.cupy, kernels.add

    def several(x: Any, y: Any, factor: float) -> Any:
        grid, n = ((x.size + 31) // 32,), cp.int32(x.size)
        z = x * 2
        add(grid, BLOCK, (z, y, n, factor))
        w = z + y
        for turn in range(3):
            blocks = int(np.ceil(x.size / 32)), 1, 1
            add(blocks, (32, 1, 1), (w, y, cp.int32(x.size), np.float64(0.5)))
            y[turn] = 7
            add((1,), BLOCK, [y[2:], z[2:], np.int32(4), w.size * 1.0], shared_mem=64)
        t = cp.zeros_like(x)
        add(grid=grid, block=BLOCK, args=(y[1:], t, cp.int32(x.size - 1), float(x[1])))
        cp.cuda.Stream.null.synchronize()
        return t, y * 2, z, w, x * 2, z.sum()

    compiled = check_restated(host, several, lambda: (cp.arange(40.0), cp.ones(40), 0.5))
    assert not compiled.breaks
    late = cp.arange(50.0), cp.ones(50), 0.5
    wanted = several(*late)
    with host.device.working_late():
        found = compiled(cp.arange(50.0), cp.ones(50), 0.5)
        assert all(why_different(*pair) is None for pair in zip(found, wanted, strict=True))


def test_what_is_written_at_other_addresses(host: Host, kernels: Any) -> None:
    """A kernel follows pointers to arguments that it was not given: what is equal before it is another thing behind."""
    cp, there = host.cupy, kernels.add_there

    def hidden(pointers: Any, x: Any, y: Any) -> Any:
        before = x * 2
        there((1,), BLOCK, (pointers, x.size))
        between = x * 2
        there((1,), BLOCK, (pointers, x.size))
        return before, between, x * 2, y + 1

    def read_behind(pointers: Any, n: int, x: Any, _: Any) -> Any:
        there((1,), BLOCK, (pointers, n))
        return x * 2, cp.linalg.inv(x[:4].reshape(2, 2))

    def given(*more: int) -> Any:
        x, y = cp.arange(10.0) + cp.eye(10)[0], cp.arange(10.0)[::-1].copy()
        return cp.array([x.data.ptr, y.data.ptr], "u8"), *more, x, y

    for function, more in (hidden, ()), (read_behind, (10,)):
        compiled = ufuse.compile(function)
        for _ in range(4):
            one, other = given(*more), given(*more)
            assert why_different(compiled(*one), function(*other)) is None
            assert why_different(one[1:], other[1:]) is None
        assert compiled.stats.hits
    assert compiled.breaks[0].code == "raise-after-write"


def test_each_launch_is_made_once(host: Host, kernels: Any) -> None:
    """State of the module's own counts them, in order, with the results between."""
    cp, count = host.cupy, kernels.count

    def counted(n: Any) -> Any:
        count((1,), (1,), (n,))
        first = n * 1
        count((1,), (1,), (n,))
        return first

    compiled, n = ufuse.compile(counted), cp.zeros(1, "i4")
    start = None
    for turn in range(4):
        found = int(compiled(n)[0])
        start = found if start is None else start
        assert (found, int(n[0])) == (start + 2 * turn, start + 2 * turn + 1)
    assert compiled.stats.hits == 3
    assert not compiled.breaks


def test_launches_that_are_left_to_cupy(host: Host, kernels: Any) -> None:
    """Those that may raise, which nothing could take back, with CuPy's exception; and of what is no array of CuPy's."""
    cp, add = host.cupy, kernels.add
    x = cp.arange(8.0)
    for grid, block, arguments in (
        ([1], BLOCK, (x, x, np.int32(8), 1.0)),
        ((1,), BLOCK, (x, np.ones(3), np.int32(8), 1.0)),
        ((1,), BLOCK, (x, x, "8", 1.0)),
        ((1,), BLOCK, (x, x, 2**70, 1.0)),
    ):

        def launch(g: Any = grid, b: Any = block, a: Any = arguments) -> Any:
            add(g, b, a)

        with pytest.raises((TypeError, OverflowError, ValueError)) as plain:
            launch()
        compiled = ufuse.compile(launch)
        for _ in range(2):
            with pytest.raises(type(plain.value)) as ours:
                compiled()
            assert str(ours.value) == str(plain.value)
    compiled = ufuse.compile(lambda x: add((0,), BLOCK, (x, x, np.int32(0), 1.0)))
    compiled(x)  # an empty grid is one block
    assert not compiled.breaks
    compiled = ufuse.compile(lambda x, b: add((1,), (b,), (x, x, np.int32(0), 1.0)))
    with suppress(Exception):  # too many threads
        compiled(x, 2048)
    assert compiled.breaks


def test_kernels_held_across_a_break(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call makes new objects, of the same texts: what is behind the break is traced once; other texts are others."""
    cp = host.cupy
    lift_limits(monkeypatch)
    text = 'extern "C" __global__ void add(double* x) { x[threadIdx.x] += %d; }'

    def held(x: Any, what: str, more: int) -> Any:
        twice = cp.ElementwiseKernel("T x", "T y", what, "twice")
        raw = cp.RawKernel(text % more, "add")
        total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
        y = twice(x)
        ufuse.graph_break()
        z = twice(y)
        t = total(z)
        raw((1,), (4,), (z,))
        return z, t, twice, raw

    def check(what: str, more: int) -> None:
        found, wanted = (one(cp.arange(4.0), what, more) for one in (compiled, held))
        assert all(why_different(*pair) is None for pair in zip(found[:2], wanted[:2], strict=True))
        kernels.append(found[2:])

    compiled = ufuse.compile(held)
    kernels: list[Any] = []
    for _ in range(8):
        check("y = x * 2", 1)
    assert len({id(one) for pair in kernels for one in pair}) == 16  # as in eager CuPy
    assert compiled.stats.retraces == 0
    assert compiled.stats.traces == 2
    check("y = x * 3", 1)
    check("y = x * 2", 2)
    check("y = x * 3", 2)
    check("y = x * 2", 1)
