"""Kernels that a function makes each time it runs, and waits for devices, in one graph with what is around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.restated import check_restated
from tests.support.unlimited import lift_limits

DOUBLED = r"""
extern "C" __global__ void doubled(const double* x, double* y, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2;
}
template<typename T> __global__ void raised(T* x) { x[threadIdx.x] += 1; }
"""
COUNTED = r"""
__device__ int calls = 0;
extern "C" __global__ void counted(int* n) { n[0] = calls += 1; }
"""
RAISED = "raised<double>"
BLOCK = (32,)


@pytest.fixture(autouse=True)
def _unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    lift_limits(monkeypatch)


def test_kernels_are_made_and_called_in_one_graph(host: Host) -> None:
    """Of all kinds, with texts that the function puts together."""
    cp = host.cupy

    def elementwise(x: Any, sign: str) -> Any:
        kernel = cp.ElementwiseKernel("T x, T y", "T z", f"z = x * x {sign} y", "made")
        return kernel(x + 1, x) * 2

    def reduction(x: Any, start: str) -> Any:
        length = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", start, "length")
        return length(x + 1, axis=0) * 2

    def raw(x: Any, name: str) -> Any:
        y = cp.empty_like(x)
        cp.RawKernel(DOUBLED, name, ("-DMADE_HERE=1",))((2,), BLOCK, (x, y, x.size))
        return y + 1

    def of_module(x: Any, name: str) -> Any:
        module = cp.RawModule(code=DOUBLED, name_expressions=[RAISED])
        y = cp.empty_like(x)
        module.get_function(name)((2,), BLOCK, (x, y, x.size))
        module.get_function(RAISED)((1,), BLOCK, (y,))
        return y + 1

    for function, text in (
        (elementwise, "-"),
        (reduction, "0"),
        (raw, "doubled"),
        (of_module, "doubled"),
    ):
        compiled = check_restated(host, function, lambda text=text: (cp.arange(40.0), text))
        assert not compiled.breaks


def test_kernels_of_a_module_that_was_made_before(host: Host) -> None:
    """`get_function` at each call; another module is another graph."""
    cp = host.cupy
    modules = [cp.RawModule(code=DOUBLED.replace("* 2", word)) for word in ("* 2", "* 3")]

    def launch(module: Any, x: Any) -> Any:
        y = cp.empty_like(x)
        module.get_function("doubled")((1,), BLOCK, (x, y, x.size))
        return y + 1

    compiled = ufuse.compile(launch)
    for _ in range(2):
        for module, factor in zip(modules, (2, 3), strict=True):
            found = compiled(module, cp.arange(4.0))
            assert found.get().tolist() == [1 + factor * one for one in range(4)]
    assert compiled.stats.hits == 2
    assert not compiled.breaks


def test_a_made_kernel_that_is_kept_is_a_new_one(host: Host) -> None:
    """Each call gives another object, which can be called, as a result and behind a break."""
    cp = host.cupy

    def kept(x: Any) -> Any:
        square = cp.ElementwiseKernel("T x", "T y", "y = x * x", "square")
        doubled = cp.RawModule(code=DOUBLED).get_function("doubled")
        y = square(x)
        str([])  # nothing that is known
        return y, square, doubled

    compiled = ufuse.compile(kept)
    x = cp.arange(4.0)
    found = [compiled(x) for _ in range(3)]
    assert len({id(one) for row in found for one in row[1:]}) == 6
    for result, square, doubled in found:
        assert type(square) is cp.ElementwiseKernel
        assert type(doubled) is cp.RawKernel
        assert np.array_equal(square(x).get(), result.get())
        doubled((1,), BLOCK, (x, result, 4))
        assert np.array_equal(result.get(), (x * 2).get())


def test_kernels_that_are_left_to_cupy(host: Host) -> None:
    """Texts that it refuses, with its own words; and those with variables, which begin anew when it forgets them."""
    cp = host.cupy

    def misnamed(n: Any) -> Any:
        cp.ElementwiseKernel("T x", "T y", "y = x", "no name")(n)

    def unknown(n: Any) -> Any:
        cp.RawModule(code=DOUBLED).get_function("tripled")((1,), (1,), (n,))

    for function in misnamed, unknown:
        compiled = ufuse.compile(function)
        with pytest.raises(Exception) as plain:
            function(cp.zeros(1))
        for _ in range(2):
            with pytest.raises(type(plain.value)) as ours:
                compiled(cp.zeros(1))
            assert str(ours.value) == str(plain.value)

    def counted(n: Any) -> Any:
        cp.RawKernel(COUNTED, "counted")((1,), (1,), (n,))
        return n * 1

    compiled = ufuse.compile(counted)
    assert [int(compiled(cp.zeros(1, "i4"))[0]) for _ in range(3)] == [1, 2, 3]
    assert "variables that outlive a launch" in compiled.breaks[0].reason


def test_waits_for_devices(host: Host) -> None:
    """For the current one, for one by its number, and by CUDA's own function; as often as in eager CuPy."""
    cp = host.cupy

    def waiting(x: Any) -> Any:
        y = x * 2
        cp.cuda.Device().synchronize()
        z = y + x
        cp.cuda.Device(0).synchronize()
        return z - y

    def waiting_for_all(x: Any) -> Any:
        y = x * 2
        cp.cuda.runtime.deviceSynchronize()
        return y - x

    compiled = check_restated(host, waiting, lambda: (cp.arange(9.0),))
    assert not compiled.breaks
    if isinstance(host, Host):
        with host.device.counting() as counts:
            compiled(cp.arange(9.0))
        assert counts["synchronize"] == 2
    compiled = check_restated(host, waiting_for_all, lambda: (cp.arange(9.0),))
    assert not compiled.breaks


def test_devices_that_are_not_there(host: Host) -> None:
    """CuPy says so; and one that is kept is a new one."""
    cp = host.cupy

    def other(x: Any, number: int) -> Any:
        y = x * 2
        cp.cuda.Device(number).synchronize()
        return y

    for function in other, ufuse.compile(other):
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError):
            function(cp.zeros(2), 99)

    def kept(x: Any) -> Any:
        device = cp.cuda.Device()
        return x + 1, device, device

    compiled = ufuse.compile(kept)
    found = [compiled(cp.zeros(2))[1:] for _ in range(3)]
    assert all(one is two and one.id == 0 for one, two in found)
    assert len({id(one) for one, _ in found}) == 3
    assert not compiled.breaks
